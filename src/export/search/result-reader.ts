/** Base class for reading the results of a search job into files. */
import type { CommittedFile } from '../../destination/commit-record.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { IntervalFiles } from './interval-files.ts';
import type { CutSign } from './message-limit.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';
import type { SearchFacts, Verdict } from './search-verdict.ts';

/** Result of reading the rows, for use by `judge`. */
export type Findings = Pick<
  SearchFacts,
  'figures' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'writtenFromMs' | 'counted'
>;
export type ReadingOrder = Extract<Verdict, { kind: 'read' }>;
/** Number of rows according to a histogram or an aggregation. */
export type IndependentCount = NonNullable<SearchFacts['counted']>;

/** State of a search job that has ended. */
export interface SearchEnd {
  readonly progress: JobProgress;
  readonly sign: CutSign | undefined;
  /** True if the search job will find no more rows. */
  readonly isDone: boolean;
}

export interface ReaderOptions {
  readonly job: SearchJob;
  readonly order: SearchOrder;
  readonly tools: SearchTools;
  readonly signal: AbortSignal;
}

export abstract class ResultReader {
  /** Files that the latest read of the result pages has written. Undefined until the result pages have been read. */
  protected files: IntervalFiles | undefined;

  abstract readonly found: Findings;
  /** Reads the result rows of a search job that has ended, and writes them to new files. */
  abstract read(reading: ReadingOrder, end: SearchEnd): Promise<void>;

  counts(_counted: IndependentCount): void {}

  /** Completes the uploads, and returns the files for a commit record. */
  async end(): Promise<readonly CommittedFile[]> {
    return (await this.files?.end()) ?? [];
  }

  /** Removes all files. Never rejects. */
  async giveUp(): Promise<void> {
    await this.files?.giveUp();
  }
}
