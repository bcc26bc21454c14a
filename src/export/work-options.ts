/** What the work on an export is built from: the tools of its searches but for what it knows itself, and how planning and a search begin. */
import type { Destination } from '../destination/destination.ts';
import type { Histogram } from '../service/job-histogram.ts';
import type { RunningSearch, SearchOrder, StopReason } from './export-decision.ts';
import type { Plan } from './planning-step.ts';
import type { JobView, SearchOutcome, SearchStart, SearchTools } from './search-tools.ts';

/** The search of one interval while it is under way. */
export interface Search extends RunningSearch {
  /** On the monotonic clock. */
  readonly begunAtMs: number;
  /** Never rejects; nothing of it is under way any more when it is fulfilled. */
  readonly done: Promise<SearchOutcome>;
  readonly jobs: readonly JobView[];
  /** How what its job has found lies in time. */
  histogram(): Histogram | undefined;
  stop(reason: StopReason): void;
  endAsCut(): void;
}

/** What the work itself knows. */
type ToolOfWork =
  | 'destination'
  | 'describedFields'
  | 'chosenFields'
  | 'incompletePolicy'
  | 'settleDelayMs'
  | 'isScannedOut'
  | 'searchesAtOnce';

export interface ExportWorkOptions extends Omit<SearchTools, ToolOfWork> {
  /** Touches nothing yet. */
  readonly openDestination: () => Promise<Destination>;
  readonly plan: Plan;
  readonly search: (order: SearchOrder, tools: SearchTools, start: SearchStart) => Search;
  /** By jobs of processes before this one, as far as is known. */
  readonly scannedBytes: number;
  /** There may be something to do. */
  readonly onChange: () => void;
  /** Something that is shown may be another. */
  readonly onProgress: () => void;
}
