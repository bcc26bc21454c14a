/** One process that works on the export of a history: the whole operator, with the API server, the service and the destination. */
import type { Clock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { Writer } from '../../../src/destination/writer.ts';
import type { InProcessService } from '../../../src/simulator/in-process.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { ExportResource } from './export-resource.ts';
import { type DestinationObserver, GatedDestination } from './gated-destination.ts';
import type { HistoryProcess, ToldState } from './history-process.ts';
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
  /** Whether another one may work beside it. */
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
      ...{ name, clock, service, seed, skewMs, leaderElection, api: resource.api, settings: {} },
      observer: {
        sending: (_, { request }) => observer.before(`${request.method} ${request.path}`),
        sent: (_, { request }) => observer.after(`${request.method} ${request.path}`),
        answered: () => {},
        divert: (request) => request,
      },
      exports: (gate) => ({
        // Who this process is would be read from a disk, which takes its time.
        writer: async () => new Writer({ scope: 'simulation', pid: seed, processStart: name }, seededRandom(seed)),
        places: { volumes: new Map([['exports', '/exports']]), allowAmbientCredentials: false, environment: {} },
        openDestination: async () => new GatedDestination(store, gate, observer),
      }),
    });
  }

  get running(): boolean {
    return this.#process.running;
  }

  get told(): ToldState | undefined {
    return this.#resource.told;
  }

  start(): void {
    this.#process.start();
  }

  /** It watches its resource. */
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
