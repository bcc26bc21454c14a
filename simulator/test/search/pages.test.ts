/** Tests message pages and record pages. */
import { describe, expect, test } from 'vitest';
import { messageFields } from '../../query/message-fields.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { PageScenario, SearchScenario } from '../../scenario/search-scenario.ts';
import type { Message } from '../row-data.ts';
import { hour, type JobFields, minute, SearchingService } from '../searching-service.ts';

const done = (
  order: JobFields = {},
  search: SearchScenario = {},
  scenario: Scenario = {},
  messages?: readonly Message[],
) => new SearchingService({ ...scenario, search: { duration: '0s', ...search } }, messages).job(order);

const counted = { query: '* | count by _sourceHost | sort by _sourceHost asc' };
const hosts: readonly Message[] = ['a', 'b', 'a', 'c', 'a', 'b'].map((host, index) => ({
  at: hour.from + index * 10 * minute,
  raw: `{"size": ${index}}`,
  fields: { _sourceHost: host },
}));

describe('a request for a page (7.4)', () => {
  const cases: readonly [string, string][] = [
    ['limit=1', 'searchjob.offset.missing'],
    ['', 'searchjob.offset.missing'],
    ['offset=&limit=0', 'searchjob.offset.missing'],
    ['offset=-1&limit=0', 'searchjob.offset.negative'],
    ['offset=0', 'searchjob.limit.missing'],
    ['offset=0&limit=', 'searchjob.limit.missing'],
    ['offset=0&limit=0', 'searchjob.limit.zero'],
    ['offset=0&limit=-1', 'searchjob.limit.negative'],
    ['offset=x&limit=1', 'parameter.invalid'],
    ['offset=0&limit=1.5', 'parameter.invalid'],
    ['offset=0&limit=99999999999999999999', 'parameter.invalid'],
  ];
  test.each(cases)('with ?%s gets %s, for messages and for records', (query, code) => {
    expect(done().page(query)).toMatchObject({ status: 400, code });
    expect(done(counted).records(query)).toMatchObject({ status: 400, code });
  });

  test('is refused for records of a query without aggregation', () => {
    expect(done().records()).toMatchObject({ status: 400, code: 'searchjob.no.records.not.an.aggregation.query' });
  });

  test('is checked for its parameters before the kind of query', () => {
    expect(done().records('limit=1').code).toBe('searchjob.offset.missing');
    expect(done(counted).page('limit=1').code).toBe('searchjob.offset.missing');
  });
});

describe('the messages of a page (2.5)', () => {
  test('are ordered newest first, as maps of strings, with descriptors of their fields', () => {
    const { status, json, headers } = done().page('offset=0&limit=2');
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'application/json' });
    expect(Object.keys(json)).toEqual(['warning', 'fields', 'messages']);
    expect(json.fields).toContainEqual({ name: '_messagetime', fieldType: 'long', keyField: false });
    expect(json.messages).toEqual([
      {
        map: {
          _messageid: '59',
          _messagetime: String(hour.from + 59 * minute),
          _receipttime: String(hour.from + 59 * minute),
          _size: '10',
          _raw: 'message 59',
        },
      },
      expect.anything(),
    ]);
  });

  const pages: readonly [string, PageScenario, string, readonly [number, number]][] = [
    ['begin at the offset', {}, 'offset=50&limit=5', [50, 5]],
    ['end with the last message', {}, 'offset=58&limit=10', [58, 2]],
    ['are none after the last message', {}, 'offset=60&limit=10', [60, 0]],
    ['are at most the maximum of the service, without an error', { maxMessages: 20 }, 'offset=10&limit=30', [10, 20]],
    ['are as many as fit into the maximum bytes', { maxBytes: 500 }, 'offset=0&limit=30', [0, 4]],
    ['are one if none fits into the maximum bytes', { maxBytes: 1 }, 'offset=3&limit=30', [3, 1]],
  ];
  test.each(pages)('%s', (_, scenario, query, [offset, rows]) => {
    const expected = Array.from({ length: rows }, (_row, index) => `message ${59 - offset - index}`);
    expect(done({}, { pages: scenario }).raws(query)).toEqual(expected);
  });

  test('are at most 10,000 (section 8)', () => {
    const many = Array.from({ length: 10_001 }, (_, index) => ({ at: hour.from + index, raw: `${index}` }));
    const job = done({}, {}, {}, many);
    expect(job.page('offset=0&limit=10001').json.messages).toHaveLength(10_000);
    expect(job.raws('offset=10000&limit=10001')).toEqual(['0']);
  });

  test('can be read while the job runs', () => {
    const service = new SearchingService();
    const job = service.job();
    service.after(3_000);
    expect(job.raws()).toEqual(['message 59', 'message 58', 'message 57']);
    service.after(4_000);
    expect(job.raws('offset=3&limit=5')).toEqual(['message 56']);
  });

  test('are not on any page of a job that has not started', () => {
    const job = new SearchingService({ search: { notStartedFor: '5s' } }).job();
    expect(job.page().json).toMatchObject({ fields: expect.any(Array), messages: [] });
  });

  test('stop at the message limit', () => {
    expect(done({}, { messageLimit: 7 }).raws()).toHaveLength(7);
  });

  test('have a total length that is known before they are sent', () => {
    const { response, text } = done().page();
    expect(response.body).toMatchObject({ bytes: Buffer.byteLength(text) });
  });

  test('have the fields of JSON with AutoParse (4.1), which can be searched from the start', () => {
    const parsed = done({ query: 'size=3', autoParsingMode: 'AutoParse' }, {}, {}, hosts).page();
    expect(parsed.json.messages).toEqual([{ map: expect.objectContaining({ size: '3', _sourceHost: 'c' }) }]);
    expect(parsed.json.fields).toContainEqual({ name: 'size', fieldType: 'string', keyField: false });
    expect(done({ query: 'size=3', autoParsingMode: 'Manual' }, {}, {}, hosts).page().json.messages).toEqual([]);
  });
});

describe('raw messages', () => {
  const hasRaw = (order: JobFields, pages: PageScenario = {}) => {
    const { status, code, json } = done(order, { pages }).page();
    if (status !== 200) return code;
    const named = json.fields.some(({ name }: { name: string }) => name === '_raw');
    const carried = json.messages.every(({ map }: { map: object }) => '_raw' in map);
    expect(named).toBe(carried);
    return carried;
  };
  const aggregation = { query: '* | count' };
  const cases: readonly [string, JobFields, PageScenario, unknown][] = [
    ['come with a search', {}, {}, true],
    [
      'do not come with a search that does not require them, if the scenario says so',
      {},
      { rawOfMessages: 'whereRequired' },
      false,
    ],
    [
      'do not come with a search that parses them, if the scenario says so',
      { query: '* | parse regex "(?<number>\\d+)"' },
      { rawOfMessages: 'whereRequired' },
      false,
    ],
    [
      'come with a search that requires them, if the scenario says so',
      { requiresRawMessages: true },
      { rawOfMessages: 'whereRequired' },
      true,
    ],
    [
      'that an aggregation does not require are an error (10.5)',
      aggregation,
      {},
      'searchjob.raw.messages.not.available',
    ],
    [
      'that an aggregation does not require are missing in its messages, if the scenario says so (10.5)',
      aggregation,
      { messagesOfAggregation: 'withoutRaw' },
      false,
    ],
    ['come with an aggregation that requires them (4.4)', { ...aggregation, requiresRawMessages: true }, {}, true],
  ];
  test.each(cases)('%s', (_, order, pages, expected) => {
    expect(hasRaw(order, pages)).toBe(expected);
  });
});

describe('the messages of a query with parse operators', () => {
  const parse = { query: '* | parse regex "size\\": (?<size>\\d+)"' };

  test('have the parsed fields', () => {
    const { json } = done(parse, {}, {}, hosts).page('offset=0&limit=2');
    expect(json.fields).toContainEqual({ name: 'size', fieldType: 'string', keyField: false });
    expect(json.messages.map(({ map }: { map: { size: string } }) => map.size)).toEqual(['5', '4']);
    expect(json.messages[0].map).toMatchObject({ _raw: '{"size": 5}', _sourceHost: 'b' });
  });

  test('lack the fields that the query hides', () => {
    const { json } = done({ query: `${parse.query} | fields size` }, {}, {}, hosts).page('offset=0&limit=1');
    expect(json.fields.map(({ name }: { name: string }) => name)).toContain('size');
    expect(json.fields.map(({ name }: { name: string }) => name)).not.toContain('_sourceHost');
    expect(Object.keys(json.messages[0].map).sort()).toEqual(
      json.fields
        .map(({ name }: { name: string }) => name)
        .filter((name: string) => name in json.messages[0].map)
        .sort(),
    );
  });

  test('are not found if an operator drops them', () => {
    const job = done({ query: `${parse.query} | where size > 3` }, {}, {}, hosts);
    expect(job.status()).toMatchObject({ messageCount: 2 });
    expect(job.raws()).toEqual(['{"size": 5}', '{"size": 4}']);
  });

  const many = Array.from({ length: 1_000 }, (_, index) => ({
    at: hour.from + index,
    raw: `{"size": ${index}, "text": "${'ü'.repeat(index % 40)}"}`,
  }));

  test('are divided into pages of the announced length', () => {
    const job = done(parse, { pages: { maxBytes: 60_000 } }, {}, many);
    const sizes: string[] = [];
    for (let turn = 0; sizes.length < many.length; turn++) {
      expect(turn).toBeLessThan(20);
      const { response, text, json } = job.page(`offset=${sizes.length}&limit=1000`);
      expect(response.body).toMatchObject({ bytes: Buffer.byteLength(text) });
      expect(Buffer.byteLength(JSON.stringify(json.messages))).toBeLessThanOrEqual(60_002);
      sizes.push(...json.messages.map(({ map }: { map: { size: string } }) => map.size));
    }
    expect(sizes).toEqual(many.map((_, index) => String(999 - index)));
  });

  test('have a page with one message if none fits', () => {
    const { json } = done(parse, { pages: { maxBytes: 1 } }, {}, many).page('offset=3&limit=9');
    expect(json.messages.map(({ map }: { map: { size: string } }) => map.size)).toEqual(['996']);
  });

  const json = ['{"a": 1}', '{"b": "ü\\""}', 'neither'].map((raw, index) => ({ at: hour.from + index, raw }));
  const members = (query: string, order: JobFields = {}) => {
    const { response, text, json: body } = done({ query, ...order }, {}, {}, json).page();
    expect(response.body).toMatchObject({ bytes: Buffer.byteLength(text) });
    const names: string[] = body.fields.map(({ name }: { name: string }) => name);
    return body.messages.map(({ map }: { map: Record<string, string> }) => {
      const parsed = names.filter((name) => !name.startsWith('_')).map((name) => [name, map[name]]);
      return Object.fromEntries(parsed);
    });
  };

  test('have all fields of any message on the page, with "" for missing fields (10.3)', () => {
    const expected = [
      { a: '', b: '' },
      { a: '', b: 'ü"' },
      { a: '1', b: '' },
    ];
    expect(members('* | json auto')).toEqual(expected);
    expect(members('*', { autoParsingMode: 'AutoParse' })).toEqual(expected);
  });

  test('have all fields that the query can parse, with "" for missing fields', () => {
    expect(members('* | parse regex "(?<figure>\\d)" nodrop')).toEqual([
      { figure: '' },
      { figure: '' },
      { figure: '1' },
    ]);
  });

  const standardFields = messageFields.map(({ name }) => name).join(', ');
  test.each(['fields a, b', `fields - ${standardFields}`])('can have only missing fields after %s', (operator) => {
    expect(members(`* | json auto | ${operator}`)).toEqual([
      { a: '', b: '' },
      { a: '', b: 'ü"' },
      { a: '1', b: '' },
    ]);
  });
});

describe('the records of a page (2.6)', () => {
  test('have the schema of the aggregation, and strings as values', () => {
    const { status, json } = done(counted, {}, {}, hosts).records();
    expect(status).toBe(200);
    expect(json).toEqual({
      warning: '',
      fields: [
        { name: '_sourceHost', fieldType: 'string', keyField: true },
        { name: '_count', fieldType: 'int', keyField: false },
      ],
      records: [
        { map: { _sourceHost: 'a', _count: '3' } },
        { map: { _sourceHost: 'b', _count: '2' } },
        { map: { _sourceHost: 'c', _count: '1' } },
      ],
    });
  });

  test('are divided into pages', () => {
    const page = (query: string, pages: PageScenario = {}) =>
      done(counted, { pages }, {}, hosts)
        .records(query)
        .json.records.map(({ map }: { map: { _sourceHost: string } }) => map._sourceHost);
    expect(page('offset=1&limit=1')).toEqual(['b']);
    expect(page('offset=0&limit=9', { maxRecords: 2 })).toEqual(['a', 'b']);
    expect(page('offset=3&limit=9')).toEqual([]);
  });

  test('can be computed from parsed fields', () => {
    const query =
      '* | parse regex "size\\": (?<size>\\d+)" | where size > 1 | count by _sourceHost | sort by _sourceHost asc';
    const job = done({ query }, {}, {}, hosts);
    expect(job.status()).toMatchObject({ messageCount: 4, recordCount: 3 });
    expect(job.records().json.records.map(({ map }: { map: { _count: string } }) => map._count)).toEqual([
      '2',
      '1',
      '1',
    ]);
  });

  test('are partial while the query runs', () => {
    const service = new SearchingService({}, hosts);
    const job = service.job(counted);
    service.after(20_000);
    expect(job.records().json.records).toEqual([
      { map: { _sourceHost: 'a', _count: '1' } },
      { map: { _sourceHost: 'b', _count: '1' } },
    ]);
    expect(job.status()).toMatchObject({ messageCount: 2, recordCount: 2 });
  });

  test('are wrong until the query is done if the scenario says so (10.3)', () => {
    const service = new SearchingService({ search: { pages: { earlyRecords: 'wrong' } } }, hosts);
    const job = service.job(counted);
    service.after(59_999);
    expect(job.records().json.records[0].map).toEqual({ _sourceHost: 'a', _count: '5' });
    service.after(60_000);
    expect(job.records().json.records[0].map).toEqual({ _sourceHost: 'a', _count: '3' });
  });

  test('have large numbers in another notation if the scenario says so (10.3)', () => {
    const times = { from: 0, to: 2_000_000_000_000 };
    const figures = (largeFigures: 'plain' | 'scientific', newest: number) =>
      done({ query: '* | count, max(_messagetime) as newest', ...times }, { pages: { largeFigures } }, {}, [
        { at: newest, raw: 'x' },
      ]).records().json.records;
    expect(figures('plain', 1_793_000_000_000)).toEqual([{ map: { _count: '1', newest: '1793000000000' } }]);
    expect(figures('scientific', 1_793_000_000_000)).toEqual([{ map: { _count: '1', newest: '1.793E12' } }]);
    expect(figures('scientific', 10_000_000)).toEqual([{ map: { _count: '1', newest: '1.0E7' } }]);
    expect(figures('scientific', 9_999_999)).toEqual([{ map: { _count: '1', newest: '9999999' } }]);
  });

  test('have large numbers in grouping fields in the usual notation', () => {
    const pages = { largeFigures: 'scientific' } as const;
    const { records } = done({ query: '* | timeslice 1h | count by _timeslice' }, { pages }).records().json;
    expect(records).toEqual([{ map: { _timeslice: String(hour.from), _count: '60' } }]);
  });

  test('exist in addition to messages (4.4)', () => {
    const job = done({ ...counted, requiresRawMessages: true }, {}, {}, hosts);
    expect(job.page().json.messages).toHaveLength(6);
    expect(job.records().json.records).toHaveLength(3);
  });
});

describe('faults', () => {
  test('a page can be empty although more rows exist (10.3)', () => {
    const service = new SearchingService({
      search: { duration: '0s' },
      faults: { empty: { kind: 'shortPage', nth: [1] } },
    });
    const job = service.job();
    expect(job.status().messageCount).toBe(60);
    expect(job.page().json).toMatchObject({ fields: expect.any(Array), messages: [] });
    expect(job.page().json.messages).toHaveLength(60);
  });

  test('a page can be short', () => {
    const faults = { short: { kind: 'shortPage', rows: 3 } } as const;
    expect(done({}, {}, { faults }).raws('offset=1&limit=9')).toEqual(['message 58', 'message 57', 'message 56']);
    expect(
      done(counted, {}, { faults: { short: { kind: 'shortPage', rows: 1 } } }, hosts).records().json.records,
    ).toHaveLength(1);
  });

  test('a page can have values of other types', () => {
    const { json } = done({}, {}, { faults: { odd: { kind: 'wrongTypes', operations: ['listMessages'] } } }).page();
    expect(json.messages[0].map._raw).toEqual({ text: 'message 59' });
  });
});
