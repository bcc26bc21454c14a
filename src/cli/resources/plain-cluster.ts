/**
 * Reads the service account of a pod, and simple kubeconfigs. Other kubeconfigs, such as those with plugins, need the
 * library client-node. The library is loaded only when it is needed, because it takes 60 MiB of memory.
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path, { resolve } from 'node:path';
import { failure, hasCode } from '../../base/errors.ts';
import { isRecord, type JsonObject } from '../../base/record.ts';
import { type ClusterConnection, connectToCluster } from '../../host/kubernetes/cluster-connection.ts';
import type { ClusterCredentials, ClusterTarget } from '../../host/kubernetes/kube-api.ts';
import type { ClusterOptions } from '../command/options.ts';

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';
const clusterMembers = new Set([
  ...['server', 'certificate-authority', 'certificate-authority-data'],
  ...['insecure-skip-tls-verify', 'tls-server-name', 'proxy-url'],
]);
const userMembers = new Set([
  ...['token', 'client-certificate', 'client-certificate-data', 'client-key', 'client-key-data'],
  ...['username', 'password'],
]);

interface PlainClusterOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Home directory of the user, which contains `.kube/config`. */
  readonly home?: string;
  readonly accountDirectory?: string;
}

/** Returns the selected cluster, or undefined if the kubeconfig needs the library client-node. */
export async function readPlainCluster(options: PlainClusterOptions): Promise<ClusterTarget | undefined> {
  const { kubeconfig, environment, home = homedir(), accountDirectory = serviceAccount } = options;
  const named = kubeconfig ?? (environment['KUBECONFIG'] || undefined);
  const usual = path.join(home, '.kube/config');
  const file = named ?? (existsSync(usual) ? usual : undefined);
  if (file !== undefined) return ofKubeconfig(file, options.context);
  return options.context === undefined ? ofPod(accountDirectory, environment) : undefined;
}

function ofPod(directory: string, environment: PlainClusterOptions['environment']): ClusterTarget | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const [token, ca, namespace] = ['token', 'ca.crt', 'namespace'].map((name) => path.join(directory, name));
  if (!host || !port || !token || !ca || !namespace || !existsSync(token)) return undefined;
  return {
    context: undefined,
    namespace: existsSync(namespace) ? readFileSync(namespace, 'utf8') : undefined,
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    proxyUrl: undefined,
    credentials: async () => ({
      connection: { ca: await readFile(ca, 'utf8'), rejectUnauthorized: true },
      headers: { authorization: `Bearer ${(await readFile(token, 'utf8')).trim()}` },
    }),
  };
}

async function ofKubeconfig(file: string, wanted: string | undefined): Promise<ClusterTarget | undefined> {
  const config = await parsed(file);
  const context = wanted ?? textOf(config, 'current-context');
  const chosen = memberOf(config, 'contexts', context, 'context');
  const cluster = memberOf(config, 'clusters', textOf(chosen, 'cluster'), 'cluster');
  const user = memberOf(config, 'users', textOf(chosen, 'user'), 'user');
  if (!cluster || !user || !isPlain(cluster, clusterMembers) || !isPlain(user, userMembers)) return undefined;
  const server = textOf(cluster, 'server');
  if (server === undefined) return undefined;
  return {
    ...{ context, server, namespace: textOf(chosen, 'namespace'), proxyUrl: textOf(cluster, 'proxy-url') },
    credentials: () => credentialsOf(path.dirname(file), cluster, user),
  };
}

async function credentialsOf(directory: string, cluster: JsonObject, user: JsonObject): Promise<ClusterCredentials> {
  const read = (members: JsonObject, name: string) => textOrFile(directory, members, name);
  const [ca, cert, key] = [
    await read(cluster, 'certificate-authority'),
    await read(user, 'client-certificate'),
    await read(user, 'client-key'),
  ];
  const servername = textOf(cluster, 'tls-server-name');
  return {
    connection: { ca, cert, key, servername, rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true },
    headers: headersOf(user),
  };
}

function headersOf(user: JsonObject): Readonly<Record<string, string>> {
  const [token, username, password] = [textOf(user, 'token'), textOf(user, 'username'), textOf(user, 'password')];
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/**
 * Returns the text for a kubeconfig field: the content of the file that the field names or, if the field is missing,
 * the decoded value of the field with the suffix `-data`.
 */
async function textOrFile(directory: string, members: JsonObject, name: string): Promise<string | undefined> {
  const file = textOf(members, name);
  if (file !== undefined) return readFile(path.resolve(directory, file), 'utf8');
  const data = textOf(members, `${name}-data`);
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
}

/** Parses a kubeconfig file. Returns undefined if it cannot be read. */
async function parsed(file: string): Promise<JsonObject | undefined> {
  try {
    const text = await readFile(file, 'utf8');
    // Loads the YAML parser only if the text is not JSON.
    const value: unknown = text.trimStart().startsWith('{') ? JSON.parse(text) : (await import('yaml')).parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a field of the entry called `name` in a kubeconfig list, such as `clusters`. */
function memberOf(
  config: JsonObject | undefined,
  list: string,
  name: string | undefined,
  member: string,
): JsonObject | undefined {
  const elements = config?.[list];
  const found = Array.isArray(elements)
    ? elements.filter(isRecord).find((element) => element['name'] === name)?.[member]
    : undefined;
  return name !== undefined && isRecord(found) ? found : undefined;
}

function isPlain(members: JsonObject, known: ReadonlySet<string>): boolean {
  return Object.keys(members).every((name) => known.has(name));
}

function textOf(members: JsonObject | undefined, name: string): string | undefined {
  const value = members?.[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Connects to the selected cluster. If there is none, throws an error whose message ends with `advice`. */
export async function chooseCluster(
  { kubeconfig, context }: ClusterOptions,
  cwd: string,
  advice: string,
): Promise<ClusterConnection> {
  const chosen = { kubeconfig: kubeconfig && resolve(cwd, kubeconfig), context };
  try {
    const plain = await readPlainCluster({ ...chosen, environment: process.env });
    return await connectToCluster({ ...chosen, plain });
  } catch (error) {
    if (!hasCode(error, 'host.noCluster')) throw error;
    const message = `${error.message}; select a cluster with --kubeconfig FILE. Without a cluster, ${advice}`;
    throw failure('stall', error.code, message, { cause: error });
  }
}
