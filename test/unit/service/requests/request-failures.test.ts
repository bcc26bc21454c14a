/** Tests each operation of the service with each failure. */
import { describe, expect, test } from 'vitest';
import { sleep } from '../../../../src/base/clock.ts';
import { type Operation, operations } from '../../../../src/service/requests/operation.ts';
import {
  jobMissings,
  type RequestFailure,
  requestFailures,
  treatmentOf,
} from '../../../../src/service/requests/request-failure.ts';
import { jobRefusals, pageRefusals, taskRefusals } from '../../../../src/service/requests/service-code.ts';
import { toServiceError } from '../../../../src/service/requests/service-failure.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import type { TransportStep } from '../../../support/scripted-transport.ts';
import { accessKey, calls, failureOf, failureOn, good, goodBodies, type Harness, harness, settled } from './harness.ts';

const html = '<html><body>Bad gateway</body></html>';
const refusal = (code: string): TransportStep => ({
  kind: 'response',
  status: 400,
  body: `{"status":400,"id":"AAAAA-BBBBB-CCCCC","code":"searchjob.${code}","message":"no ${accessKey}"}`,
});

const refusalCodes = [...taskRefusals, ...jobRefusals, ...pageRefusals];
const refusals = {} as Record<(typeof refusalCodes)[number], readonly TransportStep[]>;
for (const code of refusalCodes) refusals[code] = [refusal(code)];

const noJob: TransportStep = { kind: 'response', status: 404, body: '{"code":"searchjob.jobid.invalid"}' };

/** Steps of the scripted transport that lead to each failure. */
const scripts: { readonly [O in RequestFailure]: readonly TransportStep[] } = {
  nameNotFound: [{ kind: 'noConnection', failure: 'nameNotFound' }],
  refused: [{ kind: 'noConnection', failure: 'refused' }],
  notReachable: [{ kind: 'unwritten', failure: 'connectionLost' }],
  proxyFailed: [{ kind: 'noConnection', failure: 'proxyFailed' }],
  tlsFailed: [{ kind: 'noConnection', failure: 'tlsFailed' }],
  certificateUnknown: [{ kind: 'noConnection', failure: 'certificateUnknown' }],
  certificateExpired: [{ kind: 'noConnection', failure: 'certificateExpired' }],
  certificateForAnother: [{ kind: 'noConnection', failure: 'certificateForAnother' }],
  closed: [{ kind: 'unwritten', failure: 'closed' }],
  connectTimeout: [{ kind: 'noConnection' }],
  withdrawn: [{ kind: 'noConnection' }],
  notLeading: [{ kind: 'noRight' }],
  budgetFull: [{ kind: 'budgetFull' }],
  connectionLost: [{ kind: 'written', failure: 'connectionLost' }],
  timeout: [{ kind: 'written' }],
  abandoned: [{ kind: 'written' }],
  responseTooLarge: [{ kind: 'written', failure: 'responseTooLarge' }],
  responseMalformed: [{ kind: 'written', failure: 'responseMalformed' }],
  responseInvalid: [{ kind: 'response', status: 200, body: html }],
  redirectNotAllowed: [{ kind: 'response', status: 301, headers: { location: 'https://evil.test/api/v1/x' } }],
  redirectNotHttps: [{ kind: 'response', status: 301, headers: { location: 'http://service.test/api/v1/x' } }],
  redirectInCircles: [{ kind: 'response', status: 302, headers: { location: '/api/again' } }],
  badRequest: [{ kind: 'response', status: 400, body: '{"code":"limit.too.large"}' }],
  unauthorized: [{ kind: 'response', status: 401, body: '{"code":"unauthorized"}' }],
  forbidden: [{ kind: 'response', status: 403 }],
  notFound: [{ kind: 'response', status: 404 }],
  methodUnsupported: [{ kind: 'response', status: 405 }],
  contentTypeInvalid: [{ kind: 'response', status: 415 }],
  rateLimited: [{ kind: 'response', status: 429, headers: { 'retry-after': '7' } }],
  clientError: [{ kind: 'response', status: 418 }],
  requestTimeout: [{ kind: 'response', status: 408 }],
  internalError: [{ kind: 'response', status: 500, body: html }],
  unavailable: [{ kind: 'response', status: 503 }],
  serverError: [{ kind: 'response', status: 502, body: html }],
  unexpectedStatus: [{ kind: 'response', status: 304 }],
  heldUp: [{ kind: 'response', status: 200, body: goodBodies.listMessages, pieceBytes: 400 }],
  ...refusals,
  jobNotKnownYet: [noJob],
  jobDeleted: [good('deleteJob'), noJob],
  jobCookieMissing: [noJob],
  jobSilenced: [noJob],
  jobTimedOut: [good('getJob'), noJob],
  jobGone: [noJob],
};

/** Changes to the test setup that a failure needs. */
const pasts: Partial<Record<RequestFailure, (harness: Harness) => Promise<Harness>>> = {
  jobNotKnownYet: async (world) => ({ ...world, job: world.jobOf(9_000) }),
  jobDeleted: async (world) => {
    await settled(world.clock, world.job.delete());
    return world;
  },
  jobCookieMissing: async (world) => ({ ...world, job: world.jobOf(15_000, []) }),
  jobSilenced: async (world) => ({ ...world, job: world.jobOf(21_000) }),
  jobTimedOut: async (world) => {
    const job = world.jobOf(8 * 3_600_000);
    await settled(world.clock, job.getStatus());
    return { ...world, job };
  },
  jobGone: async (world) => ({ ...world, job: world.jobOf(15_000) }),
};

/**
 * Calls the operation while the scripted transport produces this failure. Returns the error and the number of requests.
 */
async function endIn(operation: Operation, failure: RequestFailure) {
  const fresh = harness(scripts[failure]);
  const world = (await pasts[failure]?.(fresh)) ?? fresh;
  const before = { writes: world.transport.written.length, starts: world.budget.started };
  const call =
    failure === 'heldUp'
      ? world.job.listMessages(
          { offset: 0, limit: 10 },
          Object.assign(new RecordingReceiver(), { drained: () => new Promise<void>(() => {}) }),
        )
      : calls[operation](world);
  const error = await failureOf(world, call);
  return {
    error,
    writes: world.transport.written.length - before.writes,
    starts: world.budget.started - before.starts,
    open: world.budget.open,
  };
}

/** For each failure: the error's expected reason, handling and effect, and the expected number of requests. */
const expected: { readonly [O in RequestFailure]: readonly [string, string, 'none' | 'unknown', number] } = {
  nameNotFound: ['ServiceUnreachable', 'backoff', 'none', 0],
  refused: ['ServiceUnreachable', 'backoff', 'none', 0],
  notReachable: ['ServiceUnreachable', 'backoff', 'none', 0],
  proxyFailed: ['ServiceUnreachable', 'backoff', 'none', 0],
  tlsFailed: ['ServiceUnreachable', 'backoff', 'none', 0],
  certificateUnknown: ['CertificateNotTrusted', 'stall', 'none', 0],
  certificateExpired: ['CertificateNotTrusted', 'stall', 'none', 0],
  certificateForAnother: ['CertificateNotTrusted', 'stall', 'none', 0],
  closed: ['ClientClosed', 'backoff', 'none', 0],
  connectTimeout: ['ServiceUnreachable', 'backoff', 'none', 0],
  withdrawn: ['CallAborted', 'backoff', 'none', 0],
  notLeading: ['NotLeading', 'backoff', 'none', 0],
  budgetFull: ['RequestBudgetFull', 'backoff', 'none', 0],
  connectionLost: ['ServiceUnreachable', 'backoff', 'unknown', 3],
  timeout: ['ServiceUnreachable', 'backoff', 'unknown', 1],
  abandoned: ['CallAborted', 'backoff', 'unknown', 1],
  responseTooLarge: ['ResponseInvalid', 'backoff', 'unknown', 1],
  responseMalformed: ['ResponseInvalid', 'backoff', 'unknown', 1],
  responseInvalid: ['ResponseInvalid', 'backoff', 'unknown', 1],
  redirectNotAllowed: ['RedirectNotAllowed', 'stall', 'none', 1],
  redirectNotHttps: ['RedirectNotAllowed', 'stall', 'none', 1],
  redirectInCircles: ['RedirectNotAllowed', 'stall', 'none', 4],
  badRequest: ['RequestRefused', 'backoff', 'none', 1],
  unauthorized: ['Unauthorized', 'stall', 'none', 2],
  forbidden: ['Forbidden', 'stall', 'none', 1],
  notFound: ['AddressInvalid', 'stall', 'none', 1],
  methodUnsupported: ['AddressInvalid', 'stall', 'none', 1],
  contentTypeInvalid: ['RequestRefused', 'stall', 'none', 1],
  rateLimited: ['RateLimited', 'retryAfter', 'none', 1],
  clientError: ['RequestRefused', 'backoff', 'none', 1],
  requestTimeout: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  internalError: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  unavailable: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  serverError: ['ServiceUnavailable', 'backoff', 'unknown', 1],
  unexpectedStatus: ['ResponseInvalid', 'backoff', 'unknown', 1],
  heldUp: ['DestinationSlow', 'backoff', 'none', 1],
  'collector.invalid': ['CollectorRefused', 'wait', 'none', 1],
  'collector.type.invalid': ['CollectorRefused', 'wait', 'none', 1],
  'collector.not.alive': ['CollectorRefused', 'wait', 'none', 1],
  'collector.in.upgrading': ['CollectorRefused', 'wait', 'none', 1],
  'collector.version.invalid': ['CollectorRefused', 'wait', 'none', 1],
  generic: ['RequestRefused', 'backoff', 'none', 1],
  'invalid.timestamp.from': ['RangeRefused', 'stall', 'none', 1],
  'invalid.timestamp.to': ['RangeRefused', 'stall', 'none', 1],
  'to.smaller.than.from': ['RangeRefused', 'stall', 'none', 1],
  'unknown.timezone': ['RangeRefused', 'stall', 'none', 1],
  'empty.timezone': ['RangeRefused', 'stall', 'none', 1],
  'unknown.time.type': ['RangeRefused', 'stall', 'none', 1],
  'no.query': ['QueryRefused', 'stall', 'none', 1],
  'parse.error': ['QueryRefused', 'stall', 'none', 1],
  'query.creation.error': ['QueryRefused', 'stall', 'none', 1],
  'offset.missing': ['RequestRefused', 'backoff', 'none', 1],
  'offset.negative': ['RequestRefused', 'backoff', 'none', 1],
  'limit.missing': ['RequestRefused', 'backoff', 'none', 1],
  'limit.zero': ['RequestRefused', 'backoff', 'none', 1],
  'limit.negative': ['RequestRefused', 'backoff', 'none', 1],
  'no.records.not.an.aggregation.query': ['NotAnAggregation', 'stall', 'none', 1],
  'raw.messages.not.available': ['RawMessagesNotAvailable', 'stall', 'none', 1],
  jobNotKnownYet: ['JobNotKnownYet', 'backoff', 'none', 1],
  jobDeleted: ['JobDeleted', 'wait', 'none', 1],
  jobCookieMissing: ['JobCookieMissing', 'backoff', 'none', 1],
  jobSilenced: ['JobSilenced', 'backoff', 'none', 1],
  jobTimedOut: ['JobTimedOut', 'backoff', 'none', 1],
  jobGone: ['JobLost', 'backoff', 'none', 1],
};

const names = Object.keys(operations) as Operation[];
const byCaller: ReadonlySet<RequestFailure> = new Set(['withdrawn', 'abandoned']);
const onlyOf = (own: readonly Operation[], codes: readonly RequestFailure[]) =>
  codes.map((code) => [code, own] as const);
const pages: readonly Operation[] = ['listMessages', 'listRecords'];

/** Operations for which each failure is possible. */
const knownBy: ReadonlyMap<RequestFailure, readonly Operation[]> = new Map([
  ...onlyOf(['createTask'], taskRefusals),
  ...onlyOf(['createJob'], jobRefusals),
  ...onlyOf(pages, pageRefusals),
  ...onlyOf(['getJob', ...pages], jobMissings),
  ...onlyOf(['listMessages'], ['heldUp']),
  // A deletion that gets a 404 response succeeds.
  ...onlyOf(['createJob', 'listCollectors', 'listBuilds', 'getTask', 'createTask'], ['notFound']),
]);

/**
 * Operations that change something. `getJob` is one of them, because the service reports each search job error only
 * once (E5).
 */
const acts: ReadonlySet<Operation> = new Set(['createTask', 'createJob', 'getJob', 'deleteJob']);

/**
 * Returns the expected number of requests. The client repeats deletions. It repeats other requests only if they had no
 * effect and delivered no rows.
 */
function writesOf(operation: Operation, failure: RequestFailure): number {
  const [, , , writes] = expected[failure];
  if (failure === 'redirectInCircles') return writes;
  const givesOutRows = operation === 'listMessages' && failure === 'connectionLost';
  const mayHaveActed = acts.has(operation) && operation !== 'deleteJob' && failure !== 'unauthorized';
  return givesOutRows || mayHaveActed ? Math.min(1, writes) : writes;
}

describe.each(names)('%s', (operation) => {
  const own = requestFailures.filter(
    (failure) => !byCaller.has(failure) && (knownBy.get(failure)?.includes(operation) ?? true),
  );
  const task = (failure: RequestFailure) => operation === 'getTask' && failure === 'notFound';

  // For a deletion, the HTTP status proves the success, even if the response body is not readable.
  test.each(own.filter((failure) => operation !== 'deleteJob' || failure !== 'responseInvalid'))(
    '%s',
    async (failure) => {
      const { error, writes, starts, open } = await endIn(operation, failure);
      const [reason, handling, effect] = expected[failure];
      expect(error.code).toBe(`service.${failure}`);
      expect(error.reason).toBe(task(failure) ? 'TaskNotFound' : reason);
      expect(error.handling.kind).toBe(task(failure) ? 'wait' : handling);
      expect(error.effect).toBe(acts.has(operation) ? effect : 'none');
      expect(writes).toBe(writesOf(operation, failure));
      expect(starts).toBe(writes);
      expect(open).toBe(0);
      expect(error.sentAtMs === undefined).toBe(writes === 0);
      expect(error.message).not.toContain(accessKey);
    },
  );

  test('an abort before the write sends nothing', async () => {
    const world = harness(scripts.withdrawn);
    const { clock, budget } = world;
    const controller = new AbortController();
    const call = calls[operation](world, { signal: controller.signal });
    clock.after(10, () => controller.abort());
    expect(await settled(clock, call)).toMatchObject({
      code: 'service.withdrawn',
      effect: 'none',
      reason: 'CallAborted',
    });
    expect(budget.requests).toHaveLength(0);
  });

  test('an abort after the write keeps the request slot (B2)', async () => {
    const world = harness(scripts.abandoned);
    const { clock, budget } = world;
    const controller = new AbortController();
    const call = calls[operation](world, { signal: controller.signal });
    clock.after(10, () => controller.abort());
    const effect = acts.has(operation) ? 'unknown' : 'none';
    expect(await settled(clock, call)).toMatchObject({ code: 'service.abandoned', effect });
    expect(budget.ends).toEqual([{ kind: 'abandoned' }]);
  });

  test('a timeout keeps the request slot, a reset frees it', async () => {
    const late = await failureOn(operation, scripts.timeout);
    expect(late.harness.budget.ends).toEqual([{ kind: 'abandoned' }]);
    const reset = await failureOn(operation, scripts.connectionLost);
    expect(reset.harness.budget.ends.every(({ kind }) => kind === 'broken')).toBe(true);
  });

  test.each([
    ['nothing', ''],
    ['half a document', goodBodies[operation].slice(0, -3)],
    ['another type', '{"collectors":7,"targets":"x","upgrade":[],"id":{},"state":1,"messages":"x","records":{}}'],
    ['null', 'null'],
    ['an empty object', '{}'],
  ])('a response of %s is unreadable, except for a deletion (4.5)', async (_name, body) => {
    const world = harness([{ kind: 'response', status: 200, body }]);
    const result = await settled(world.clock, calls[operation](world));
    const unreadable = { code: 'service.responseInvalid', status: 200 };
    expect(result).toMatchObject(operation === 'deleteJob' ? { value: undefined } : unreadable);
  });
});

test('the response to a status is awaited for 15 s, or after 2 s until its slot is needed (B4)', async () => {
  for (const [yieldsAtMs, endsAtMs] of [
    [undefined, 15_000],
    [9_000, 9_000],
  ] as const) {
    const { clock, job, budget } = harness([{ kind: 'written' }]);
    const call = job.getStatus();
    await clock.advance(1_999);
    expect(budget.yielding).toHaveLength(0);
    await clock.advance(1);
    expect(budget.yielding).toHaveLength(1);
    if (yieldsAtMs !== undefined) clock.after(yieldsAtMs - clock.monotonic(), () => budget.yielding[0]?.());
    expect(await settled(clock, call)).toMatchObject({ code: 'service.timeout', effect: 'unknown' });
    expect([clock.monotonic(), budget.ends]).toEqual([endsAtMs, [{ kind: 'abandoned' }]]);
  }
});

test('reads succeed after a reset or a spurious 401, within their number of attempts', async () => {
  const { clock, client, transport } = harness([
    { kind: 'written', failure: 'connectionLost' },
    { kind: 'response', status: 401 },
    good('listBuilds'),
  ]);
  await expect(settled(clock, client.listBuilds())).resolves.toMatchObject({
    value: [{ version: '1.2-3', latest: true }],
  });
  expect(transport.written).toHaveLength(3);
});

test.each(['listBuilds', 'listCollectors', 'getTask', 'createTask'] as const)(
  'after a spurious 401, %s is repeated with the cookies of the response (10.1)',
  async (operation) => {
    const world = harness([
      { kind: 'response', status: 401, setCookies: ['NODE=7; Path=/'] },
      good(operation),
      good('listBuilds'),
    ]);
    await settled(world.clock, calls[operation](world));
    // The next call does not send these cookies.
    await settled(world.clock, world.client.listBuilds());
    expect(world.transport.written.map(({ headers }) => headers.cookie)).toEqual([undefined, 'NODE=7', undefined]);
  },
);

test('a request that waits for the request budget is not sent if another request finds the key rejected', async () => {
  const world = harness([
    { kind: 'response', status: 401 },
    { kind: 'response', status: 401, afterMs: 1_000 },
    good('getTask'),
  ]);
  const { clock, client, budget, transport } = world;
  const acquire = budget.acquire.bind(budget);
  let acquires = 0;
  budget.acquire = async (request) => {
    if (++acquires === 2) await sleep(clock, 500);
    return acquire(request);
  };
  const [first, second] = [client.listBuilds(), client.getTask('77')].map((call) => failureOf(world, call));
  expect([await first, await second]).toMatchObject([{ failure: 'unauthorized' }, { failure: 'unauthorized' }]);
  expect(transport.written).toHaveLength(2);
});

test('Retry-After, in seconds or as a date, is passed to the caller without waiting', async () => {
  const inSeconds = await failureOn('createTask', [
    { kind: 'response', status: 429, headers: { 'retry-after': '30' } },
  ]);
  expect(inSeconds.error.handling).toEqual({ kind: 'retryAfter', delayMs: 30_000 });
  expect(inSeconds.harness.budget.ends).toMatchObject([{ kind: 'answered', status: 429, retryAfterMs: 30_000 }]);
  const date = new Date(inSeconds.harness.clock.now() + 5_000).toUTCString();
  const asDate = await failureOn('listBuilds', [{ kind: 'response', status: 503, headers: { 'retry-after': date } }]);
  expect(asDate.error.handling).toEqual({ kind: 'retryAfter', delayMs: 5_000 });
});

test("a date in Retry-After refers to the server's clock", async () => {
  const headers = { date: 'Sun, 01 Nov 2020 00:00:00 GMT', 'retry-after': 'Sun, 01 Nov 2020 00:00:20 GMT' };
  const { error } = await failureOn('listBuilds', [{ kind: 'response', status: 503, headers }]);
  expect(error.handling).toEqual({ kind: 'retryAfter', delayMs: 20_000 });
});

test.each([
  [
    '{"id":"X","errors":[{"code":"searchjob.collector.not.alive","message":"asleep"}]}',
    'collector.not.alive',
    'asleep',
  ],
  ['{"status":400,"id":"X","code":"in.upgrading","message":"busy"}', 'collector.in.upgrading', 'busy'],
  ['{"code":"COLLECTOR.VERSION.INVALID"}', 'collector.version.invalid', '400'],
])('an error body %s is understood', async (body, failure, inMessage) => {
  const { error } = await failureOn('createTask', [{ kind: 'response', status: 400, body }]);
  expect(error).toMatchObject({ code: `service.${failure}`, serviceCode: failure });
  expect(error.message).toContain(inMessage);
});

test('an ambiguous code stays unchanged', async () => {
  const { error } = await failureOn('createTask', [{ kind: 'response', status: 400, body: '{"code":"invalid"}' }]);
  expect(error).toMatchObject({ code: 'service.badRequest', serviceCode: 'invalid' });
});

test.each([
  ['the creation of a job', 'createJob', 'PARSE.ERROR', 'parse.error'],
  ['the creation of a job', 'createJob', 'searchjob.invalid.timestamp.from', 'invalid.timestamp.from'],
  ['a page', 'listMessages', 'raw.messages.not.available', 'raw.messages.not.available'],
  ['a page', 'listRecords', 'not.an.aggregation.query', 'no.records.not.an.aggregation.query'],
] as const)('the code %s (%s) is recognised as %s', async (_name, operation, code, failure) => {
  const { error } = await failureOn(operation, [{ kind: 'response', status: 400, body: JSON.stringify({ code }) }]);
  expect(error).toMatchObject({ code: `service.${failure}`, serviceCode: failure });
});

test.each([
  ['createJob', 'parse.error', 'correct the query'],
  ['createJob', 'query.creation.error', 'correct the query'],
  ['listRecords', 'no.records.not.an.aggregation.query', 'the query has no aggregation: set results to Messages'],
  ['listMessages', 'raw.messages.not.available', 'the query contains an aggregation: set results to Records'],
  ['createJob', 'unknown.timezone', 'the service does not know this time zone'],
  ['createJob', 'invalid.timestamp.to', 'check that baseURL in the Secret is the address of the service itself'],
] as const)('errors of a query contain a remedy (%s, %s)', async (operation, code, advice) => {
  const { error } = await failureOn(operation, [refusal(code)]);
  expect(error.message).toContain(`; ${advice}`);
});

test('a 429 means the rate, and for the creation of a job also the number of jobs (10.5)', async () => {
  const reported = async (operation: Operation) =>
    (await failureOn(operation, [{ kind: 'response', status: 429 }])).error.message;
  expect(await reported('listBuilds')).toMatch(/; another client may be using the same user: lower requestsPerSecond/);
  expect(await reported('listBuilds')).toMatch(/, set user to the same name in all Secrets of the same user, or/);
  expect(await reported('listBuilds')).not.toMatch(/search jobs/);
  expect(await reported('createJob')).toMatch(
    / own; or the organisation may have reached its limit on active search jobs: wait/,
  );
});

test('every error that requires user action contains a remedy', () => {
  for (const operation of names) {
    for (const failure of requestFailures) {
      if (treatmentOf(operation, failure).handling !== 'stall') continue;
      const failed = { failure, address: 'https://service.test/api', status: 400, detail: 'detail' };
      expect(toServiceError(operation, failed).message, failure).toMatch(
        /\b(check|set|write|lower|put|correct|grant|renewed)\b/,
      );
    }
  }
});

test.each(pages)('400 jobid.invalid for %s means an unknown job, like 404 (7.3, 7.4)', async (operation) => {
  const { error } = await failureOn(operation, [refusal('jobid.invalid')]);
  expect(error).toMatchObject({ code: 'service.jobSilenced', status: 400, serviceCode: 'jobid.invalid' });
});

test('a 500 for a search job contains the advice about cookies only if the request had none (10.2)', async () => {
  const reported = async (setCookies?: readonly string[]) => {
    const world = harness([{ kind: 'response', status: 500 }]);
    return (await failureOf(world, world.jobOf(15_000, setCookies).getStatus())).message;
  };
  expect(await reported([])).toMatch(/ was answered with 500; .* check whether a proxy removes cookies$/);
  expect(await reported()).toMatch(/ was answered with 500$/);
});

test('messages do not contain cookies that the service repeats', async () => {
  const body = '{"code":"generic","message":"SESSION=canary-cookie is over, with canary-key"}';
  const { error } = await failureOn('getJob', [{ kind: 'response', status: 500, body }]);
  expect(error.message).toContain('SESSION=[secret] is over, with [secret]');
});

test('the deletion of an unknown job succeeds (4.5)', async () => {
  for (const step of [noJob, refusal('jobid.invalid')]) {
    const { clock, job, transport } = harness([step]);
    await expect(settled(clock, job.delete())).resolves.toMatchObject({ value: undefined });
    expect(transport.written).toHaveLength(1);
  }
});

test('the table repeats no request with an unknown effect, except a deletion', () => {
  for (const operation of names) {
    for (const failure of requestFailures) {
      const { effect, again } = treatmentOf(operation, failure);
      const mustNot = effect === 'unknown' && operation !== 'deleteJob';
      expect(mustNot ? again : 0).toBe(0);
    }
  }
});

describe('a response with a Content-Encoding', () => {
  const encoded: TransportStep = {
    kind: 'response',
    status: 200,
    body: '\u001f\u008b',
    headers: { 'content-encoding': 'gzip' },
  };

  test.each(names.filter((operation) => operation !== 'deleteJob'))('%s is reported as encoded', async (operation) => {
    const { error } = await failureOn(operation, [encoded]);
    expect(error).toMatchObject({ code: 'service.responseInvalid', reason: 'ResponseInvalid', status: 200 });
    expect(error.message).toContain(
      'the response has Content-Encoding "gzip", although the request asked for an uncompressed response',
    );
  });

  test('is accepted if its body is not read', async () => {
    const { job, clock } = harness([encoded]);
    expect(await settled(clock, job.delete())).not.toBeInstanceOf(Error);
  });

  test('identity is read', async () => {
    const response = { ...good('listBuilds'), headers: { 'content-encoding': 'Identity' } } as TransportStep;
    const world = harness([response]);
    expect(await settled(world.clock, calls.listBuilds(world))).not.toBeInstanceOf(Error);
  });
});
