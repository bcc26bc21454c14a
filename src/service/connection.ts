/** How a client of the service is made from what a Secret says: the seam between accounts and the wire. */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretText } from '../base/secret-text.ts';
import { ServiceClient } from './client.ts';
import type { KeyBudget } from './request-budget.ts';
import { SearchJobs } from './search-jobs.ts';
import type { ServiceAddress } from './service-address.ts';
import type { SettingNames } from './setting-names.ts';
import type { Transport } from './transport.ts';
import type { UpgradeService } from './upgrade-service.ts';

/** What one credential needs to be spoken for. */
export interface ConnectionSettings {
  readonly address: ServiceAddress;
  readonly accessId: string;
  readonly accessKey: SecretText;
  /** PEM; replaces the machine's own authorities. */
  readonly caCertificates: string | undefined;
  /** Where redirects may lead: `host` or `host:port`. */
  readonly allowedHosts: readonly string[];
  readonly budget: KeyBudget;
  /** What messages call these settings; members of a Secret where nothing else is said. */
  readonly names?: SettingNames;
}

export interface ServiceConnection {
  readonly service: UpgradeService;
  readonly searches: SearchJobs;
  /**
   * Sends nothing more of upgrades, and of searches what those need that are under way: their jobs would be lost, and all their work.
   * Resolves once these have ended, what is under way has its answer and every socket is closed.
   */
  drain(): Promise<void>;
  /** Destroys every socket; calls under way end as broken. */
  close(): Promise<void>;
}

export type Connect = (settings: ConnectionSettings) => ServiceConnection;

export interface ConnectOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** `logfleet/<version>`. */
  readonly userAgent: string;
  /** A pool of connections of its own for each credential. */
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
