/** How a client of the service is made from what a Secret says: the seam between accounts and the wire. */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretText } from '../base/secret-text.ts';
import { ServiceClient, upgradesPath } from './client.ts';
import type { KeyBudget } from './request-budget.ts';
import { SearchJobs } from './search-jobs.ts';
import type { ServiceAddress } from './service-address.ts';
import type { SettingNames } from './setting-names.ts';
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts';
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
    const transport = new RetiringTransport(options.transport(settings), (signal) => searches.whenUnused(signal));
    const service = new ServiceClient({ ...settings, transport, clock, metrics, userAgent });
    const searches = new SearchJobs({ service, permits: settings.budget.jobs, clock });
    return { service, searches, drain: () => transport.drain(), close: () => transport.close() };
  };
}

/** One that is drained serves the search jobs that run to their end. */
class RetiringTransport implements Transport {
  readonly #wire: Transport;
  readonly #whenUnused: (signal: AbortSignal) => Promise<void>;
  readonly #closing = new AbortController();
  #isDraining = false;

  /** `whenUnused` resolves once no search needs it, or when it is aborted. */
  constructor(wire: Transport, whenUnused: (signal: AbortSignal) => Promise<void>) {
    this.#wire = wire;
    this.#whenUnused = whenUnused;
  }

  ready(origin: string, wanted: number, signal: AbortSignal): Promise<void> {
    return this.#wire.ready(origin, wanted, signal);
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    if (this.#isDraining && request.path.includes(upgradesPath)) {
      throw new TransportError('closed', 'the Secret has other credentials by now');
    }
    return this.#wire.send(request);
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#whenUnused(this.#closing.signal);
    await this.#wire.drain();
  }

  close(): Promise<void> {
    this.#closing.abort();
    return this.#wire.close();
  }
}
