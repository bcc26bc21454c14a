/** Tests that verifying an export reports every change to its files. */
import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter, parquetWrite } from 'hyparquet-writer';
import { beforeEach, describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { type CommitRecord, recordKind, sumOfFigures } from '../../../src/destination/commit-record.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import { figuresOf, storeVerdictOnce } from '../../../src/destination/digest-verdict.ts';
import { ExportLayout } from '../../../src/destination/export-layout.ts';
import { verifyExport } from '../../../src/destination/export-verification.ts';
import type { ExportOutput } from '../../../src/destination/fingerprint.ts';
import {
  type Manifest,
  manifestKind,
  manifestOf,
  removeStrays,
  writeManifest,
} from '../../../src/destination/manifest.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import { listFiles } from '../../../src/destination/recorded-files.ts';
import { recordedSlices, SliceSums } from '../../../src/destination/slice-figures.ts';
import { MemoryDestination } from '../../support/memory-destination.ts';
import { identity, layout, plan, recordOf, startMs, store, tokenOf } from './sample-export.ts';

let destination: MemoryDestination;
let records: readonly CommitRecord[];
let manifest: Manifest;
beforeEach(async () => {
  destination = new MemoryDestination();
  const at = (hours: number) => startMs + hours * hourMs;
  records = [
    await store(destination, recordOf(1, at(3), at(4), 1_000)),
    await store(destination, recordOf(0, at(0), at(2), 300)),
    await store(destination, recordOf(1, at(2), at(3), 0)),
  ];
  manifest = manifestOf(identity, coverageOf(plan, records));
  destination.objects.set(layout.plan, planKind.encode(plan));
  for (const record of records)
    destination.objects.set(layout.commit(record.segment, record.toMs), recordKind.encode(record));
  await writeManifest(destination, layout, manifest);
});

/**
 * Names of files left behind by a killed process: a data file (without its extension), and a file written to test the
 * destination.
 */
const abandonedFile = `000009-20261101T000000000Z-001-${tokenOf(17)}`;
const abandonedProbe = `probe-${tokenOf(17)}`;

const replaceManifest = (changes: object) =>
  destination.objects.set(layout.manifest, manifestKind.encode({ ...manifest, ...changes }));
const listed = () => listFiles(destination, layout);
const differences = async () => (await verifyExport(destination, layout)).differences;

describe('a manifest', () => {
  test('lists only files of commit records, in order of time, with sums', () => {
    expect(manifest.intervals.map(({ fromMs }) => (fromMs - startMs) / hourMs)).toEqual([0, 2, 3]);
    expect(manifest.totals).toMatchObject({ intervals: 3, files: 2, rows: 1_300, received: 1_309, duplicates: 6 });
    expect(manifest.complete).toBe(true);
    expect(manifestKind.decode('manifest.json', manifestKind.encode(manifest))).toEqual(manifest);
  });

  test('has the same bytes from every process, so it can be written twice', async () => {
    const again = manifestOf(identity, coverageOf(plan, [...records].reverse()));
    await writeManifest(destination, layout, again);
    expect(Buffer.from(manifestKind.encode(again)).equals(Buffer.from(manifestKind.encode(manifest)))).toBe(true);
  });

  test('does not replace a different manifest', async () => {
    replaceManifest({ complete: false });
    await expect(writeManifest(destination, layout, manifest)).rejects.toMatchObject({ code: 'destination.damaged' });
  });

  test.each([0, 1])('is valid if its writer knew %d of the digest verdicts (E3)', async (known) => {
    const range = { fromMs: identity.fromMs, toMs: identity.toMs };
    const proven = [{ ...range, figures: figuresOf(manifest.intervals), compared: [] }];
    const verdict = { round: 1, proven, differing: [], segments: [], incomplete: [] };
    await storeVerdictOnce(destination, layout, verdict);
    const byVerdicts = [manifest, manifestOf(identity, coverageOf(plan, records), [verdict])] as const;
    expect(byVerdicts.map(({ proof }) => proof[0]?.level)).toEqual(['Search', 'Count']);
    const [existing, ours] = known === 0 ? byVerdicts : byVerdicts.toReversed();
    destination.objects.set(layout.manifest, manifestKind.encode(existing as Manifest));
    expect(await writeManifest(destination, layout, ours as Manifest)).toEqual(existing);
    expect(await differences()).toEqual([]);
  });

  test('is damaged if a verdict that its writer did not know has found a difference (E3)', async () => {
    const written = figuresOf(manifest.intervals);
    const differing = [{ fromMs: identity.fromMs, toMs: identity.toMs, written, counted: { rows: written.rows + 1 } }];
    const verdict = { round: 1, proven: [], differing: [], segments: [], incomplete: differing };
    await storeVerdictOnce(destination, layout, verdict);
    const ours = manifestOf(identity, coverageOf(plan, records), [verdict]);
    await expect(writeManifest(destination, layout, ours)).rejects.toMatchObject({ code: 'destination.damaged' });
    expect(await differences()).toMatchObject([{ kind: 'proof' }]);
  });

  test('cannot be created before the whole range is committed', () => {
    expect(() => manifestOf(identity, coverageOf(plan, records.slice(1)))).toThrow('missing or contradictory');
    expect(() => manifestOf({ ...identity, toMs: identity.toMs + 1 }, coverageOf(plan, records))).toThrow(
      'do not cover the whole time range',
    );
  });

  test('flags intervals that were kept although they are incomplete', async () => {
    const flagged = records.map((record) => ({ ...record, incomplete: { reason: 'CountDiffers' } }));
    destination = new MemoryDestination();
    for (const record of records) await store(destination, { record, content: undefined });
    await writeManifest(destination, layout, manifestOf(identity, coverageOf(plan, flagged)));
    const { incomplete, manifest: read } = await verifyExport(destination, layout);
    expect([incomplete.length, read.complete]).toEqual([3, false]);
  });
});

describe('files that the manifest does not list', () => {
  test('are removed before the manifest is written, and no other files', async () => {
    const names = [`${abandonedFile}.ndjson.gz`, `dt=2026-11-01/${abandonedFile}.parquet`, abandonedProbe];
    for (const name of names) destination.objects.set(layout.within(`data/${name}`), Buffer.from('x'));
    expect(await removeStrays(destination, layout, coverageOf(plan, records), await listed())).toBe(3);
    expect(await differences()).toEqual([]);
  });

  test.each([
    ...['.DS_Store', 'notes #1.txt', ' x', '_SUCCESS', 'README.md', 'october.parquet', 'dt=2026-11-01/notes.txt'],
    ...[`${abandonedFile} (1).parquet`, `old-${abandonedFile}.parquet`, 'probe-w1'],
  ])('are kept and reported if logfleet cannot have created the name %j', async (name) => {
    const stray = layout.within(`data/${name}`);
    destination.objects.set(stray, Buffer.from('x'));
    expect(await removeStrays(destination, layout, coverageOf(plan, records), await listed())).toBe(0);
    expect(await differences()).toEqual([{ kind: 'strayFile', where: layout.relative(stray) }]);
  });

  test('are kept if a valid record lists them', async () => {
    await expect(removeStrays(destination, layout, coverageOf(plan, records.slice(1)), await listed())).rejects.toThrow(
      'the export manifest lacks data/',
    );
  });
});

describe('verification', () => {
  const fileName = () => records[0]!.files[0]!.name;
  const changeFile = (change: (content: Buffer) => Uint8Array) => {
    const name = layout.within(fileName());
    destination.objects.set(name, change(Buffer.from(destination.objects.get(name) ?? [])));
  };
  const interval = (index: number, changes: Partial<CommitRecord>) =>
    manifest.intervals.map((each, at) => (at === index ? { ...each, ...changes } : each));

  test('reads all files of an unchanged export and finds no difference', async () => {
    const progress: number[] = [];
    const { manifest: _, ...result } = await verifyExport(destination, layout, ({ files }) => progress.push(files));
    const nothing = { recomputed: [], notRecomputed: [] };
    const read = { files: 2, rows: 1_300, bytes: manifest.totals.bytes };
    expect(result).toEqual({ differences: [], incomplete: [], ...read, ...nothing });
    expect(progress).toEqual([1, 2]);
  });

  test('finds a proof that does not match the intervals (E6)', async () => {
    const [range] = manifest.proof;
    if (!range) throw new Error('nothing is proven');
    const wrong = { ...range, figures: { ...range.figures, rows: 1 } };
    replaceManifest({ proof: [wrong] });
    expect(await differences()).toEqual([{ kind: 'proof', where: 'manifest' }]);
  });

  test('needs only the data files and the manifest, in any folder', async () => {
    const moved = new MemoryDestination();
    for (const [name, content] of destination.objects) {
      const relative = layout.relative(name);
      if (!relative.startsWith('commits/') && relative !== 'plan.json') moved.objects.set(relative, content);
    }
    expect((await verifyExport(moved, new ExportLayout(''))).differences).toEqual([]);
  });

  test('reports a missing manifest', async () => {
    const message = expect.stringContaining('use the folder of one export, such as …/NAME/FINGERPRINT');
    await expect(verifyExport(new MemoryDestination(), layout)).rejects.toMatchObject({
      code: 'destination.absent',
      message,
    });
  });

  test('finds a missing file', async () => {
    destination.objects.delete(layout.within(fileName()));
    expect(await differences()).toEqual([{ kind: 'missingFile', where: fileName() }]);
  });

  test.each(['damaged', 'outside', 'away', 'frozen'] as const)(
    'reports a file that is not a regular file, and fails if the store cannot be reached: %s',
    async (failure) => {
      destination.strike = (call) => (call === 'stream' ? { failure } : undefined);
      const found = differences();
      const isThere = failure === 'away' || failure === 'frozen';
      if (isThere) await expect(found).rejects.toMatchObject({ code: `destination.${failure}` });
      else expect(await found).toContainEqual({ kind: 'unreadable', where: fileName(), found: expect.any(String) });
    },
  );

  test('finds a changed byte', async () => {
    changeFile((content) => content.fill(content[9]! ^ 1, 9, 10));
    expect(await differences()).toContainEqual(expect.objectContaining({ kind: 'sha256', where: fileName() }));
  });

  test('finds a truncated file', async () => {
    changeFile((content) => content.subarray(0, -20));
    const kinds = (await differences()).map(({ kind }) => kind);
    expect(kinds).toEqual(['bytes', 'sha256', 'unreadable']);
  });

  test('counts the rows in the files', async () => {
    const [first] = manifest.intervals[2]!.files;
    const intervals = interval(2, { files: [{ ...first!, rows: 999 }], written: 999, duplicates: 3 });
    replaceManifest({ intervals, totals: { ...manifest.totals, rows: 1_299, duplicates: 7 } });
    expect(await differences()).toContainEqual({ kind: 'rows', where: fileName(), expected: 999, found: 1_000 });
  });

  test('finds a data file without a commit record', async () => {
    destination.objects.set(layout.within('data/stray.gz'), Buffer.from('x'));
    destination.objects.set(layout.within('note.txt'), Buffer.from('x'));
    destination.objects.set(layout.within(`copy/${layout.commits}/x`), Buffer.from('x'));
    expect(await differences()).toEqual([
      { kind: 'strayFile', where: 'data/stray.gz' },
      { kind: 'strayFile', where: 'note.txt' },
      { kind: 'strayFile', where: `copy/${layout.commits}/x` },
    ]);
  });

  test('finds a record that contradicts the manifest or is missing in it', async () => {
    const { record } = recordOf(0, startMs, startMs + hourMs, 5);
    destination.objects.set(layout.commit(0, startMs + hourMs), recordKind.encode(record));
    destination.objects.set(
      layout.commit(1, identity.toMs),
      recordKind.encode({ ...records[0]!, fromMs: startMs + 2 * hourMs }),
    );
    expect((await differences()).map(({ kind }) => kind)).toEqual(['record', 'record']);
  });

  test('finds a file among the records that is not a record', async () => {
    const name = layout.commit(1, identity.toMs);
    destination.objects.set(`${name}.bak`, destination.objects.get(name) ?? new Uint8Array());
    destination.objects.set(name, Buffer.from('{'));
    expect(await differences()).toEqual([
      { kind: 'unreadable', where: layout.relative(`${name}.bak`), found: expect.stringMatching(/; remove it$/) },
      {
        kind: 'unreadable',
        where: layout.relative(name),
        found: expect.stringContaining('the content is not valid JSON'),
      },
    ]);
  });

  test.each<[string, () => object, string]>([
    ['a gap', () => ({ intervals: interval(1, { fromMs: startMs + 2 * hourMs + 1 }) }), 'gap'],
    ['a gap at the beginning', () => ({ intervals: interval(0, { fromMs: startMs + 1 }) }), 'gap'],
    ['a gap at the end', () => ({ intervals: interval(2, { toMs: identity.toMs - 1 }) }), 'gap'],
    ['an overlap', () => ({ intervals: interval(1, { fromMs: startMs + 2 * hourMs - 1 }) }), 'overlap'],
    ['an interval that exceeds the range', () => ({ intervals: interval(2, { toMs: identity.toMs + 1 }) }), 'overlap'],
    ['a wrong total', () => ({ totals: { ...manifest.totals, rows: 1 } }), 'total'],
    ['another fingerprint', () => ({ fingerprint: '0'.repeat(64) }), 'fingerprint'],
    ['another query', () => ({ export: { ...identity, query: '*' } }), 'fingerprint'],
    ['a wrong flag of completeness', () => ({ complete: false }), 'completeness'],
    [
      'a file that is listed twice',
      () => ({ intervals: [...manifest.intervals, manifest.intervals[2]] }),
      'sharedFile',
    ],
  ])('finds %s', async (_, changes, kind) => {
    replaceManifest(changes());
    expect((await differences()).map((each) => each.kind)).toContain(kind);
  });
});

describe('partitions are checked', () => {
  async function found(name: string, partitionBy: 'Day' | 'Hour' | undefined) {
    const at = [startMs + 10 * 60_000, startMs + 50 * 60_000];
    const content = Buffer.from(at.map((atMs) => `{"_messagetime":"${atMs}"}\n`).join(''));
    const sha256 = createHash('sha256').update(content).digest('hex');
    const record: CommitRecord = {
      ...{ segment: 0, fromMs: identity.fromMs, toMs: identity.toMs },
      ...{ received: 2, written: 2, outside: 0, duplicates: 0, left: 0, count: { rows: 2, source: 'Job' } },
      files: [{ name, bytes: content.length, encodedBytes: content.length, misfits: 0, rows: 2, sha256 }],
    };
    const output = { ...identity.output, compression: 'None' as const, ...(partitionBy ? { partitionBy } : {}) };
    const exported = { ...identity, timeZone: 'Asia/Kolkata', output };
    const place = new MemoryDestination();
    const root = new ExportLayout('');
    place.objects.set(name, content);
    const coverage = coverageOf({ boundariesMs: [identity.fromMs, identity.toMs] }, [record]);
    await writeManifest(place, root, manifestOf(exported, coverage));
    return (await verifyExport(place, root)).differences;
  }

  test.each([
    ['data/dt=2026-11-01/x', 'Day', []],
    ['data/dt=2026-11-02/x', 'Day', [{ expected: 'dt=2026-11-01', found: 'dt=2026-11-02' }]],
    ['data/x', 'Day', [{ expected: 'dt=2026-11-01', found: '' }]],
    ['data/dt=2026-11-01/hour=05/x', 'Hour', [{ expected: 'dt=2026-11-01/hour=06' }]],
    ['data/dt=2026-11-01/hour=06/x', 'Hour', [{ expected: 'dt=2026-11-01/hour=05' }]],
    ['data/dt=2026-11-01/x', undefined, [{ where: 'data/dt=2026-11-01/x' }]],
    ['data/x', undefined, []],
  ] as const)('a file %s with partitionBy %s', async (name, partitionBy, expected) => {
    expect(await found(name, partitionBy)).toMatchObject(expected.map((each) => ({ kind: 'partition', ...each })));
  });
});

describe('figures of slices are computed again (E6)', () => {
  const lengthMs = 60_000;
  const rows = [
    { atMs: startMs + 1_000, size: 7 },
    { atMs: startMs + 2_000, size: 8 },
    { atMs: startMs + 3_000, size: 9 },
    { atMs: startMs + 70_000, size: 1 },
  ];
  type Row = (typeof rows)[number];

  const csv = (all: readonly Row[]) =>
    `_messagetime,_size\r\n${all.map(({ atMs, size }) => `${atMs},${size}\r\n`).join('')}`;
  const lines = (all: readonly Row[]) =>
    all.map(({ atMs, size }) => `{"_messagetime":"${atMs}","_size":"${size}"}\n`).join('');
  const times = (all: readonly Row[]) => all.map(({ atMs }) => `{"_messagetime":"${atMs}"}\n`).join('');

  const parquet = (all: readonly Row[]) => {
    const writer = new ByteWriter();
    const columnData = [
      { name: '_messagetime', data: all.map(({ atMs }) => new Date(atMs)), type: 'TIMESTAMP' as const },
      { name: '_size', data: all.map(({ size }) => BigInt(size)), type: 'INT64' as const },
    ];
    parquetWrite({ writer, columnData });
    return new Uint8Array(writer.getBytes());
  };

  async function found(
    format: 'NDJSON' | 'CSV' | 'Parquet',
    text: string | Uint8Array,
    byReceiptTime = false,
  ): Promise<readonly string[]> {
    const range = { fromMs: identity.fromMs, toMs: identity.toMs };
    const sums = new SliceSums(lengthMs);
    for (const { atMs, size } of rows) sums.add(atMs, size);
    const content = typeof text === 'string' ? Buffer.from(text) : text;
    const sha256 = createHash('sha256').update(content).digest('hex');
    const record: CommitRecord = {
      ...{ segment: 0, ...range, received: 4, written: 4, outside: 0, duplicates: 0, left: 0 },
      count: { rows: 4, source: 'Job' },
      files: [{ name: 'data/x', bytes: content.length, encodedBytes: 0, misfits: 0, rows: 4, sha256 }],
      figures: sumOfFigures(sums.slices),
      ...recordedSlices({ lengthMs, slices: sums.slices }, range, byReceiptTime),
    };
    const exported = { ...identity, output: { ...identity.output, format, compression: 'None' as const } };
    const place = new MemoryDestination();
    place.objects.set('data/x', content);
    const coverage = coverageOf({ boundariesMs: [range.fromMs, range.toMs] }, [record]);
    await writeManifest(place, new ExportLayout(''), manifestOf(exported, coverage));
    const verified = await verifyExport(place, new ExportLayout(''));
    return verified.differences.map(({ kind, where }) => `${kind} ${where.split(' ')[0]}`);
  }

  const moved = rows.with(2, { atMs: startMs + 60_000, size: 9 });

  test('and match for an unchanged export', async () => {
    expect(await found('NDJSON', lines(rows))).toEqual([]);
    expect(await found('CSV', csv(rows.toReversed()))).toEqual([]);
    expect(await found('Parquet', parquet(rows))).toEqual([]);
  });

  test('and are compared for an export by receipt time, too', async () => {
    expect(await found('NDJSON', lines(rows), true)).toEqual([]);
    const names = ['rows', 'bytes', 'oldestMs', 'newestMs', 'offsetsMs'];
    expect(await found('NDJSON', lines(moved), true)).toEqual(
      names.filter((name) => !name.endsWith('estMs')).map((name) => `figures ${name}`),
    );
  });

  test('and show a row that moved to another slice', async () => {
    const all = ['rows', 'bytes', 'oldestMs', 'newestMs', 'offsetsMs'].map((name) => `figures ${name}`);
    expect(await found('NDJSON', lines(moved))).toEqual(all);
    expect(await found('CSV', csv(moved))).toEqual(all);
    expect(await found('Parquet', parquet(moved))).toEqual(all);
  });

  test('if the files have the columns', async () => {
    expect(await found('NDJSON', times(rows))).toEqual([]);
    expect(await found('NDJSON', times(moved))).toEqual(
      ['rows', 'oldestMs', 'newestMs', 'offsetsMs'].map((name) => `figures ${name}`),
    );
  });
});

describe('rows are counted in files of', () => {
  const parquet = (rows: number, rowGroupSize: number) => {
    const writer = new ByteWriter();
    const data = Array.from({ length: rows }, (_, row) => `row ${row}`);
    const columnData = ['_raw', '_messagetime', 'host'].map((name) => ({ name, data, type: 'STRING' as const }));
    parquetWrite({ writer, columnData, rowGroupSize });
    return writer.getBytes();
  };
  const csv = '"time","raw"\r\n1,"a ""b""\r\nc"\r\n2,"\r\n"\r\n3,x';
  const files: readonly [string, Pick<ExportOutput, 'format' | 'compression'>, Uint8Array, number][] = [
    ['NDJSON', { format: 'NDJSON', compression: 'None' }, Buffer.from('{"a":1}\n{}\n{"b":"\\n"}\n'), 3],
    ['NDJSON without a last line break', { format: 'NDJSON', compression: 'None' }, Buffer.from('{}\n{}'), 2],
    ['nothing', { format: 'NDJSON', compression: 'None' }, Buffer.from(''), 0],
    ['NDJSON and zstd', { format: 'NDJSON', compression: 'Zstd' }, zstdCompressSync('{}\n'.repeat(70_000)), 70_000],
    [
      'NDJSON and gzip in two members',
      { format: 'NDJSON', compression: 'Gzip' },
      Buffer.concat([gzipSync('{}\n'), gzipSync('{}\n{}\n')]),
      3,
    ],
    ['CSV', { format: 'CSV', compression: 'None' }, Buffer.from(csv), 3],
    ['CSV with a header alone', { format: 'CSV', compression: 'None' }, Buffer.from('"time"\r\n'), 0],
    ['Parquet', { format: 'Parquet', compression: 'Zstd' }, parquet(2_345, 100), 2_345],
  ];

  test.each(files)('%s', async (_, output, content, rows) => {
    const exported = { ...identity, output: { ...identity.output, ...output } };
    const file = { name: 'data/x', bytes: content.length, encodedBytes: 0, misfits: 0, rows };
    const sha256 = createHash('sha256').update(content).digest('hex');
    const figures = { received: rows, written: rows, outside: 0, duplicates: 0, left: 0 };
    const range = { segment: 0, fromMs: identity.fromMs, toMs: identity.toMs };
    const count = { rows, source: 'Job' as const };
    const record: CommitRecord = { ...range, ...figures, count, files: [{ ...file, sha256 }] };
    const whole = { boundariesMs: [identity.fromMs, identity.toMs] };
    const moved = new ExportLayout('');
    const place = new MemoryDestination();
    place.objects.set('data/x', content);
    await writeManifest(place, moved, manifestOf(exported, coverageOf(whole, [record])));
    const { differences: found, rows: counted } = await verifyExport(place, moved);
    expect([found, counted]).toEqual([[], rows]);
  });
});
