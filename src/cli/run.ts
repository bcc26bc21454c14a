/** `logfleet run`: the operator, in a cluster or on directories of manifests. */
import type { Logger } from '../base/log.ts';
import { PrometheusMetrics } from '../base/prometheus-metrics.ts';
import type { CommandContext } from './context.ts';
import { type HealthServer, type HealthServerOptions, startHealthServer } from './health-server.ts';
import { keepHeapSmall } from './heap.ts';
import { createLogger } from './logging.ts';
import type { RunOptions } from './options.ts';

/** What both ways to run share. */
export interface RunSupport {
  /** A logger whose lines go there. */
  logTo(output: { write(line: string): void }): Logger;
  readonly metrics: PrometheusMetrics;
  /** Serves the probes and metrics where the flags ask for it. */
  serveHealth(state: Pick<HealthServerOptions, 'unhealthy' | 'unready'>): Promise<HealthServer | undefined>;
}

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
      // No host: every address, of both families where there are two.
      const name = host === '0.0.0.0' ? '' : host.includes(':') ? `[${host}]` : host;
      const listen = `${name}:${port}`;
      return startHealthServer({ ...state, listen, metrics });
    },
  };
  // Each brings a host with it that the other has no use for: the API's client alone takes a third of a second and many megabytes.
  if (dirs.length === 0) {
    const { runInCluster } = await import('./run-cluster.ts');
    return runInCluster(options, context, support);
  }
  const { runOnDirectories } = await import('./run-directory.ts');
  return runOnDirectories(dirs, options, context, support);
}
