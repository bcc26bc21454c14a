/**
 * Pure state machine of the work on an export. It decides which task comes next besides the searches, and what each
 * event changes.
 *
 * ```text
 * unread ──▶ unplanned ──▶ planned ──▶ complete
 *    ├───────────────────────▲             ▲
 *    └─────────────────────────────────────┘
 * ```
 *
 * The destination decides the state: it has nothing, a plan, or a manifest. One task runs at a time. The caller runs it
 * and reports its end.
 */
import { stallRetryMs } from '../../base/retry-delay.ts';
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Coverage } from '../../destination/coverage.ts';
import type { ExportPlan } from '../../destination/plan-object.ts';
import type { ExportDecision } from './export-decision.ts';
import type { StoredExport } from './stored-export.ts';
import type { StoredManifest } from './work-view.ts';

/** Maximum number of digest rounds without a user's request. */
export const mostRounds = 3;
/**
 * Number of readings of contradictory commit records after which records that are already known are read again, too.
 * They are not read each time, because an export may have ten thousand records.
 */
const readingsOfNames = 20;

/**
 * How well the known commit records match the destination.
 * - `old`: another process has written records.
 * - `doubted`: known records may have changed.
 * - `reading`: the records are being read.
 */
export type RecordsState = 'current' | 'reading' | 'old' | 'doubted';

export type WorkState =
  /** The destination has not been read yet. `stored` is undefined until the destination is opened. */
  | { readonly kind: 'unread'; readonly stored: StoredExport | undefined; readonly isDoubted: boolean }
  /** The destination has neither a plan nor a manifest. */
  | { readonly kind: 'unplanned'; readonly stored: StoredExport }
  | PlannedState
  | { readonly kind: 'complete'; readonly stored: StoredExport; readonly manifest: StoredManifest };

/** The destination has a plan. Intervals are searched, proven and listed in a manifest. */
export interface PlannedState {
  readonly kind: 'planned';
  readonly stored: StoredExport;
  readonly plan: ExportPlan;
  readonly records: RecordsState;
  /** Monotonic time at which all commit records were last read. */
  readonly readAtMs: number;
  /** Number of times that the commit records were read because they contradicted each other. */
  readonly readsInDisorder: number;
  /** Maximum number of digest rounds. Each request of a user for a retry adds one. */
  readonly maxRounds: number;
}

/** Work on an export other than searches, such as reading the destination or writing the manifest. */
export type Task =
  /** Reads the plan, the commit records and the manifest from the destination. */
  | { readonly kind: 'load' }
  /** Removes leftover uploads of dead processes again. */
  | { readonly kind: 'tidy' }
  /** Writes a probe file to test whether the destination can be written. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'readRecords'; readonly isDoubted: boolean }
  /** Compares the rows in files for these intervals with a digest by the service. */
  | { readonly kind: 'prove'; readonly intervals: readonly CommitRecord[]; readonly round: number }
  /** Writes the manifest. */
  | { readonly kind: 'finish'; readonly coverage: Coverage };

/** Facts that decide which task runs next. */
export interface TaskFacts {
  /** True while a failure delays the whole export. */
  readonly isHeld: boolean;
  /** True if some uploads were too recent to be removed, so that their removal must be tried again. */
  readonly isUntidy: boolean;
  /** True if the destination failed, so that a probe file must be written before anything else. */
  readonly needsProbe: boolean;
  readonly isPaused: boolean;
  /** True if no limit prevents planning. */
  readonly mayPlan: boolean;
  /** Decision about the searches; undefined while the export has no plan. */
  readonly decision: ExportDecision | undefined;
  /** Number of running searches. */
  readonly searches: number;
}

export type WorkEvent =
  /** The limits or the searches of the export have changed, and no task runs. */
  | { readonly kind: 'idle'; readonly facts: TaskFacts }
  | { readonly kind: 'opened'; readonly stored: StoredExport }
  | { readonly kind: 'ended' | 'failed'; readonly task: Task['kind']; readonly atMs: number }
  /** Another process has written commit records. */
  | { readonly kind: 'recordsWritten' }
  /** A user has requested that the export be checked again. */
  | { readonly kind: 'checkRequested' }
  /** The commit records at the destination contradict each other. */
  | { readonly kind: 'disorder'; readonly atMs: number };

/** A new state, and the task that begins with it. */
export interface WorkStep {
  readonly state: WorkState;
  readonly task?: Task;
}

export const unread: WorkState = { kind: 'unread', stored: undefined, isDoubted: false };

/** Applies an event to a state. */
export function step(state: WorkState, event: WorkEvent): WorkStep {
  switch (event.kind) {
    case 'idle':
      return begin(state, nextTask(state, event.facts));
    case 'opened':
      return { state: { kind: 'unread', stored: event.stored, isDoubted: state.kind === 'unread' && state.isDoubted } };
    case 'ended':
      return { state: afterTask(state, event.task, event.atMs) };
    case 'failed':
      return { state: event.task === 'readRecords' ? withRecords(state, 'doubted') : state };
    case 'recordsWritten':
      return { state: state.kind === 'planned' && state.records === 'doubted' ? state : withRecords(state, 'old') };
    case 'checkRequested':
      return { state: afterRequest(state) };
    case 'disorder':
      return { state: afterDisorder(state, event.atMs) };
  }
}

function nextTask(state: WorkState, facts: TaskFacts): Task | undefined {
  if (state.kind === 'complete' || facts.isHeld) return undefined;
  if (state.kind === 'unread') return { kind: 'load' };
  if (facts.isUntidy) return { kind: 'tidy' };
  if (facts.needsProbe && !facts.isPaused) return { kind: 'probe' };
  if (state.kind === 'unplanned') return facts.mayPlan ? { kind: 'plan' } : undefined;
  if (state.records !== 'current') return { kind: 'readRecords', isDoubted: state.records === 'doubted' };
  return facts.searches === 0 && facts.decision ? conclusion(state, facts.decision) : undefined;
}

/** Chooses the task after the last search: a digest that proves covered ranges, or the manifest. */
function conclusion({ stored }: PlannedState, decision: ExportDecision): Task | undefined {
  const { isCovered, unproven, coverage, waitsFor } = decision;
  if (!isCovered) return undefined;
  if (unproven.length === 0) return { kind: 'finish', coverage };
  return waitsFor ? undefined : { kind: 'prove', intervals: unproven, round: stored.verdicts.length + 1 };
}

/**
 * Starts a task. If another process reports new commit records while this task reads records, they are read again
 * afterwards.
 */
function begin(state: WorkState, task: Task | undefined): WorkStep {
  if (!task) return { state };
  return { state: task.kind === 'readRecords' ? withRecords(state, 'reading') : state, task };
}

function afterTask(state: WorkState, task: Task['kind'], atMs: number): WorkState {
  const { stored } = state;
  if (!stored || state.kind === 'complete') return state;
  const { manifest, plan } = stored;
  if (manifest) return { kind: 'complete', stored, manifest };
  if (!plan) return { kind: 'unplanned', stored };
  if (state.kind === 'unread') return planned(stored, plan, state.isDoubted ? 'doubted' : 'current', atMs);
  // The process that wrote the existing plan may also have written commit records.
  if (state.kind === 'unplanned') return planned(stored, plan, 'old', atMs);
  if (task !== 'readRecords') return state;
  return { ...state, plan, readAtMs: atMs, records: state.records === 'reading' ? 'current' : state.records };
}

function planned(stored: StoredExport, plan: ExportPlan, records: RecordsState, readAtMs: number): PlannedState {
  return { kind: 'planned', stored, plan, records, readAtMs, readsInDisorder: 0, maxRounds: mostRounds };
}

function afterRequest(state: WorkState): WorkState {
  if (state.kind === 'unread') return { ...state, isDoubted: true };
  if (state.kind !== 'planned') return state;
  return { ...state, records: 'doubted', maxRounds: Math.max(mostRounds, state.stored.verdicts.length + 1) };
}

/** Reads contradictory commit records again from time to time. A user may have repaired a record without changing its name. */
function afterDisorder(state: WorkState, atMs: number): WorkState {
  if (state.kind !== 'planned' || state.records !== 'current' || atMs - state.readAtMs < stallRetryMs) return state;
  const readsInDisorder = state.readsInDisorder + 1;
  return { ...state, readsInDisorder, records: readsInDisorder % readingsOfNames === 0 ? 'doubted' : 'old' };
}

function withRecords(state: WorkState, records: RecordsState): WorkState {
  return state.kind === 'planned' ? { ...state, records } : state;
}
