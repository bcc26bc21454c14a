/**
 * Finds the cluster that a command speaks to: the one that `--kubeconfig` and `--context` name, else `KUBECONFIG` and `~/.kube/config`,
 * else the one that the pod runs in.
 *
 * client-node takes more than half a second to load, and 60 MiB. It is imported here, for kubeconfigs that need it, and nowhere else.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { systemClock } from '../../base/clock.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { ClusterTarget } from './cluster-target.ts';
import type { KubeApi } from './kube-api.ts';

export interface ClusterOptions {
  /** Path of a kubeconfig. */
  readonly kubeconfig?: string;
  /** A context in it, instead of its current one. */
  readonly context?: string;
  /** What both name, where somebody could read it without client-node. */
  readonly plain?: ClusterTarget | undefined;
}

export interface ClusterConnection {
  readonly api: KubeApi;
  /** Of the context, or of the pod; `default` where neither says. */
  readonly namespace: string;
}

/** `host.noCluster` when nothing names a cluster; `host.misconfigured` when there is no such kubeconfig, context or cluster. */
export async function connectToCluster(options: ClusterOptions): Promise<ClusterConnection> {
  const { UndiciKubeApi } = await import('./api-transport.ts');
  const target = options.plain ?? (await askClientNode(options));
  return { api: new UndiciKubeApi(target, systemClock), namespace: target.namespace ?? 'default' };
}

async function askClientNode(options: ClusterOptions): Promise<ClusterTarget> {
  const [{ KubeConfig }, { targetOf }] = await Promise.all([
    import('@kubernetes/client-node/dist/config.js'),
    import('./client-node-cluster.ts'),
  ]);
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

/** What client-node assumes where it finds no kubeconfig and no pod around it: a server that nobody has. */
function isMadeUp(config: KubeConfig): boolean {
  return (
    config.getCurrentContext() === 'loaded-context' && config.getCurrentCluster()?.server === 'http://localhost:8080'
  );
}

function noCluster(): LogfleetError {
  return new LogfleetError({
    code: 'host.noCluster',
    reason: 'KubeconfigInvalid',
    handling: { kind: 'stall' },
    message: `no kubeconfig was found (looked at KUBECONFIG, ${join(homedir(), '.kube/config')} and the service account of a pod)`,
  });
}

function unreadable(path: string | undefined, cause: unknown): LogfleetError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const said = path !== undefined && code !== undefined ? code : message;
  return new LogfleetError({
    code: 'host.misconfigured',
    reason: 'KubeconfigInvalid',
    handling: { kind: 'stall' },
    message: `the kubeconfig${path === undefined ? '' : ` ${path}`} cannot be read: ${said}`,
    cause,
  });
}

function unknownContext(context: string, known: readonly string[]): LogfleetError {
  const choice = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return new LogfleetError({
    code: 'host.misconfigured',
    reason: 'KubeconfigInvalid',
    handling: { kind: 'stall' },
    message: `the kubeconfig has no context ${JSON.stringify(context)}: ${choice}`,
  });
}
