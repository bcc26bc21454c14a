/** Simulates the log service on a virtual clock. All tests without sockets use it in place of the service. */
import { InProcessService, type Network } from '../../simulator/in-process.ts';
import type { LogData } from '../../simulator/log-data/log-data.ts';
import { ServiceModel } from '../../simulator/model.ts';
import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { type Metrics, noMetrics } from '../../src/base/metrics.ts';
import { type Random, seededRandom } from '../../src/base/random.ts';
import { connectWith } from '../../src/service/connect.ts';
import { InProcessTransport } from './in-process-transport.ts';
import { VirtualClock } from './virtual-clock.ts';

export const serviceOrigin = 'https://logs.example.com';
/** Origin of a second host of the service, to which redirects can lead. */
export const secondOrigin = 'https://eu.logs.example.com';

export interface ServiceWorldOptions {
  readonly scenario: Scenario;
  /** Source of random numbers. By default, it is created from `seed`. */
  readonly random?: Random;
  readonly seed?: number;
  /** One-way network latency to the service, in ms. Default: 10. */
  readonly latencyMs?: number;
  readonly jitterMs?: number;
  readonly logData?: (startMs: number) => LogData;
  /** Creates the service that the operator uses. */
  readonly service?: ServiceMaker;
  readonly clock?: VirtualClock;
}

export type ServiceMaker = (model: ServiceModel, clock: VirtualClock, network: Network) => InProcessService;

interface WorldConnection {
  readonly metrics?: Metrics;
  readonly isAlive?: () => boolean;
  /** List to which each new transport is added. */
  readonly transports?: InProcessTransport[];
}

/** The simulated service on a virtual clock, with the connections to it. */
export class ServiceWorld {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly service: InProcessService;
  readonly model: ServiceModel;
  readonly journal: JournalEntry[] = [];
  /** Called for each request that the service has responded to or dropped. */
  onRequest: (entry: JournalEntry) => void = () => {};

  constructor({ scenario, seed = 1, clock = new VirtualClock(), ...options }: ServiceWorldOptions) {
    this.clock = clock;
    this.random = options.random ?? seededRandom(seed);
    const startMs = clock.now();
    this.model = new ServiceModel(scenario, {
      startMs,
      ...(options.logData === undefined ? {} : { logData: options.logData(startMs) }),
      journal: (entry) => {
        this.journal.push(entry);
        this.onRequest(entry);
      },
    });
    const { latencyMs = 10, jitterMs = 0, service } = options;
    const network = { latencyMs, jitterMs, random: this.random };
    this.service = service?.(this.model, clock, network) ?? new InProcessService(this.model, clock, network);
  }

  /** Returns the data of the Secret for the service. */
  get secret(): Readonly<Record<string, string>> {
    return {
      baseURL: `${serviceOrigin}${this.model.basePath}`,
      accessId: 'simulator',
      accessKey: 'simulator-key',
    };
  }

  /** Creates a transport to the simulated service. No host can be reached while `isAlive` returns false. */
  transport(isAlive: () => boolean = () => true): InProcessTransport {
    const isKnown = (origin: string) => origin === serviceOrigin || origin === secondOrigin;
    return new InProcessTransport((origin) => (isAlive() && isKnown(origin) ? this.service : undefined), this.clock);
  }

  /** Connects to the simulated service. No host can be reached while `isAlive` returns false. */
  connect({ metrics = noMetrics, isAlive, transports = [] }: WorldConnection = {}) {
    const transport = () => {
      const made = this.transport(isAlive);
      transports.push(made);
      return made;
    };
    return connectWith({ clock: this.clock, metrics, userAgent: 'logfleet/test', transport });
  }

  /** Advances the clock until `done` returns true, but by at most `atMostMs`. Returns the last result of `done`. */
  until(done: () => boolean, atMostMs: number): Promise<boolean> {
    return this.clock.run(done, this.clock.monotonic() + atMostMs);
  }

  /** Advances the clock until the call has ended, and returns its result. */
  run<T>(call: Promise<T>): Promise<T> {
    return this.clock.during(call);
  }

  /** Advances the clock until the call has ended, and returns its error, or undefined if the call succeeded. */
  failure(call: Promise<unknown>): Promise<unknown> {
    return this.run(
      call.then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
  }

  /** Returns the current state of the service. */
  snapshot() {
    return this.model.snapshot(this.service.nowMs());
  }

  /** Returns the current counters of the service. */
  counters() {
    this.model.advance(this.service.nowMs());
    return this.model.counters();
  }

  /** Returns the requests that have arrived, optionally only those for one operation. */
  requests(operation?: string): readonly JournalEntry[] {
    return this.journal.filter((entry) => operation === undefined || entry.operation === operation);
  }
}
