/** A simulated export process. Requests that it has sent take effect even after it has been frozen or killed. */
import type { InProcessService } from '../../../simulator/in-process.ts';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../../src/base/log.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { Writer } from '../../../src/destination/store/writer.ts';
import { planExport } from '../../../src/export/plan/export-planning.ts';
import type { ExportDefinition } from '../../../src/export/search/export-definition.ts';
import { IntervalSearch } from '../../../src/export/search/interval-search.ts';
import { ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import { ExportWork } from '../../../src/export/work/export-work.ts';
import type { WorkLimits, WorkView } from '../../../src/export/work/work-view.ts';
import type { WorkerIndex } from '../../../src/export/work/worker-segments.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import { connectWith } from '../../../src/service/connect.ts';
import { GatedTransport } from '../../support/gated-transport.ts';
import { InProcessTransport } from '../../support/in-process-transport.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import { ProcessClock, ProcessGate } from '../../support/process-gate.ts';
import { everlastingRight } from '../../support/send-rights.ts';
import { serviceOrigin } from '../../support/service-world.ts';
import { type DestinationObserver, GatedDestination } from './gated-destination.ts';
import type { HistoryProcess, ReportedState } from './history-process.ts';
import type { Seat } from './planned-actions.ts';

export interface ExportProcessOptions {
  readonly name: string;
  readonly seat: Seat;
  readonly clock: Clock;
  readonly service: InProcessService;
  readonly store: MemoryStore;
  readonly definition: ExportDefinition;
  readonly observer: DestinationObserver;
  readonly limits: () => WorkLimits;
  readonly seed: number;
  readonly skewMs: number;
  readonly worker: WorkerIndex;
  readonly prepareQuirks: (quirks: ServiceQuirks) => void;
  readonly log?: Logger;
}

const progressDelayMs = 1_000;

export class ExportProcess implements HistoryProcess {
  readonly name: string;
  readonly seat: Seat;
  readonly quirks = new ServiceQuirks();
  readonly #options: ExportProcessOptions;
  readonly #gate = new ProcessGate();
  readonly #clock: Clock;
  readonly #destination: GatedDestination;
  readonly #work: ExportWork;
  #view: WorkView | undefined;
  #isDue = false;
  #isNewsDue = false;
  #isClosing = false;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(options: ExportProcessOptions) {
    const { name, seat, store, definition, observer, seed, worker, log = silentLogger } = options;
    this.name = name;
    this.seat = seat;
    this.#options = options;
    this.#clock = new ProcessClock(options.clock, this.#gate, options.skewMs);
    this.#destination = new GatedDestination(store, this.#gate, observer);
    options.prepareQuirks(this.quirks);
    this.#work = new ExportWork({
      ...{ definition, log, clock: this.#clock, quirks: this.quirks, scannedBytes: 0, worker },
      jobs: this.#connect().searches,
      writer: new Writer({ scope: 'simulation', pid: seed, processStart: name }, seededRandom(seed)),
      openDestination: async () => this.#destination,
      plan: planExport,
      search: (order, tools, opened) => new IntervalSearch(order, tools, opened),
      onChange: () => this.#wake(),
      onProgress: () => this.#enqueueSoon(),
    });
  }

  get running(): boolean {
    return this.#gate.state === 'running';
  }

  get reported(): ReportedState | undefined {
    if (!this.#view) return undefined;
    const { stage, waitsFor, unproven, lastError, messages } = this.#view;
    return {
      isComplete: stage === 'complete',
      isStalled: waitsFor?.kind === 'people',
      unproven: stage === 'complete' ? [] : unproven,
      text: JSON.stringify({ stage, waitsFor, lastError: lastError?.message, messages: messages.slice(0, 2) }),
    };
  }

  start(): void {
    this.#wake();
  }

  tell(isToTryAgain: boolean): void {
    this.#gate.deliver(() => {
      if (isToTryAgain) this.#work.tryAgain();
      this.#wake();
    });
  }

  kill(): void {
    this.#gate.kill();
  }

  freeze(): void {
    this.#gate.freeze();
  }

  thaw(): void {
    this.#gate.thaw();
  }

  async stop(): Promise<void> {
    this.#isClosing = true;
    await this.#work.close();
    await sleep(this.#clock, 5_000);
    this.kill();
  }

  #connect() {
    const { seat, service, observer } = this.#options;
    const clock = this.#clock;
    const transport = () =>
      new GatedTransport({
        inner: new InProcessTransport((origin) => (origin === serviceOrigin ? service : undefined), clock),
        gate: this.#gate,
        clock,
        observer: {
          sending: ({ request }) => observer.before(`${request.method} ${request.path}`),
          sent: ({ request }) => observer.after(`${request.method} ${request.path}`),
        },
      });
    const accessId = `id-${seat}`;
    return connectWith({ clock, metrics: noMetrics, userAgent: 'logfleet/test', transport })({
      address: { origin: serviceOrigin, basePath: service.model.basePath },
      ...{ accessId, accessKey: new SecretText('key'), caCertificates: undefined, allowedHosts: [] },
      budget: new RequestBudget({ right: everlastingRight, clock }).key(accessId),
    });
  }

  #enqueueSoon(): void {
    if (this.#isNewsDue) return;
    this.#isNewsDue = true;
    this.#clock.after(progressDelayMs, () => {
      this.#isNewsDue = false;
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isDue || this.#isClosing) return;
    this.#isDue = true;
    this.#clock.after(0, () => {
      this.#isDue = false;
      if (!this.#isClosing) this.#advance();
    });
  }

  #advance(): void {
    this.#view = this.#work.advance(this.#options.limits());
    const dueMs = this.#clock.monotonic() + Math.max(1, this.#view.requeueAfterMs);
    if (dueMs >= this.#dueMs || !Number.isFinite(dueMs)) return;
    this.#dueMs = dueMs;
    this.#clock.after(dueMs - this.#clock.monotonic(), () => {
      if (this.#dueMs === dueMs) this.#dueMs = Number.POSITIVE_INFINITY;
      this.#wake();
    });
  }
}
