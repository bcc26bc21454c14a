/**
 * The state machine of the work on one export. The state is what this process knows about the destination, where other
 * processes may have written more objects (E3). Each event can change the state. All functions are pure.
 *
 *     loading ──> planning ──> exporting ──> complete
 *        │           │             ^             ^
 *        ├───────────┴── a plan ───┘             │
 *        └───────────┴── a manifest ─────────────┘
 *
 * The first read of the destination ends `loading`. In `planning`, a worker that waits for the plan reads the
 * destination again. Each of these two reads may find a plan or a manifest that another process has written.
 */
import { assert } from '../../base/assert.ts';
import { type CommitRecord, recordKey } from '../../destination/commit-record.ts';
import type { DigestVerdict } from '../../destination/digest-verdict.ts';
import type { ExportPlan } from '../../destination/plan-object.ts';
import { longestSilenceMs } from '../../destination/store/destination.ts';
import type { StoredManifest } from './work-view.ts';

/**
 * Commit records that must be reread: `none`, `new` (only those that other processes have added), or `all` (a user may
 * have changed some). While commit records are being read, this value already applies to the next read.
 */
export type UnreadRecords = 'none' | 'new' | 'all';

/** The destination has not been read yet. */
export interface Loading {
  readonly kind: 'loading';
  readonly startedAtMs: number;
  /** If this is not `none`, the destination is read once more after the current read. */
  readonly unread: UnreadRecords;
}

interface ReadState {
  /** Monotonic time at which the destination was last read. */
  readonly readAtMs: number;
  /**
   * Monotonic time at which this process last found an object written by another process. Initially, the start of this
   * process.
   */
  readonly othersSeenAtMs: number;
  /** Monotonic time of the next attempt to remove old uploads, or Infinity if no attempt is needed. */
  readonly tidyAtMs: number;
}

/** The destination contains neither a plan nor a manifest. */
export interface Planning extends ReadState {
  readonly kind: 'planning';
}

/** The destination contains a plan, but no manifest. */
export interface Exporting extends ReadState {
  readonly kind: 'exporting';
  readonly plan: ExportPlan;
  readonly records: readonly CommitRecord[];
  readonly unread: UnreadRecords;
  /** Monotonic time at which all commit records were last read. */
  readonly allReadAtMs: number;
  /** Results of comparing the written rows with the service's counts. */
  readonly verdicts: readonly DigestVerdict[];
  /**
   * Number of the last comparison with the service's counts after which ranges with differences are searched again.
   * Differences that a later comparison finds are final.
   */
  readonly maxRounds: number;
  /**
   * True once this process has tried to write the export manifest. If this is true before an attempt, an earlier
   * attempt has failed.
   */
  readonly isManifestTried: boolean;
}

/** The destination contains a manifest. */
export interface Complete {
  readonly kind: 'complete';
  readonly manifest: StoredManifest;
}

export type WorkState = Loading | Planning | Exporting | Complete;

/** Objects of an export that a process finds when it reads the destination. */
export type StoredObjects =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'plan';
      readonly plan: ExportPlan;
      readonly records: readonly CommitRecord[];
      readonly verdicts: readonly DigestVerdict[];
    }
  | { readonly kind: 'manifest'; readonly manifest: StoredManifest };

/** Result of rereading the commit records. */
export interface RecordsReading {
  readonly which: Exclude<UnreadRecords, 'none'>;
  readonly plan: ExportPlan;
  /** All commit records at the destination. */
  readonly records: readonly CommitRecord[];
  /** Known commit records that are no longer at the destination. */
  readonly gone: readonly CommitRecord[];
  readonly verdicts: readonly DigestVerdict[];
}

/** Event in the work on an export. Times are monotonic times in ms. */
export type WorkEvent =
  /** A user has requested a retry. */
  | { readonly kind: 'retried' }
  | { readonly kind: 'loaded'; readonly found: StoredObjects; readonly atMs: number }
  /** This process begins to remove old uploads. */
  | { readonly kind: 'tidyBegan'; readonly atMs: number }
  | { readonly kind: 'tidied' }
  /** This process or another process has written the plan. */
  | { readonly kind: 'planned'; readonly plan: ExportPlan }
  | { readonly kind: 'readingBegan' }
  | { readonly kind: 'readingFailed' }
  | { readonly kind: 'recordsRead'; readonly found: RecordsReading; readonly atMs: number }
  /** A commit record exists at the destination. */
  | { readonly kind: 'committed'; readonly record: CommitRecord }
  /** Another process has probably written commit records. */
  | { readonly kind: 'othersWrote' }
  /** The result of a comparison with the service's counts is stored. */
  | { readonly kind: 'judged'; readonly verdict: DigestVerdict }
  | { readonly kind: 'manifestBegan' }
  | { readonly kind: 'finished'; readonly manifest: StoredManifest };

/**
 * Usual value of `maxRounds`: the number of the last comparison with the service's counts after which ranges with
 * differences are searched again.
 */
const usualRounds = 3;
/** Age in ms at which an unfinished upload counts as abandoned. It includes 60 s to allow for clock differences. */
const tidyDelayMs = longestSilenceMs + 60_000;

export function initialState(startedAtMs: number): WorkState {
  return { kind: 'loading', startedAtMs, unread: 'none' };
}

/**
 * Returns the state after an event. Throws an error if the event cannot occur in the current state, because that would
 * be a bug.
 */
export function nextState(state: WorkState, event: WorkEvent): WorkState {
  if (state.kind === 'planning' || state.kind === 'exporting') {
    if (event.kind === 'tidyBegan') return { ...state, tidyAtMs: event.atMs + tidyDelayMs };
    if (event.kind === 'tidied') return { ...state, tidyAtMs: Number.POSITIVE_INFINITY };
  }
  switch (state.kind) {
    case 'loading':
      return afterLoading(state, event);
    case 'planning':
      return afterPlanning(state, event);
    case 'exporting':
      return afterExporting(state, event);
    case 'complete':
      return event.kind === 'retried' ? state : impossible(state, event);
  }
}

function afterLoading(state: Loading, event: WorkEvent): WorkState {
  switch (event.kind) {
    case 'retried':
      return { ...state, unread: 'all' };
    case 'loaded': {
      // A user has requested a check since this read began, so the read may have missed a change by this user.
      if (state.unread !== 'none') return { ...state, unread: 'none' };
      const { atMs, found } = event;
      const read = { readAtMs: atMs, othersSeenAtMs: state.startedAtMs, tidyAtMs: atMs + tidyDelayMs };
      return afterReading({ kind: 'planning', ...read }, found, atMs);
    }
    default:
      return impossible(state, event);
  }
}

function afterPlanning(state: Planning, event: WorkEvent): WorkState {
  switch (event.kind) {
    case 'retried':
      return state;
    case 'loaded':
      return afterReading({ ...state, readAtMs: event.atMs }, event.found, event.atMs);
    case 'planned':
      // The commit records must be read, because other processes may have used the same plan before (E2).
      return withPlan(state, { plan: event.plan, records: [], verdicts: [] }, 'new');
    default:
      return impossible(state, event);
  }
}

function afterExporting(state: Exporting, event: WorkEvent): WorkState {
  switch (event.kind) {
    case 'retried':
      return { ...state, unread: 'all', maxRounds: maxRoundsAfter(state.verdicts) };
    case 'readingBegan':
      return { ...state, unread: 'none' };
    case 'readingFailed':
      return { ...state, unread: 'all' };
    case 'recordsRead':
      return withRecords(state, event.found, event.atMs);
    case 'committed':
      return { ...state, records: [...without(state.records, [event.record]), event.record] };
    case 'othersWrote':
      return state.unread === 'none' ? { ...state, unread: 'new' } : state;
    case 'judged':
      return { ...state, verdicts: [...state.verdicts, event.verdict] };
    case 'manifestBegan':
      return { ...state, isManifestTried: true };
    case 'finished':
      return { kind: 'complete', manifest: event.manifest };
    default:
      return impossible(state, event);
  }
}

/** Returns the state after a read of the destination by a process that knew neither a plan nor a manifest. */
function afterReading(state: Planning, found: StoredObjects, atMs: number): WorkState {
  switch (found.kind) {
    case 'nothing':
      return state;
    case 'manifest':
      return { kind: 'complete', manifest: found.manifest };
    case 'plan':
      return withPlan({ ...state, othersSeenAtMs: atMs }, found, 'none');
  }
}

function withPlan(
  { readAtMs, othersSeenAtMs, tidyAtMs }: Planning,
  { plan, records, verdicts }: Pick<Exporting, 'plan' | 'records' | 'verdicts'>,
  unread: UnreadRecords,
): Exporting {
  const read = { readAtMs, othersSeenAtMs, tidyAtMs, allReadAtMs: readAtMs };
  return {
    kind: 'exporting',
    ...read,
    plan,
    records,
    verdicts,
    unread,
    maxRounds: maxRoundsAfter(verdicts),
    isManifestTried: false,
  };
}

/**
 * Returns `maxRounds` for an export whose work begins, or for which a user has requested a retry. The result allows at
 * least one more search of ranges with differences.
 */
function maxRoundsAfter(verdicts: readonly DigestVerdict[]): number {
  return Math.max(usualRounds, verdicts.length + 1);
}

function withRecords(state: Exporting, found: RecordsReading, atMs: number): Exporting {
  const { plan, records, gone, verdicts, which } = found;
  const known = new Set(state.records.map((record) => recordKey(record)));
  const hasNew = records.some((record) => !known.has(recordKey(record))) || verdicts.length > state.verdicts.length;
  return {
    ...state,
    ...{ plan, verdicts, readAtMs: atMs },
    records: [...without(state.records, [...gone, ...records]), ...records],
    ...(hasNew && { othersSeenAtMs: atMs }),
    ...(which === 'all' && { allReadAtMs: atMs }),
  };
}

/** Returns the commit records in `records` whose intervals have no commit record in `others`. */
function without(records: readonly CommitRecord[], others: readonly CommitRecord[]): readonly CommitRecord[] {
  const keys = new Set(others.map((record) => recordKey(record)));
  return records.filter((record) => !keys.has(recordKey(record)));
}

function impossible(state: WorkState, event: WorkEvent): never {
  assert(false, `the event ${event.kind} cannot occur while an export is ${state.kind}`);
}
