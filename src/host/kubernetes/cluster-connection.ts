/**
 * Finds the cluster to which a command connects. The flags `--kubeconfig` and `--context` take precedence over the file
 * in `KUBECONFIG` or `~/.kube/config`, which takes precedence over the pod's service account. The client-node library
 * is loaded only when it is needed, because loading it takes more than half a second and 60 MiB.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { systemClock } from '../../base/clock.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { ClusterCredentials, ClusterTarget, ConnectionOptions, KubeApi } from './kube-api.ts';

export interface KubeconfigOptions {
  readonly kubeconfig?: string | undefined;
  /** Context to use instead of the kubeconfig's current context. */
  readonly context?: string | undefined;
  /**
   * Cluster that `kubeconfig` and `context` select. Undefined if the kubeconfig can be read only by the client-node
   * library.
   */
  readonly plain?: ClusterTarget | undefined;
}

export interface ClusterConnection {
  readonly api: KubeApi;
  /** Context in the kubeconfig. Undefined in a pod. */
  readonly context: string | undefined;
  /** Namespace of the kubeconfig's context or of the pod, or `default` if neither names a namespace. */
  readonly namespace: string;
}

/**
 * Connects to the cluster. Fails with `host.noCluster` if no cluster is configured, and with `host.misconfigured` if
 * the named kubeconfig, context or cluster does not exist.
 */
export async function connectToCluster(options: KubeconfigOptions): Promise<ClusterConnection> {
  const { UndiciKubeApi } = await import('./api-transport.ts');
  const target = options.plain ?? (await askClientNode(options));
  const { context, namespace = 'default' } = target;
  return { api: new UndiciKubeApi(target, systemClock), context, namespace };
}

async function askClientNode(options: KubeconfigOptions): Promise<ClusterTarget> {
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  try {
    if (options.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(options.kubeconfig);
  } catch (error) {
    throw unreadable(options.kubeconfig, error);
  }
  if (isMadeUp(config)) throw noCluster();
  if (options.context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(options.context)) throw unknownContext(options.context, known);
    config.setCurrentContext(options.context);
  }
  return targetOf(config);
}

/**
 * Reports whether a kubeconfig is only a placeholder. The client-node library creates a placeholder if it finds neither
 * a kubeconfig nor a pod's service account.
 */
function isMadeUp(config: KubeConfig): boolean {
  return (
    config.getCurrentContext() === 'loaded-context' && config.getCurrentCluster()?.server === 'http://localhost:8080'
  );
}

function noCluster(): LogfleetError {
  const message = `no kubeconfig was found (checked KUBECONFIG, ${join(homedir(), '.kube/config')} and the service account of a pod)`;
  return failure('stall', 'host.noCluster', message, { reason: 'KubeconfigInvalid' });
}

function unreadable(path: string | undefined, cause: unknown): LogfleetError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const answered = path !== undefined && code !== undefined ? code : message;
  const problem = `the kubeconfig${path === undefined ? '' : ` ${path}`} cannot be read: ${answered}`;
  return failure('stall', 'host.misconfigured', problem, { reason: 'KubeconfigInvalid', cause });
}

function unknownContext(context: string, known: readonly string[]): LogfleetError {
  const choice = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  const message = `the kubeconfig has no context ${JSON.stringify(context)}: ${choice}`;
  return failure('stall', 'host.misconfigured', message, { reason: 'KubeconfigInvalid' });
}

export function targetOf(config: KubeConfig): ClusterTarget {
  const cluster = config.getCurrentCluster();
  const context = config.getCurrentContext();
  return {
    context,
    namespace: config.getContextObject(context)?.namespace,
    server: cluster?.server,
    proxyUrl: cluster?.proxyUrl,
    credentials: () => readCredentials(config),
  };
}

/**
 * Reads the credentials for the cluster. The client-node library renews expired credentials, and reads token files
 * again every minute.
 */
async function readCredentials(config: KubeConfig): Promise<ClusterCredentials> {
  const options: { [Name in keyof ConnectionOptions]?: unknown } & {
    auth?: string | null;
    headers?: Record<string, unknown>;
  } = {};
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  const names = { ca: text(ca), cert: text(cert), key: text(key), servername: text(servername) };
  return { headers, connection: { ...names, rejectUnauthorized: rejectUnauthorized as boolean | undefined } };
}
