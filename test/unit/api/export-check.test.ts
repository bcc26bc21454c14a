import { describe, expect, test } from 'vitest';
import { renderExplanation } from '../../../src/api/finding.ts';
import { renderPath } from '../../../src/api/json-path.ts';
import { validateResource } from '../../../src/api/validation.ts';

const today = Date.UTC(2026, 10, 21);
const range = { from: '2026-10-01T00:00:00', to: '2026-10-02T00:00:00', timeZone: 'Europe/Berlin' };
const volume = { destination: { volume: { name: 'exports' } } };
const store = { bucket: 'log-exports', credentialsSecretRef: { name: 'export-store' } };

function exportOf(spec: object, metadata: object = {}): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: 'errors', ...metadata },
    spec: { credentialsSecretRef: { name: 's' }, query: 'error', timeRange: range, ...volume, ...spec },
  };
}

/** Returns the findings of `validate`, each as `severity path: message`. The current time is a fixed day in 2026. */
function say(spec: object, wallMs: number | undefined = today): readonly string[] {
  return validateResource('SearchExport', exportOf(spec), undefined, wallMs).map(
    (finding) => `${finding.severity} ${renderPath(finding.path)}: ${renderExplanation(finding)}`,
  );
}

const during = (from: string, to: string, timeZone?: string) => ({ timeRange: { from, to, timeZone } });
const to = (s3: object) => ({ destination: { s3: { ...store, ...s3 } } });

describe('an export is rejected because of', () => {
  test.each([
    ['a day that does not exist', during('2026-02-30T00:00:00Z', '2026-03-01T00:00:00Z'), 'from: .*does not exist'],
    ['a range that ends where it begins', during('1790812800000', '1790812800000'), 'to: .*not after the start'],
    [
      'a range that ends before it begins',
      during('2026-10-02T00:00:00Z', '2026-10-01T00:00:00Z'),
      'to: .*use a later time',
    ],
    ['an invalid offset', during('2026-10-02T00:00:00+25:00', range.to, 'UTC'), 'from: .*an invalid offset'],
    [
      'a local time that a clock change skips (E12)',
      during('2026-03-29T02:30:00', '2026-03-29T03:30:00', 'Europe/Berlin'),
      'to: .*not after the start, .*: the local time 2026-03-29T02:30:00 does not exist, .*; use a local time that exists$',
    ],
    [
      'an unknown time zone',
      during(range.from, range.to, 'Berlin'),
      'timeZone: .*not a known time zone.*use Europe/Berlin',
    ],
  ])('%s', (_, spec, expected) => {
    const said = say(spec);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(new RegExp(`^error spec.timeRange.${expected}`));
  });

  test('reports an unknown time zone together with other errors', () => {
    const said = say({
      ...during(range.from, range.to, 'Europe/Berln'),
      parallelism: 99,
      output: { compression: 'Lz4' },
    });
    expect(said.map((line) => line.split(':')[0])).toEqual(
      ['spec.parallelism', 'spec.output.compression', 'spec.timeRange.timeZone'].map((place) => `error ${place}`),
    );
    expect(say({ ...during('x', range.to, 'Berln'), parallelism: 99 })).toHaveLength(3);
    expect(say({ timeRange: 5, parallelism: 99 })).toHaveLength(2);
  });

  test.each([
    ['1h', 'use seconds, for example 3600'],
    ['60', 'use 60 without quotes'],
  ])('a number of seconds that is %s', (ttlSecondsAfterFinished, expected) => {
    expect(say({ ttlSecondsAfterFinished })).toEqual([expect.stringContaining(expected)]);
  });

  test('an endpoint that is not an address', () => {
    expect(say(to({ endpoint: 'https://[:::]' }))).toEqual([
      'error spec.destination.s3.endpoint: "https://[:::]" is not an address; use an address such as https://store.example.com',
    ]);
  });
});

describe('an export is warned about', () => {
  test.each([
    [
      'a local time that occurs twice (E12)',
      during('2026-10-25T02:30:00', '2026-10-26T00:00:00', 'Europe/Berlin'),
      'spec.timeRange.from: .*occurs twice',
    ],
    [
      'a local time that never occurs (E12)',
      during('2026-03-29T02:30:00', '2026-03-30T00:00:00', 'Europe/Berlin'),
      'spec.timeRange.from: the local time',
    ],
    [
      'a range in the future',
      during('2026-12-01T00:00:00Z', '2026-12-02T00:00:00Z'),
      'spec.timeRange.from: .*no search starts before 2026-12-01T00:00:00.000Z',
    ],
    [
      'an end in the future (E11)',
      during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'),
      'spec.timeRange.to: .*not complete before 2026-12-01T00:03:00.000Z',
    ],
    [
      'messages of an aggregation (E8)',
      { query: '* | count by _sourceHost' },
      'spec.query: the operator count is not known.*one search job',
    ],
    [
      'a misspelt operator (E8)',
      { query: '* | wher a = "b"' },
      'spec.query: the operator wher is not known to handle each row separately \\(did you mean where\\?\\), so',
    ],
    [
      'a query that only selects rows (E8)',
      { query: '* | sort by a | limit 1000' },
      'spec.query: the operator sort is not known.*; leave out operators that sort or limit rows if you want',
    ],
    [
      'a query that selects and aggregates rows (E8)',
      { query: '* | limit 5 | count' },
      'use only operators such as where and parse, .*, or set spec.results to Records if the query aggregates rows$',
    ],
    [
      'a subquery (E8)',
      { query: '_id in [subquery: x]' },
      'spec.query: the query may contain a subquery.*as many rows as the service allows',
    ],
    ['records without an aggregation', { results: 'Records' }, 'spec.results: the query has no aggregation'],
    [
      'records with raw messages',
      { query: '* | count', results: 'Records', requiresRawMessages: true },
      'spec.requiresRawMessages: an export of records',
    ],
    ['messages without raw messages', { requiresRawMessages: false }, 'spec.requiresRawMessages: .*leaves _raw out'],
    [
      'the same field twice',
      { output: { fields: ['_raw', 'a', '_raw'] } },
      'spec.output.fields\\[2\\]: "_raw" is listed',
    ],
    [
      'spaces around a field name',
      { output: { fields: [' a'] } },
      'spec.output.fields\\[0\\]: " a" begins or ends with a space.*use a$',
    ],
    [
      'a store without credentials',
      { destination: { s3: { bucket: 'log-exports' } } },
      'spec.destination.s3: .*--allow-ambient-credentials',
    ],
    [
      'an insecure store',
      to({ endpoint: 'http://store.example.com', insecure: true }),
      'spec.destination.s3.endpoint: sends',
    ],
    ['insecure without an endpoint', to({ insecure: true }), 'spec.destination.s3.insecure: has no effect'],
    [
      'insecure beside https',
      to({ endpoint: 'https://store.example.com', insecure: true }),
      'spec.destination.s3.insecure: has no effect',
    ],
    [
      'a Service of the cluster without path-style addresses',
      to({ endpoint: 'https://minio.storage.svc:9000' }),
      'spec.destination.s3.endpoint: .*the host log-exports.minio.storage.svc, which .*; set forcePathStyle',
    ],
    ['a bare host name without path-style addresses', to({ endpoint: 'https://store:9000' }), 'set forcePathStyle'],
    ['a storage class that needs a restore', to({ storageClass: 'DEEP_ARCHIVE' }), 's3.storageClass: .*use GLACIER_IR'],
    [
      'a resource that is deleted immediately',
      { ttlSecondsAfterFinished: 0 },
      'spec.ttlSecondsAfterFinished: .*immediately',
    ],
    ['a resource that is deleted soon', { ttlSecondsAfterFinished: 59 }, 'spec.ttlSecondsAfterFinished: .*59s after'],
  ])('%s', (_, spec, expected) => {
    const said = say(spec);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(new RegExp(`^warning .*${expected}`));
  });

  test('a deadline before the end of the range', () => {
    const spec = { ...during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'), activeDeadlineSeconds: 86_400 };
    expect(say(spec).at(-1)).toMatch(/^warning spec.activeDeadlineSeconds: .* before 2026-12-01T00:03:00.000Z/);
  });

  test('a deadline that is after the end of the range, but before logfleet can search that end', () => {
    const spec = during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z');
    const tenDays = 10 * 86_400;
    expect(say({ ...spec, activeDeadlineSeconds: tenDays + 179 }).at(-1)).toContain('spec.activeDeadlineSeconds');
    expect(say({ ...spec, activeDeadlineSeconds: tenDays + 180 }).at(-1)).toContain('spec.timeRange.to');
  });

  test('a settleDelay that is shorter than usual delays of messages', () => {
    const spec = { ...during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'), settleDelay: '10s' };
    expect(say(spec).at(-1)).toMatch(
      /^warning spec.settleDelay: the export misses messages that arrive at the service later than 10s/,
    );
  });
});

describe('an export has no findings with', () => {
  test.each<[string, object]>([
    ['a short settleDelay for a range in the past', { settleDelay: '0s' }],
    ['times in milliseconds without a time zone', during('1790812800000', '1790899200000')],
    [
      'a time zone that its times do not need',
      during('2026-10-01T00:00:00Z', '2026-10-02T00:00:00+02:00', 'Europe/Berlin'),
    ],
    ['records of an aggregation', { query: '* | count by _sourceHost', results: 'Records' }],
    ['an operator that works row by row', { query: '* | where _size > 1000 | fields _raw' }],
    ['a store with its own address', to({ endpoint: 'https://store.example.com' })],
    [
      'a Service of the cluster with path-style addresses',
      to({ endpoint: 'https://minio.storage.svc', forcePathStyle: true }),
    ],
    ['members that are null', { output: null, limits: null, requiresRawMessages: null, ttlSecondsAfterFinished: null }],
  ])('%s', (_, spec) => {
    expect(say(spec)).toEqual([]);
  });

  test('a future range is accepted if the current time is unknown', () => {
    const said = validateResource('SearchExport', exportOf(during('2099-01-01T00:00:00Z', '2099-01-02T00:00:00Z')));
    expect(said).toEqual([]);
  });
});

describe('a change', () => {
  const change = (before: object, after: object) =>
    validateResource('SearchExport', exportOf(after), exportOf(before)).map(
      (finding) => `${finding.severity} ${renderPath(finding.path)}: ${renderExplanation(finding)}`,
    );

  test.each<[string, object, object]>([
    ['spec.query', {}, { query: 'warning' }],
    ['spec.timeRange', {}, { timeRange: { ...range, to: '2026-10-03T00:00:00' } }],
    ['spec.timeRange', {}, { timeRange: { ...range, timeZone: 'UTC' } }],
    ['spec.byReceiptTime', {}, { byReceiptTime: true }],
    ['spec.autoParsingMode', {}, { autoParsingMode: 'AutoParse' }],
    ['spec.results', {}, { results: 'Records', query: 'error' }],
    ['spec.requiresRawMessages', {}, { requiresRawMessages: false }],
    ['spec.requiresRawMessages', { requiresRawMessages: false }, {}],
    ['spec.output', {}, { output: { format: 'CSV' } }],
    ['spec.output', { output: { format: 'CSV' } }, { output: { format: 'CSV', csv: { formulaGuard: false } } }],
    ['spec.output', {}, { output: { fields: ['_raw'] } }],
    ['spec.destination', {}, { destination: { volume: { name: 'exports', path: 'audit' } } }],
    ['spec.destination', {}, { destination: { s3: store } }],
  ])('of %s is rejected', (path, before, after) => {
    const errors = change(before, after).filter((said) => said.startsWith('error'));
    expect(errors).toEqual([expect.stringMatching(`^error ${path}: cannot be changed.*; create another SearchExport`)]);
  });

  test.each<[string, object, object]>([
    ['of speed and limits', { parallelism: 1 }, { parallelism: 8, limits: { maxMessages: 5 }, settleDelay: '5m' }],
    [
      'of deadline, deletion and pause',
      {},
      { activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 86_400, paused: true },
    ],
    ['of the credentials', {}, { credentialsSecretRef: { name: 'another' } }],
    [
      'that writes the default values',
      {},
      { results: 'Messages', requiresRawMessages: true, output: { format: 'NDJSON' } },
    ],
  ])('%s is accepted', (_, before, after) => {
    expect(change(before, after)).toEqual([]);
  });
});
