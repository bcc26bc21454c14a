/** `logfleet run`: runs the operator in a cluster or on directories of manifests. */

import { keepHeapSmall } from '../../base/heap.ts';
import { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import type { CommandContext } from '../context.ts';
import { createLogger } from '../logging.ts';
import type { RunOptions } from '../options.ts';
import { startHealthServer } from './health-server.ts';
import type { RunSupport } from './run-support.ts';

export async function runCommand(
  dirs: readonly string[],
  options: RunOptions,
  context: CommandContext,
): Promise<number> {
  keepHeapSmall();
  const metrics = new PrometheusMetrics();
  metrics.collectProcessMetrics();
  const support: RunSupport = {
    logTo: (output) => createLogger(options, context.stderr, output),
    metrics,
    serveHealth: async (state) => {
      const { healthListen } = options;
      if (!healthListen) return undefined;
      const { host, port } = healthListen;
      // Without a host, the server listens on all addresses of IPv4 and IPv6.
      const name = host === '0.0.0.0' ? '' : host.includes(':') ? `[${host}]` : host;
      const listen = `${name}:${port}`;
      return startHealthServer({ ...state, listen, metrics });
    },
  };
  // Each import loads only its own host: the API client alone takes a third of a second and many megabytes.
  if (dirs.length === 0) {
    const { runInCluster } = await import('./run-cluster.ts');
    return runInCluster(options, context, support);
  }
  const { runOnDirectories } = await import('./run-directory.ts');
  return runOnDirectories(dirs, options, context, support);
}
