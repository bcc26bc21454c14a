/** Tests `logfleet export` to several destinations, and `logfleet verify` on the exported files. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, vi } from 'vitest';
import { test as base } from './support/end-to-end.ts';
import { exportManifest, s3Place, stopStores, unfinished, volumePlace } from './support/exports.ts';
import { logs } from './support/simulator.ts';

vi.setConfig({ maxConcurrency: 20 });
afterAll(() => stopStores());

const launcher = fileURLToPath(new URL('../../bin/logfleet.js', import.meta.url));
const request = ['--query', '*', '--from', logs.from, '--to', logs.to];
const proven = `Proven: ${logs.messages} rows, each of them once.`;

/** Progress of an export that has committed intervals. */
const someIntervals = / in [1-9]\d* of \d+ intervals/;

// biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-export-e2e-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
});

describe.concurrent('an export by flags', () => {
  test('writes to a directory, prints its manifest, and is complete at the next start', async ({
    tenant,
    start,
    folder,
  }) => {
    const options = { cwd: folder, env: tenant.env };
    const { status, stdout, stderr } = await (await start(['export', ...request, '-o', 'out'], options)).ended;
    expect(status).toBe(0);
    expect(stdout).toMatch(/^file:\/\/\/.*\/out\/default\/export\/[0-9a-f]{64}\/manifest\.json\n$/);
    expect(stderr).toMatch(/^default\/export: Exported: 600 rows are in \d+ files/m);
    const again = await (await start(['export', ...request, '-o', 'out'], options)).ended;
    expect(again).toMatchObject({ status: 0, stdout });
    const verified = await (await start(['verify', stdout.trim()], options)).ended;
    expect(verified).toMatchObject({ status: 0, stdout: expect.stringContaining(proven) });
  });

  test('continues after SIGINT at the next start', async ({ tenant, start, folder }) => {
    const options = { cwd: folder, env: tenant.env };
    await tenant.equip({ faults: { unfinished } });
    const first = await start(['export', ...request, '--parallelism', '1', '-o', 'out'], options);
    await first.line(someIntervals);
    first.signal('SIGINT');
    const interrupted = await first.ended;
    expect(interrupted).toMatchObject({ status: 130, stdout: '' });
    expect(interrupted.stderr).toContain('logfleet export: interrupted');
    expect(await (await start(['verify', 'out'], options)).ended).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is not complete'),
    });
    await tenant.equip({ faults: { unfinished: null } });
    expect(await (await start(['export', ...request, '-o', 'out'], options)).ended).toMatchObject({ status: 0 });
    expect(await (await start(['verify', 'out'], options)).ended).toMatchObject({ status: 0 });
  });

  test('to stdout leaves no files when the terminal is closed', async ({ tenant, start, folder }) => {
    const env = { ...tenant.env, TMPDIR: folder };
    await tenant.equip({ faults: { unfinished } });
    const program = await start(['export', ...request, '--parallelism', '1', '-o', '-'], { cwd: folder, env });
    await program.line(someIntervals);
    expect(readdirSync(folder)).toHaveLength(1);
    program.signal('SIGHUP');
    expect(await program.ended).toMatchObject({ status: 130, stdout: '' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('prints rows to stdout in chronological order once all are proven, and leaves no files', async ({
    tenant,
    start,
    folder,
  }) => {
    const env = { ...tenant.env, TMPDIR: folder };
    const { status, stdout } = await (await start(['export', ...request, '-o', '-'], { cwd: folder, env })).ended;
    expect(status).toBe(0);
    const rows = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { _messagetime: string; _messageid: string });
    expect(new Set(rows.map(({ _messageid }) => _messageid)).size).toBe(logs.messages);
    const times = rows.map(({ _messagetime }) => Number(_messagetime));
    expect(times).toEqual([...times].sort((left, right) => left - right));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('ends without an error message when the reader of its output ends', async ({ tenant, folder }) => {
    const command = ['export', ...request, '-o', '-'].map((word) => `'${word}'`).join(' ');
    const env = { ...process.env, ...tenant.env, TMPDIR: folder };
    const shell = spawn('sh', ['-c', `"${process.execPath}" "${launcher}" ${command} | head -n 1`], { env });
    const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
    expect(JSON.parse(stdout)).toHaveProperty('_messageid');
    expect(stderr).toMatch(/default\/export: Exported; 100% of the export.*\n$/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('prints CSV with one header, and nothing if it fails', async ({ tenant, start, folder }) => {
    const env = { ...tenant.env, TMPDIR: folder };
    const csv = ['-o', '-', '--format', 'csv', '--fields', '_messageid'];
    const { status, stdout } = await (await start(['export', ...request, ...csv], { cwd: folder, env })).ended;
    expect(status).toBe(0);
    const lines = stdout.split('\r\n').slice(0, -1);
    expect([lines[0], lines.filter((line) => line === '_messageid').length]).toEqual(['_messageid', 1]);
    expect(lines).toHaveLength(1 + logs.messages);
    const limited = [...request, ...csv, '--max-messages', '1'];
    const failed = await (await start(['export', ...limited], { cwd: folder, env })).ended;
    expect(failed).toMatchObject({ status: 1, stdout: '' });
    expect(failed.stderr).toMatch(/default\/export: MaxMessagesReached: /);
  });

  test('writes to a store with credentials from the environment', async ({ tenant, start, folder }) => {
    const place = await s3Place('default');
    const [secret] = place.manifests as readonly { readonly stringData: Readonly<Record<string, string>> }[];
    const { accessKeyId = '', secretAccessKey = '' } = secret?.stringData ?? {};
    const { s3 } = place.destination as { readonly s3: { readonly bucket: string; readonly endpoint: string } };
    const env = { ...tenant.env, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const store = ['--endpoint', s3.endpoint, '--path-style', '--insecure'];
    const args = ['export', ...request, '-o', `s3://${s3.bucket}/audit`, ...store];
    const { status, stdout } = await (await start(args, { cwd: folder, env })).ended;
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^s3://${s3.bucket}/audit/default/export/[0-9a-f]{64}/manifest\\.json\n$`));
    const verified = await (await start(['verify', stdout.trim(), ...store], { cwd: folder, env })).ended;
    expect(verified).toMatchObject({ status: 0, stdout: expect.stringContaining(proven) });
  });
});

describe.concurrent('an export of a manifest', () => {
  test('uses credentials of a Secret beside it, and its volume from a flag', async ({ tenant, start, manifests }) => {
    const place = volumePlace();
    const metadata = { name: 'log-service', namespace: 'logging' };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: tenant.secret };
    await manifests.write('audit.yaml', JSON.stringify(exportManifest(place)));
    await manifests.write('secret.yaml', JSON.stringify(secret));
    const args = ['export', 'audit.yaml', '--secret', 'secret.yaml', ...place.flags];
    const { status, stderr } = await (await start(args, { cwd: manifests.path })).ended;
    place.remove();
    expect(stderr).toMatch(/^logging\/audit: Exported: 600 rows/m);
    expect(status).toBe(0);
  });

  test('does not start without its volume', async ({ tenant, start, manifests }) => {
    const place = volumePlace();
    place.remove();
    await manifests.write('audit.yaml', JSON.stringify(exportManifest(place)));
    const { status, stderr } = await (await start(['export', 'audit.yaml'], { cwd: manifests.path, env: tenant.env }))
      .ended;
    expect(status).toBe(2);
    expect(stderr).toContain('add --volume exports=DIR');
  });
});
