/**
 * The planning of an export while it is under way: what can be seen of it, what it has scanned, and why planning does not begin or go
 * on. What is planned, and how, is `export-planning.ts`'s.
 */
import { isOver, isScannedOut, type Wait } from './export-decision.ts';
import type { PlannedExport, PlanningOptions, PlanningView } from './export-planning.ts';
import type { SearchTools } from './search-tools.ts';
import { settlingMs } from './settling.ts';
import type { WorkLimits } from './work-view.ts';

export type Plan = (tools: SearchTools, options: PlanningOptions) => Promise<PlannedExport>;

const nothingPlanned: PlanningView = { jobs: [], scannedBytes: 0, settlesAtMs: undefined, isTried: false };

export class PlanningStep {
  readonly #settleDelayMs: number;
  readonly #abort = new AbortController();
  #view = nothingPlanned;
  #hasSearched = false;

  constructor(settleDelayMs: number) {
    this.#settleDelayMs = settleDelayMs;
  }

  get view(): PlanningView {
    return this.#view;
  }

  get isAborted(): boolean {
    return this.#abort.signal.aborted;
  }

  /** What it waits for to settle was tried out: credentials and query are taken. */
  get isTaken(): boolean {
    return this.#view.settlesAtMs !== undefined && this.#view.isTried;
  }

  /** Whether search jobs have found something that is lost where it is aborted. */
  get isCostly(): boolean {
    return this.#hasSearched && !this.isAborted;
  }

  /** Whether its range was settled by another delay than the one that is wanted now (E11). */
  isOutdated({ settleDelayMs }: WorkLimits): boolean {
    return settleDelayMs !== this.#settleDelayMs;
  }

  abort(): void {
    this.#abort.abort();
  }

  /** To be called once. */
  async run(plan: Plan, tools: SearchTools, onProgress: () => void): Promise<PlannedExport> {
    const onNews = (view: PlanningView) => {
      this.#view = view;
      // Of a job that only tries out whether it is taken nothing is kept.
      this.#hasSearched = view.settlesAtMs === undefined && (this.#hasSearched || view.jobs.length > 0);
      onProgress();
    };
    const { signal } = this.#abort;
    const planned = await plan(tools, { settleDelayMs: this.#settleDelayMs, signal, onNews });
    this.#view = { ...nothingPlanned, scannedBytes: planned.scannedBytes };
    return planned;
  }

  /** By jobs that it has closed, also where nothing came of it; nothing shows of it any more. To be called when it has ended. */
  takeScannedBytes(): number {
    const { scannedBytes } = this.#view;
    this.#view = nothingPlanned;
    return scannedBytes;
  }
}

export interface PlanningFacts {
  readonly wallMs: number;
  /** By all jobs of the export until now. */
  readonly scannedBytes: number;
}

/** Of an export that has no plan yet. */
export interface UnplannedFacts extends PlanningFacts {
  /** When the first of the range was, and by how much the service's clock is behind ours. */
  readonly fromMs: number;
  readonly clockBehindMs: number;
  /** It is known what stands at the destination. */
  readonly isLoaded: boolean;
  /** Something went wrong, and nothing has succeeded since. */
  readonly hasFailed: boolean;
  /** Of the planning that is under way. */
  readonly settlesAtMs: number | undefined;
}

/** Why planning does not begin, or does not go on; undefined where nothing keeps it. It waits by itself for its range to settle. */
export function waitBeforePlan(limits: WorkLimits, { wallMs, scannedBytes }: PlanningFacts): Wait | undefined {
  if (isOver(limits, wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  return isScannedOut(limits, scannedBytes) ? { kind: 'maxBytesScanned' } : undefined;
}

/** Why nothing is searched before there is a plan. What stands at the destination may be all: the deadline is heeded once it cannot be read. */
export function waitBeforeSearch(limits: WorkLimits, facts: UnplannedFacts): Wait | undefined {
  const { isLoaded, hasFailed, settlesAtMs, fromMs, clockBehindMs, wallMs } = facts;
  if (!isLoaded) return hasFailed && isOver(limits, wallMs) ? { kind: 'deadline' } : undefined;
  const wait = waitBeforePlan(limits, facts);
  if (wait) return wait;
  const firstMs = fromMs + settlingMs({ settleDelayMs: limits.settleDelayMs, clockBehindMs });
  const untilMs = settlesAtMs ?? (wallMs < firstMs ? firstMs : undefined);
  return untilMs === undefined ? undefined : { kind: 'settling', untilMs };
}

/** After how long that may be another; infinite where time alone does not change it. */
export function delayBeforePlan({ deadlineMs = Number.POSITIVE_INFINITY }: WorkLimits, wallMs: number): number {
  return deadlineMs > wallMs ? deadlineMs - wallMs : Number.POSITIVE_INFINITY;
}
