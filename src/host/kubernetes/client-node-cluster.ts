/** Clusters read by client-node: kubeconfigs with plugins, impersonation and other features that `plain-cluster.ts` does not support. */
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { ClusterCredentials, ClusterTarget, ConnectionOptions } from './cluster-target.ts';

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

/** Reads credentials. client-node renews expired ones, reads token files again every minute, and otherwise answers from memory. */
async function readCredentials(config: KubeConfig): Promise<ClusterCredentials> {
  const options: { [Name in keyof ConnectionOptions]?: unknown } & {
    auth?: string | null;
    headers?: Record<string, unknown>;
  } = {};
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    headers,
    connection: {
      ...(ca === undefined ? {} : { ca: String(ca) }),
      ...(cert === undefined ? {} : { cert: String(cert) }),
      ...(key === undefined ? {} : { key: String(key) }),
      ...(servername === undefined ? {} : { servername: String(servername) }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized: rejectUnauthorized === true }),
    },
  };
}
