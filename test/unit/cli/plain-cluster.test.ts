/** Tests that logfleet finds the same API server as the client-node library, without using that library. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readPlainCluster } from '../../../src/cli/resources/plain-cluster.ts';
import { targetOf } from '../../../src/host/kubernetes/cluster-connection.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'logfleet-plain-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const data = (text: string) => Buffer.from(text).toString('base64');
const cluster = { server: 'https://10.0.0.1:6443', 'certificate-authority-data': data('CA') };

function write(config: unknown, name = 'kubeconfig', render: (value: unknown) => string = stringify): string {
  const file = path.join(directory, name);
  writeFileSync(file, render(config));
  return file;
}

function kubeconfig(user: object, more: object = {}, context: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'other', cluster: { server: 'https://other' } },
      { name: 'one', cluster: { ...cluster, ...more } },
    ],
    users: [{ name: 'me', user }],
    contexts: [{ name: 'here', context: { cluster: 'one', user: 'me', ...context } }],
    'current-context': 'here',
  };
}

const plain = (file: string) => readPlainCluster({ kubeconfig: file, environment: {}, home: '/nowhere' });

describe('a simple kubeconfig gives the same result as client-node', () => {
  test.each<[string, object, object, object]>([
    ['a token', { token: 'secret' }, {}, {}],
    ['a password', { username: 'me', password: 'secret' }, {}, {}],
    ['a certificate', { 'client-certificate-data': data('CERT'), 'client-key-data': data('KEY') }, {}, {}],
    ['files beside it', { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' }, {}, {}],
    ['a namespace', { token: 'secret' }, {}, { namespace: 'logging' }],
    ['no verification', { token: 'secret' }, { 'insecure-skip-tls-verify': true }, {}],
    ['a server name and a proxy', { token: 'x' }, { 'tls-server-name': 'api', 'proxy-url': 'http://proxy:8080' }, {}],
  ])('with %s', async (_, user, more, context) => {
    writeFileSync(path.join(directory, 'cert.pem'), 'CERT');
    writeFileSync(path.join(directory, 'key.pem'), 'KEY');
    const file = write(kubeconfig(user, more, context));
    const config = new KubeConfig();
    config.loadFromFile(file);
    const [found, expected] = [await plain(file), targetOf(config)];
    const { server, namespace, proxyUrl, context: name } = expected;
    expect(found).toMatchObject(JSON.parse(JSON.stringify({ server, namespace, proxyUrl, context: name })));
    const [ours, theirs] = [await found?.credentials(), await expected.credentials()];
    expect(ours?.headers).toEqual(theirs.headers);
    expect({ ...ours?.connection, rejectUnauthorized: undefined }).toEqual({
      ...theirs.connection,
      rejectUnauthorized: undefined,
    });
    expect(ours?.connection.rejectUnauthorized).toBe(theirs.connection.rejectUnauthorized ?? true);
  });

  test('as JSON, by KUBECONFIG, and with another context', async () => {
    const config = kubeconfig({ token: 'secret' });
    const file = write({ ...config, 'current-context': 'nowhere' }, 'json', JSON.stringify);
    const environment = { KUBECONFIG: file };
    expect(await readPlainCluster({ environment, home: '/nowhere', context: 'here' })).toMatchObject({
      server: cluster.server,
    });
  });
});

describe('is read by client-node:', () => {
  test.each<[string, object, object]>([
    ['a plugin', { exec: { command: 'login' } }, {}],
    ['an auth provider', { 'auth-provider': { name: 'oidc' } }, {}],
    ['impersonation', { token: 'secret', as: 'somebody' }, {}],
    ['a token in a file', { tokenFile: 'token' }, {}],
    ['an unknown member of the cluster', { token: 'secret' }, { 'disable-compression': true }],
  ])('%s', async (_, user, more) => {
    expect(await plain(write(kubeconfig(user, more)))).toBeUndefined();
  });

  test('a missing or malformed file, several files, and a missing context', async () => {
    expect(await plain('/nowhere/kubeconfig')).toBeUndefined();
    expect(await plain(write('', 'broken', () => '{'))).toBeUndefined();
    const file = write(kubeconfig({ token: 'secret' }));
    const environment = { KUBECONFIG: `${file}${path.delimiter}${file}` };
    expect(await readPlainCluster({ environment, home: '/nowhere' })).toBeUndefined();
    expect(await readPlainCluster({ kubeconfig: file, context: 'nowhere', environment: {} })).toBeUndefined();
  });
});

describe('a pod', () => {
  test('uses its service account, and reads the token again', async () => {
    const accountDirectory = path.join(directory, 'account');
    mkdirSync(accountDirectory);
    for (const name of ['token', 'ca.crt', 'namespace']) writeFileSync(path.join(accountDirectory, name), `${name} 1`);
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const found = await readPlainCluster({ environment, home: '/nowhere', accountDirectory });
    expect(found).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'namespace 1', context: undefined });
    // If the user specifies a context, the pod's own cluster is not used.
    const named = { environment, home: '/nowhere', accountDirectory, context: 'here' };
    expect(await readPlainCluster(named)).toBeUndefined();
    expect((await found?.credentials())?.headers).toEqual({ authorization: 'Bearer token 1' });
    writeFileSync(path.join(accountDirectory, 'token'), 'token 2\n');
    expect((await found?.credentials())?.headers).toEqual({ authorization: 'Bearer token 2' });
  });

  test('is undefined without a service account', async () => {
    expect(await readPlainCluster({ environment: {}, home: '/nowhere', accountDirectory: directory })).toBeUndefined();
  });
});
