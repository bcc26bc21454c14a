/** Observations of a finished history. */

import type { JournalEntry } from '../../../simulator/journal.ts';
import type { Counters } from '../../../simulator/snapshot.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportTask } from '../../../src/export/search/export-task.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import type { ExportStatusRecord } from './export-resource.ts';
import type { ToldState } from './history-process.ts';
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryPlan } from './plan.ts';

export interface StandingRecord {
  readonly name: string;
  readonly record: CommitRecord;
  /** Time of the first write, in ms since the epoch. */
  readonly atMs: number;
  /** Number of writes. */
  readonly times: number;
}

export interface ExportHistoryRecord {
  readonly plan: ExportHistoryPlan;
  /** Records that a digest made void. They and their files are not checked. */
  readonly voided: ReadonlySet<CommitRecord>;
  readonly task: ExportTask;
  readonly startMs: number;
  readonly journal: readonly JournalEntry[];
  /** One search per job, in order of creation. */
  readonly searches: readonly LiveSearch[];
  readonly store: MemoryStore;
  /** Rows of the files, by file name. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly records: readonly StandingRecord[];
  readonly counters: Counters;
  readonly disturbances: readonly string[];
  /** Start times of processes, in ms since the epoch. */
  readonly starts: readonly number[];
  /** Destination calls that took effect although the caller received an error. */
  readonly unheardCalls: readonly string[];
  /** Time at which all processes reported completion; undefined if they never did. */
  readonly completeAtMs: number | undefined;
  /** Reports of the processes that exist at the end. */
  readonly told: readonly ToldState[];
  /** Every written status, in histories with operators. */
  readonly statuses: readonly ExportStatusRecord[];
  readonly endMs: number;
}
