/**
 * Decides the next actions in the work on an export: which searches start and stop (`export-decision.ts`), and which
 * other step begins. All functions are pure.
 */
import { stallRetryMs } from '../../base/retry-delay.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Coverage } from '../../destination/coverage.ts';
import type { RunningSearch } from '../search/search-tools.ts';
import { type ExportDecision, type ExportMoment, haltOf, type SearchWait } from './export-decision.ts';
import type { Trouble } from './export-delays.ts';
import type { Complete, Exporting, Loading, Planning, UnreadRecords } from './work-state.ts';
import type { WorkLimits } from './work-view.ts';
import { busyRereadMs, idleRereadMs, replacesFirstAtMs, rereadMs, type WorkerIndex } from './worker-segments.ts';

/**
 * Step in the work on an export, such as reading the destination. Searches are not steps. At most one step runs at a
 * time.
 */
export type Step =
  /** Reads the plan, the commit records and the manifest. */
  | { readonly kind: 'load' }
  /** Removes the unfinished uploads of processes that have ended. */
  | { readonly kind: 'tidy' }
  /** Writes a probe file to test the destination. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'plan'; readonly settleDelayMs: number }
  | { readonly kind: 'readRecords'; readonly which: Exclude<UnreadRecords, 'none'> }
  /** Compares the written rows of the given intervals with the service's counts. */
  | { readonly kind: 'prove'; readonly intervals: readonly CommitRecord[]; readonly round: number }
  /** Writes the export manifest. After a failed attempt (`isRepeated`), rereads the commit records first. */
  | { readonly kind: 'finish'; readonly coverage: Coverage; readonly isRepeated: boolean };

/** State of the work. If the export can have searches in this state, it includes the decision about the searches. */
export type DecidedState<S extends RunningSearch = RunningSearch> = Loading | Planning | Decided<S> | Complete;

export interface Decided<S extends RunningSearch = RunningSearch> extends Exporting {
  readonly decision: ExportDecision<S>;
}

/** Data on which the next actions depend, in addition to the state. */
export interface WorkFacts {
  readonly now: ExportMoment;
  readonly limits: WorkLimits;
  readonly worker: WorkerIndex;
  /** Failure that currently delays the whole export. */
  readonly trouble: Trouble | undefined;
  /**
   * True if the last failure was a failure of the destination, and no probe file has been written successfully since
   * then. A probe file must then be written to test the destination.
   */
  readonly needsProbe: boolean;
  /** Bytes scanned by searches that have ended, and by the search jobs of the running step. */
  readonly endedBytes: number;
  /** Number of running searches. */
  readonly searches: number;
  /** Step that is currently running. */
  readonly running: RunningStep | undefined;
}

export interface RunningStep {
  readonly step: Step;
  /** Monotonic time at which the step began. */
  readonly begunAtMs: number;
  /** Wall-clock time until which planning waits (E11); undefined if the step does not wait. */
  readonly settlesAtMs: number | undefined;
}

export interface WorkActions<S extends RunningSearch = RunningSearch>
  extends Pick<ExportDecision<S>, 'start' | 'stop' | 'endAsCut'> {
  /** True if the running step must be aborted, for example because of a limit or a pause. */
  readonly abortsStep: boolean;
  /** Step that begins. */
  readonly step: Step | undefined;
}

export function nextActions<S extends RunningSearch>(state: DecidedState<S>, facts: WorkFacts): WorkActions<S> {
  const { stop, endAsCut, start } = state.kind === 'exporting' ? state.decision : noSearches;
  // Searches start only when the commit records of other processes are known. Otherwise, an interval could be searched
  // twice.
  const areRecordsKnown =
    state.kind === 'exporting' && recordsToRead(state, facts) === 'none' && facts.running?.step.kind !== 'readRecords';
  return {
    ...{ stop, endAsCut, start: areRecordsKnown ? start : [] },
    abortsStep: abortsStep(state, facts),
    step: facts.running ? undefined : nextStep(state, facts),
  };
}

const noSearches = { stop: [], endAsCut: [], start: [] } as const;

function abortsStep(state: DecidedState, facts: WorkFacts): boolean {
  const { step } = facts.running ?? {};
  switch (step?.kind) {
    case 'plan':
      // Planning must start again after a change to `settleDelay`, which decides which rows are old enough to be
      // searched (E11).
      return step.settleDelayMs !== facts.limits.settleDelayMs || haltNow(facts) !== undefined;
    case 'prove': {
      const wait = state.kind === 'exporting' ? state.decision.waitsFor?.kind : undefined;
      return wait === 'deadline' || wait === 'maxBytesScanned';
    }
    default:
      return false;
  }
}

function nextStep(state: DecidedState, facts: WorkFacts): Step | undefined {
  if (facts.trouble) return undefined;
  switch (state.kind) {
    case 'loading':
      return { kind: 'load' };
    case 'planning':
      return destinationStep(state, facts) ?? planningStep(state, facts);
    case 'exporting':
      return destinationStep(state, facts) ?? exportingStep(state, facts);
    case 'complete':
      return undefined;
  }
}

/**
 * Returns the step that cleans up or tests the destination, if this must happen before any other work. Otherwise
 * returns undefined.
 */
function destinationStep({ tidyAtMs }: Planning | Exporting, { now, needsProbe, limits }: WorkFacts): Step | undefined {
  if (tidyAtMs <= now.monotonicMs) return { kind: 'tidy' };
  return needsProbe && !limits.isPaused ? { kind: 'probe' } : undefined;
}

function planningStep(state: Planning, facts: WorkFacts): Step | undefined {
  if (awaitsPlan(state, facts)) return isOutdated(state, facts) ? { kind: 'load' } : undefined;
  return haltNow(facts) ? undefined : { kind: 'plan', settleDelayMs: facts.limits.settleDelayMs };
}

function exportingStep(state: Decided, facts: WorkFacts): Step | undefined {
  const { verdicts, isManifestTried, decision } = state;
  const which = recordsToRead(state, facts);
  if (which !== 'none') return { kind: 'readRecords', which };
  if (facts.searches > 0 || !decision.isCovered) return undefined;
  const { unproven, coverage, waitsFor } = decision;
  if (unproven.length === 0) return { kind: 'finish', coverage, isRepeated: isManifestTried };
  return waitsFor ? undefined : { kind: 'prove', intervals: unproven, round: verdicts.length + 1 };
}

/**
 * Interval in ms at which all commit records are reread while they contradict each other, because a user may have
 * corrected them. Between these reads, only new commit records are read.
 */
const disorderRereadMs = 20 * stallRetryMs;

/** Returns which commit records must be read before any other work. */
function recordsToRead(state: Decided, facts: WorkFacts): UnreadRecords {
  const { unread, decision, readAtMs, allReadAtMs } = state;
  if (unread !== 'none') return unread;
  const { monotonicMs } = facts.now;
  const isInDisorder = decision.waitsFor?.kind === 'disorder';
  if (isInDisorder && monotonicMs - allReadAtMs >= disorderRereadMs) return 'all';
  return isOutdated(state, facts) || (isInDisorder && monotonicMs - readAtMs >= stallRetryMs) ? 'new' : 'none';
}

/** Returns the reason why neither searches nor planning may start, such as a pause, or undefined if they may start. */
export function haltNow({ limits, now, endedBytes }: WorkFacts): SearchWait | undefined {
  return haltOf(limits, now.wallMs, endedBytes);
}

/**
 * Returns the time in ms until this worker may plan the export in place of the first worker. The time is 0 or negative
 * if the worker may plan now.
 */
export function standInDelayMs({ othersSeenAtMs }: Planning, { worker, now }: WorkFacts): number {
  return replacesFirstAtMs(othersSeenAtMs, worker) - now.monotonicMs;
}

/** Returns true while this process is waiting for the first worker to write the plan. */
export function awaitsPlan(state: Planning, facts: WorkFacts): boolean {
  return standInDelayMs(state, facts) > 0;
}

/** Returns true if other workers may have written objects since this worker last read the destination. */
function isOutdated(state: Planning | Decided, facts: WorkFacts): boolean {
  return rereadDelayMs(state, facts) <= 0;
}

/**
 * Returns the time in ms until this worker next reads the objects of other workers. Returns Infinity if there are no
 * other workers.
 */
export function rereadDelayMs(state: Planning | Decided, { worker, now, searches }: WorkFacts): number {
  if (worker.workers === 1) return Number.POSITIVE_INFINITY;
  const sinceMs = now.monotonicMs - state.readAtMs;
  if (state.kind === 'exporting' && state.decision.start.length > 0) return rereadMs - sinceMs;
  return (searches > 0 ? busyRereadMs : idleRereadMs(now.monotonicMs - state.othersSeenAtMs)) - sinceMs;
}
