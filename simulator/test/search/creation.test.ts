/** Tests the creation of search jobs: valid request bodies, responses, and the order of errors. */
import { describe, expect, test } from 'vitest';
import type { SearchScenario } from '../../scenario/search-scenario.ts';
import { hour, type JobFields, SearchingService } from '../searching-service.ts';
import { startMs } from '../simulated-service.ts';

const rangeOf = (order: JobFields, search: SearchScenario = {}) => {
  const service = new SearchingService({ search });
  const reply = service.createJob(order);
  const [job] = service.state().jobs;
  return job ? [job.from, job.to] : reply.json.code;
};

describe('the response (2.2)', () => {
  const headers = { host: 'logs.example:8443' };

  test('is 202 with an id, a link, the notice about cookies, and a Location header', () => {
    const { status, json, headers: answered } = new SearchingService().createJob({}, { headers });
    const href = `https://logs.example:8443/api/v1/search/jobs/${json.id}`;
    expect(status).toBe(202);
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9A-F]{16}$/),
      link: { rel: 'self', href },
      warning: expect.stringContaining('cookie'),
    });
    expect(answered).toMatchObject({ location: href, 'content-type': 'application/json' });
  });

  test('has a different id for each job', () => {
    const service = new SearchingService({ limits: { requestsPerSecond: 0, activeJobs: 0 } });
    const ids = Array.from({ length: 1_000 }, () => service.createJob().json.id);
    expect(new Set(ids).size).toBe(1_000);
  });

  test('has an address under the base path of the request', () => {
    const service = new SearchingService({ basePaths: ['/api', '/eu/api'] });
    const body = { query: '*', ...hour, timeZone: 'UTC' };
    const { json } = service.call('POST', '/eu/api/v1/search/jobs', { body, headers });
    expect(json.link.href).toBe(`https://logs.example:8443/eu/api/v1/search/jobs/${json.id}`);
  });
});

describe('the range of a job can have', () => {
  const at = Date.UTC(2026, 5, 15, 12);
  const cases: readonly [string, JobFields, unknown][] = [
    ['milliseconds as numbers', { from: 1_000, to: 2_000 }, [1_000, 2_000]],
    ['milliseconds as texts', { from: '1000', to: '2000' }, [1_000, 2_000]],
    ['no length', { from: 1_000, to: 1_000 }, [1_000, 1_000]],
    ['local times', { from: '2026-06-15T12:00:00', to: '2026-06-15T12:00:01' }, [at, at + 1_000]],
    [
      'one local time, and one in milliseconds',
      { from: '2026-06-15T12:00:00', to: at + 5, timeZone: 'Europe/Berlin' },
      [at - 2 * 3_600_000, at + 5],
    ],
    [
      'a zone under the other spelling of its member',
      { from: '2026-06-15T12:00:00', to: at, timeZone: undefined, timezone: 'Europe/Berlin' },
      [at - 2 * 3_600_000, at],
    ],
    [
      'a zone by its code',
      { from: '2026-06-15T05:00:00', to: '2026-06-15T06:00:00', timeZone: 'PST' },
      [at, at + 3_600_000],
    ],
    [
      'null instead of the first spelling',
      { from: '2026-06-15T17:30:00', to: at + 1, timeZone: null, timezone: 'IST' },
      [at, at + 1],
    ],
  ];
  test.each(cases)('%s', (_, order, range) => {
    expect(rangeOf(order)).toEqual(range);
  });

  test('no zone for times in milliseconds if the scenario says so', () => {
    const whereUsed = { timeZone: 'whereUsed' } as const;
    expect(rangeOf({ timeZone: undefined })).toBe('searchjob.empty.timezone');
    expect(rangeOf({ timeZone: undefined }, whereUsed)).toEqual([hour.from, hour.to]);
    expect(rangeOf({ timeZone: undefined, from: '2026-01-01T00:00:00' }, whereUsed)).toBe('searchjob.empty.timezone');
    expect(rangeOf({ timeZone: 'Mars/Base' }, whereUsed)).toBe('searchjob.unknown.timezone');
  });
});

describe('a job is accepted with', () => {
  const cases: readonly [string, JobFields][] = [
    ['the parsing mode AutoParse', { autoParsingMode: 'AutoParse' }],
    ['the parsing mode Manual', { autoParsingMode: 'Manual' }],
    ['the former parsing mode performance (9.2)', { autoParsingMode: 'performance' }],
    ['the former parsing mode intelligent (9.2)', { autoParsingMode: 'intelligent' }],
    ['the former parsing mode verbose (9.2)', { autoParsingMode: 'verbose' }],
    ['true or false for its options', { byReceiptTime: true, requiresRawMessages: true }],
    ['null in each optional member', { byReceiptTime: null, requiresRawMessages: null, autoParsingMode: null }],
    ['unknown members', { colour: 'red' }],
    ['a query of blanks around words', { query: ' \n message ' }],
  ];
  test.each(cases)('%s', (_, order) => {
    expect(new SearchingService().createJob(order).status).toBe(202);
  });
});

describe('a job is refused with (7.2)', () => {
  const cases: readonly [string, JobFields, string][] = [
    ['no query', { query: undefined }, 'no.query'],
    ['null as query', { query: null }, 'no.query'],
    ['a blank query', { query: ' ' }, 'no.query'],
    ['a query that is not a text', { query: 7 }, 'generic'],
    ['a query that cannot be parsed', { query: '* |' }, 'parse.error'],
    ['no start', { from: undefined }, 'invalid.timestamp.from'],
    ['null as end', { to: null }, 'invalid.timestamp.to'],
    ['an ISO time with milliseconds', { from: '2026-06-15T12:00:00.000' }, 'invalid.timestamp.from'],
    ['an ISO time with an offset', { to: '2026-06-15T12:00:00Z' }, 'invalid.timestamp.to'],
    ['a day without a time', { from: '2026-06-15' }, 'invalid.timestamp.from'],
    ['a day that does not exist', { from: '2026-02-29T00:00:00' }, 'invalid.timestamp.from'],
    ['an hour that does not exist', { from: '2026-02-28T24:00:00' }, 'invalid.timestamp.from'],
    ['a fraction of a millisecond', { to: startMs + 0.5 }, 'invalid.timestamp.to'],
    ['a time before the epoch', { from: -1 }, 'invalid.timestamp.from'],
    ['a time too far from 1970', { to: '99999999999999999999' }, 'invalid.timestamp.to'],
    ['a word as time', { from: 'yesterday' }, 'invalid.timestamp.from'],
    ['a time that is neither text nor number', { from: true }, 'unknown.time.type'],
    ['a time that is a list', { to: [1] }, 'unknown.time.type'],
    ['an end before the start', { from: hour.to, to: hour.from }, 'to.smaller.than.from'],
    ['no time zone', { timeZone: undefined }, 'empty.timezone'],
    ['a blank time zone', { timeZone: ' ' }, 'empty.timezone'],
    ['an unknown time zone', { timeZone: 'Mars/Base' }, 'unknown.timezone'],
    ['a time zone that is not a text', { timeZone: 1 }, 'unknown.timezone'],
    ['a text for byReceiptTime', { byReceiptTime: 'yes' }, 'generic'],
    ['a number for requiresRawMessages', { requiresRawMessages: 1 }, 'generic'],
    ['an unknown parsing mode', { autoParsingMode: 'Guess' }, 'generic'],
  ];
  test.each(cases)('%s', (_, order, code) => {
    const service = new SearchingService();
    expect(service.createJob(order)).toMatchObject({ status: 400, code: `searchjob.${code}` });
    expect(service.state()).toMatchObject({ jobs: [], counters: { jobsCreated: 0, jobsActive: 0 } });
  });

  const times = '; use a local time such as 2026-11-01T00:00:00, or milliseconds since the epoch';
  const texts: readonly [JobFields, string][] = [
    [{ query: null }, 'query is missing; set a search, such as *'],
    [{ query: ' ' }, 'query is empty; set a search, such as *'],
    [{ query: 7 }, 'query is 7; use a string'],
    [{ from: undefined }, `from is missing${times}`],
    [{ from: -5 }, `from is -5, which is before 1970${times}`],
    [{ to: '-5' }, `to is "-5", which is before 1970${times}`],
    [{ to: 1.5 }, `to is 1.5, which is not a whole number${times}`],
    [{ to: '1.5' }, `to is "1.5", which is not a whole number${times}`],
    [{ to: 1e300 }, `to is 1e+300, which is too far from 1970${times}`],
    [{ to: '99999999999999999999' }, `to is "99999999999999999999", which is too far from 1970${times}`],
    [
      { from: '2026-11-20T21:00:00.000' },
      `from is "2026-11-20T21:00:00.000", which has a fraction of a second${times}`,
    ],
    [
      { from: '2026-11-20T21:00:00Z' },
      `from is "2026-11-20T21:00:00Z", which has an offset, although the zone belongs in timeZone${times}`,
    ],
    [
      { from: '2026-11-20T21:00:00.5+01:00' },
      `from is "2026-11-20T21:00:00.5+01:00", which has an offset, although the zone belongs in timeZone${times}`,
    ],
    [{ from: '2026-02-29T00:00:00' }, `from is "2026-02-29T00:00:00", which does not exist in the calendar${times}`],
    [{ from: 'yesterday' }, `from is "yesterday"${times}`],
    [{ from: true }, `from is true${times}`],
    [{ from: hour.to, to: hour.from }, 'from is later than to; set from to the earlier time'],
    [
      { timeZone: undefined },
      'timeZone is missing; set a time zone, such as UTC or Europe/Berlin: times in milliseconds also need one',
    ],
    [
      { timeZone: ' ' },
      'timeZone is empty; set a time zone, such as UTC or Europe/Berlin: times in milliseconds also need one',
    ],
    [
      { timeZone: 'Mars/Base' },
      'There is no time zone "Mars/Base"; use an IANA name such as Europe/Berlin, an offset such as +05:30, or a code such as PST',
    ],
    [{ byReceiptTime: 'yes' }, 'byReceiptTime is "yes"; use true or false'],
    [{ requiresRawMessages: 1 }, 'requiresRawMessages is 1; use true or false'],
    [
      { autoParsingMode: 'Guess' },
      'autoParsingMode is "Guess"; use one of AutoParse, Manual, performance, intelligent, verbose',
    ],
    [{ byReceiptTime: 'x'.repeat(100) }, `byReceiptTime is "${'x'.repeat(56)}...; use true or false`],
  ];
  test.each(texts)('%j is refused, with its value and a remedy', (order, text) => {
    const { message } = new SearchingService().createJob(order).json;
    expect(message).toBe(`${text}.`);
  });

  test('a big integer as a time, which the message shows as written', () => {
    const body = `{"query":"*","from":0,"to":${'9'.repeat(30)},"timeZone":"UTC"}`;
    const { json } = new SearchingService().call('POST', '/api/v1/search/jobs', { body });
    expect(json.message).toContain(`to is ${'9'.repeat(30)}, which is too far from 1970`);
  });

  test('a local time without a zone, and a message that only local times need a zone', () => {
    const service = new SearchingService({ search: { timeZone: 'whereUsed' } });
    const { message } = service.createJob({ timeZone: undefined, from: '2026-01-01T00:00:00' }).json;
    expect(message).toBe('timeZone is missing; set a time zone, such as UTC or Europe/Berlin: local times need one.');
  });

  test.each(['', '[]', '"x"', '{', 'null'])('a body %j is generic', (body) => {
    const reply = new SearchingService().call('POST', '/api/v1/search/jobs', { body });
    expect(reply).toMatchObject({ status: 400, code: 'searchjob.generic' });
  });

  test('several problems, the first of which is reported', () => {
    const wrong: Record<string, unknown> = {
      query: '',
      timeZone: '',
      from: true,
      to: true,
      byReceiptTime: 'x',
    };
    const service = new SearchingService({ limits: { requestsPerSecond: 0, activeJobs: 1 } });
    service.job();
    const mended: readonly [string, unknown, string][] = [
      ['', undefined, 'no.query'],
      ['query', '* |', 'empty.timezone'],
      ['timeZone', 'Mars/Base', 'unknown.timezone'],
      ['timeZone', 'UTC', 'unknown.time.type'],
      ['from', 'x', 'invalid.timestamp.from'],
      ['from', 5_000, 'unknown.time.type'],
      ['to', 'x', 'invalid.timestamp.to'],
      ['to', 4_000, 'to.smaller.than.from'],
      ['to', 6_000, 'generic'],
      ['byReceiptTime', true, 'parse.error'],
    ];
    for (const [member, value, code] of mended) {
      wrong[member] = value;
      expect(service.createJob(wrong).code).toBe(`searchjob.${code}`);
    }
    wrong['query'] = '*';
    expect(service.createJob(wrong)).toMatchObject({ status: 429, code: 'rate.limit.exceeded' });
  });

  test('codes whose prefix the scenario can change (10.1)', () => {
    const service = new SearchingService({ errors: { searchCodePrefix: '' } });
    expect(service.createJob({ query: '' }).json.code).toBe('no.query');
    expect(service.call('GET', '/api/v1/search/nowhere').json.code).toBe('notfound');
  });

  test('status 415 for a Content-Type other than JSON', () => {
    const reply = new SearchingService().createJob({}, { headers: { 'content-type': 'text/plain' } });
    expect(reply).toMatchObject({ status: 415, code: 'contenttype.invalid' });
  });
});

describe('a query with a syntax error, if the scenario says so', () => {
  test('fails its creation (10.1)', () => {
    const service = new SearchingService({ search: { brokenQuery: 'creationError' } });
    expect(service.createJob({ query: '* |' })).toMatchObject({ status: 400, code: 'searchjob.query.creation.error' });
  });

  test('is done without results, and the reason is only in pendingErrors (10.2)', () => {
    const service = new SearchingService({ search: { brokenQuery: 'pendingError' } });
    const job = service.job({ query: '* |' });
    expect(job.status()).toMatchObject({
      state: 'DONE GATHERING RESULTS',
      messageCount: 0,
      recordCount: 0,
      histogramBuckets: [],
      pendingErrors: [expect.stringContaining('1:4')],
    });
    expect(job.status().pendingErrors).toEqual([]);
    expect(job.page().json.messages).toEqual([]);
  });
});
