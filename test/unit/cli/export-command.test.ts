/** Tests `logfleet export`: its flags, invalid command lines, and messages. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ExportOptions } from '../../../src/cli/command/options.ts';
import { fixedRangeFlags, flagManifest, type GivenSecret, sinkOf } from '../../../src/cli/export/export-manifest.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';
import { sampleExport } from './sample-export.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-export-test-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const range = ['--from', '2026-11-01', '--to', '2026-11-02', '--time-zone', 'UTC'];
const request = ['--query', 'error', ...range];

async function run(...args: readonly string[]) {
  return runIn({}, ...args);
}

async function runIn(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const context = { ...recordingContext(), cwd: directory, env };
  const status = await runProgram(['export', ...args], context);
  return { status, stdout: context.stdout.text, stderr: context.stderr.text };
}

describe('an export without a manifest', () => {
  const nowMs = Date.UTC(2026, 10, 2);
  const manifestOf = (options: Partial<ExportOptions>, env = {}, secret?: GivenSecret) => {
    const all: ExportOptions = { logLevel: 'warn', query: 'error', from: '-24h', to: 'now', output: 'out', ...options };
    const { source, volumes } = flagManifest(all, sinkOf(all), {
      folder: '/spool',
      nowMs,
      cwd: directory,
      env,
      secret,
    });
    return { ...JSON.parse(String(source.text)), volumes };
  };

  test('becomes an ordinary manifest', () => {
    const { metadata, spec, volumes } = manifestOf({ fields: ['_raw'], maxMessages: 10, format: 'CSV' });
    expect(metadata).toEqual({ name: 'export' });
    expect(spec).toEqual({
      credentialsSecretRef: { name: 'log-service' },
      query: 'error',
      timeRange: { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z' },
      limits: { maxMessages: 10 },
      output: { format: 'CSV', fields: ['_raw'] },
      destination: { volume: { name: 'output' } },
    });
    expect([...volumes]).toEqual([['output', join(directory, 'out')]]);
  });

  test.each([
    ['2026-11-01', '2026-11-01T00:00:00'],
    ['2026-11-01T12:00:00', '2026-11-01T12:00:00'],
    ['1793491200000', '1793491200000'],
    ['-90m', '2026-11-01T22:30:00.000Z'],
    ['-soon', '-soon'],
  ])('reads the time %s as %s', (from, expected) => {
    expect(manifestOf({ from }).spec.timeRange.from).toBe(expected);
  });

  test('writes to a store with the credentials of the environment', () => {
    const { spec, volumes } = manifestOf(
      { output: 's3://audit/logs/prod/', pathStyle: true },
      { AWS_REGION: 'eu-west-1' },
    );
    const s3 = { bucket: 'audit', prefix: 'logs/prod', region: 'eu-west-1', forcePathStyle: true };
    expect(spec.destination).toEqual({ s3 });
    expect(volumes.size).toBe(0);
    expect(manifestOf({ output: 's3://audit' }).spec.destination).toEqual({ s3: { bucket: 'audit' } });
  });

  test('accepts the address of a container', () => {
    const output = 'https://examplelogs.blob.core.windows.net/audit/logs/prod/';
    const azureBlob = { account: 'examplelogs', container: 'audit', prefix: 'logs/prod' };
    expect(manifestOf({ output }).spec.destination).toEqual({ azureBlob });
    const endpoint = 'http://127.0.0.1:10000/dev';
    expect(manifestOf({ output: `${endpoint}/audit`, endpoint, insecure: true }).spec.destination).toEqual({
      azureBlob: { endpoint, container: 'audit', insecure: true },
    });
  });

  test('accepts the address of a bucket of Google Cloud Storage', () => {
    const gcs = { bucket: 'audit', prefix: 'logs/prod' };
    expect(manifestOf({ output: 'gs://audit/logs/prod/' }).spec.destination).toEqual({ gcs });
    const endpoint = 'http://127.0.0.1:4443';
    expect(manifestOf({ output: 'gs://audit', endpoint, insecure: true }).spec.destination).toEqual({
      gcs: { bucket: 'audit', endpoint, insecure: true },
    });
  });

  test('uses the name and namespace of the given Secret', () => {
    const { metadata, spec } = manifestOf({}, {}, { namespace: 'logging', name: 'tenant' });
    expect(metadata).toEqual({ name: 'export', namespace: 'logging' });
    expect(spec.credentialsSecretRef).toEqual({ name: 'tenant' });
  });

  test.each([
    ['-24h', 'now', '--from 2026-11-01T00:00:00.000Z --to 2026-11-02T00:00:00.000Z'],
    ['2026-11-01', 'now', '--from 2026-11-01T00:00:00 --to 2026-11-02T00:00:00.000Z'],
    ['2026-11-01', '2026-11-02', ''],
  ])('from %s to %s continues with %j', (from, to, expected) => {
    const { spec } = manifestOf({ from, to });
    expect(fixedRangeFlags({ from, to }, { ...sampleExport(), spec })).toBe(expected);
  });

  test('keeps rows for stdout uncompressed in a temporary folder', () => {
    const { spec, volumes } = manifestOf({ output: '-' });
    expect(spec.output).toEqual({ compression: 'None' });
    expect([...volumes]).toEqual([['output', '/spool']]);
  });
});

describe('problems name the flag', () => {
  test.each([
    ['no flags', [], 'needs --query and --from and --to: add --query and --from and --to, or name a manifest'],
    ['half of a range', ['--query', 'x', '--from', '2026-11-01'], 'needs --to: add --to, or name a manifest'],
    ['no destination', request, 'the destination is missing'],
    ['an empty destination', [...request, '-o', ''], '--output is empty'],
    ['an invalid namespace', [...request, '-o', 'x', '-n', '../x'], '-n: "../x" is not a namespace; use at most 63'],
    ['a bucket without a name', [...request, '-o', 's3:///x'], 'has no bucket'],
    ['Parquet to stdout', [...request, '-o', '-', '--format', 'parquet'], 'Parquet cannot be written to stdout'],
    ['compressed rows to stdout', [...request, '-o', '-', '--compression', 'gzip'], 'remove --compression'],
    ['an unknown format', [...request, '-o', 'x', '--format', 'xml'], 'Write NDJSON or CSV or Parquet.'],
    [
      'an invalid time',
      ['--query', 'x', '--from', 'soon', '--to', 'now', '-o', 'x'],
      expect.stringMatching(
        /^--from: "soon" is not allowed; .*; --from and --to also accept a date such as 2026-11-01, the word now, and a time before now such as -24h$/m,
      ),
    ],
    [
      'a time without a time zone',
      ['--query', 'x', '--from', '2026-11-01', '--to', '2026-11-02', '-o', 'x'],
      expect.stringMatching(
        /^--time-zone: is missing, but a time without an offset needs a time zone; set it, for example to Europe\/Berlin or UTC/m,
      ),
    ],
    [
      'a store without TLS',
      [...request, '-o', 's3://logs', '--endpoint', 'http://store'],
      'is not encrypted: use an address that begins with https://, or add --insecure',
    ],
    [
      'a container without TLS',
      [...request, '-o', 'http://127.0.0.1:10000/dev/audit'],
      'is not encrypted: use an address that begins with https://, or add --insecure',
    ],
    ['an invalid size', [...request, '-o', 'x', '--max-part-size', '3'], '--max-part-size: "3" is not allowed'],
    [
      'a flag of stores with a folder',
      [...request, '-o', 'x', '--endpoint', 'https://store'],
      '--endpoint has no effect',
    ],
    ['a flag of stores with stdout', [...request, '-o', '-', '--path-style'], '--path-style has no effect'],
    ['a number that is too large', [...request, '-o', 'x', '--max-messages', '9007199254740993'], 'at most'],
    ['a volume', [...request, '-o', 'x', '--volume', 'a=b'], '--volume is only for an export with a manifest'],
  ])('%s', async (_, args, expected) => {
    writeFileSync(join(directory, 'all.yaml'), '');
    const { status, stdout, stderr } = await run(...args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toEqual(typeof expected === 'string' ? expect.stringContaining(expected) : expected);
    expect(existsSync(join(directory, 'x'))).toBe(false);
  });
});

const service = { LOGFLEET_BASE_URL: 'https://127.0.0.1:1/api', LOGFLEET_ACCESS_ID: 'me', LOGFLEET_ACCESS_KEY: 'k' };

describe('ends with 2, and leaves no folder behind,', () => {
  test.each([
    ['without credentials', {}, 'default/export: SecretNotFound: '],
    ['with only some of the variables', { LOGFLEET_ACCESS_ID: 'me' }, 'default/export: SecretIncomplete: '],
    ['with an invalid address', { ...service, LOGFLEET_BASE_URL: 'http://x/api' }, ': AddressInvalid: '],
    ['with a CA certificate that does not exist', { ...service, LOGFLEET_CA_FILE: 'none' }, 'LOGFLEET_CA_FILE names '],
    ['with a CA file that has no certificate', { ...service, LOGFLEET_CA_FILE: 'x.pem' }, ': SecretInvalid: '],
  ])('%s', async (_, env, expected) => {
    writeFileSync(join(directory, 'x.pem'), 'x');
    const { status, stdout, stderr } = await runIn(env, ...request, '-o', 'out');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(expected);
    expect(existsSync(join(directory, 'out'))).toBe(false);
  });
});

test('refuses a folder that cannot be created', async () => {
  writeFileSync(join(directory, 'all.yaml'), '');
  const { status, stderr } = await runIn(service, ...request, '-o', 'all.yaml/x');
  expect([status, stderr]).toEqual([2, expect.stringContaining('set another folder with -o')]);
});

test('a duplicate field names its flag', async () => {
  const { stderr } = await run(...request, '-o', 'x', '--fields', 'a,a');
  expect(stderr).toMatch(/^--fields: warning: "a" is listed twice/m);
});

test('a warning about a store names the flag', async () => {
  const { stderr } = await run(...request, '-o', 's3://logs', '--endpoint', 'https://minio.store.svc:9000');
  expect(stderr).toMatch(/^--endpoint: warning: .*; set forcePathStyle/m);
});

describe('a manifest', () => {
  const manifest = (name: string, to = '2026-11-02T00:00:00Z') => `---
apiVersion: logfleet.dev/v1alpha1
kind: SearchExport
metadata: {name: ${name}}
spec:
  credentialsSecretRef: {name: log-service}
  query: error
  timeRange: {from: "2026-11-01T00:00:00Z", to: "${to}"}
  destination: {volume: {name: exports}}
`;
  const write = (text: string) => writeFileSync(join(directory, 'all.yaml'), text);

  test('is checked as validate checks it', async () => {
    write(manifest('errors', '2026-10-01T00:00:00Z'));
    expect(await run('all.yaml')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^all\.yaml:\d+:\d+: spec/m),
    });
  });

  test('has one export, or needs a name', async () => {
    write('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    expect(await run('all.yaml')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('all.yaml contains no SearchExport'),
    });
    write(manifest('errors') + manifest('audit'));
    expect((await run('all.yaml')).stderr).toContain(
      'all.yaml contains several exports (default/errors, default/audit): select one of them',
    );
    expect((await run('all.yaml', '--name', 'x')).stderr).toContain(
      'all.yaml contains no SearchExport with the name x',
    );
  });

  test('is selected by namespace if two exports have its name', async () => {
    const of = (namespace: string) =>
      manifest('errors').replace('{name: errors}', `{name: errors, namespace: ${namespace}}`);
    write(of('logging') + of('audit'));
    const both = 'all.yaml contains several exports (logging/errors, audit/errors): select one of them';
    expect((await run('all.yaml', '--name', 'errors')).stderr).toContain(both);
    const volume = ['--volume', `exports=${directory}`];
    const one = await run('all.yaml', '--name', 'errors', '-n', 'audit', ...volume);
    expect(one).toMatchObject({ status: 2, stderr: expect.stringContaining('audit/errors: SecretNotFound: ') });
    const none = await run('all.yaml', '-n', 'prod', ...volume);
    expect(none.stderr).toContain('all.yaml contains no SearchExport in namespace prod, only logging/errors');
  });

  test('is not taken from files of --secret', async () => {
    write(manifest('errors'));
    writeFileSync(join(directory, 'secrets.yaml'), manifest('audit'));
    const { stderr } = await run('all.yaml', '--secret', 'secrets.yaml', '--volume', `exports=${directory}`);
    expect(stderr).toContain('default/errors: SecretNotFound: ');
  });

  test('reports Secrets of --secret that are not used', async () => {
    write(manifest('errors'));
    const secret = (name: string, member: string) =>
      writeFileSync(
        join(directory, 'sec.yaml'),
        `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, namespace: foo}\nstringData: {${member}: "https://x"}\n`,
      );
    secret('other', 'baseURL');
    const { status, stderr } = await run('all.yaml', '--secret', 'sec.yaml', '--volume', `exports=${directory}`);
    expect(status).toBe(2);
    expect(stderr).toContain(
      'The export does not use these Secrets from --secret: foo/other. The export needs the Secret default/log-service',
    );
    secret('store', 'accessKeyId');
    const byFlags = await run(...request, '-o', 'x', '--secret', 'sec.yaml');
    expect(byFlags.stderr).toContain(
      'The export does not use these Secrets from --secret: foo/store. A Secret with credentials',
    );
  });

  test('refuses flags for fields of the manifest', async () => {
    write(manifest('errors'));
    expect((await run('all.yaml', '-o', 'x')).stderr).toContain(
      '--output is only for an export without a manifest: remove --output, and set the field in all.yaml instead',
    );
  });

  test('can use credentials of the store from the environment, and reports an invalid Secret', async () => {
    write(
      manifest('errors', '2026-10-01T00:00:00Z').replace('{volume: {name: exports}}', '{s3: {bucket: log-exports}}'),
    );
    expect((await run('all.yaml')).stderr).not.toContain('credentialsSecretRef');
    writeFileSync(
      join(directory, 'secret.yaml'),
      'apiVersion: v1\nkind: Secret\nmetadata: {name: log-service}\nstringData: {baseURL: "http://x"}\n',
    );
    const { status, stderr } = await run(...request, '-o', 'x', '--secret', 'secret.yaml');
    expect(status).toBe(2);
    expect(stderr).toMatch(/^secret\.yaml:4:\d+: stringData\.baseURL: /m);
  });

  test.each([
    ['of manifests without a namespace', ''],
    ['of the flag -n', '', '-n', 'team'],
    ['of the manifest and the flag -n', ', namespace: team', '-n', 'team'],
    ['of the manifest, if it is the default one', ', namespace: default'],
    ['of the manifest, if it is another one', ', namespace: team'],
  ])('finds its Secret in the namespace %s', async (_, written, ...flags) => {
    writeFileSync(
      join(directory, 'secret.yaml'),
      `apiVersion: v1\nkind: Secret\nmetadata: {name: tenant${written}}\nstringData: {baseURL: "http://x"}\n`,
    );
    const { stderr } = await run(...request, '-o', 'x', '--secret', 'secret.yaml', ...flags);
    expect(stderr).toMatch(/^secret\.yaml:4:\d+: stringData\.baseURL: /m);
    expect(stderr).not.toContain('namespace');
  });

  test('that is paused ends with 1', async () => {
    write(`${manifest('errors')}  paused: true\n`);
    const { status, stderr } = await run('all.yaml', '--volume', `exports=${directory}`);
    expect(status).toBe(1);
    expect(stderr).toContain('errors: Paused: Paused by spec.paused');
  });

  test('that is paused by an annotation sends no request, and shows how to resume it', async () => {
    write(manifest('errors').replace('{name: errors}', '{name: errors, annotations: {logfleet.dev/paused: "true"}}'));
    const { status, stderr } = await run('all.yaml', '--volume', `exports=${directory}`);
    expect(status).toBe(1);
    expect(stderr).toContain('errors: Paused: Paused by the annotation logfleet.dev/paused');
    expect(stderr).toContain('To resume: remove the annotation logfleet.dev/paused from the manifest');
    expect(stderr).not.toContain('SecretNotFound');
  });

  test('needs a directory for the volume that it names', async () => {
    write(manifest('errors'));
    const { status, stderr } = await run('all.yaml', '--volume', `other=${directory}`);
    expect(status).toBe(2);
    expect(stderr).toContain(
      'the export default/errors writes to the volume exports, whose directory is missing: add --volume exports=DIR',
    );
  });

  test.each(['not/mounted', 'all.yaml'])(
    'refuses the volume %s, which is not an existing directory',
    async (folder) => {
      write(manifest('errors'));
      const { status, stderr } = await run('all.yaml', '--volume', `exports=${folder}`);
      expect(status).toBe(2);
      expect(stderr).toContain(`the folder ${join(directory, folder)} of --volume exports does not exist: create it`);
    },
  );

  test('without credentials ends with 2', async () => {
    write(manifest('errors'));
    const { status, stdout, stderr } = await run('all.yaml', '--volume', `exports=${directory}`);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('default/errors: SecretNotFound: ');
  });
});
