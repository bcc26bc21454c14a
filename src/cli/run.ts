/** `logfleet run`: the operator, in a cluster or on directories of manifests. */
import { systemClock } from '../base/clock.ts';
import { createJsonLogger } from '../base/json-log.ts';
import type { Logger } from '../base/log.ts';
import { PrometheusMetrics } from '../base/prometheus-metrics.ts';
import { createTextLogger } from '../base/text-log.ts';
import type { CommandContext, Output } from './context.ts';
import { type HealthServer, type HealthServerOptions, startHealthServer } from './health-server.ts';
import { keepHeapSmall } from './heap.ts';
import type { RunOptions } from './options.ts';
import { runInCluster } from './run-cluster.ts';
import { runOnDirectories } from './run-directory.ts';

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
  return dirs.length === 0
    ? runInCluster(options, context, support)
    : runOnDirectories(dirs, options, context, support);
}

function createLogger(
  { logFormat, logLevel }: RunOptions,
  { isTTY, colour }: Output,
  output: { write(line: string): void },
): Logger {
  const text = logFormat === undefined ? isTTY : logFormat === 'text';
  if (!text) return createJsonLogger({ level: logLevel, output });
  return createTextLogger({ level: logLevel, colors: colour, clock: systemClock, output });
}
