/** Tests generated messages: their number, sizes and variety. */
import { describe, expect, test } from 'vitest';
import { textOf } from '../../base/body.ts';
import type { FieldCase } from '../../log-data/field-case.ts';
import type { MessageSearch } from '../../log-data/log-data.ts';
import { madeUpData } from '../../log-data/made-up/made-up-data.ts';
import { type MadeUpOptions, madeUpSettings } from '../../log-data/made-up/made-up-settings.ts';
import { parseQuery } from '../../query/query.ts';
import type { MessageFilter, MessageRow } from '../../query/row.ts';
import { describeLogData } from './conformance.ts';
import { everything } from './plain-search.ts';

const second = 1_000;
const hour = 3_600 * second;
const fromMs = Date.UTC(2026, 0, 1);
const toMs = fromMs + 60 * second;
const yearMs = 365 * 24 * hour;
const infinite = Number.POSITIVE_INFINITY;

const small: MadeUpOptions = {
  fromMs,
  toMs,
  amount: { perSecond: 120 },
  variety: 80,
  oddShare: 0.3,
  loneSurrogateShare: 0.1,
  receipt: { promptMs: 500, lateShare: 0.05, lateMs: 12 * second },
};

const dataOf = (options: Partial<MadeUpOptions> = {}) => madeUpData(madeUpSettings({ ...small, ...options }));
const sampleOf = (options: Partial<MadeUpOptions>) => ({ data: dataOf(options), fromMs, toMs: toMs + 13 * second });

describeLogData('made-up messages', sampleOf({}));
describeLogData(
  'generated messages with dense milliseconds, groups and large messages',
  sampleOf({
    amount: { messages: 9_000 },
    dense: [
      { atMs: fromMs + 30 * second, count: 4_500 },
      { atMs: fromMs + 30 * second + 1, count: 10 },
      { atMs: toMs - 1, count: 700 },
      { atMs: fromMs, count: 1 },
    ],
    crowds: { share: 0.3, count: 50 },
    size: { largeShare: 0.001 },
  }),
);
describeLogData(
  '200 generated messages, received within milliseconds',
  sampleOf({
    amount: { messages: 200 },
    receipt: { promptMs: 1, lateShare: 0.3, lateMs: 3 },
    fieldCase: 'camel',
  }),
);

/** Returns all messages in a range. */
function searched(
  options: Partial<MadeUpOptions>,
  range: { fromMs: number; toMs: number },
  filter = everything,
): MessageSearch {
  const search = dataOf(options).search({ ...range, byReceiptTime: false }, filter);
  search.advance(range.fromMs, infinite);
  return search;
}

/** Returns a function that counts the generated messages in the time range [countedFromMs, countedToMs). */
function counting(options: Partial<MadeUpOptions>): (countedFromMs: number, countedToMs: number) => number {
  const data = dataOf(options);
  return (countedFromMs, countedToMs) => {
    const search = data.search({ fromMs: countedFromMs, toMs: countedToMs, byReceiptTime: false }, everything);
    search.advance(countedFromMs, infinite);
    return search.found;
  };
}

/** Returns the JSON of all messages in the minute. */
const json = (options: Partial<MadeUpOptions>) =>
  textOf(searched(options, { fromMs, toMs }).page(0, infinite, infinite, true));

type MadeUpFields = Readonly<Record<string, string>>;

const maps = (options: Partial<MadeUpOptions>): readonly MadeUpFields[] =>
  (JSON.parse(`[${json(options)}]`) as { readonly map: MadeUpFields }[]).map(({ map }) => map);

test('no message is received later than lateMs after its time, even if promptMs is equal', () => {
  const receipt = { promptMs: 3, lateShare: 0.5, lateMs: 3 };
  const delays = maps({ receipt }).map(({ _messagetime, _receipttime }) => Number(_receipttime) - Number(_messagetime));
  expect(new Set(delays)).toEqual(new Set([0, 1, 2, 3]));
});

describe('the number of messages', () => {
  const dense = [
    { atMs: fromMs + 7, count: 150_000 },
    { atMs: fromMs + 20 * second, count: 3 },
  ];

  test.each<[string, Partial<MadeUpOptions>, number]>([
    ['follows a rate', { amount: { perSecond: 10 } }, 600],
    ['is the stated total', { amount: { messages: 12_345 } }, 12_345],
    ['can be one', { amount: { messages: 1 } }, 1],
    ['can be zero', { amount: { messages: 0 } }, 0],
    ['is the stated total, including dense milliseconds', { amount: { messages: 200_000 }, dense }, 200_000],
    ['follows a rate, plus dense milliseconds', { amount: { perSecond: 1_000 }, dense }, 210_001],
    ['can be that of the dense milliseconds alone', { amount: { messages: 150_003 }, dense }, 150_003],
  ])('%s', (_, options, count) => {
    const range = { fromMs: fromMs - hour, toMs: toMs + hour };
    expect(searched(options, range).found).toBe(count);
    expect(searched(options, { fromMs, toMs }).found).toBe(count);
  });

  test('a dense millisecond has exactly its stated messages', () => {
    const count = counting({ amount: { perSecond: 1_000 }, dense });
    expect(count(fromMs + 7, fromMs + 8)).toBe(150_000);
    expect(count(fromMs + 20 * second, fromMs + 20 * second + 1)).toBe(3);
  });

  test('messages are spread evenly', () => {
    const count = counting({ amount: { perSecond: 1_000 } });
    for (let startMs = fromMs; startMs < toMs; startMs += 10 * second) {
      expect(count(startMs, startMs + 10 * second)).toBeGreaterThan(9_500);
      expect(count(startMs, startMs + 10 * second)).toBeLessThan(10_500);
    }
  });

  test('messages are spread evenly between dense milliseconds', () => {
    const many = Array.from({ length: 29 }, (_, index) => ({ atMs: fromMs + (index + 1) * 2 * second, count: 1 }));
    const count = counting({ amount: { messages: 3_029 }, dense: many });
    const beside = many.flatMap(({ atMs }) => [count(atMs - 1, atMs), count(atMs + 1, atMs + 2)]);
    expect(Math.max(...beside)).toBeLessThanOrEqual(3);
  });

  test('includes the specified groups with a common millisecond', () => {
    const largest = (options: Partial<MadeUpOptions>) => {
      const counts = new Map<string, number>();
      for (const { _messagetime = '' } of maps(options)) counts.set(_messagetime, (counts.get(_messagetime) ?? 0) + 1);
      const crowded = [...counts.values()].filter((count) => count >= 40);
      return crowded.reduce((sum, count) => sum + count, 0) / 7_200;
    };
    expect(largest({ crowds: { share: 0.5, count: 40 } })).toBeGreaterThan(0.35);
    expect(largest({ crowds: { share: 0.5, count: 40 } })).toBeLessThan(0.65);
    expect(largest({})).toBe(0);
  });

  test('a year with a thousand messages per second has all of them', () => {
    const year = { ...small, toMs: fromMs + yearMs, amount: { perSecond: 1_000 } };
    const data = madeUpData(madeUpSettings(year));
    const search = data.search({ fromMs, toMs: year.toMs, byReceiptTime: false }, everything);
    search.advance(fromMs, infinite);
    expect(search.found).toBe(31_536_000_000);
    const range = { fromMs: fromMs + yearMs / 2, toMs: fromMs + yearMs / 2 + 5 * second, byReceiptTime: false };
    const few = data.search(range, everything);
    few.advance(range.fromMs, infinite);
    const newer = data.search({ fromMs: range.toMs, toMs: year.toMs, byReceiptTime: false }, everything);
    newer.advance(fromMs, infinite);
    const offset = newer.found;
    expect(textOf(search.page(offset, few.found, infinite, true))).toBe(textOf(few.page(0, infinite, infinite, true)));
    const newest = data.search({ fromMs: year.toMs - second, toMs: year.toMs, byReceiptTime: false }, everything);
    newest.advance(fromMs, infinite);
    expect(textOf(search.page(0, newest.found, infinite, true))).toBe(textOf(newest.page(0, infinite, infinite, true)));
    const around = timesOf(search, offset - 100, few.found + 200);
    const isWithin = (timeMs: number) => timeMs >= range.fromMs && timeMs < range.toMs;
    expect(around.map(isWithin)).toEqual(around.map((_, index) => index >= 100 && index < 100 + few.found));
    expect(around).toEqual(around.toSorted((left, right) => right - left));
  });
});

function timesOf(search: MessageSearch, offset: number, limit: number): readonly number[] {
  const json = textOf(search.page(offset, limit, infinite, false));
  return [...json.matchAll(/"_messagetime":"(\d+)"/g)].map((match) => Number(match[1]));
}

describe('the messages', () => {
  test('are equal for equal seeds, and different for different seeds', () => {
    const once = json({ seed: 5 });
    expect(once === json({ seed: 5 })).toBe(true);
    const others = new Set(maps({ seed: 6 }).map(({ _messageid }) => _messageid));
    expect(maps({ seed: 5 }).some(({ _messageid }) => others.has(_messageid))).toBe(false);
    const texts = new Set(maps({ seed: 6 }).map(({ _raw }) => _raw));
    expect(maps({ seed: 5 }).some(({ _raw }) => texts.has(_raw))).toBe(false);
  });

  test('have unique 64-bit ids, some of them negative', () => {
    const range = { fromMs, toMs };
    const text = textOf(searched({ amount: { messages: 60_000 } }, range).page(0, infinite, infinite, false));
    const ids = [...text.matchAll(/"_messageid":"(-?\d+)"/g)].map((match) => match[1] as string);
    expect(new Set(ids).size).toBe(60_000);
    expect(ids.every((id) => BigInt.asIntN(64, BigInt(id)) === BigInt(id))).toBe(true);
    expect(ids.filter((id) => id.startsWith('-')).length).toBeGreaterThan(15_000);
    expect(ids.filter((id) => !id.startsWith('-')).length).toBeGreaterThan(15_000);
    const blocks = new Set([...text.matchAll(/"_blockid":"(-\d+)"/g)].map((match) => BigInt(match[1] as string)));
    expect([...blocks].every((id) => BigInt.asIntN(64, id) === id)).toBe(true);
  });

  test('are received soon, or late within bounds, and never before their time', () => {
    const delaysMs = maps({}).map(({ _receipttime, _messagetime }) => Number(_receipttime) - Number(_messagetime));
    expect(Math.min(...delaysMs)).toBe(0);
    expect(Math.max(...delaysMs)).toBeLessThanOrEqual(12 * second);
    const late = delaysMs.filter((delayMs) => delayMs > 500).length / delaysMs.length;
    expect(late).toBeGreaterThan(0.03);
    expect(late).toBeLessThan(0.07);
  });

  test('have all kinds of JSON escapes and UTF-8 characters', () => {
    const text = json({ variety: 400 });
    const forms = [
      '\\"',
      '\\\\',
      '\\n',
      '\\t',
      '\\r',
      '\\u0000',
      '\\u0007',
      '\\/',
      '\\u00e9',
      '\\ud83d\\ude00',
      '\\ud800',
    ];
    const characters = ['\u007f', 'é', '漢', '😀', '\u2028', '\u2029', '</script>'];
    expect([...forms, ...characters].filter((wanted) => !text.includes(wanted))).toEqual([]);
    expect(json({ oddShare: 0, loneSurrogateShare: 0 }).match(/[^\x20-\x7e]|\\u/)).toBeNull();
  });

  test('have the specified mean size, and the specified fraction and maximum size of large messages', () => {
    const mean = Buffer.byteLength(json({ variety: 1_000 })) / 7_200;
    expect(mean).toBeGreaterThan(850);
    expect(mean).toBeLessThan(1_000);
    const search = searched({ amount: { perSecond: 20 }, size: { largeShare: 0.05 } }, { fromMs, toMs });
    const sizes = Array.from({ length: search.found }, (_, index) => search.page(index, 1, infinite, true).bytes);
    const large = sizes.filter((bytes) => bytes > 10_000);
    expect(large.length / sizes.length).toBeGreaterThan(0.03);
    expect(large.length / sizes.length).toBeLessThan(0.07);
    expect(Math.max(...large)).toBeLessThanOrEqual(256 * 1024);
    expect(Math.max(...large)).toBeGreaterThan(240 * 1024);
  });

  test.each<[FieldCase, string, string]>([
    ['specified', '_messagetime', '_sourceName'],
    ['camel', '_messageTime', '_sourceName'],
    ['lower', '_messagetime', '_sourcename'],
  ])('their field names are spelled as the setting says: %s (10.3)', (fieldCase, time, source) => {
    const { fields } = dataOf({ fieldCase });
    expect(fields.map(({ name }) => name)).toEqual(expect.arrayContaining([time, source]));
    expect(Object.keys(maps({ fieldCase })[0] ?? {})).toEqual(fields.map(({ name }) => name));
  });
});

describe('queries', () => {
  test.each([
    'error',
    'NOT error',
    '_sourceCategory=prod/*',
    '_sourceCategory=staging/*/json "level"',
    '* | parse regex "status=(?<status>\\d+)" | where status >= 500',
    '* | json auto | where user.plan = "pro" and duration_ms > 1000',
    '* | parse regex "\\" (?<status>\\d{3}) (?<bytes>\\d+) " | where status = 404',
    '_messageid=-*',
    `* | where _messagetime >= ${fromMs + 30 * second}`,
  ])('%s finds some, and not all', (text) => {
    const { filter, transform } = parseQuery(text);
    const whole: MessageFilter = {
      reads: new Set([...filter.reads, ...(transform?.reads ?? [])]),
      matches: (row) => filter.matches(row) && (transform === undefined || transform.apply(row) !== undefined),
    };
    const { found } = searched({ variety: 1_000, amount: { perSecond: 300 } }, { fromMs, toMs }, whole);
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(18_000);
  });

  test('an aggregation over a year counts every match', () => {
    const year = { ...small, toMs: fromMs + yearMs, amount: { perSecond: 1_000 } };
    const query = parseQuery('error | count by _sourceCategory');
    const aggregation = query.aggregate?.();
    const search = madeUpData(madeUpSettings(year)).search(
      { fromMs, toMs: year.toMs, byReceiptTime: false },
      query.filter,
    );
    const each = (row: MessageRow, times: number) => aggregation?.add(row, times);
    search.advance(fromMs, infinite, { each, reads: query.reads });
    const { fields, records } = aggregation?.table() ?? { fields: [], records: [] };
    const column = fields.findIndex(({ name }) => name === '_count');
    expect(records.length).toBeGreaterThan(1);
    expect(records.reduce((sum, record) => sum + Number(record[column]), 0)).toBe(search.found);
  });

  test('a filter that reads an undeclared field throws', () => {
    const search = () => searched({}, { fromMs, toMs }, { reads: new Set(), matches: (row) => row.messageTimeMs > 0 });
    expect(search).toThrow('_messagetime is read, but is not declared in reads');
    const field = () =>
      searched({}, { fromMs, toMs }, { reads: new Set(), matches: (row) => row.field('_messageid') === '' });
    expect(field).toThrow('_messageid is read, but is not declared in reads');
  });
});
