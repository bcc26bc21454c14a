/** Derives what the status shows from the state of the work on an export. All functions are pure. */
import type { LogfleetError } from '../../base/errors.ts';
import { stallRetryMs } from '../../base/retry-delay.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import { settlingMs } from '../search/settling.ts';
import { type ExportProgress, isOver, progressOf, type Wait } from './export-decision.ts';
import {
  awaitsPlan,
  type DecidedState,
  haltNow,
  rereadDelayMs,
  standInDelayMs,
  type WorkFacts,
} from './next-actions.ts';
import type { Planning } from './work-state.ts';
import type { WorkStage, WorkView } from './work-view.ts';

export interface ViewFacts extends WorkFacts {
  /** Start of the export's time range. */
  readonly fromMs: number;
  /** Last failure; undefined after a success. */
  readonly lastError: LogfleetError | undefined;
  /** Duration in ms of earlier searches that are like a comparison with the service; 0 if there was none. */
  readonly usualDigestMs: number;
}

/**
 * Minimum delay in ms before a wall time is checked again. The check is repeated, because the wall clock may have been
 * set back.
 */
const minSettleWaitMs = 1_000;

export function describeState(state: DecidedState, facts: ViewFacts) {
  const waitsFor = waitOf(state, facts);
  return {
    stage: stageOf(state),
    progress: progressNow(state, facts),
    digestMs: digestMs(state, facts),
    intervals: intervalsOf(state),
    waitsFor,
    manifest: state.kind === 'complete' ? state.manifest : undefined,
    requeueAfterMs: requeueAfterMs(state, facts, waitsFor),
  } satisfies Partial<WorkView>;
}

function stageOf(state: DecidedState): WorkStage {
  if (state.kind !== 'exporting') return state.kind;
  const { isCovered, unproven } = state.decision;
  if (!isCovered) return 'exporting';
  return unproven.length > 0 ? 'proving' : 'finishing';
}

function intervalsOf(state: DecidedState): readonly CommitRecord[] {
  if (state.kind === 'complete') return state.manifest.manifest.intervals;
  return state.kind === 'exporting' ? state.decision.coverage.intervals : [];
}

function progressNow(state: DecidedState, { endedBytes }: WorkFacts): ExportProgress | undefined {
  switch (state.kind) {
    case 'loading':
      return undefined;
    case 'planning':
      return progressOf([], 0, 0, endedBytes);
    case 'exporting':
      return state.decision.progress;
    case 'complete':
      return progressOf(state.manifest.manifest.intervals, 1, 0, endedBytes);
  }
}

function waitOf(state: DecidedState, facts: ViewFacts): Wait | undefined {
  switch (state.kind) {
    case 'loading':
      // The export may already be complete, so the deadline is ignored unless a failure has occurred.
      return facts.lastError && isOver(facts.limits, facts.now.wallMs) ? { kind: 'deadline' } : undefined;
    case 'planning':
      return waitBeforePlan(state, facts);
    case 'exporting':
      return state.decision.waitsFor;
    case 'complete':
      return undefined;
  }
}

/** Returns why the export has no plan yet. Returns undefined if it is being planned. */
function waitBeforePlan(state: Planning, facts: ViewFacts): Wait | undefined {
  const { limits, now, running, fromMs } = facts;
  const firstMs = fromMs + settlingMs(limits.settleDelayMs, now.clockBehindMs);
  const untilMs = running?.settlesAtMs ?? (now.wallMs < firstMs ? firstMs : undefined);
  const halt = haltNow(facts);
  if (halt) return halt;
  if (untilMs !== undefined) return { kind: 'settling', untilMs };
  return awaitsPlan(state, facts) ? { kind: 'workers' } : undefined;
}

/**
 * Returns the expected remaining time in ms of the comparison with the service (digest). It is 0 if no comparison is
 * left, and undefined if the comparison takes longer than expected.
 *
 * A digest covers the whole range, so it probably takes as long as a search or a counting aggregation.
 */
function digestMs(state: DecidedState, { usualDigestMs, running, now }: ViewFacts): number | undefined {
  if (state.kind !== 'exporting' || !state.decision.isDigestLeft) return 0;
  const sinceMs = running?.step.kind === 'prove' ? now.monotonicMs - running.begunAtMs : 0;
  const leftMs = usualDigestMs - sinceMs;
  return leftMs > 0 ? leftMs : undefined;
}

/** Returns the time in ms after which the state of the work may change although no event occurs. */
function requeueAfterMs(state: DecidedState, facts: ViewFacts, wait: Wait | undefined): number {
  const { now, trouble } = facts;
  const delaysMs = [...changeDelaysMs(state, facts)];
  if (trouble) delaysMs.push(trouble.untilMs - now.monotonicMs);
  if (wait?.kind === 'settling') delaysMs.push(Math.max(minSettleWaitMs, wait.untilMs - now.wallMs));
  if (wait?.kind === 'disorder') delaysMs.push(stallRetryMs);
  return Math.min(...delaysMs.filter((delayMs) => delayMs > 0), Number.POSITIVE_INFINITY);
}

function changeDelaysMs(state: DecidedState, facts: ViewFacts): readonly number[] {
  const { now, limits } = facts;
  const deadlineDelayMs = (limits.deadlineMs ?? Number.POSITIVE_INFINITY) - now.wallMs;
  switch (state.kind) {
    case 'loading':
      return [deadlineDelayMs];
    case 'planning':
    case 'exporting': {
      const destinationMs = [state.tidyAtMs - now.monotonicMs, rereadDelayMs(state, facts)];
      return state.kind === 'planning'
        ? [deadlineDelayMs, standInDelayMs(state, facts), ...destinationMs]
        : [state.decision.requeueAfterMs, ...destinationMs];
    }
    case 'complete':
      return [];
  }
}
