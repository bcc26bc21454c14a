/** What is known of a history when it is over. */
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportTask } from '../../../src/export/export-task.ts';
import type { JournalEntry } from '../../../src/simulator/journal.ts';
import type { Counters } from '../../../src/simulator/snapshot.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import type { ExportStatusRecord } from './export-resource.ts';
import type { ToldState } from './history-process.ts';
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryPlan } from './plan.ts';

export interface StandingRecord {
  readonly name: string;
  readonly record: CommitRecord;
  /** When it was written first, ms since the epoch. */
  readonly atMs: number;
  /** How often it was written. */
  readonly times: number;
}

export interface ExportHistoryRecord {
  readonly plan: ExportHistoryPlan;
  /** Records that a digest has voided: they and their files are not judged. */
  readonly voided: ReadonlySet<CommitRecord>;
  readonly task: ExportTask;
  readonly startMs: number;
  readonly journal: readonly JournalEntry[];
  /** One for each job, in the order of their creation. */
  readonly searches: readonly LiveSearch[];
  readonly store: MemoryStore;
  /** What its files hold, by their names. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly records: readonly StandingRecord[];
  readonly counters: Counters;
  readonly disturbances: readonly string[];
  /** When processes began, ms since the epoch. */
  readonly starts: readonly number[];
  /** Calls of a destination that took effect although whoever made them heard otherwise. */
  readonly unheardCalls: readonly string[];
  /** When all processes said so; undefined where they never did. */
  readonly completeAtMs: number | undefined;
  /** By the processes that are there at the end. */
  readonly told: readonly ToldState[];
  /** Each that was written, where operators work. */
  readonly statuses: readonly ExportStatusRecord[];
  readonly endMs: number;
}
