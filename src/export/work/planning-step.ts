/**
 * The planning of an export in progress: its view, its scanned bytes, and the reasons that delay it. `export-planning.ts` makes the plan.
 */

import type { PlannedExport, PlanningView, PlanOptions } from '../plan/export-planning.ts';
import type { JobView, SearchTools } from '../search/search-tools.ts';
import { settlingMs } from '../search/settling.ts';
import { isOver, isScannedOut, type Wait } from './export-decision.ts';
import type { WorkLimits } from './work-view.ts';

export type Plan = (tools: SearchTools, options: PlanOptions) => Promise<PlannedExport>;

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

  get views(): readonly JobView[] {
    return this.#view.jobs;
  }

  get scannedBytes(): number {
    return this.#view.scannedBytes;
  }

  get isAborted(): boolean {
    return this.#abort.signal.aborted;
  }

  /** True if a test search succeeded during the wait for settling, so that credentials and query are accepted. */
  get isTaken(): boolean {
    return this.#view.settlesAtMs !== undefined && this.#view.isTried;
  }

  /** True if planning has search jobs whose results an abort would lose. */
  get isCostly(): boolean {
    return this.#hasSearched && !this.isAborted;
  }

  /** True if the settle delay has changed since planning began, so that another part of the range can be searched (E11). */
  isOutdated({ settleDelayMs }: WorkLimits): boolean {
    return settleDelayMs !== this.#settleDelayMs;
  }

  abort(): void {
    this.#abort.abort();
  }

  /** Runs the planning. It must be called only once. */
  async run(plan: Plan, tools: SearchTools, onProgress: () => void): Promise<PlannedExport> {
    const onNews = (view: PlanningView) => {
      this.#view = view;
      // A running test search does not count, because its results are not used.
      this.#hasSearched = view.settlesAtMs === undefined && (this.#hasSearched || view.jobs.length > 0);
      onProgress();
    };
    const { signal } = this.#abort;
    const planned = await plan(tools, { settleDelayMs: this.#settleDelayMs, signal, onNews });
    this.#view = { ...nothingPlanned, scannedBytes: planned.scannedBytes };
    return planned;
  }
}

export interface PlanningFacts {
  readonly wallMs: number;
  /** Bytes scanned by all jobs of the export so far. */
  readonly scannedBytes: number;
}

/** Facts about an export without a plan. */
export interface UnplannedFacts extends PlanningFacts {
  /** Start of the range, and the time in ms by which the service's clock is behind ours. */
  readonly fromMs: number;
  readonly clockBehindMs: number;
  /** True if the export's destination has been read. */
  readonly isLoaded: boolean;
  /** True if the export has failed and nothing has succeeded since. */
  readonly hasFailed: boolean;
  /** Wall time until which the current planning waits. */
  readonly settlesAtMs: number | undefined;
}

/** Reason that prevents planning, or undefined. Planning itself waits for its range to settle. */
export function waitBeforePlan(limits: WorkLimits, { wallMs, scannedBytes }: PlanningFacts): Wait | undefined {
  if (isOver(limits, wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  return isScannedOut(limits, scannedBytes) ? { kind: 'maxBytesScanned' } : undefined;
}

/**
 * Reason that prevents searching before a plan exists. The destination may already be complete, so the deadline applies only when it cannot
 * be read.
 */
export function waitBeforeSearch(limits: WorkLimits, facts: UnplannedFacts): Wait | undefined {
  const { isLoaded, hasFailed, settlesAtMs, fromMs, clockBehindMs, wallMs } = facts;
  if (!isLoaded) return hasFailed && isOver(limits, wallMs) ? { kind: 'deadline' } : undefined;
  const wait = waitBeforePlan(limits, facts);
  if (wait) return wait;
  const firstMs = fromMs + settlingMs({ settleDelayMs: limits.settleDelayMs, clockBehindMs });
  const untilMs = settlesAtMs ?? (wallMs < firstMs ? firstMs : undefined);
  return untilMs === undefined ? undefined : { kind: 'settling', untilMs };
}

/** Time in ms after which the reason may change; infinite if time alone cannot change it. */
export function delayBeforePlan({ deadlineMs = Number.POSITIVE_INFINITY }: WorkLimits, wallMs: number): number {
  return deadlineMs > wallMs ? deadlineMs - wallMs : Number.POSITIVE_INFINITY;
}
