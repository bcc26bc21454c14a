/** Tests `logfleet verify`: how it selects exports, its output, and its exit status. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/base/time-units.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { placeOfSchedule, placesOfExports } from '../../../src/cli/verify/manifest-place.ts';
import { renderVerification } from '../../../src/cli/verify/verification-view.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import { type ComparableFigure, comparableFigures, figuresOf } from '../../../src/destination/digest-verdict.ts';
import { type Manifest, manifestKind, manifestOf } from '../../../src/destination/manifest.ts';
import type { Difference, DifferenceKind } from '../../../src/destination/manifest-check.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import { type ProofLevel, proofRangesOf } from '../../../src/destination/proof-range.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { identity, layout, plan, recordOf, startMs } from '../destination/sample-export.ts';

let directory: string;
let manifest: Manifest;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-verify-'));
  const stored = [
    recordOf(0, startMs, startMs + 2 * hourMs, 1_000),
    recordOf(1, startMs + 2 * hourMs, identity.toMs, 0),
  ];
  for (const { record, content } of stored) {
    for (const { name } of record.files) write(layout.within(name), content ?? '');
  }
  manifest = manifestOf(
    identity,
    coverageOf(
      plan,
      stored.map(({ record }) => record),
    ),
  );
  write(layout.plan, planKind.encode(plan));
  write(layout.manifest, manifestKind.encode(manifest));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, content: string | Uint8Array): void {
  const path = join(directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

async function verify(...args: readonly string[]) {
  const context = { ...recordingContext(), cwd: directory };
  const status = await runProgram(['verify', ...args], context);
  return { status, said: context.stdout.text, reported: context.stderr.text };
}

const firstFile = () => join(directory, layout.within(manifest.intervals[0]!.files[0]!.name));

describe('logfleet verify', () => {
  test.each([
    ['its manifest', () => layout.manifest],
    ['its folder', () => layout.folder],
    ['a parent folder that contains one export', () => '.'],
    ['the address in the status', () => pathToFileURL(join(directory, layout.manifest)).href],
  ])('accepts %s', async (_, argument) => {
    const { status, said } = await verify(argument());
    expect(status).toBe(0);
    expect(said).toContain('Complete: 1,000 rows, as many rows as the searches reported.');
    expect(said).toMatch(/^range +ok +2026-11-01T00:00:00Z to 2026-11-01T04:00:00Z: 2 intervals, no gap, no overlap$/m);
    expect(said).toMatch(
      /^counts +ok +1,006 rows received, .*2 intervals by the search job.*4 of them twice.*; 2 rows belong to the files of another interval$/m,
    );
    expect(said).toMatch(/^files +ok +1 file read, 1,000 rows in them$/m);
  });

  const sizesAndTimes = 'bytes (_size), oldest time (_messagetime), newest time (_messagetime)';

  test.each<[ProofLevel, readonly ComparableFigure[], string, string]>([
    [
      'Digest',
      comparableFigures,
      'Proven: 1,000 rows, each of them once.',
      'proven: same number, sizes and times as in the service (Digest)',
    ],
    [
      'Count',
      ['oldestMs', 'newestMs'],
      'Proven by counts: 1,000 rows, as many as the service counted.',
      'proven by their number in an aggregation (Count), not compared with the service: bytes (_size)',
    ],
    [
      'Count',
      [],
      'Proven by counts: 1,000 rows, as many as the service counted.',
      `proven by their number in an aggregation (Count), not compared with the service: ${sizesAndTimes}`,
    ],
    [
      'Search',
      [],
      'Complete: 1,000 rows, as many rows as the searches reported.',
      `counted only by their own searches (Search), not compared with the service: ${sizesAndTimes}`,
    ],
  ])('claims no more than the proof level %s allows with the figures %j', async (level, compared, last, proven) => {
    const proof = manifest.proof.map((range) => ({ ...range, level, compared }));
    write(layout.manifest, manifestKind.encode({ ...manifest, proof }));
    const { status, said } = await verify('.');
    expect(status).toBe(0);
    expect(said).toMatch(/^proof +ok +1,000 rows/m);
    expect(said).toContain(`1,000 rows ${proven}\n`);
    expect(said.trimEnd().split('\n').at(-1)).toBe(last);
  });

  test('reports differences with their files', async () => {
    const content = readFileSync(firstFile());
    content[12] = (content[12] ?? 0) ^ 1;
    writeFileSync(firstFile(), content);
    write(layout.within('data/stray'), 'x');
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toMatch(/^checksums +differs/m);
    expect(said).toMatch(/^proof +unknown +files differ; the manifest states: 1,000 rows counted/m);
    expect(said).toMatch(/^folder +differs +see the differences below$/m);
    expect(said).toContain('data/stray is not in the manifest');
    expect(said).toContain(`has the SHA-256`);
    expect(said).toMatch(/^Different: \d differences\.$/m);
  });

  test('does not report figures that it could not recompute because a file is missing', async () => {
    unlinkSync(firstFile());
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toMatch(/^figures +unknown +not recomputed, because files differ$/m);
    expect(said).toMatch(/^proof +unknown +files differ; the manifest states: /m);
  });

  test('-o json: has expected and found values of each difference', async () => {
    unlinkSync(firstFile());
    const { status, said } = await verify('.', '-o', 'json');
    expect(status).toBe(1);
    expect(JSON.parse(said)).toMatchObject({
      manifest: pathToFileURL(join(directory, layout.manifest)).href,
      proven: false,
      complete: true,
      fingerprint: manifest.fingerprint,
      read: { files: 0, rows: 0, bytes: 0 },
      incomplete: [],
      differences: [{ kind: 'missingFile', where: manifest.intervals[0]?.files[0]?.name }],
    });
  });

  test('ends with 1 for an incomplete interval, and names it', async () => {
    const intervals = manifest.intervals.map((each, index) =>
      index === 0 ? { ...each, count: { ...each.count, rows: 2_000 }, incomplete: { reason: 'CountDiffers' } } : each,
    );
    const proof = proofRangesOf(intervals, []);
    write(layout.manifest, manifestKind.encode({ ...manifest, complete: false, proof, intervals }));
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toMatch(/^counts +incomplete/m);
    expect(said).toContain(
      'incomplete interval: 2026-11-01T00:00:00.000Z to 2026-11-01T02:00:00.000Z: CountDiffers (1,003 rows received, 2,000 counted)',
    );
    expect(said).toContain('Incomplete: 1,000 rows, and 1 interval is marked as incomplete.');
  });

  test('names a time range whose rows differ from the digest, although no interval is flagged', async () => {
    const range = { fromMs: identity.fromMs, toMs: identity.toMs };
    const written = figuresOf(manifest.intervals);
    const differing = { ...range, written, counted: { rows: 1_000 }, inSlices: ['oldestMs' as const] };
    const verdict = { round: 4, proven: [], differing: [], segments: [], incomplete: [differing] };
    const proof = proofRangesOf(manifest.intervals, [verdict]);
    write(layout.manifest, manifestKind.encode({ ...manifest, complete: false, proof }));
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toContain(
      'incomplete interval: 2026-11-01T00:00:00.000Z to 2026-11-01T04:00:00.000Z: DigestDiffers (the service counts 1,000 rows, but the files contain 1,000 rows; some short periods differ in the oldest time)',
    );
    expect(said).toContain('Incomplete: 1,000 rows, and 1 interval is marked as incomplete.');
    const { said: document } = await verify('.', '-o', 'json');
    expect(JSON.parse(document)).toMatchObject({
      complete: false,
      incomplete: [{ ...range, reason: 'DigestDiffers', received: 1_000, counted: 1_000, differing }],
      differences: [],
    });
  });

  test('distinguishes an export without a manifest from a folder without exports', async () => {
    unlinkSync(join(directory, layout.manifest));
    const incomplete = await verify('.');
    expect([incomplete.status, incomplete.reported]).toEqual([1, expect.stringContaining('is not complete')]);
    unlinkSync(join(directory, layout.plan));
    const absent = await verify('.');
    expect([absent.status, absent.reported]).toEqual([
      2,
      expect.stringContaining('contain no manifest of an export (manifest.json)'),
    ]);
  });

  test('removes control characters from the text of a damaged manifest', async () => {
    write(layout.manifest, '\u001b]0;title\u0007');
    const { reported } = await verify('.');
    expect(reported).toContain(']0;title ');
    expect(reported).not.toMatch(/\p{Cc}(?!$)/u);
  });

  test('ends with 1 for a damaged manifest', async () => {
    write(layout.manifest, '{"kind":"something else"}');
    const url = pathToFileURL(join(directory, layout.manifest)).href;
    const reported = expect.stringContaining(`logfleet verify: ${url}: manifest.json is damaged`);
    expect(await verify('.')).toMatchObject({ status: 1, reported });
    const document = await verify('.', '-o', 'json');
    expect(document).toMatchObject({ status: 1, reported: '' });
    expect(JSON.parse(document.said)).toEqual({
      ...{ manifest: url, proven: false },
      problem: expect.stringContaining('restore the original export manifest'),
    });
  });

  test('shows the remedy, and the number of correct files', async () => {
    unlinkSync(firstFile());
    const { said } = await verify('.');
    expect(said).toMatch(/^checksums +incomplete +size and SHA-256 of 0 of 1 file compared with the manifest, 0 B$/m);
    const records =
      'remove manifest\\.json, commits/000000-20261101T020000000Z\\.json to search the missing intervals again';
    expect(said).toMatch(new RegExp(`^Remedy: restore the missing or changed files, or ${records} when`, 'm'));
    expect(said).toMatch(
      /^To run the export again, set the annotation logfleet\.dev\/requestedAt of its SearchExport to a new value\. If/m,
    );
    write(layout.manifest, manifestKind.encode({ ...manifest, totals: { ...manifest.totals, rows: 7 } }));
    expect((await verify('.')).said).toMatch(
      /^Remedy for the manifest: restore the original export manifest, or remove it so that/m,
    );
  });

  test('says how to run the export again only if a remedy needs it', () => {
    const isSaid = (difference: Difference) =>
      reportOf([difference]).some((line) => line.startsWith('To run the export again, '));
    const where = manifest.intervals[0]?.files[0]?.name ?? '';
    expect(isSaid({ kind: 'sha256', where })).toBe(true);
    expect(isSaid({ kind: 'total', where: 'rows' })).toBe(true);
    expect(isSaid({ kind: 'strayFile', where: 'data/other' })).toBe(false);
  });

  const remedyOf: { readonly [K in DifferenceKind]: string } = {
    ...{ gap: 'the manifest', overlap: 'the manifest', total: 'the manifest', completeness: 'the manifest' },
    ...{ fingerprint: 'the manifest', sharedFile: 'the manifest', proof: 'the manifest' },
    ...{ figures: 'the manifest', partition: 'the manifest', record: 'the commit records' },
    ...{ missingFile: '', bytes: '', sha256: '', rows: '', unreadable: '' },
    strayFile: 'files that are not in the manifest',
  };
  test.each(Object.entries(remedyOf))('shows a remedy for a difference of the kind %s', (kind, what) => {
    const where = manifest.intervals[0]?.files[0]?.name ?? '';
    expect(remedies([{ kind: kind as DifferenceKind, where }])).toEqual([what]);
  });

  test('shows a remedy for a commit record that cannot be read', () => {
    expect(remedies([{ kind: 'unreadable', where: 'commits/000000-20261101T020000000Z.json' }])).toEqual([
      'the commit records',
    ]);
  });

  /**
   * Returns the subject of each remedy for these differences, such as SUBJECT in `Remedy for SUBJECT: ...`. The subject
   * is '' for data files, whose remedy begins with `Remedy:`.
   */
  function remedies(differences: readonly Difference[]): readonly string[] {
    return reportOf(differences).flatMap((line) => /^Remedy(?: for )?([^:]*):/.exec(line)?.[1] ?? []);
  }

  function reportOf(differences: readonly Difference[]): readonly string[] {
    const read = { incomplete: [], files: 1, rows: 1_000, bytes: 1, recomputed: [], notRecomputed: [] };
    return renderVerification('', { manifest, differences, ...read }, { width: 1_000, colour: false });
  }

  test.each<[boolean, readonly ComparableFigure[], string]>([
    [false, [], 'no other files, all records agree'],
    [false, ['oldestMs'], 'no other files, all records agree; folders of partitions not checked'],
    [true, [], 'no other files, all records agree; folders of partitions not checked'],
  ])('says if it could not check partitions (byReceiptTime: %s, unknown: %j)', (byReceiptTime, notRecomputed, what) => {
    const output = { ...identity.output, partitionBy: 'Day' as const };
    const partitioned = { ...manifest, export: { ...identity, byReceiptTime, output } };
    const read = { differences: [], incomplete: [], files: 1, rows: 1_000, bytes: 1, recomputed: [], notRecomputed };
    const lines = renderVerification('', { manifest: partitioned, ...read }, { width: 1_000, colour: false });
    expect(lines.filter((line) => line.startsWith('folder'))).toEqual([expect.stringMatching(`ok +${what}$`)]);
  });

  test('verifies all exports below a folder', async () => {
    cpSync(join(directory, layout.folder), join(directory, 'other'), { recursive: true });
    const all = await verify('.');
    expect([all.status, all.reported]).toEqual([0, '']);
    expect(all.said.match(/^Complete: /gm)).toHaveLength(2);
    expect(all.said).toContain(pathToFileURL(join(directory, 'other/manifest.json')).href);
    expect(all.said).toMatch(/\n2 exports: 2 verified, 0 not\.\n$/);
    unlinkSync(firstFile());
    const different = await verify('.');
    expect(different.status).toBe(1);
    expect(different.said).toMatch(/^Different: /m);
    const manifestUrl = pathToFileURL(join(directory, layout.manifest)).href;
    expect(different.said.endsWith(`\n2 exports: 1 verified, 1 not:\n${manifestUrl}\n`)).toBe(true);
  });

  test('continues with the others if one of several exports is not complete', async () => {
    write('other/deep/plan.json', planKind.encode(plan));
    const { status, said, reported } = await verify('.');
    expect([status, reported]).toEqual([1, expect.stringContaining('is not complete')]);
    expect(said).toMatch(/^Complete: 1,000 rows/m);
    const { said: document } = await verify('.', '-o', 'json');
    expect(JSON.parse(document)).toMatchObject({
      proven: false,
      exports: [{ proven: true }, { proven: false, problem: expect.stringContaining('is not complete') }],
    });
  });

  test('ends with 1 if an export is next to an unreadable folder, which may contain other exports', async () => {
    // The path is too long for the system, so no user can read the folder, not even root.
    const half = Array(12).fill('0'.repeat(200)).join('/');
    const lost = join(directory, 'lost\u001b[2J');
    for (const each of [lost, join(directory, 'found')]) mkdirSync(join(each, half), { recursive: true });
    renameSync(join(directory, 'found'), join(lost, half, 'found'));
    try {
      const inside = Array(200).fill('a').join('/');
      mkdirSync(join(directory, inside), { recursive: true });
      renameSync(join(directory, layout.folder), join(directory, inside, 'export'));
      expect(await verify('.')).toMatchObject({
        status: 1,
        said: expect.stringMatching(/^Complete: 1,000 rows(?:.|\n)*\n1 export: 1 verified, 0 not\.\n$/m),
        reported: expect.stringMatching(
          /^logfleet verify: not all folders were verified; these could not be read: [ -~]*\(ENAMETOOLONG\)\n$/,
        ),
      });
      const document = await verify('.', '-o', 'json');
      expect([document.status, document.reported]).toEqual([1, '']);
      expect(JSON.parse(document.said)).toMatchObject({
        proven: false,
        exports: [{ proven: true }],
        unreadFolders: [{ folder: expect.stringContaining(lost), code: 'ENAMETOOLONG' }],
      });
      renameSync(lost, join(directory, 'lost+found'));
      expect(await verify('.')).toMatchObject({ status: 0, reported: '' });
      renameSync(join(directory, 'lost+found'), lost);
      rmSync(join(directory, 'a'), { recursive: true });
      expect(await verify('.')).toMatchObject({
        status: 2,
        reported: expect.stringMatching(
          /contain no manifest of an export \(manifest\.json\); these could not be read: .*\(ENAMETOOLONG\)$/m,
        ),
      });
    } finally {
      execFileSync('rm', ['-r', lost]);
    }
  });

  test.each([
    ['a path that does not exist', ['nowhere'], 'nowhere does not exist'],
    ['a file that is not a manifest', [layout.plan], 'is not the manifest of an export'],
    ['a flag for stores with a path', ['.', '--region', 'eu-central-1'], '--region has no effect'],
    ['an address without a bucket', ['s3:///x'], 'has no bucket'],
    ['an address of Google Cloud Storage without a bucket', ['gs://'], 'has no bucket'],
    ['a region for another store', ['gs://audit/x', '--region', 'x'], '--region has no effect'],
    ['an address without a container', ['https://a.blob.core.windows.net/'], 'has no container'],
    ['an address with a signature', ['https://a.blob.core.windows.net/b?sig=c'], 'without a user name'],
    ['an address without a path', ['https://a.blob.core.windows.net'], 'has no container'],
    ['an address with a broken code', ['https://a.blob.core.windows.net/b%'], 'write %25 for the character %'],
    ['an address of another machine', ['file://server/exports'], 'is not the address of a file on this machine'],
    ['a path that links to itself', ['itself'], 'itself cannot be read: ELOOP'],
    ['a schedule that links to itself', ['--schedule', 'itself'], 'itself cannot be read: ELOOP'],
    ['a region for a container', ['https://a.blob.core.windows.net/b', '--region', 'x'], '--region has no effect'],
    ['a store without encryption', ['s3://audit/x', '--endpoint', 'http://127.0.0.1:1'], 'add --insecure'],
    ['a container without encryption', ['http://127.0.0.1:1/dev/audit'], 'add --insecure'],
    ['a schedule without encryption', ['gs://a/b', '--schedule', '--endpoint', 'http://x'], 'add --insecure'],
  ])('refuses %s', async (_, args, expected) => {
    symlinkSync('itself', join(directory, 'itself'));
    expect(await verify(...args)).toMatchObject({ status: 2, reported: expect.stringContaining(expected) });
  });

  test('shows progress on a terminal, and removes it at the end', async () => {
    const context = { ...recordingContext({ columns: 100 }), cwd: directory };
    expect(await runProgram(['verify', '.'], context)).toBe(0);
    expect(context.stderr.text).toContain('1 of 1 files read');
  });

  test('wraps lines in a narrow window', async () => {
    const context = { ...recordingContext({ columns: 60 }), cwd: directory };
    expect(await runProgram(['verify', '.'], context)).toBe(0);
    const lines = context.stdout.text.split('\n').slice(1);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    expect(lines).toContain('counts      ok       1,006 rows received, compared with the');
  });

  test('ends with 130 after an interrupt', async () => {
    const context = { ...recordingContext(), cwd: directory };
    context.stop('SIGINT');
    expect(await runProgram(['verify', '.'], context)).toBe(130);
    expect(context.stdout.text).toBe('');
  });
});

describe('an address of a store', () => {
  const place = (text: string, options = {}, env = {}) => placesOfExports(text, options, { cwd: '/', env }).places[0];

  test.each([
    ['s3://audit/logs/prod/errors/3f2a/manifest.json', 'logs/prod/errors/3f2a'],
    ['s3://audit/logs/prod/', 'logs/prod'],
    ['s3://audit/manifest.json', ''],
    ['s3://audit', ''],
  ])('%s: the folder is the root', (text, root) => {
    expect(place(text)).toEqual({ kind: 's3', settings: { bucket: 'audit', root, credentials: 'ambient' } });
  });

  test.each([
    [
      'https://examplelogs.blob.core.windows.net/audit/logs/prod/manifest.json',
      {},
      { account: 'examplelogs', root: 'logs/prod' },
    ],
    ['https://Examplelogs.blob.core.windows.net:443/audit', {}, { account: 'examplelogs', root: '' }],
    ['https://store.example.com/audit', {}, { endpoint: 'https://store.example.com', root: '' }],
    [
      'http://127.0.0.1:10000/dev/audit/logs/',
      { endpoint: 'http://127.0.0.1:10000/dev/', insecure: true },
      { endpoint: 'http://127.0.0.1:10000/dev', root: 'logs', insecure: true },
    ],
  ])('reads the container address %s', (text, options, settings) => {
    expect(place(text, options)).toEqual({
      kind: 'azureBlob',
      settings: { container: 'audit', credentials: 'ambient', ...settings },
    });
  });

  test('reads the address of a bucket of Google Cloud Storage', () => {
    const options = { endpoint: 'https://store.example.com' };
    expect(place('gs://audit/logs/prod/manifest.json', options)).toEqual({
      kind: 'gcs',
      settings: { bucket: 'audit', root: 'logs/prod', credentials: 'ambient', ...options },
    });
  });

  test.each([
    ['s3://audit/logs/prod/hourly/', 's3', 'logs/prod'],
    ['gs://audit/hourly', 'gcs', ''],
  ])('finds the schedule in the bucket address %s', (text, kind, root) => {
    expect(placeOfSchedule(text, {}, { cwd: '/', env: {} })).toEqual({
      settings: { kind, settings: { bucket: 'audit', root, credentials: 'ambient' } },
      schedule: 'hourly',
    });
  });

  test.each([
    ['https://examplelogs.blob.core.windows.net/audit/logs/prod/hourly/', 'logs/prod'],
    ['https://examplelogs.blob.core.windows.net/audit/hourly', ''],
  ])('finds the schedule in the container address %s', (text, root) => {
    const settings = { account: 'examplelogs', container: 'audit', credentials: 'ambient', root };
    expect(placeOfSchedule(text, {}, { cwd: '/', env: {} })).toEqual({
      settings: { kind: 'azureBlob', settings },
      schedule: 'hourly',
    });
  });

  test('uses the region set by the flag, or else by the environment', () => {
    const env = { AWS_REGION: '', AWS_DEFAULT_REGION: 'eu-west-1' };
    expect(place('s3://audit', {}, env)).toMatchObject({ settings: { region: 'eu-west-1' } });
    const options = { region: 'eu-central-1', endpoint: 'https://store.example.com', pathStyle: true };
    expect(place('s3://audit', options, env)).toMatchObject({
      settings: { region: 'eu-central-1', endpoint: 'https://store.example.com', forcePathStyle: true },
    });
  });
});
