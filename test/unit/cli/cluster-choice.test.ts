/** Tests the messages that commands show to a user who has no cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'logfleet-home-'));
  vi.stubEnv('HOME', home);
  vi.stubEnv('KUBECONFIG', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

async function run(...argv: readonly string[]) {
  const context = { ...recordingContext(), cwd: home };
  const status = await runProgram(argv, context);
  return { status, stdout: context.stdout.text, stderr: context.stderr.text };
}

describe('without a kubeconfig', () => {
  test.each([
    [['get', 'cvp'], 'select a directory of manifests with --dir DIR'],
    [['pause', 'cvp/production'], 'select a directory of manifests with --dir DIR'],
    [['run'], 'run the operator on a directory of manifests: logfleet run DIR'],
  ])('%j ends with 2, and reports the searched places and an alternative in one line', async (argv, instead) => {
    expect(await run(...argv)).toEqual({
      status: 2,
      stdout: '',
      stderr:
        `logfleet ${argv[0]}: no kubeconfig was found (checked KUBECONFIG, ${home}/.kube/config and the service account of a pod); ` +
        `select a cluster with --kubeconfig FILE. Without a cluster, ${instead}\n`,
    });
  });
});

/** Returns a kubeconfig with one user. */
function userConfig(user: string): string {
  return [
    'current-context: dev',
    'contexts: [{name: dev, context: {cluster: dev, user: me}}]',
    'clusters: [{name: dev, cluster: {server: "https://127.0.0.1:1"}}]',
    `users: [{name: me, user: ${user}}]\n`,
  ].join('\n');
}

test.each([
  ['that does not exist', 'nofile', undefined, /^logfleet get: the kubeconfig \S*nofile cannot be read: ENOENT\n$/],
  [
    'without a context',
    'config',
    'kind: Config\n',
    /^logfleet get: the kubeconfig has no current context: choose another/,
  ],
  [
    'whose context names no cluster',
    'config',
    'current-context: dev\ncontexts: [{name: dev, context: {cluster: gone, user: me}}]\n',
    /^logfleet get: the kubeconfig's context "dev" names no cluster: choose another/,
  ],
  [
    'whose certificate is missing',
    'config',
    userConfig('{client-certificate: missing.pem, client-key: missing.pem}'),
    /^logfleet get: the credentials for the API server cannot be read: ENOENT.*missing\.pem'\n$/,
  ],
  [
    'whose credential plugin fails',
    'config',
    userConfig('{exec: {apiVersion: client.authentication.k8s.io/v1, command: "false", interactiveMode: Never}}'),
    /^logfleet get: the credentials for the API server cannot be read: the credential plugin failed without a message\n$/,
  ],
  [
    'whose credential plugin is missing',
    'config',
    userConfig(
      '{exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, interactiveMode: Never}}',
    ),
    /^logfleet get: the credentials for the API server cannot be read: .*no-such-plugin ENOENT\n$/,
  ],
])('a kubeconfig %s is invalid input', async (_, file, text, message) => {
  if (text !== undefined) writeFileSync(join(home, file), text);
  const { status, stderr } = await run('get', 'cvp', '--kubeconfig', file);
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});

test('a missing directory is invalid input for run and validate', async () => {
  expect(await run('run', 'nodir')).toEqual({
    status: 2,
    stdout: '',
    stderr: `logfleet run: ${home}/nodir is not a directory; specify a directory of manifests\n`,
  });
  expect(await run('validate', 'nodir')).toMatchObject({ status: 2, stdout: '' });
});
