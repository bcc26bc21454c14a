/** Record of a simulated export, which is checked for broken rules. */
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { Counters } from '../../../simulator/snapshot.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportDefinition } from '../../../src/export/search/export-definition.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import type { ExportStatusRecord } from './export-resource.ts';
import type { ReportedState } from './history-process.ts';
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryPlan } from './plan.ts';

export interface StoredRecord {
  readonly name: string;
  readonly record: CommitRecord;
  readonly atMs: number;
  readonly times: number;
}

export interface ExportHistoryRecord {
  readonly plan: ExportHistoryPlan;
  /** Commit records whose rows the export discarded after a failed check. */
  readonly voided: ReadonlySet<CommitRecord>;
  readonly definition: ExportDefinition;
  readonly startMs: number;
  readonly journal: readonly JournalEntry[];
  readonly searches: readonly LiveSearch[];
  readonly store: MemoryStore;
  readonly files: ReadonlyMap<string, readonly string[]>;
  readonly records: readonly StoredRecord[];
  readonly counters: Counters;
  readonly disturbances: readonly string[];
  readonly starts: readonly number[];
  /** Destination calls that took effect but returned an error to the caller. */
  readonly unheardCalls: readonly string[];
  /** Time by which every process had reported the export as complete, or undefined if a process never did. */
  readonly completeAtMs: number | undefined;
  /** The last state reported by each process. */
  readonly reported: readonly ReportedState[];
  readonly statuses: readonly ExportStatusRecord[];
  readonly endMs: number;
}
