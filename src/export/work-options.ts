/** Options of the work on an export: the tools of its searches, planning, and the start of a search. */
import type { Destination } from '../destination/destination.ts';
import type { Histogram } from '../service/jobs/job-gathering.ts';
import type { RunningSearch, SearchOrder, StopReason } from './export-decision.ts';
import type { Plan } from './planning-step.ts';
import type { JobView, SearchOutcome, SearchStart, SearchTools } from './search-tools.ts';

/** The running search of one interval. */
export interface Search extends RunningSearch {
  /** Monotonic time. */
  readonly begunAtMs: number;
  /** Never rejects. When it resolves, no work of the search is left. */
  readonly done: Promise<SearchOutcome>;
  readonly jobs: readonly JobView[];
  /** Distribution over time of the rows that the job found. */
  histogram(): Histogram | undefined;
  stop(reason: StopReason): void;
  endAsCut(): void;
}

/** Tools that the work itself provides. */
type ToolOfWork =
  | 'destination'
  | 'describedFields'
  | 'chosenFields'
  | 'incompletePolicy'
  | 'settleDelayMs'
  | 'isScannedOut'
  | 'searchesAtOnce';

export interface ExportWorkOptions extends Omit<SearchTools, ToolOfWork> {
  /** Opens the destination without changing anything. */
  readonly openDestination: () => Promise<Destination>;
  readonly plan: Plan;
  readonly search: (order: SearchOrder, tools: SearchTools, start: SearchStart) => Search;
  /** Bytes scanned by former processes, as far as known. */
  readonly scannedBytes: number;
  /** Called when there may be work to do. */
  readonly onChange: () => void;
  /** Called when the view may have changed. */
  readonly onProgress: () => void;
}
