/** Simulates one export: the service, the destination and the operator's processes. */
import type { InProcessService } from '../../../simulator/in-process.ts';
import type { ServiceModel } from '../../../simulator/model.ts';
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { DestinationFailure } from '../../../src/destination/store/destination-error.ts';
import type { ExportDefinition } from '../../../src/export/search/export-definition.ts';
import type { ServiceQuirks } from '../../../src/export/search/service-quirks.ts';
import type { WorkLimits } from '../../../src/export/work/work-view.ts';
import { onlyWorker } from '../../../src/export/work/worker-segments.ts';
import { definitionOf, plainOutput } from '../../support/export-definition.ts';
import { type DestinationCall, type DestinationFault, MemoryStore } from '../../support/memory-destination.ts';
import { ServiceWorld, serviceOrigin } from '../../support/service-world.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Chance } from '../chance.ts';
import { ExportProcess } from './export-process.ts';
import { ExportResource } from './export-resource.ts';
import type { DestinationObserver } from './gated-destination.ts';
import type { HistoryProcess } from './history-process.ts';
import { LiveData, noFlaws, type SearchFlaws, shards } from './live-data.ts';
import { OperatorProcess } from './operator-process.ts';
import { packBy } from './packing.ts';
import type { ExportHistoryPlan } from './plan.ts';
import type { Seat } from './planned-actions.ts';
import type { ExportHistoryRecord, StoredRecord } from './record.ts';
import { SingleReportService } from './single-report-service.ts';
import { voidedOf } from './stored-verdicts.ts';

const longestPackingMs = 300;

interface KillAtEffect {
  effectsLeft: number;
  readonly named?: string;
  readonly when: 'before' | 'after';
  readonly againAfterMs: number;
}

export class ExportHistoryWorld {
  readonly clock = new VirtualClock();
  readonly data: LiveData;
  readonly #world: ServiceWorld;
  readonly store = new MemoryStore();
  readonly definition: ExportDefinition;
  readonly #plan: ExportHistoryPlan;
  readonly #chance: Chance;
  readonly #trace: ((line: string) => void) | undefined;
  readonly #processes = new Map<Seat, HistoryProcess>();
  readonly #dueKills = new Map<HistoryProcess, KillAtEffect>();
  readonly #disturbances: string[] = [];
  readonly #starts: number[] = [];
  readonly #unheardCalls: string[] = [];
  readonly #records = new Map<string, StoredRecord>();
  readonly #resource: ExportResource | undefined;
  #isPaused = false;
  #isCalm = false;
  #missing = 0;

  constructor(plan: ExportHistoryPlan, trace?: (line: string) => void) {
    this.#plan = plan;
    this.#trace = trace;
    this.#chance = new Chance(plan.seed ^ 0x5eed);
    const startMs = this.clock.now();
    this.data = new LiveData({
      corpus: plan.corpus,
      nowMs: () => startMs + this.clock.monotonic(),
      flaws: () => this.#flaws(),
      ...{ lateJoin: plan.lateJoin, cutsByPage: plan.cutsByPage },
      histogramFirst: plan.scenario.search?.histogramFirst ?? false,
    });
    const { clock, data } = this;
    const chance = this.#chance;
    const { scenario, latencyMs, jitterMs } = plan;
    this.#world = new ServiceWorld({
      ...{ scenario, clock, latencyMs, jitterMs, random: { next: () => chance.between(0, 1) } },
      logData: () => data,
      service: (model, _, network) =>
        new SingleReportService({ model, clock, network, data, chance, note: (what) => this.note(what) }),
    });
    this.#world.onRequest = (entry) => this.#noteRequest(entry);
    this.definition = exportOf(plan);
    this.#resource = plan.isWhole ? this.#newResource() : undefined;
    packBy((done) => this.clock.after(this.#chance.whole(0, longestPackingMs), done));
    this.#followStore();
  }

  get model(): ServiceModel {
    return this.#world.model;
  }

  get service(): InProcessService {
    return this.#world.service;
  }

  note(what: string): void {
    this.#trace?.(`${(this.clock.monotonic() / 1_000).toFixed(3).padStart(9)} ${what}`);
  }

  get processes(): readonly HistoryProcess[] {
    return [...this.#processes.values()];
  }

  get isWhole(): boolean {
    const isHeard = this.#resource?.isHeard ?? true;
    return isHeard && this.#missing === 0 && this.processes.every(({ running }) => running);
  }

  /** Ends all faults, resumes frozen processes, and restarts killed processes. */
  calm(): void {
    this.#isCalm = true;
    this.#resource?.calm();
    this.#dueKills.clear();
    this.pause(false);
    this.askAgain();
    this.note('calm');
  }

  start(seat: Seat): void {
    if (this.#processes.has(seat)) return;
    const process = this.#newProcess(seat, this.#starts.push(this.service.nowMs()));
    this.#processes.set(seat, process);
    this.note(`start ${process.name}`);
    process.start();
  }

  #newResource(): ExportResource {
    return new ExportResource({
      ...{ plan: this.#plan, clock: this.clock, chance: this.#chance, basePath: this.model.basePath },
      hasManifest: () => this.store.objects.has(this.definition.layout.manifest),
      note: (what) => this.note(what),
    });
  }

  #newProcess(seat: Seat, number: number): HistoryProcess {
    const { seed, skewMs } = this.#plan;
    const name = `${seat}-${number}`;
    const common = {
      ...{ name, seat, clock: this.clock, service: this.service, store: this.store },
      seed: seed * 100 + number,
      skewMs: number % 2 === 0 ? -skewMs : skewMs,
    };
    const observer: DestinationObserver = {
      before: (effect) => this.#effect(seat, name, effect, 'before'),
      after: (effect) => this.#effect(seat, name, effect, 'after'),
      strike: (call, object) => this.#strike(call, object),
    };
    const resource = this.#resource;
    // Without leader election, only the first operator process would ever send requests.
    if (resource) return new OperatorProcess({ ...common, resource, observer, leaderElection: true });
    return new ExportProcess({
      ...{ ...common, observer, definition: this.definition },
      worker: this.#plan.areWorkers ? { index: seat === 'first' ? 0 : 1, workers: 2 } : onlyWorker,
      limits: () => this.#limits(),
      prepareQuirks: (quirks) => this.#prepare(quirks),
    });
  }

  kill(seat: Seat, againAfterMs: number): void {
    const process = this.#processes.get(seat);
    if (!process) return;
    this.#processes.delete(seat);
    this.#disturb(`kill ${process.name}`);
    process.kill();
    this.#startLater(seat, againAfterMs);
  }

  stop(seat: Seat, againAfterMs: number): void {
    const process = this.#processes.get(seat);
    if (!process?.running) return;
    this.#processes.delete(seat);
    this.#disturb(`stop ${process.name}`);
    this.#missing++;
    void process.stop().then(() => {
      this.#missing--;
      this.#startLater(seat, againAfterMs);
    });
  }

  freeze(seat: Seat, forMs: number): void {
    const process = this.#processes.get(seat);
    if (!process?.running) return;
    this.#disturb(`freeze ${process.name}`);
    process.freeze();
    this.clock.after(forMs, () => {
      this.note(`thaw ${process.name}`);
      process.thaw();
    });
  }

  killAtEffect(seat: Seat, due: Omit<KillAtEffect, 'effectsLeft'> & { readonly effect: number }): void {
    const process = this.#processes.get(seat);
    if (process) this.#dueKills.set(process, { ...due, effectsLeft: due.effect });
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#resource?.pause(isPaused);
    for (const process of this.processes) process.tell(false);
  }

  askAgain(): void {
    this.#resource?.askAgain();
    for (const process of this.processes) process.tell(true);
  }

  record(completeAtMs: number | undefined): Omit<ExportHistoryRecord, 'files'> {
    return {
      plan: this.#plan,
      definition: this.definition,
      startMs: this.model.startMs,
      journal: this.#world.journal,
      searches: this.data.searches,
      store: this.store,
      records: [...this.#records.values()],
      voided: voidedOf(this, [...this.#records.values()]),
      counters: this.#world.counters(),
      disturbances: this.#disturbances,
      starts: this.#starts,
      unheardCalls: this.#unheardCalls,
      completeAtMs,
      reported: this.processes.flatMap(({ reported }) => reported ?? []),
      statuses: this.#resource?.statuses ?? [],
      endMs: this.clock.monotonic(),
    };
  }

  end(): void {
    for (const process of this.processes) process.kill();
    packBy(undefined);
  }

  #startLater(seat: Seat, delayMs: number): void {
    this.#missing++;
    this.clock.after(delayMs, () => {
      this.#missing--;
      this.start(seat);
    });
  }

  #limits(): WorkLimits {
    const { parallelism, countDelayMs, incompletePolicy, proof } = this.#plan;
    const { maxMessages, maxBytesScanned, deadlineAfterMs } = this.#isCalm ? {} : this.#plan.limits;
    return {
      ...{ isPaused: this.#isPaused, parallelism, settleDelayMs: countDelayMs, incompletePolicy, proof },
      ...{ maxMessages, maxBytesScanned },
      deadlineMs: deadlineAfterMs === undefined ? undefined : this.model.startMs + deadlineAfterMs,
    };
  }

  /**
   * Tells the client that a search has reached the row limit. The client could not detect this itself, because the row
   * limits in simulations are too low.
   */
  #prepare(quirks: ServiceQuirks): void {
    if (!this.#plan.isLimitSilent || this.#plan.smallestLimit >= 10_000) return;
    const texts: string[] = [];
    quirks.searched({
      ...{ recordCount: undefined, scannedBytes: undefined, errors: texts, warnings: texts, hasLostStatus: false },
      ...{ state: 'forcePaused', isLimitReached: true, statuses: 1, dateMs: 0 },
      messageCount: this.#plan.smallestLimit,
    });
  }

  #disturb(what: string): void {
    this.#disturbances.push(what);
    this.note(what);
  }

  #flaws(): SearchFlaws {
    const { missShard, holes, forget } = this.#plan.flaws;
    if (this.#isCalm) return noFlaws;
    return {
      missedShard: this.#chance.happens(missShard) ? this.#chance.whole(0, shards - 1) : undefined,
      hasHole: this.#chance.happens(holes),
      forgotten: this.#chance.happens(forget) ? this.#chance.whole(1, 3) : 0,
    };
  }

  #effect(seat: Seat, name: string, effect: string, when: 'before' | 'after'): void {
    if (when === 'before') this.note(`${name} ${effect}`);
    const process = this.#processes.get(seat);
    const due = process?.name === name ? this.#dueKills.get(process) : undefined;
    if (!process || !due || due.when !== when || !effect.includes(due.named ?? '') || --due.effectsLeft > 0) return;
    this.#dueKills.delete(process);
    this.note(`killed ${when} ${effect}`);
    this.kill(seat, due.againAfterMs);
  }

  #strike(call: DestinationCall, name: string): DestinationFault | undefined {
    const { share, slowShare, calls } = this.#plan.destination;
    if (this.#isCalm || !calls.includes(call)) return undefined;
    const delayMs = this.#chance.happens(slowShare) ? this.#chance.whole(1, 8_000) : undefined;
    const until = delayMs === undefined ? {} : { until: new Promise<void>((done) => this.clock.after(delayMs, done)) };
    if (!this.#chance.happens(share)) return until;
    const failures: readonly DestinationFailure[] = ['away', 'full', 'lost'];
    const failure = call === 'create' && this.#chance.happens(0.3) ? 'exists' : this.#chance.one(failures);
    // With the fault `exists`, the call reports that an earlier attempt created the object, so the object must be
    // created.
    const hasEffect = failure === 'exists' || (call !== 'open' && this.#chance.happens(0.5));
    this.note(`${call} ${name} fails: ${failure}${hasEffect ? ', with effect' : ''}`);
    if (hasEffect) this.#unheardCalls.push(`${call} ${name}`);
    return { ...until, failure, hasEffect };
  }

  #noteRequest(entry: JournalEntry): void {
    const { operation, status, code, fault, jobId, at } = entry;
    this.note(
      `service ${operation} ${jobId ?? ''} -> ${status} ${code ?? ''}${fault === null ? '' : ` (${fault})`} arrived ${at - this.model.startMs}`,
    );
  }

  #followStore(): void {
    const { objects } = this.store;
    const set = objects.set.bind(objects);
    objects.set = (name, content) => {
      if (name.includes('/commits/')) {
        const record = JSON.parse(Buffer.from(content).toString()) as CommitRecord;
        const known = this.#records.get(name);
        this.#records.set(name, {
          ...{ name, record },
          atMs: known?.atMs ?? this.service.nowMs(),
          times: (known?.times ?? 0) + 1,
        });
        const { segment, fromMs, toMs, written, count } = record;
        this.note(`record ${segment} [${fromMs}, ${toMs}) ${written} rows, ${count.rows} by ${count.source}`);
      }
      return set(name, content);
    };
  }
}

function exportOf(plan: ExportHistoryPlan): ExportDefinition {
  return definitionOf(
    {
      query: plan.query,
      timeRange: { from: String(plan.fromMs), to: String(plan.toMs) },
      byReceiptTime: plan.byReceiptTime,
      results: plan.aggregation ? 'Records' : 'Messages',
      output: { ...plainOutput, ...plan.output, maxPartBytes: plan.maxPartBytes },
    },
    new URL(serviceOrigin).host,
  );
}
