import { describe, expect, test } from 'vitest';
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

/** What `validate` says on a day of 2026 about an export with these members, as `severity path: message`. */
function say(spec: object, wallMs: number | undefined = today): readonly string[] {
  return validateResource('SearchExport', exportOf(spec), undefined, wallMs).map(
    ({ severity, path, message }) => `${severity} ${renderPath(path)}: ${message}`,
  );
}

const during = (from: string, to: string, timeZone?: string) => ({ timeRange: { from, to, timeZone } });
const to = (s3: object) => ({ destination: { s3: { ...store, ...s3 } } });

describe('an export is refused for', () => {
  test.each([
    [
      'a day that there is not',
      during('2026-02-30T00:00:00Z', '2026-03-01T00:00:00Z'),
      'from: .*on no calendar or clock',
    ],
    ['a range that ends where it begins', during('1790812800000', '1790812800000'), 'to: .*not after from'],
    ['one that ends before', during('2026-10-02T00:00:00Z', '2026-10-01T00:00:00Z'), 'to: .*write a later one'],
    [
      'an offset that there is not',
      during('2026-10-02T00:00:00+25:00', range.to, 'UTC'),
      'from: .*no offset that there is',
    ],
    [
      'one that the clocks leave out (E12)',
      during('2026-03-29T02:30:00', '2026-03-29T03:30:00', 'Europe/Berlin'),
      'to: .*not after from, .*: the clocks leave out 2026-03-29T02:30:00 there, .*; write a time that there is$',
    ],
    ['a zone that is none', during(range.from, range.to, 'Berlin'), 'timeZone: .*no time zone.*write Europe/Berlin'],
  ])('%s', (_, spec, expected) => {
    const said = say(spec);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(new RegExp(`^error spec.timeRange.${expected}`));
  });

  test('a zone that is none, beside all else that is wrong', () => {
    const said = say({
      ...during(range.from, range.to, 'Europe/Berln'),
      parallelism: 99,
      output: { compression: 'Lz4' },
    });
    expect(said.map((line) => line.split(':')[0])).toEqual(
      ['spec.parallelism', 'spec.output.compression', 'spec.timeRange.timeZone'].map((place) => `error ${place}`),
    );
    expect(say({ ...during('x', range.to, 'Berln'), parallelism: 99 }).join()).not.toContain('spec.timeRange.timeZone');
    expect(say({ timeRange: 5, parallelism: 99 })).toHaveLength(2);
  });

  test.each([
    ['1h', 'write seconds, as in 3600'],
    ['60', 'write 60 without quotes'],
  ])('a number of seconds that is %s', (ttlSecondsAfterFinished, expected) => {
    expect(say({ ttlSecondsAfterFinished })).toEqual([expect.stringContaining(expected)]);
  });

  test('an endpoint that no one can read', () => {
    expect(say(to({ endpoint: 'https://[:::]' }))).toEqual([
      'error spec.destination.s3.endpoint: "https://[:::]" is no address; write one as https://store.example.com',
    ]);
  });
});

describe('an export is warned of', () => {
  test.each([
    [
      'a local time that comes twice (E12)',
      during('2026-10-25T02:30:00', '2026-10-26T00:00:00', 'Europe/Berlin'),
      'spec.timeRange.from: .*comes twice',
    ],
    [
      'one that never comes (E12)',
      during('2026-03-29T02:30:00', '2026-03-30T00:00:00', 'Europe/Berlin'),
      'spec.timeRange.from: the clocks leave out',
    ],
    [
      'a range in the future',
      during('2026-12-01T00:00:00Z', '2026-12-02T00:00:00Z'),
      'spec.timeRange.from: .*nothing is searched before 2026-12-01T00:00:00.000Z',
    ],
    [
      'one whose end is (E11)',
      during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'),
      'spec.timeRange.to: .*not complete before 2026-12-01T00:03:00.000Z',
    ],
    [
      'an aggregation whose messages are wanted (E8)',
      { query: '* | count by _sourceHost' },
      'spec.query: the operator count is not known.*one search job',
    ],
    [
      'one that only chooses rows (E8)',
      { query: '* | sort by a | limit 1000' },
      'spec.query: the operator sort is not known.*; leave out what sorts or limits rows if every row',
    ],
    ['one that does more (E8)', { query: '* | limit 5 | count' }, 'write results: Records if its aggregation'],
    ['a subquery (E8)', { query: '_id in [subquery: x]' }, 'spec.query: a subquery.*incomplete beyond the service'],
    ['records of no aggregation', { results: 'Records' }, 'spec.results: the query has no aggregation'],
    [
      'records with raw messages',
      { query: '* | count', results: 'Records', requiresRawMessages: true },
      'spec.requiresRawMessages: records have no use',
    ],
    ['messages without them', { requiresRawMessages: false }, 'spec.requiresRawMessages: .*leaves _raw out'],
    [
      'the same field twice',
      { output: { fields: ['_raw', 'a', '_raw'] } },
      'spec.output.fields\\[2\\]: "_raw" is there',
    ],
    ['blanks around a field', { output: { fields: [' a'] } }, 'spec.output.fields\\[0\\]: " a" has blanks.*write a$'],
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
    ['insecure for nothing', to({ insecure: true }), 'spec.destination.s3.insecure: has no effect'],
    [
      'insecure beside https',
      to({ endpoint: 'https://store.example.com', insecure: true }),
      'spec.destination.s3.insecure: has no effect',
    ],
    [
      'a service of the cluster by the bucket before its name',
      to({ endpoint: 'https://minio.storage.svc:9000' }),
      'spec.destination.s3.endpoint: .*no log-exports.minio.storage.svc; write forcePathStyle: true',
    ],
    ['a machine by its bare name', to({ endpoint: 'https://store:9000' }), 'write forcePathStyle: true'],
    [
      'a class that has to be brought back',
      to({ storageClass: 'DEEP_ARCHIVE' }),
      's3.storageClass: .*write GLACIER_IR',
    ],
    ['a resource that goes at once', { ttlSecondsAfterFinished: 0 }, 'spec.ttlSecondsAfterFinished: .*at once'],
    ['one that goes soon', { ttlSecondsAfterFinished: 59 }, 'spec.ttlSecondsAfterFinished: .*59s after'],
  ])('%s', (_, spec, expected) => {
    const said = say(spec);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(new RegExp(`^warning .*${expected}`));
  });

  test('a deadline that comes before the end of the range', () => {
    const spec = { ...during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'), activeDeadlineSeconds: 86_400 };
    expect(say(spec).at(-1)).toMatch(/^warning spec.activeDeadlineSeconds: is over before 2026-12-01T00:03:00.000Z/);
  });

  test('a delay in which messages are still on their way', () => {
    const spec = { ...during('2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'), settleDelay: '10s' };
    expect(say(spec).at(-1)).toMatch(/^warning spec.settleDelay: messages that arrive later than 10s/);
  });
});

describe('nothing is said against', () => {
  test.each<[string, object]>([
    ['a short delay for what is long past', { settleDelay: '0s' }],
    ['milliseconds, without a zone', during('1790812800000', '1790899200000')],
    ['a zone for times that need none', during('2026-10-01T00:00:00Z', '2026-10-02T00:00:00+02:00', 'Europe/Berlin')],
    ['an aggregation whose records are wanted', { query: '* | count by _sourceHost', results: 'Records' }],
    ['operators on each row', { query: '* | where _size > 1000 | fields _raw' }],
    ['a store of one address', to({ endpoint: 'https://store.example.com' })],
    ['a service of the cluster by path', to({ endpoint: 'https://minio.storage.svc', forcePathStyle: true })],
    ['what is null', { output: null, limits: null, requiresRawMessages: null, ttlSecondsAfterFinished: null }],
  ])('%s', (_, spec) => {
    expect(say(spec)).toEqual([]);
  });

  test('the future, where nobody says what time it is', () => {
    const said = validateResource('SearchExport', exportOf(during('2099-01-01T00:00:00Z', '2099-01-02T00:00:00Z')));
    expect(said).toEqual([]);
  });
});

describe('a change', () => {
  const change = (before: object, after: object) =>
    validateResource('SearchExport', exportOf(after), exportOf(before)).map(
      ({ severity, path, message }) => `${severity} ${renderPath(path)}: ${message}`,
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
  ])('of %s is refused', (path, before, after) => {
    const errors = change(before, after).filter((said) => said.startsWith('error'));
    expect(errors).toEqual([expect.stringMatching(`^error ${path}: cannot be changed.*; write a new SearchExport`)]);
  });

  test.each<[string, object, object]>([
    ['of what it may cost', { parallelism: 1 }, { parallelism: 8, limits: { maxMessages: 5 }, settleDelay: '5m' }],
    ['of when it ends', {}, { activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 86_400, paused: true }],
    ['of the credentials', {}, { credentialsSecretRef: { name: 'another' } }],
    ['that writes defaults down', {}, { results: 'Messages', requiresRawMessages: true, output: { format: 'NDJSON' } }],
  ])('%s is fine', (_, before, after) => {
    expect(change(before, after)).toEqual([]);
  });
});
