import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';

const root = join(import.meta.dirname, '../../..');
const policy = (name: string, version = '19.500-1') => `apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: ${name}}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: ${version}}
  selector: {}
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-validate-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): void {
  mkdirSync(join(directory, name, '..'), { recursive: true });
  writeFileSync(join(directory, name), text);
}

async function validate(args: readonly string[], stdin = '') {
  const context = { ...recordingContext(), cwd: directory, readStdin: async () => stdin };
  const status = await runProgram(['validate', ...args], context);
  return { status, findings: context.stdout.text.split('\n').slice(0, -1), summary: context.stderr.text.trimEnd() };
}

describe('logfleet validate', () => {
  test('accepts valid manifests in JSON, in subfolders and in several documents', async () => {
    write('a.yaml', `${policy('a')}---\n${policy('b')}`);
    write('deep/er/c.yml', policy('c'));
    write('d.json', JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [] }));
    write('notes.txt', 'not: [yaml');
    expect(await validate(['.'])).toEqual({
      status: 0,
      findings: [],
      summary: '3 resources in 3 files, all valid',
    });
  });

  test('names file, line, column and path, file by file, and ends with 2', async () => {
    write('b.yaml', policy('b', '19.x'));
    write('a.yaml', `${policy('a')}  priority: high\n  paused: 1\n`);
    const { status, findings, summary } = await validate(['b.yaml', 'a.yaml']);
    expect(status).toBe(2);
    expect(findings).toEqual([
      expect.stringMatching(
        /^b\.yaml:6:21: spec\.target\.version: "19\.x" is not allowed; use the form MAJOR\.MINOR-BUILD/,
      ),
      expect.stringMatching(/^a\.yaml:8:13: spec\.priority: must be a whole number/),
      expect.stringMatching(/^a\.yaml:9:11: spec\.paused: must be true or false/),
    ]);
    expect(summary).toBe('2 resources in 2 files, 3 errors');
  });

  test('ends with 0 for warnings', async () => {
    write('a.yaml', policy('a', '19.0500-1'));
    const { status, findings, summary } = await validate(['a.yaml']);
    expect(status).toBe(0);
    expect(findings).toEqual([expect.stringMatching(/^a\.yaml:6:21: spec\.target\.version: warning: /)]);
    expect(summary).toBe('1 resource in 1 file, all valid, 1 warning');
  });

  test('-o json: has place, reason, problem and fix of each finding', async () => {
    write('a.yaml', `${policy('a', '19.0500-1')}---\n${policy('b', '19.x')}`);
    write('c.yaml', policy('c'));
    const context = { ...recordingContext(), cwd: directory };
    expect(await runProgram(['validate', 'a.yaml', '-o', 'json'], context)).toBe(2);
    expect(JSON.parse(context.stdout.text)).toEqual([
      {
        file: 'a.yaml',
        line: 6,
        column: 21,
        path: 'spec.target.version',
        severity: 'warning',
        reason: 'Risky',
        problem: expect.any(String),
        fix: expect.stringContaining('19.500-1'),
      },
      {
        file: 'a.yaml',
        line: 14,
        column: 21,
        path: 'spec.target.version',
        severity: 'error',
        reason: 'Invalid',
        problem: '"19.x" is not allowed',
        fix: 'use the form MAJOR.MINOR-BUILD, for example 19.500-1',
      },
    ]);
    expect(await validate(['c.yaml', '-o', 'json'])).toMatchObject({ status: 0, findings: ['[]'] });
  });

  test('reads standard input', async () => {
    const { status, findings } = await validate(['-'], policy('a', 'x'));
    expect(status).toBe(2);
    expect(findings).toEqual([expect.stringMatching(/^<stdin>:6:21: /)]);
  });

  test('ignores other kinds and hidden files', async () => {
    write(
      'a.yaml',
      `${policy('a')}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1}\n---\nb: 1\n`,
    );
    write('.logfleet/status.yaml', 'kind: [');
    expect(await validate([directory])).toMatchObject({
      status: 0,
      summary: '1 resource in 1 file, all valid, ignored 2 documents of kinds that logfleet does not use',
    });
  });

  test('reads a file only once, although it is given twice and its folder links to itself', async () => {
    write('sub/a.yaml', policy('a'));
    symlinkSync('.', join(directory, 'sub/loop'));
    expect(await validate(['sub', 'sub/a.yaml', '-', '-'], policy('b'))).toEqual({
      status: 0,
      findings: [],
      summary: '2 resources in 2 files, all valid',
    });
  });

  test('ignores the folder with the state, which only the user of `logfleet run` can read', async () => {
    write('a.yaml', policy('a'));
    write('.logfleet/status/x', '');
    chmodSync(join(directory, '.logfleet'), 0);
    // Root can read the folder despite its mode.
    expect(await validate(['.'])).toMatchObject({ status: 0, summary: '1 resource in 1 file, all valid' });
    chmodSync(join(directory, '.logfleet'), 0o700);
  });

  test('ends with 2 for a file that cannot be read', async () => {
    symlinkSync('itself', join(directory, 'itself'));
    const { status, summary } = await validate(['itself']);
    expect(status).toBe(2);
    expect(summary).toMatch(/^logfleet validate: itself cannot be read: ELOOP\n/);
  });

  test('refuses a Ledger in manifests', async () => {
    write('a.yaml', 'apiVersion: logfleet.dev/v1alpha1\nkind: Ledger\nmetadata: {name: a}\nshard: head\ncontent: ""\n');
    const { status, findings } = await validate([directory]);
    expect(status).toBe(2);
    expect(findings).toEqual([expect.stringMatching(/:2:7: kind: only the operator writes Ledgers/)]);
  });

  test.each(['just text\n', '', '---\n'])('refuses a document that is not an object: %j', async (text) => {
    write('a.yaml', text);
    expect(await validate([directory])).toMatchObject({ status: 2 });
  });

  test('reports when nothing was checked', async () => {
    write('a.yaml', 'apiVersion: v1\nkind: ConfigMap\n');
    expect(await validate(['a.yaml'])).toMatchObject({
      status: 0,
      summary: '0 resources in 1 file, nothing to check, ignored 1 document of kinds that logfleet does not use',
    });
  });

  test.each([
    [
      'a kind without its group',
      'apiVersion: v1\nkind: CollectorVersionPolicy\n',
      'apiVersion: CollectorVersionPolicy is a kind of',
    ],
    ['a group without a kind', 'apiVersion: logfleet.dev/v1alpha1\n', 'kind: logfleet.dev has no kind ""'],
  ])('refuses %s', async (_, text, expected) => {
    const { status, findings } = await validate(['-'], text);
    expect(status).toBe(2);
    expect(findings).toEqual([expect.stringContaining(expected)]);
  });

  test('refuses a resource in two files, unless the namespaces differ', async () => {
    write('a.yaml', policy('a'));
    write('b.yaml', policy('a'));
    write('c.yaml', policy('a, namespace: other'));
    const { findings } = await validate(['.']);
    expect(findings).toEqual([
      'b.yaml:3:18: metadata.name: a is already in a.yaml, line 1; use another name, or delete one of the two',
    ]);
  });

  test('checks only Secrets that a policy refers to', async () => {
    const secret = (name: string) =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\nstringData: {baseURL: "http://x"}\n`;
    write('a.yaml', policy('a'));
    write('secrets.yaml', `${secret('log-service')}---\n${secret('other')}`);
    const { findings, summary } = await validate(['.']);
    expect(findings.map((finding) => finding.split(': ')[1])).toEqual([
      'stringData.accessId',
      'stringData.accessKey',
      'stringData.baseURL',
    ]);
    expect(summary).toBe('1 resource in 2 files, 3 errors, ignored 1 document of kinds that logfleet does not use');
  });

  test('checks the settings of the operator in each namespace', async () => {
    const settings = (data: string, namespace = 'logfleet') =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: logfleet-settings, namespace: ${namespace}}\n${data}\n`;
    write('a.yaml', settings('data: {paused: "true"}'));
    expect(await validate(['.'])).toEqual({ status: 0, findings: [], summary: '1 resource in 1 file, all valid' });
    write('b.yaml', `${settings('data: {paused: yes}')}---\n${settings('data: [paused]', 'logging')}`);
    write('c.yaml', settings('data: {paused: "off", Paused: "true", stop: "true"}', 'other'));
    const { status, findings } = await validate(['.']);
    expect(status).toBe(2);
    expect(findings).toEqual([
      'b.yaml:3:18: metadata.name: logfleet-settings is already in a.yaml, line 1; use another name, or delete one of the two',
      'b.yaml:4:16: data.paused: must be a string, not true; put it in quotes, for example "true"',
      'b.yaml:9:7: data: must be a mapping; use a mapping of names to strings, for example paused: "true"',
      'c.yaml:4:16: data.paused: warning: the setting paused has the value "off", which pauses logfleet, just as "true" does; use "true" or "false"',
      'c.yaml:4:23: data.Paused: warning: logfleet has no such setting; did you mean paused?',
      'c.yaml:4:39: data.stop: warning: logfleet has no such setting; use paused, or leave it out',
    ]);
  });

  describe('of an export', () => {
    const exportOf = (metadata: string, timeZone = 'UTC') => `apiVersion: logfleet.dev/v1alpha1
kind: SearchExport
metadata: {${metadata}}
spec:
  credentialsSecretRef: {name: log-service}
  query: error
  timeRange: {from: "2025-11-01T00:00:00", to: "2025-11-02T00:00:00", timeZone: ${timeZone}}
  destination:
    s3: {bucket: log-exports, credentialsSecretRef: {name: export-store}}
`;
    const secret = (members: string, namespace = '') =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: export-store${namespace}}\nstringData: {${members}}\n`;

    test('checks more than an API server, and the Secret of the store', async () => {
      write('export.yaml', exportOf('name: a'));
      write('secret.yaml', secret('accessKeyId: a, secretAccessKey: b, sessionToken: ""'));
      expect(await validate(['.'])).toEqual({
        status: 0,
        findings: [],
        summary: '1 resource in 2 files, all valid',
      });
      write('export.yaml', exportOf('name: a', 'Europe/Berln'));
      write('secret.yaml', secret('secretAccesKey: b, accessKeyId: " "'));
      const { status, findings } = await validate(['.']);
      expect(status).toBe(2);
      expect(findings).toEqual([
        'export.yaml:7:81: spec.timeRange.timeZone: "Europe/Berln" is not a known time zone; use Europe/Berlin',
        'secret.yaml:4:13: stringData.secretAccessKey: is missing; add the missing key under stringData, and copy its value from the object store',
        'secret.yaml:4:14: stringData.secretAccesKey: warning: logfleet has no such key; did you mean secretAccessKey?',
        'secret.yaml:4:46: stringData.accessKeyId: is empty; set its value',
      ]);
    });

    test('checks the Secret of a bucket of Google Cloud Storage', async () => {
      write('export.yaml', exportOf('name: a').replace('s3:', 'gcs:'));
      write('secret.yaml', secret('serviceAccountKey: "{}"'));
      expect((await validate(['.'])).findings).toEqual([]);
      write('secret.yaml', secret('serviceaccountkey: "{}"'));
      const { status, findings } = await validate(['.']);
      expect(status).toBe(2);
      expect(findings[0]).toContain('stringData.serviceAccountKey: is missing; add the missing key under stringData');
    });

    test('refuses an endpoint that the Secret of Google Cloud Storage does not name', async () => {
      const endpoint = 'https://store.example.com';
      write('export.yaml', exportOf('name: a').replace('s3: {', `gcs: {endpoint: "${endpoint}", `));
      write('secret.yaml', secret('serviceAccountKey: "{}"'));
      expect(await validate(['.'])).toMatchObject({
        status: 2,
        findings: [
          `export.yaml:9:21: spec.destination.gcs.endpoint: ${endpoint} must not receive the credentials in the Secret, because it is not an https address of the cloud provider (https://*.googleapis.com), and the Secret does not contain this endpoint; use an address of the cloud provider, or add the key endpoint with the value ${endpoint} to the Secret`,
        ],
      });
      write('secret.yaml', secret(`serviceAccountKey: "{}", endpoint: "${endpoint}"`));
      expect(await validate(['.'])).toMatchObject({ status: 0, findings: [] });
    });

    test('warns of a Secret for its store in another namespace', async () => {
      write('export.yaml', exportOf('name: a, namespace: logging'));
      write('secret.yaml', secret('accessKeyId: a', ', namespace: vault'));
      const { status, findings } = await validate(['.']);
      expect(status).toBe(0);
      expect(findings).toEqual([
        expect.stringMatching(
          /^export.yaml:9:60: .*credentialsSecretRef.name: warning: .*define the Secret in namespace logging$/,
        ),
      ]);
    });

    test('warns of annotations for rollouts', async () => {
      const annotations = 'annotations: {logfleet.dev/paused: "true", logfleet.dev/approve: 3-19.500-1/canary}';
      write('export.yaml', exportOf(`name: a, ${annotations}`));
      const { findings } = await validate(['.']);
      expect(findings).toEqual([expect.stringMatching(/^export.yaml:3:64: .*approve\]: warning: /)]);
    });
  });

  test('warns of a Secret in another namespace', async () => {
    write('a.yaml', policy('a, namespace: logging'));
    write('secret.yaml', 'apiVersion: v1\nkind: Secret\nmetadata: {name: log-service, namespace: vault}\n');
    const { status, findings } = await validate(['.']);
    expect(status).toBe(0);
    expect(findings).toEqual([
      expect.stringMatching(/^a\.yaml:5:32: .*warning: .*define the Secret in namespace logging$/),
    ]);
  });

  test.each([
    ['a file that does not exist', 'nothing.yaml', 'nothing.yaml does not exist'],
    ['a directory without manifests', '.', '. contains no *.yaml, *.yml or *.json'],
  ])('calls %s wrong usage', async (_, argument, expected) => {
    const { status, summary } = await validate([argument]);
    expect(status).toBe(2);
    expect(summary).toContain(expected);
  });

  test('accepts the samples and examples of the project', async () => {
    const { status, findings } = await validate([join(root, 'manifests/samples'), join(root, 'examples')]);
    // The durations in the example `quiet-build` are short, so that users can try it in two minutes.
    const short = findings.filter((finding) => finding.includes('/examples/quiet-build/policy.yaml:'));
    expect(short).toEqual([
      expect.stringContaining('soakDuration: warning'),
      expect.stringContaining('messages.duration: warning'),
    ]);
    expect({ status, findings: findings.filter((finding) => !short.includes(finding)) }).toEqual({
      status: 0,
      findings: [],
    });
  });
});

test('logfleet crds prints every CRD', async () => {
  const context = recordingContext();
  expect(await runProgram(['crds'], context)).toBe(0);
  const documents = parseAllDocuments(context.stdout.text);
  if ('empty' in documents) throw new Error('crds printed nothing');
  expect(documents.map((document) => document.toJS({ maxAliasCount: -1 }).metadata.name)).toEqual([
    'collectorversionpolicies.logfleet.dev',
    'ledgers.logfleet.dev',
    'searchexportschedules.logfleet.dev',
    'searchexports.logfleet.dev',
  ]);
  const files = ['collector-version-policy.yaml', 'ledger.yaml', 'search-export-schedule.yaml', 'search-export.yaml'];
  expect(context.stdout.text).toBe(files.map((file) => readFileSync(join(root, 'crds', file), 'utf8')).join('---\n'));
});
