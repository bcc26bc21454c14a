/** Reasons why an export without a plan waits. */
import { settlingMs } from '../search/settling.ts';
import { isOver, isScannedOut, type Wait } from './export-decision.ts';
import type { WorkLimits } from './work-view.ts';

interface PlanningFacts {
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

/**
 * Reason why the export cannot be planned yet; undefined if it can. A range that is too new does not count, because the
 * planning itself waits for its age.
 */
export function waitBeforePlan(limits: WorkLimits, { wallMs, scannedBytes }: PlanningFacts): Wait | undefined {
  if (isOver(limits, wallMs)) return { kind: 'deadline' };
  if (limits.isPaused) return { kind: 'paused' };
  return isScannedOut(limits, scannedBytes) ? { kind: 'maxBytesScanned' } : undefined;
}

/**
 * Reason why an export without a plan may start no search. The deadline counts only when the destination cannot be
 * read, because the destination may already be complete.
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

/** Time in ms after which the reason may change; infinite if only an event can change it. */
export function delayBeforePlan({ deadlineMs = Number.POSITIVE_INFINITY }: WorkLimits, wallMs: number): number {
  return deadlineMs > wallMs ? deadlineMs - wallMs : Number.POSITIVE_INFINITY;
}
