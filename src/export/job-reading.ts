/** What reads the results of a search job into files, as the search of an interval asks for it: messages, or records. */
import type { CommittedFile } from '../destination/commit-record.ts';
import type { JobProgress } from '../service/job-gathering.ts';
import type { CutSign } from './cut.ts';
import type { Run, Verdict } from './proof.ts';

/** What a reading has found, for the verdict. */
export type Found = Pick<
  Run,
  'figures' | 'isReadEarly' | 'isReadInPart' | 'isReadAgain' | 'isReadTwice' | 'writtenFromMs' | 'counted'
>;
export type Reading = Extract<Verdict, { kind: 'read' }>;
/** What something else than the job has counted of an interval. */
export type Counted = NonNullable<Run['counted']>;

/** A search that is over, or was given up. */
export interface SearchEnd {
  readonly progress: JobProgress;
  readonly sign: CutSign | undefined;
  /** Nothing more is found: what the job counts is what its pages have. */
  readonly isDone: boolean;
}

export interface JobReading {
  readonly found: Found;
  /** Whether a whole page can be read of a search that runs. */
  mayReadEarly(progress: JobProgress): boolean;
  /** Reads that page. */
  readEarly(): Promise<void>;
  /** Reads what the verdict asks for, of a search that is over. */
  read(reading: Reading, end: SearchEnd): Promise<void>;
  /** What the service counts of an interval, to be told with `found`. */
  counts(counted: Counted): void;
  /** The files with what was found last, all staged. */
  end(): Promise<readonly CommittedFile[]>;
  /** Leaves no file behind. Never rejects. */
  giveUp(): Promise<void>;
}
