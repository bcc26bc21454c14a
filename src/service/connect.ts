/** Creates a client for the service from a Secret. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Environment } from '../base/proxy-environment.ts';
import { ServiceClient } from './client.ts';
import type { UpgradeService } from './collectors/upgrade-service.ts';
import { SearchJobs } from './jobs/search-jobs.ts';
import type { ServiceSettings } from './requests/exchange.ts';
import type { Transport } from './transport/transport.ts';
import { UndiciTransport } from './transport/undici-transport.ts';

export interface ConnectionSettings extends ServiceSettings {
  /** CA certificates in PEM format. They replace the default CA certificates of Node.js. */
  readonly caCertificates: string | undefined;
}

export interface ServiceConnection {
  readonly service: UpgradeService;
  readonly searches: SearchJobs;
  /**
   * Closes the client once its running search jobs have ended. No more upgrades start. Resolves when every socket is
   * closed.
   */
  drain(): Promise<void>;
  /** Closes every socket immediately. Calls in flight reject with the error for a lost connection. */
  close(): Promise<void>;
}

export type Connect = (settings: ConnectionSettings) => ServiceConnection;

export interface ConnectOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log?: Logger;
  readonly userAgent: string;
  /** Creates a transport with its own connections. */
  readonly transport: (settings: ConnectionSettings) => Transport;
}

export function connectWith(options: ConnectOptions): Connect {
  const { clock, metrics, log, userAgent } = options;
  return (settings) => {
    const transport = options.transport(settings);
    const service = new ServiceClient({ ...settings, transport, clock, metrics, userAgent });
    const searches = new SearchJobs({ service, permits: settings.budget.jobs, clock, log, metrics });
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
  /** Environment variables of the process. Only `HTTPS_PROXY` and `NO_PROXY` are read. */
  readonly environment: Environment;
}

export function connectOverTls(options: TlsConnectOptions): Connect {
  const { clock, environment } = options;
  return connectWith({
    ...options,
    transport: ({ caCertificates }) => new UndiciTransport({ clock, environment, caCertificates }),
  });
}
