/** Clusters as client-node knows them: kubeconfigs with plugins, impersonation and whatever else `plain-cluster.ts` leaves to it. */
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

/** client-node renews what has expired, reads token files again every minute, and answers from memory otherwise. */
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
