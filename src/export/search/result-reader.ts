/** The port between an interval's search and the reading of its job's results into files: messages or records. */
import type { CommittedFile } from '../../destination/commit-record.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import type { CutSign } from './message-limit.ts';
import type { SearchFacts, Verdict } from './search-verdict.ts';

/** Facts that a reading of a job's rows has found, for the verdict. */
export type Findings = Pick<
  SearchFacts,
  'figures' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'writtenFromMs' | 'counted'
>;
export type ReadingOrder = Extract<Verdict, { kind: 'read' }>;
/** Number of rows of an interval by another source than the search job. */
export type IndependentCount = NonNullable<SearchFacts['counted']>;

/** State of a search that is finished or was ended early. */
export interface SearchEnd {
  readonly progress: JobProgress;
  readonly sign: CutSign | undefined;
  /** True if the job finds nothing more, so that its count matches its pages. */
  readonly isDone: boolean;
}

export interface ResultReader {
  readonly found: Findings;
  /** Reads what the verdict requires, after the search. */
  read(reading: ReadingOrder, end: SearchEnd): Promise<void>;
  /** Takes the service's count of an interval, reported with `found`. */
  counts(counted: IndependentCount): void;
  /** Stages the files of the last reading and returns them. */
  end(): Promise<readonly CommittedFile[]>;
  /** Removes all files. Never rejects. */
  giveUp(): Promise<void>;
}
