/**
 * Interface between the search of an interval and the code that reads the results of its job (messages or records) into
 * files.
 */
import type { CommittedFile } from '../../destination/commit-record.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { CutSign } from './message-limit.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';
import type { SearchFacts, Verdict } from './search-verdict.ts';

/** Facts about a search that reading its rows has shown, and from which its verdict is derived. */
export type Findings = Pick<
  SearchFacts,
  'figures' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'writtenFromMs' | 'counted'
>;
export type ReadingOrder = Extract<Verdict, { kind: 'read' }>;
/** Number of rows of an interval, counted by another source than the search job: a histogram or an aggregation. */
export type IndependentCount = NonNullable<SearchFacts['counted']>;

/** State of a search that is finished or was ended early. */
export interface SearchEnd {
  readonly progress: JobProgress;
  readonly sign: CutSign | undefined;
  /** True if the job will find no further rows, so that its count must equal the rows in its pages. */
  readonly isDone: boolean;
}

export interface ReaderOptions {
  readonly job: SearchJob;
  readonly order: SearchOrder;
  readonly tools: SearchTools;
  readonly signal: AbortSignal;
}

export interface ResultReader {
  readonly found: Findings;
  /** Reads the job's rows as the verdict requires, after the search has ended. */
  read(reading: ReadingOrder, end: SearchEnd): Promise<void>;
  /** Stores the service's count of an interval, which `found` then contains. */
  counts(counted: IndependentCount): void;
  /** Completes the files of the last reading at the destination, and returns them. A commit record names them later. */
  end(): Promise<readonly CommittedFile[]>;
  /** Removes all files. Never rejects. */
  giveUp(): Promise<void>;
}
