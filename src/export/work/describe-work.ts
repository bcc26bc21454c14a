/** Derives the status of an export from the state of its work. All functions are pure. */
import type { LogfleetError } from '../../base/errors.ts';
import { stallRetryMs } from '../../base/retry-delay.ts';
import { settlingMs } from '../search/settling.ts';
import { isOver, progressOf, type SearchWait } from './export-decision.ts';
import {
  awaitsPlan,
  type Decided,
  type DecidedState,
  haltNow,
  type RunningStep,
  rereadDelayMs,
  standInDelayMs,
  type WorkFacts,
} from './next-actions.ts';
import type { Planning } from './work-state.ts';
import type { WorkView } from './work-view.ts';

export interface ViewFacts extends WorkFacts {
  /** Start of the export's time range. */
  readonly fromMs: number;
  /** Last failure; undefined after a success. */
  readonly lastError: LogfleetError | undefined;
  /**
   * Expected duration in ms of the digest (the comparison with the service's counts), based on earlier searches. It is
   * 0 until a search has ended.
   */
  readonly usualDigestMs: number;
}

/**
 * Minimum delay in ms before a wall-clock time is checked again. It is needed because the wall clock may have been set
 * back.
 */
const minSettleWaitMs = 1_000;

export function describeState(state: DecidedState, facts: ViewFacts) {
  const { delaysMs, ...described } = describeKind(state, facts);
  return {
    ...described,
    isChecking: isUnread(state, facts.running) && facts.lastError?.handling.kind !== 'stall',
    digestMs: digestMs(state, facts),
    manifest: state.kind === 'complete' ? state.manifest : undefined,
    requeueAfterMs: requeueAfterMs(delaysMs, facts, described.waitsFor),
  } satisfies Partial<WorkView>;
}

interface Described extends Pick<WorkView, 'stage' | 'progress' | 'intervals' | 'waitsFor'> {
  /**
   * Times in ms after which the state of the work may change even if no event occurs. A time that has already passed is
   * negative.
   */
  readonly delaysMs: readonly number[];
}

function describeKind(state: DecidedState, facts: ViewFacts): Described {
  const { limits, now, endedBytes } = facts;
  const deadlineDelayMs = (limits.deadlineMs ?? Number.POSITIVE_INFINITY) - now.wallMs;
  switch (state.kind) {
    case 'loading': {
      // Until the destination has been read, it is unknown whether the export is already complete. Therefore, a
      // deadline that has passed is reported only if the read has failed.
      const waitsFor = facts.lastError && isOver(limits, now.wallMs) ? ({ kind: 'deadline' } as const) : undefined;
      return { stage: 'loading', progress: undefined, intervals: [], waitsFor, delaysMs: [deadlineDelayMs] };
    }
    case 'planning':
      return {
        ...{ stage: 'planning', progress: progressOf([], 0, 0, endedBytes), intervals: [] },
        waitsFor: waitBeforePlan(state, facts),
        delaysMs: [deadlineDelayMs, standInDelayMs(state, facts), ...destinationDelaysMs(state, facts)],
      };
    case 'exporting': {
      const { isCovered, unproven, progress, coverage, waitsFor, requeueAfterMs: changeMs } = state.decision;
      const covered = unproven.length > 0 ? 'proving' : 'finishing';
      return {
        ...{ stage: isCovered ? covered : 'exporting', progress, intervals: coverage.intervals, waitsFor },
        delaysMs: [changeMs, ...destinationDelaysMs(state, facts)],
      };
    }
    case 'complete': {
      const { intervals } = state.manifest.manifest;
      const progress = progressOf(intervals, 1, 0, endedBytes);
      return { stage: 'complete', progress, intervals, waitsFor: undefined, delaysMs: [] };
    }
  }
}

/** Returns true while all objects at the destination must be read, or are being read. */
function isUnread(state: DecidedState, running: RunningStep | undefined): boolean {
  if (state.kind !== 'exporting') return state.kind === 'loading';
  const { step } = running ?? {};
  return state.unread === 'all' || (step?.kind === 'readRecords' && step.which === 'all');
}

/** Returns the times in ms until the destination must be cleaned up or read again. */
function destinationDelaysMs(state: Planning | Decided, facts: WorkFacts): readonly number[] {
  return [state.tidyAtMs - facts.now.monotonicMs, rereadDelayMs(state, facts)];
}

/** Returns the reason why the export has no plan yet, or undefined if the export is being planned. */
function waitBeforePlan(state: Planning, facts: ViewFacts): SearchWait | undefined {
  const { limits, now, running, fromMs } = facts;
  const firstMs = fromMs + settlingMs(limits.settleDelayMs, now.clockBehindMs);
  const untilMs = running?.settlesAtMs ?? (now.wallMs < firstMs ? firstMs : undefined);
  const halt = haltNow(facts);
  if (halt) return halt;
  if (untilMs !== undefined) return { kind: 'settling', untilMs };
  return awaitsPlan(state, facts) ? { kind: 'workers' } : undefined;
}

/**
 * Returns the expected remaining time in ms for the comparison with the service's counts (digest). It is 0 if no digest
 * remains, and undefined if the digest is taking longer than expected. A digest covers the whole range, so it probably
 * takes as long as a search or a counting aggregation.
 */
function digestMs(state: DecidedState, { usualDigestMs, running, now }: ViewFacts): number | undefined {
  if (state.kind !== 'exporting' || !state.decision.isDigestLeft) return 0;
  const sinceMs = running?.step.kind === 'prove' ? now.monotonicMs - running.begunAtMs : 0;
  const leftMs = usualDigestMs - sinceMs;
  return leftMs > 0 ? leftMs : undefined;
}

/** Returns the delay in ms after which the state of the work may change even if no event occurs. */
function requeueAfterMs(
  stateDelaysMs: readonly number[],
  { now, trouble }: ViewFacts,
  wait: SearchWait | undefined,
): number {
  const delaysMs = [...stateDelaysMs];
  if (trouble) delaysMs.push(trouble.untilMs - now.monotonicMs);
  if (wait?.kind === 'settling') delaysMs.push(Math.max(minSettleWaitMs, wait.untilMs - now.wallMs));
  if (wait?.kind === 'disorder') delaysMs.push(stallRetryMs);
  return Math.min(...delaysMs.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
}
