/**
 * State machine of the work on an export, pure: which task comes next besides the searches, and what each event changes.
 *
 * ```text
 * unread ──▶ unplanned ──▶ planned ──▶ complete
 *    ├───────────────────────▲             ▲
 *    └─────────────────────────────────────┘
 * ```
 *
 * The destination decides the state: it has nothing, a plan, or a manifest. One task runs at a time. The caller runs it and reports its end.
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
/** Number of readings of inconsistent records after which known records are read as well. That may be ten thousand. */
const readingsOfNames = 20;

/** `old`: another process has written records. `doubted`: known records may have changed. `reading`: the records are being read. */
export type RecordsState = 'current' | 'reading' | 'old' | 'doubted';

export type WorkState =
  /** The destination is not read yet; `stored` is undefined until it is opened. */
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
  /** Monotonic time of the last complete reading. */
  readonly readAtMs: number;
  /** Number of readings because the records contradict each other. */
  readonly readsInDisorder: number;
  /** Maximum number of digest rounds. A user's request adds one. */
  readonly maxRounds: number;
}

/** Work besides the searches. */
export type Task =
  /** Reads the destination. */
  | { readonly kind: 'load' }
  /** Removes leftovers of dead writers again. */
  | { readonly kind: 'tidy' }
  /** Tests whether files can be written. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'readRecords'; readonly isDoubted: boolean }
  /** Compares these intervals with a digest. */
  | { readonly kind: 'prove'; readonly intervals: readonly CommitRecord[]; readonly round: number }
  /** Writes the manifest. */
  | { readonly kind: 'finish'; readonly coverage: Coverage };

/** Observations that decide the next task. */
export interface TaskFacts {
  /** True while a failure delays everything. */
  readonly isHeld: boolean;
  /** True if uploads of dead writers may be found again. */
  readonly isUntidy: boolean;
  /** True if a failure of the destination must be tested with a probe before anything is written. */
  readonly needsProbe: boolean;
  readonly isPaused: boolean;
  /** False if a limit prevents planning. */
  readonly mayPlan: boolean;
  /** Undefined without a plan. */
  readonly decision: ExportDecision | undefined;
  /** Number of running searches. */
  readonly searches: number;
}

export type WorkEvent =
  /** The limits or the searches have changed, and no task runs. */
  | { readonly kind: 'idle'; readonly facts: TaskFacts }
  | { readonly kind: 'opened'; readonly stored: StoredExport }
  | { readonly kind: 'ended' | 'failed'; readonly task: Task['kind']; readonly atMs: number }
  /** Another process has written records. */
  | { readonly kind: 'recordsWritten' }
  /** A user has requested a check. */
  | { readonly kind: 'checkRequested' }
  /** The records contradict each other. */
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

/** Proves covered ranges or writes the manifest. */
function conclusion({ stored }: PlannedState, decision: ExportDecision): Task | undefined {
  const { isCovered, unproven, coverage, waitsFor } = decision;
  if (!isCovered) return undefined;
  if (unproven.length === 0) return { kind: 'finish', coverage };
  return waitsFor ? undefined : { kind: 'prove', intervals: unproven, round: stored.verdicts.length + 1 };
}

/** News that arrives while the records are read requests another reading. */
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
  // Another author of the plan may already have written records.
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

/** Reads the records again from time to time. They may have been repaired in place, which their names do not show. */
function afterDisorder(state: WorkState, atMs: number): WorkState {
  if (state.kind !== 'planned' || state.records !== 'current' || atMs - state.readAtMs < stallRetryMs) return state;
  const readsInDisorder = state.readsInDisorder + 1;
  return { ...state, readsInDisorder, records: readsInDisorder % readingsOfNames === 0 ? 'doubted' : 'old' };
}

function withRecords(state: WorkState, records: RecordsState): WorkState {
  return state.kind === 'planned' ? { ...state, records } : state;
}
