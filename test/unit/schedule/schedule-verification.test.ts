/** Tests that verifying a schedule reports every change to its records, manifests and files. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TimeRange } from '../../../src/base/time-range.ts';
import { hourMs } from '../../../src/base/time-units.ts';
import type { StoreOptions } from '../../../src/cli/command/options.ts';
import { renderStoreFlags } from '../../../src/cli/command/store-address.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { type CommitRecord, recordKind } from '../../../src/destination/commit-record.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import { ExportLayout } from '../../../src/destination/export-layout.ts';
import { fingerprintOf } from '../../../src/destination/fingerprint.ts';
import { type Manifest, manifestKind, manifestOf, manifestSha256 } from '../../../src/destination/manifest.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import { proofRangesOf } from '../../../src/destination/proof-range.ts';
import {
  type RunRecord,
  recordRun,
  ScheduleLayout,
  storeStartOnce,
} from '../../../src/destination/schedule-records.ts';
import { runName, runTimes } from '../../../src/schedule/run-name.ts';
import { type ScheduleVerificationOptions, verifySchedule } from '../../../src/schedule/schedule-verification.ts';

import { MemoryDestination } from '../../support/memory-destination.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { identity, recordOf, startMs } from '../destination/sample-export.ts';

const layout = ScheduleLayout.of('errors');
const rowsPerRun = 10;
const hour = (index: number): TimeRange => ({
  fromMs: startMs + index * hourMs,
  toMs: startMs + (index + 1) * hourMs,
});

let destination: MemoryDestination;
let runs: readonly StoredRun[];
beforeEach(async () => {
  destination = new MemoryDestination();
  runs = [await storeRun(hour(0)), await storeRun(hour(1)), await storeRun(hour(2))];
});

interface StoredRun {
  readonly recordName: string;
  readonly manifestName: string;
  readonly dataName: string;
  readonly record: RunRecord;
  readonly manifest: Manifest;
}

/** Stores the files of one run of a schedule. `change` edits the run's export manifest before it is stored. */
async function storeRun(
  span: TimeRange,
  query = identity.query,
  change: (manifest: Manifest) => Manifest = (manifest) => manifest,
): Promise<StoredRun> {
  const own = { ...identity, ...span, query };
  const run = runName('errors', span);
  const files = ExportLayout.of(run, fingerprintOf(own));
  const { record: interval, content = new Uint8Array() } = recordOf(0, span.fromMs, span.toMs, rowsPerRun);
  const plan = { boundariesMs: [span.fromMs, span.toMs] };
  const manifest = change(manifestOf(own, coverageOf(plan, [interval])));
  const encoded = manifestKind.encode(manifest);
  const dataName = files.within(interval.files[0]?.name ?? '');
  destination.objects.set(dataName, content);
  destination.objects.set(files.plan, planKind.encode(plan));
  destination.objects.set(files.commit(0, span.toMs), recordKind.encode(manifest.intervals[0] as CommitRecord));
  destination.objects.set(files.manifest, encoded);
  const { rows, bytes } = manifest.totals;
  const { complete, fingerprint } = manifest;
  const record = { run, ...span, fingerprint, manifestSha256: manifestSha256(encoded), rows, bytes, complete };
  await recordRun(destination, layout, runTimes(span), record);
  return { record, manifest, dataName, manifestName: files.manifest, recordName: layout.run(runTimes(span)) };
}

function storeIncompleteRun(span: TimeRange): Promise<StoredRun> {
  return storeRun(span, identity.query, (manifest) => {
    const intervals = manifest.intervals.map((each) => ({ ...each, incomplete: { reason: 'CountDiffers' } }));
    return { ...manifest, intervals, proof: proofRangesOf(intervals, []), complete: false };
  });
}

const verify = (options: Partial<ScheduleVerificationOptions> = {}) =>
  verifySchedule(destination, layout, {
    schedule: 'errors',
    manifestsOnly: false,
    onProgress: () => {},
    signal: new AbortController().signal,
    ...options,
  });
const problems = async (options: Partial<ScheduleVerificationOptions> = {}) =>
  (await verify(options))?.problems.map(({ kind, where }) => [kind, where]);
const third = () => runs[2] as StoredRun;
const second = () => runs[1] as StoredRun;

function damage(name: string): void {
  const content = Buffer.from(destination.objects.get(name) as Uint8Array);
  content[12] = (content[12] ?? 0) ^ 1;
  destination.objects.set(name, content);
}

describe('an unchanged schedule', () => {
  test('is proven, with its range and sums', async () => {
    const progress: string[] = [];
    expect(await verify({ onProgress: (done, total) => progress.push(`${done}/${total}`) })).toEqual({
      ...{ fromMs: hour(0).fromMs, toMs: hour(2).toMs, runs: 3, rows: 3 * rowsPerRun },
      ...{ bytes: runs.reduce((sum, { record }) => sum + record.bytes, 0), gaps: [], overlaps: [], problems: [] },
      ...{ manifests: 3, filesRead: 3, queries: 1, byReceiptTime: 0 },
    });
    expect(progress).toEqual(['1/3', '2/3', '3/3']);
  });

  test('does not need its data files with manifestsOnly', async () => {
    for (const { dataName } of runs) destination.objects.delete(dataName);
    expect(await verify({ manifestsOnly: true })).toMatchObject({ manifests: 3, filesRead: 0, problems: [] });
    expect(await verify()).toMatchObject({ filesRead: 3, problems: { length: 3 } });
  });

  test('can be proven in part: only runs in the range are read', async () => {
    damage(third().recordName);
    const part = { fromMs: hour(0).fromMs, toMs: hour(1).toMs };
    expect(await verify(part)).toMatchObject({ ...part, runs: 2, gaps: [], problems: [] });
  });

  test('counts queries and times by which rows are selected', async () => {
    await storeRun(hour(3), '*');
    expect(await verify()).toMatchObject({ queries: 2, byReceiptTime: 0 });
  });

  test('without records is not found', async () => {
    destination.objects.clear();
    expect(await verify()).toBeUndefined();
  });
});

describe('the verification reports', () => {
  test('a removed record as a gap', async () => {
    destination.objects.delete(second().recordName);
    expect(await verify()).toMatchObject({ runs: 2, gaps: [hour(1)], overlaps: [], problems: [] });
  });

  test('a removed first record, by the stored start or by the given range', async () => {
    await storeStartOnce(destination, layout, startMs, false);
    destination.objects.delete((runs[0] as StoredRun).recordName);
    expect(await verify()).toMatchObject({ fromMs: startMs, gaps: [hour(0)] });
    destination.objects.delete(layout.start);
    expect(await verify()).toMatchObject({ fromMs: hour(1).fromMs, gaps: [] });
    expect(await verify({ fromMs: startMs })).toMatchObject({ gaps: [hour(0)] });
  });

  test.each(['damaged', 'frozen'] as const)('a stored start that is %s, unless the range is given', async (failure) => {
    await storeStartOnce(destination, layout, startMs, false);
    destination.strike = (_, name) => (name === layout.start ? { failure } : undefined);
    await expect(verify()).rejects.toMatchObject({
      code: `destination.${failure}`,
      message: expect.stringContaining('--from'),
    });
    expect(await verify({ fromMs: startMs })).toMatchObject({ fromMs: startMs, runs: 3, gaps: [], problems: [] });
  });

  test('a removed last record, by the given range', async () => {
    destination.objects.delete(third().recordName);
    expect(await verify({ toMs: hour(2).toMs })).toMatchObject({ gaps: [hour(2)] });
  });

  test('a schedule with only damaged records, as a gap of the given range', async () => {
    for (const { recordName } of runs) destination.objects.set(recordName, Buffer.from('{'));
    const part = { fromMs: hour(0).fromMs, toMs: hour(2).toMs };
    expect(await verify(part)).toMatchObject({ runs: 0, gaps: [part], problems: { length: 3 } });
  });

  test('an overlapping record, with the runs and the time that both cover', async () => {
    const long = await storeRun({ fromMs: hour(1).fromMs + hourMs / 2, toMs: hour(3).toMs });
    expect(await verify()).toMatchObject({
      gaps: [],
      overlaps: [
        { fromMs: long.record.fromMs, toMs: hour(1).toMs, runs: [second().record.run, long.record.run] },
        { ...hour(2), runs: [long.record.run, third().record.run] },
      ],
    });
  });

  test('several records that overlap with the same long record', async () => {
    const long = await storeRun({ fromMs: hour(0).fromMs, toMs: hour(3).toMs });
    const overlaps = runs.map(({ record }) => ({ fromMs: record.fromMs, toMs: record.toMs }));
    expect(await verify()).toMatchObject({ overlaps });
    const found = await verify();
    expect(found?.overlaps.every((each) => each.runs.includes(long.record.run))).toBe(true);
  });

  test.each([
    ['invalid JSON', () => Buffer.from('{')],
    ['an unknown member', () => Buffer.from('{"kind":"logfleet.dev/schedule-run","version":1,"extra":1}')],
  ])('a damaged record (%s), whose time is then not covered', async (_, content) => {
    destination.objects.set(second().recordName, content());
    expect(await problems()).toEqual([['damagedRecord', second().recordName]]);
    expect(await verify()).toMatchObject({ runs: 2, gaps: [hour(1)] });
  });

  test('a record under the name of another time', async () => {
    const content = destination.objects.get(second().recordName) as Uint8Array;
    destination.objects.set(third().recordName, content);
    expect(await problems()).toEqual([['misnamedRecord', third().recordName]]);
  });

  test('a record of another schedule', async () => {
    expect(await problems({ schedule: 'other' })).toEqual(runs.map(({ recordName }) => ['misnamedRecord', recordName]));
  });

  test('a file among the records whose name is no time', async () => {
    destination.objects.set(`${layout.runs}/copy.json`, Buffer.from('{}'));
    expect(await problems()).toEqual([['damagedRecord', `${layout.runs}/copy.json`]]);
  });

  test.each([true, false])('a removed manifest (manifestsOnly: %s)', async (manifestsOnly) => {
    destination.objects.delete(second().manifestName);
    expect(await problems({ manifestsOnly })).toEqual([['missingManifest', second().manifestName]]);
  });

  test.each([true, false])('a changed manifest (manifestsOnly: %s)', async (manifestsOnly) => {
    const { manifest, manifestName } = second();
    const export_ = { ...manifest.export, query: 'other' };
    destination.objects.set(manifestName, manifestKind.encode({ ...manifest, export: export_ }));
    expect(await problems({ manifestsOnly })).toEqual([['changedManifest', manifestName]]);
  });

  test.each([
    ['of another time', (manifest: Manifest) => ({ ...manifest, export: { ...manifest.export, ...hour(7) } })],
    ['of another export', (manifest: Manifest) => ({ ...manifest, export: { ...manifest.export, query: 'other' } })],
  ])('a manifest %s, although its record has its SHA-256', async (_, change) => {
    const { manifestName } = await storeRun(hour(3), identity.query, change);
    expect(await problems({ manifestsOnly: true })).toContainEqual([
      'contradictoryManifest',
      expect.stringContaining(manifestName.split('/')[0] ?? ''),
    ]);
  });

  test('a run that is marked as incomplete', async () => {
    const { manifestName } = await storeIncompleteRun(hour(3));
    expect(await problems()).toEqual([['incomplete', manifestName]]);
  });

  test('a changed data file, unless only manifests are read', async () => {
    damage(second().dataName);
    expect(await problems()).toEqual([['differentFiles', second().manifestName]]);
    expect(await problems({ manifestsOnly: true })).toEqual([]);
  });
});

describe('logfleet verify --schedule', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'logfleet-verify-schedule-(1)-'));
    writeFiles();
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  function writeFiles(): void {
    for (const [name, content] of destination.objects) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), content);
    }
  }

  async function run(...args: readonly string[]) {
    const context = { ...recordingContext(), cwd: directory };
    const status = await runProgram(['verify', ...args], context);
    return { status, said: context.stdout.text, reported: context.stderr.text };
  }

  test('proves a schedule in a folder', async () => {
    const { status, said, reported } = await run('--schedule', 'errors');
    expect([status, reported]).toEqual([0, '']);
    expect(said).toMatch(/^range +ok +2026-11-01T00:00:00Z to 2026-11-01T03:00:00Z: 3 runs, 0 gaps, 0 overlaps$/m);
    expect(said).toMatch(/^files +ok +all data files of 3 runs were read$/m);
    expect(said).toMatch(/^Proven: 3 runs with 30 rows and .* cover .* without gaps or overlaps\.$/m);
  });

  test('reports a range without records, and the end of the newest run', async () => {
    const { status, said } = await run('--schedule', 'errors', '--from', '2026-11-01T03:00:00Z');
    expect(status).toBe(1);
    expect(said).toMatch(/^range +differs +2026-11-01T03:00:00Z to 2026-11-01T03:00:00Z: 0 runs/m);
    expect(said).toMatch(
      /the time range to verify contains no complete run that has a record; .* ends at 2026-11-01T03:00:00Z$/m,
    );
    expect(said).not.toMatch(/^rows by/m);
  });

  test('says that the files were not read', async () => {
    const { status, said } = await run('--schedule', 'errors/', '--manifests-only');
    expect(status).toBe(0);
    expect(said).toMatch(/^files +not read/m);
  });

  test('reports an incomplete run, and how its missing rows can be exported', async () => {
    await storeIncompleteRun(hour(3));
    writeFiles();
    const { status, said } = await run('--schedule', 'errors');
    expect(status).toBe(1);
    expect(said).toMatch(/^Not proven: 0 gaps, 0 overlaps, 1 problem\.$/m);
    expect(said).toMatch(/^Remedy for an incomplete run: export its time range with another SearchExport\./m);
  });

  const toRepair = /^Remedy for a run with missing or changed files: restore the files from a backup\./m;

  test.each([
    ['data file', () => unlinkSync(join(directory, second().dataName))],
    ['export manifest', () => unlinkSync(join(directory, second().manifestName))],
    ['export manifest that matches its record', () => appendFileSync(join(directory, second().manifestName), ' ')],
  ])('says how to repair a run without its %s', async (_, lose) => {
    lose();
    const { status, said } = await run('--schedule', 'errors');
    expect(status).toBe(1);
    expect(said).toMatch(toRepair);
  });

  test.each([
    ['schedule record', () => second().recordName, () => Buffer.from('{')],
    ['export manifest', () => second().manifestName, storeUnknownManifest],
  ])('names a damaged %s once', async (_, nameOf, content) => {
    const name = nameOf();
    destination.objects.set(name, await content());
    writeFiles();
    const { status, said } = await run('--schedule', 'errors');
    expect(status).toBe(1);
    expect(said.split('\n').filter((line) => line.includes(name))).toEqual([
      expect.stringMatching(new RegExp(`^${name} is damaged: (?:(?!${name}).)*; restore the original`)),
    ]);
  });

  /** Stores the SHA-256 of an invalid manifest in the record of the second run. Returns this manifest. */
  async function storeUnknownManifest(): Promise<Uint8Array> {
    const content = Buffer.from('{"kind":"something else"}');
    const { record, recordName } = second();
    destination.objects.delete(recordName);
    await recordRun(destination, layout, runTimes(record), { ...record, manifestSha256: manifestSha256(content) });
    return content;
  }

  test('names the command that shows how a run differs from its manifest', async () => {
    unlinkSync(join(directory, second().dataName));
    const { said } = await run('--schedule', 'errors');
    const address = pathToFileURL(join(directory, second().manifestName)).href;
    expect(said).toContain(`to see them: logfleet verify '${address}'\n`);
  });

  test.each<[StoreOptions, string]>([
    [{}, ''],
    [
      { region: 'eu-west-1', endpoint: 'http://[::1]:9000', pathStyle: true, insecure: true },
      " --endpoint 'http://[::1]:9000' --region eu-west-1 --path-style --insecure",
    ],
  ])('a command for the same store gets the flags of %o', (options, flags) => {
    expect(renderStoreFlags(options)).toBe(flags);
  });

  test('does not say how to repair a run that only has an additional file', async () => {
    writeFileSync(join(directory, dirname(second().dataName), 'stray.json'), '');
    const { status, said } = await run('--schedule', 'errors');
    expect(status).toBe(1);
    expect(said).not.toMatch(toRepair);
  });

  test('-o json: has gaps and problems, and ends with 1', async () => {
    unlinkSync(join(directory, second().recordName));
    unlinkSync(join(directory, third().dataName));
    const { status, said } = await run('--schedule', 'errors', '-o', 'json');
    expect(status).toBe(1);
    expect(JSON.parse(said)).toMatchObject({
      ...{ proven: false, from: '2026-11-01T00:00:00Z', to: '2026-11-01T03:00:00Z', runs: 2, rows: 20 },
      gaps: [{ from: '2026-11-01T01:00:00Z', to: '2026-11-01T02:00:00Z' }],
      overlaps: [],
      problems: [
        {
          ...{ kind: 'differentFiles', where: third().manifestName },
          verification: { proven: false, differences: [{ kind: 'missingFile' }] },
        },
      ],
    });
  });

  test('takes a range, also as a date', async () => {
    const later = await run(
      '--schedule',
      'errors',
      '--from',
      '2026-10-31',
      '--to',
      '2026-11-01T02:00:00Z',
      '-o',
      'json',
    );
    expect(later.status).toBe(1);
    expect(JSON.parse(later.said)).toMatchObject({
      runs: 2,
      gaps: [{ from: '2026-10-31T00:00:00Z', to: '2026-11-01T00:00:00Z' }],
    });
  });

  test('lists at most twenty problems', async () => {
    const names = Array.from({ length: 30 }, (_, index) => join(directory, layout.runs, `copy${index}.json`));
    for (const name of names) cpSync(join(directory, second().recordName), name);
    const { status, said } = await run('--schedule', 'errors');
    expect(status).toBe(1);
    expect(said).toContain('and 10 more problems; -o json lists all of them');
    expect(said).toMatch(/^Not proven: 0 gaps, 0 overlaps, 30 problems\.$/m);
  });

  test.each([
    ['a folder that is not a schedule', ['--schedule', '.'], 'contains no record of a run'],
    ['a path that is not a folder', ['--schedule', 'errors/schedule/runs/x.json'], 'is not a folder'],
    ['an address without a schedule', ['--schedule', 's3://audit'], 'is not the folder of a schedule'],
    ['a range without --schedule', ['.', '--from', '-24h'], '--from applies only to the runs of a schedule'],
    ['an invalid range', ['--schedule', 'errors', '--from', 'noon'], '--from: '],
  ])('refuses %s', async (_, args, expected) => {
    expect(await run(...args)).toMatchObject({ status: 2, reported: expect.stringContaining(expected) });
  });
});
