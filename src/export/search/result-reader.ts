/** Base class of the classes that read the results of a search job (messages or records) into files. */
import type { CommittedFile } from '../../destination/commit-record.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { IntervalFiles } from './interval-files.ts';
import type { CutSign } from './message-limit.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';
import type { SearchFacts, Verdict } from './search-verdict.ts';

/** Result of reading the rows of a search job, as `judge` in `search-verdict.ts` uses it. */
export type Findings = Pick<
  SearchFacts,
  'figures' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'writtenFromMs' | 'counted'
>;
export type ReadingOrder = Extract<Verdict, { kind: 'read' }>;
/** Number of rows in an interval as a histogram or an aggregation reports it, independently of the rows that were read. */
export type IndependentCount = NonNullable<SearchFacts['counted']>;

/** State of a search job that has finished or was ended early. */
export interface SearchEnd {
  readonly progress: JobProgress;
  readonly sign: CutSign | undefined;
  /** True if the search job has finished, so that it will find no further rows. */
  readonly isDone: boolean;
}

export interface ReaderOptions {
  readonly job: SearchJob;
  readonly order: SearchOrder;
  readonly tools: SearchTools;
  readonly signal: AbortSignal;
}

export abstract class ResultReader {
  /** Files with the rows of the latest reading of the result pages. Undefined before the first reading. */
  protected files: IntervalFiles | undefined;

  abstract readonly found: Findings;
  /** Reads the rows of a search job, which has ended, into new files. */
  abstract read(reading: ReadingOrder, end: SearchEnd): Promise<void>;

  /** Receives the number of rows that an aggregation counted for an interval. */
  counts(_counted: IndependentCount): void {}

  /** Completes the uploads of the last reading's files, and returns the files for a commit record. */
  async end(): Promise<readonly CommittedFile[]> {
    return (await this.files?.end()) ?? [];
  }

  /** Removes all files. Never rejects. */
  async giveUp(): Promise<void> {
    await this.files?.giveUp();
  }
}
