/** Tests the names of the objects that an export stores (E1), and the export's fingerprint and plan (E2). */
import { describe, expect, test } from 'vitest';
import {
  bucketRoot,
  dataFileName,
  ExportLayout,
  partitionOf,
  volumeRoot,
} from '../../../src/destination/export-layout.ts';
import { type ExportIdentity, fingerprintOf } from '../../../src/destination/fingerprint.ts';
import { planKind, readPlan, storePlanOnce } from '../../../src/destination/plan-object.ts';
import { nameProblem } from '../../../src/destination/store/object-name.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { identity, layout, plan, startMs } from './sample-export.ts';

describe('the layout', () => {
  test('has one folder for an export, by its fingerprint (E1)', () => {
    const { plan, manifest, commits, data } = ExportLayout.of('audit', 'f00d');
    const names = ['plan.json', 'manifest.json', 'commits', 'data'];
    expect([plan, manifest, commits, data]).toEqual(names.map((name) => `audit/f00d/${name}`));
  });

  test('is the same after the folder was moved', () => {
    for (const folder of ['', 'copies/of audit']) {
      const moved = new ExportLayout(folder);
      expect(moved.relative(moved.within('data/x'))).toBe('data/x');
    }
    expect(new ExportLayout('').manifest).toBe('manifest.json');
  });

  test.each([
    [{ format: 'NDJSON', compression: 'None' }, '.ndjson'],
    [{ format: 'NDJSON', compression: 'Gzip' }, '.ndjson.gz'],
    [{ format: 'CSV', compression: 'Zstd' }, '.csv.zst'],
    [{ format: 'Parquet', compression: 'Gzip' }, '.parquet'],
  ] as const)('gives files of %o the names that readers expect', (output, extension) => {
    expect(dataFileName({ segment: 3, toMs: startMs, part: 1, writerToken: 'w1' }, output)).toBe(
      `data/000003-20261101T000000000Z-001-w1${extension}`,
    );
  });

  test('names files of a partition by its folder', () => {
    const file = { segment: 3, toMs: startMs, part: 1, writerToken: 'w1', partition: 'dt=2026-10-31/hour=23' };
    const name = dataFileName(file, { format: 'Parquet', compression: 'Zstd' });
    expect(name).toBe('data/dt=2026-10-31/hour=23/000003-20261101T000000000Z-001-w1.parquet');
    expect([nameProblem(name), partitionOf(name), partitionOf('data/x')]).toEqual([undefined, file.partition, '']);
  });

  test('sorts by segment and time', () => {
    const names = [0, 1, 12].flatMap((segment) =>
      [0, startMs, startMs + 1].map((toMs) => layout.commit(segment, toMs)),
    );
    expect([...names].sort()).toEqual(names);
  });

  test('separates namespaces in volumes for any path in a manifest', () => {
    expect(volumeRoot('logging', 'audit/')).toBe('logging/audit');
    expect(volumeRoot('logging', '')).toBe('logging');
    expect(() => volumeRoot('logging', '../billing')).toThrow('begins with a dot');
    expect(() => volumeRoot('logging', '/billing')).toThrow('must not begin with a slash');
  });

  test('begins with the prefix in buckets', () => {
    expect(bucketRoot('exports/2026/', 'logging')).toBe('exports/2026/logging');
    expect(bucketRoot('', 'logging')).toBe('logging');
  });
});

describe('the fingerprint', () => {
  const changes: readonly Partial<ExportIdentity>[] = [
    { serviceHost: 'other.example.com' },
    { query: 'error' },
    { fromMs: identity.fromMs + 1 },
    { toMs: identity.toMs + 1 },
    { timeZone: 'Europe/Berlin' },
    { byReceiptTime: true },
    { autoParsingMode: 'AutoParse' },
    { results: 'Records' },
    { requiresRawMessages: false },
    { output: { ...identity.output, format: 'CSV' } },
    { output: { ...identity.output, compression: 'None' } },
    { output: { ...identity.output, fields: ['_raw'] } },
    { output: { ...identity.output, maxPartBytes: 1_000 } },
    { output: { ...identity.output, csv: { formulaGuard: false } } },
    { output: { ...identity.output, compressionLevel: 1 } },
    { output: { ...identity.output, partitionBy: 'Day' } },
    { output: { ...identity.output, partitionBy: 'Hour' } },
  ];

  test('depends on every setting that decides rows or bytes (E1)', () => {
    const all = [identity, ...changes.map((change) => ({ ...identity, ...change }))].map(fingerprintOf);
    expect(new Set(all).size).toBe(changes.length + 1);
    expect(all.every((each) => /^[0-9a-f]{64}$/.test(each))).toBe(true);
  });

  test('depends on every member of the identity', () => {
    const touched = new Set(changes.flatMap((change) => Object.keys(change)));
    expect([...touched].sort()).toEqual(Object.keys(identity).sort());
  });

  test('does not depend on the order of members', () => {
    const shuffled = Object.fromEntries(Object.entries(identity).reverse()) as unknown as ExportIdentity;
    expect(fingerprintOf(shuffled)).toBe(fingerprintOf(identity));
  });

  test('is the same as in earlier versions, whose folders contain it', () => {
    expect(fingerprintOf(identity)).toBe('7e45b416fa36fb56c246837ad504acad9e3d862b97e29c95f41a58edc2dd7055');
  });
});

describe('the plan', () => {
  test('of the first process is used by the second one (E2)', async () => {
    const destination = new MemoryDestination();
    const other = { boundariesMs: [identity.fromMs, identity.fromMs + 5, identity.toMs] };
    expect(await storePlanOnce(destination, layout, plan)).toEqual(plan);
    expect(await storePlanOnce(destination, layout, other)).toEqual(plan);
    expect(await readPlan(destination, layout)).toEqual(plan);
  });

  test('stores the described fields, so that all processes write the same columns', async () => {
    const destination = new MemoryDestination();
    const fields = [
      { name: '_size', fieldType: 'long' },
      { name: 'user', fieldType: undefined },
    ];
    const described = { ...plan, describedFields: fields };
    await storePlanOnce(destination, layout, described);
    expect(await readPlan(destination, layout)).toEqual(described);
    expect(await storePlanOnce(destination, layout, { ...plan, describedFields: [] })).toEqual(described);
  });

  test('of another range is refused', async () => {
    const destination = new MemoryDestination();
    await storePlanOnce(destination, layout, { boundariesMs: [1, 2] });
    await expect(storePlanOnce(destination, layout, plan)).rejects.toMatchObject({ code: 'destination.damaged' });
  });

  test('is undefined before it is written', async () => {
    expect(await readPlan(new MemoryDestination(), layout)).toBeUndefined();
  });

  test.each([
    [[1], 'must have at least two entries'],
    [[1, 3, 3], '/boundariesMs/2 in the plan is not later than the boundary before it'],
    [[3, 1], '/boundariesMs/1 in the plan is not later than the boundary before it'],
    [[1, 2.5], '/boundariesMs/1 is 2.5, but must be a whole number'],
    [['1', 2], '/boundariesMs/0 is "1"'],
    [[1, 8.64e15 + 1], '/boundariesMs/1 is 8640000000000001, but '],
    [Array.from({ length: 10_002 }, (_, index) => index), 'the plan has more than 10000 segments'],
  ])('with the boundaries %j is refused', (boundariesMs, problem) => {
    const stored = { ...JSON.parse(Buffer.from(planKind.encode(plan)).toString()), boundariesMs };
    expect(() => planKind.decode('plan.json', Buffer.from(JSON.stringify(stored)))).toThrow(problem);
  });
});
