/** Support that `logfleet run` gives to both kinds of hosts. */
import type { Logger } from '../../base/log.ts';
import type { PrometheusMetrics } from '../../base/prometheus-metrics.ts';
import type { HealthServer, HealthServerOptions } from './health-server.ts';

/** Support for both kinds of hosts. */
export interface RunSupport {
  /** Creates a logger that writes to `output`. */
  logTo(output: { write(line: string): void }): Logger;
  readonly metrics: PrometheusMetrics;
  /** Serves probes and metrics if the flags ask for it. */
  serveHealth(state: Pick<HealthServerOptions, 'unhealthy' | 'unready'>): Promise<HealthServer | undefined>;
}
