/** The command `logfleet verify`: which export is meant, what is said of it, and how it ends. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { placesOfExports } from '../../../src/cli/manifest-place.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { coverageOf } from '../../../src/destination/coverage.ts';
import { encodeManifest, type Manifest, manifestOf } from '../../../src/destination/manifest.ts';
import { encodePlan } from '../../../src/destination/plan-object.ts';
import { proofRangesOf } from '../../../src/destination/proof-range.ts';
import { hourMs, identity, layout, plan, recordOf, startMs } from '../destination/sample-export.ts';
import { recordingContext } from './recording-context.ts';

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
  write(layout.plan, encodePlan(plan));
  write(layout.manifest, encodeManifest(manifest));
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
  return { status, said: context.stdout.text, told: context.stderr.text };
}

const firstFile = () => join(directory, layout.within(manifest.intervals[0]!.files[0]!.name));

describe('logfleet verify', () => {
  test.each([
    ['its manifest', () => layout.manifest],
    ['its folder', () => layout.folder],
    ['a folder above, where it is the only one', () => '.'],
    ['the address that status has', () => pathToFileURL(join(directory, layout.manifest)).href],
  ])('takes %s', async (_, argument) => {
    const { status, said } = await verify(argument());
    expect(status).toBe(0);
    expect(said).toContain('Proven: 1,000 rows, each of them once.');
    expect(said).toMatch(/^range +ok +2026-11-01T00:00:00Z to 2026-11-01T04:00:00Z: 2 intervals, no gap, no overlap$/m);
    expect(said).toMatch(
      /^counts +ok +1,006 rows received, .*2 intervals by the search job.*4 of them twice.*; 2 of them belong to another interval, which has them$/m,
    );
    expect(said).toMatch(/^files +ok +1 file read, 1,000 rows in them$/m);
  });

  test('tells what differs, and in which file', async () => {
    const content = readFileSync(firstFile());
    content[12] = (content[12] ?? 0) ^ 1;
    writeFileSync(firstFile(), content);
    write(layout.within('data/stray'), 'x');
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toMatch(/^checksums +differs/m);
    expect(said).toMatch(/^folder +differs +with the differences below$/m);
    expect(said).toContain('data/stray is not in the manifest');
    expect(said).toContain(`has the SHA-256`);
    expect(said).toMatch(/^Different: \d differences\.$/m);
  });

  test('-o json: gives each difference with what was expected and found', async () => {
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

  test('ends with 1 where an interval was kept although it is incomplete, and names it', async () => {
    const intervals = manifest.intervals.map((each, index) =>
      index === 0 ? { ...each, count: { ...each.count, rows: 2_000 }, incomplete: { reason: 'CountDiffers' } } : each,
    );
    const proof = proofRangesOf(intervals, []);
    write(layout.manifest, encodeManifest({ ...manifest, complete: false, proof, intervals }));
    const { status, said } = await verify('.');
    expect(status).toBe(1);
    expect(said).toMatch(/^counts +incomplete/m);
    expect(said).toContain(
      'incomplete: 2026-11-01T00:00:00.000Z to 2026-11-01T02:00:00.000Z: CountDiffers (1,003 received, 2,000 counted)',
    );
    expect(said).toContain('Incomplete: 1,000 rows as the manifest says, and 1 interval is flagged as incomplete.');
  });

  test('tells an export that has no manifest yet from a folder that has none', async () => {
    unlinkSync(join(directory, layout.manifest));
    const incomplete = await verify('.');
    expect([incomplete.status, incomplete.told]).toEqual([1, expect.stringContaining('is not complete')]);
    unlinkSync(join(directory, layout.plan));
    const absent = await verify('.');
    expect([absent.status, absent.told]).toEqual([2, expect.stringContaining('there is no manifest.json in .')]);
  });

  test('calls a manifest that cannot be read different, and no wrong usage', async () => {
    write(layout.manifest, '{"kind":"something else"}');
    const url = pathToFileURL(join(directory, layout.manifest)).href;
    const told = expect.stringContaining(`logfleet verify: ${url}: manifest.json is not as logfleet writes it`);
    expect(await verify('.')).toMatchObject({ status: 1, told });
    const document = await verify('.', '-o', 'json');
    expect(document).toMatchObject({ status: 1, told: '' });
    expect(JSON.parse(document.said)).toEqual({
      ...{ manifest: url, proven: false },
      problem: expect.stringContaining('put back the one that stood there'),
    });
  });

  test('says how what differs is mended, and of how many files the sums are right', async () => {
    unlinkSync(firstFile());
    const { said } = await verify('.');
    expect(said).toMatch(/^checksums +incomplete +size and SHA-256 of 0 of 1 file, 0 B$/m);
    const records =
      'remove manifest\\.json, commits/000000-20261101T020000000Z\\.json, and what is missing is searched again';
    expect(said).toMatch(new RegExp(`^To mend it, put these files back as they were, or ${records} when`, 'm'));
    write(layout.manifest, encodeManifest({ ...manifest, totals: { ...manifest.totals, rows: 7 } }));
    expect((await verify('.')).said).toMatch(/^To mend it, put back the one that stood there, or remove it: it is/m);
  });

  test('verifies all that there are below a folder, one after the other', async () => {
    cpSync(join(directory, layout.folder), join(directory, 'other'), { recursive: true });
    const all = await verify('.');
    expect([all.status, all.told]).toEqual([0, '']);
    expect(all.said.match(/^Proven: /gm)).toHaveLength(2);
    expect(all.said).toContain(pathToFileURL(join(directory, 'other/manifest.json')).href);
    expect(all.said).toMatch(/\n2 exports: 2 proven, 0 not\.\n$/);
    unlinkSync(firstFile());
    const different = await verify('.');
    expect(different.status).toBe(1);
    expect(different.said).toMatch(/^Different: /m);
    const manifestUrl = pathToFileURL(join(directory, layout.manifest)).href;
    expect(different.said.endsWith(`\n2 exports: 1 proven, 1 not:\n${manifestUrl}\n`)).toBe(true);
  });

  test('goes on with the others where one of several is not complete', async () => {
    write('other/deep/plan.json', encodePlan(plan));
    const { status, said, told } = await verify('.');
    expect([status, told]).toEqual([1, expect.stringContaining('is not complete')]);
    expect(said).toMatch(/^Proven: 1,000 rows/m);
    const { said: document } = await verify('.', '-o', 'json');
    expect(JSON.parse(document)).toMatchObject({
      proven: false,
      exports: [{ proven: true }, { proven: false, problem: expect.stringContaining('is not complete') }],
    });
  });

  test('finds one in a folder as deep as a manifest may name, beside one that nobody may read', async () => {
    // A folder whose path is too long for the system stands for one without the right to read it, which a test as root has always.
    const half = Array(12).fill('0'.repeat(200)).join('/');
    for (const each of ['lost', 'found']) mkdirSync(join(directory, each, half), { recursive: true });
    renameSync(join(directory, 'found'), join(directory, 'lost', half, 'found'));
    try {
      const inside = Array(200).fill('a').join('/');
      mkdirSync(join(directory, inside), { recursive: true });
      renameSync(join(directory, layout.folder), join(directory, inside, 'export'));
      expect(await verify('.')).toMatchObject({ status: 0, told: '' });
      rmSync(join(directory, 'a'), { recursive: true });
      expect(await verify('.')).toMatchObject({
        status: 2,
        told: expect.stringMatching(
          /there is no manifest\.json in \. or below it, as far as .*\(ENAMETOOLONG\) cannot$/m,
        ),
      });
    } finally {
      execFileSync('rm', ['-r', join(directory, 'lost')]);
    }
  });

  test.each([
    ['a path that is not there', ['nowhere'], 'there is no file or folder nowhere'],
    ['a file that is no manifest', [layout.plan], 'is no manifest'],
    ['a flag for stores with a path', ['.', '--region', 'eu-central-1'], '--region is for a manifest at s3://'],
    ['an address without a bucket', ['s3:///x'], 'names no bucket'],
    ['a store without encryption', ['s3://audit/x', '--endpoint', 'http://127.0.0.1:1'], 'is not encrypted'],
  ])('refuses %s', async (_, args, expected) => {
    expect(await verify(...args)).toMatchObject({ status: 2, told: expect.stringContaining(expected) });
  });

  test('shows on a terminal how far it is, and takes that away', async () => {
    const context = { ...recordingContext({ columns: 100 }), cwd: directory };
    expect(await runProgram(['verify', '.'], context)).toBe(0);
    expect(context.stderr.text).toContain('1 of 1 files read');
  });

  test('breaks long lines at blanks where the window is narrow', async () => {
    const context = { ...recordingContext({ columns: 60 }), cwd: directory };
    expect(await runProgram(['verify', '.'], context)).toBe(0);
    const lines = context.stdout.text.split('\n').slice(1);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    expect(lines).toContain('counts      ok       1,006 rows received, as the service');
  });

  test('ends with 130 when somebody interrupts it', async () => {
    const context = { ...recordingContext(), cwd: directory };
    context.stop('SIGINT');
    expect(await runProgram(['verify', '.'], context)).toBe(130);
    expect(context.stdout.text).toBe('');
  });
});

describe('an address of a store', () => {
  const place = (text: string, options = {}, env = {}) => placesOfExports(text, options, { cwd: '/', env })[0];

  test.each([
    ['s3://audit/logs/prod/errors/3f2a/manifest.json', 'logs/prod/errors/3f2a'],
    ['s3://audit/logs/prod/', 'logs/prod'],
    ['s3://audit/manifest.json', ''],
    ['s3://audit', ''],
  ])('%s: the folder is the root', (text, root) => {
    expect(place(text)).toEqual({ kind: 's3', settings: { bucket: 'audit', root, credentials: 'ambient' } });
  });

  test('takes its region from the flag, else from the environment', () => {
    const env = { AWS_REGION: '', AWS_DEFAULT_REGION: 'eu-west-1' };
    expect(place('s3://audit', {}, env)).toMatchObject({ settings: { region: 'eu-west-1' } });
    const options = { region: 'eu-central-1', endpoint: 'https://store.example.com', pathStyle: true };
    expect(place('s3://audit', options, env)).toMatchObject({
      settings: { region: 'eu-central-1', endpoint: 'https://store.example.com', forcePathStyle: true },
    });
  });
});
