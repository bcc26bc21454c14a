/** A whole operator in a simulated export, connected to a simulated API server, service and destination. */
import type { InProcessService } from '../../../simulator/in-process.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { Writer } from '../../../src/destination/store/writer.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import { SimulatedProcess } from '../../support/simulated-process.ts';
import type { ExportResource } from './export-resource.ts';
import { type DestinationObserver, GatedDestination } from './gated-destination.ts';
import type { HistoryProcess, ReportedState } from './history-process.ts';
import type { Seat } from './planned-actions.ts';

export interface OperatorProcessOptions {
  readonly name: string;
  readonly seat: Seat;
  readonly clock: Clock;
  readonly service: InProcessService;
  readonly store: MemoryStore;
  readonly resource: ExportResource;
  readonly observer: DestinationObserver;
  readonly seed: number;
  readonly skewMs: number;
  /** Whether there can be several operators. If so, they elect a leader. */
  readonly leaderElection: boolean;
}

export class OperatorProcess implements HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  readonly #resource: ExportResource;
  readonly #process: SimulatedProcess;

  constructor(options: OperatorProcessOptions) {
    const { name, seat, clock, service, store, resource, observer, seed, skewMs, leaderElection } = options;
    this.name = name;
    this.seat = seat;
    this.#resource = resource;
    this.#process = new SimulatedProcess({
      ...{ name, clock, service, skewMs, api: resource.api, random: seededRandom(seed), host: { leaderElection } },
      observer: {
        sending: (_, { request }) => observer.before(`${request.method} ${request.path}`),
        sent: (_, { request }) => observer.after(`${request.method} ${request.path}`),
        answered: () => {},
        divert: (request) => request,
      },
      exports: (gate) => ({
        writer: async () => new Writer({ scope: 'simulation', pid: seed, processStart: name }, seededRandom(seed)),
        places: { volumes: new Map([['exports', '/exports']]), allowAmbientCredentials: false, environment: {} },
        openDestination: async () => new GatedDestination(store, gate, observer),
      }),
    });
  }

  get running(): boolean {
    return this.#process.running;
  }

  get reported(): ReportedState | undefined {
    return this.#resource.reported;
  }

  start(): void {
    this.#process.start();
  }

  /** Does nothing, because the operator notices changes to its resources through its watch. */
  tell(): void {}

  kill(): void {
    this.#process.kill();
  }

  freeze(): void {
    this.#process.freeze();
  }

  thaw(): void {
    this.#process.thaw();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
