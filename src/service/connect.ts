/** Creation of a service client from the settings of a Secret. Separates accounts from the network. */

import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Environment } from '../base/proxy-environment.ts';
import { ServiceClient } from './client.ts';
import type { UpgradeService } from './collectors/upgrade-service.ts';
import { SearchJobs } from './jobs/search-jobs.ts';
import type { ServiceSettings } from './requests/exchange.ts';
import type { Transport } from './transport/transport.ts';
import { UndiciTransport } from './transport/undici-transport.ts';

export interface ConnectionSettings extends ServiceSettings {
  /** Certificate authorities in PEM form, which replace those of the machine. */
  readonly caCertificates: string | undefined;
}

export interface ServiceConnection {
  readonly service: UpgradeService;
  readonly searches: SearchJobs;
  /**
   * Stops new upgrade requests, and new search jobs. Running search jobs continue, since they would lose their results. Resolves
   * when they have ended, all answers have arrived and every socket is closed.
   */
  drain(): Promise<void>;
  /** Closes every socket. Calls in flight end as broken. */
  close(): Promise<void>;
}

export type Connect = (settings: ConnectionSettings) => ServiceConnection;

export interface ConnectOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** `logfleet/<version>`. */
  readonly userAgent: string;
  /** Creates the transport of one set of credentials, with its own connection pool. */
  readonly transport: (settings: ConnectionSettings) => Transport;
}

export function connectWith(options: ConnectOptions): Connect {
  const { clock, metrics, userAgent } = options;
  return (settings) => {
    const transport = options.transport(settings);
    const service = new ServiceClient({ ...settings, transport, clock, metrics, userAgent });
    const searches = new SearchJobs({ service, permits: settings.budget.jobs, clock });
    const closing = new AbortController();
    return {
      service,
      searches,
      async drain() {
        service.endUpgrades();
        await searches.whenUnused(closing.signal);
        await transport.drain();
      },
      close() {
        closing.abort();
        return transport.close();
      },
    };
  };
}

export interface TlsConnectOptions extends Omit<ConnectOptions, 'transport'> {
  /** Environment with `HTTPS_PROXY` and `NO_PROXY`. */
  readonly environment: Environment;
}

export function connectOverTls(options: TlsConnectOptions): Connect {
  const { clock, environment } = options;
  return connectWith({
    ...options,
    transport: ({ caCertificates }) => new UndiciTransport({ clock, environment, caCertificates }),
  });
}
