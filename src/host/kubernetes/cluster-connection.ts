/**
 * Finds the cluster that a command speaks to: the one that `--kubeconfig` and `--context` name, else `KUBECONFIG` and `~/.kube/config`,
 * else the one that the pod runs in.
 *
 * client-node takes a third of a second to load. It is imported here, when a connection is asked for, and nowhere else.
 */
import { LogfleetError } from '../../base/errors.ts';
import type { KubeApi } from './kube-api.ts';

export interface ClusterOptions {
  /** Path of a kubeconfig. */
  readonly kubeconfig?: string;
  /** A context in it, instead of its current one. */
  readonly context?: string;
}

export interface ClusterConnection {
  readonly api: KubeApi;
  /** Of the context, or of the pod; `default` where neither says. */
  readonly namespace: string;
}

/** `host.misconfigured` when there is no such kubeconfig, context or cluster. */
export async function connectToCluster(options: ClusterOptions): Promise<ClusterConnection> {
  const [{ KubeConfig }, { UndiciKubeApi }] = await Promise.all([
    import('@kubernetes/client-node/dist/config.js'),
    import('./api-transport.ts'),
  ]);
  const config = new KubeConfig();
  try {
    if (options.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(options.kubeconfig);
  } catch (error) {
    throw unreadable(options.kubeconfig, error);
  }
  if (options.context !== undefined) {
    const known = config.getContexts().map(({ name }) => name);
    if (!known.includes(options.context)) throw unknownContext(options.context, known);
    config.setCurrentContext(options.context);
  }
  const api = new UndiciKubeApi(config);
  return { api, namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default' };
}

function unreadable(path: string | undefined, cause: unknown): LogfleetError {
  const said = cause instanceof Error ? cause.message : String(cause);
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
