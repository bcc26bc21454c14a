/** Search jobs that belong together, such as those of one interval. Adds up the bytes they scan. */
import { crossing } from '../../base/boundary.ts';
import type { Clock } from '../../base/clock.ts';
import { failure, type LogfleetError } from '../../base/errors.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import type { SearchJobs } from '../../service/jobs/search-jobs.ts';
import type { JobOrder } from '../../service/jobs/search-service.ts';
import type { JobView } from './search-tools.ts';
import type { ServiceQuirks } from './service-quirks.ts';

export interface JobSetOptions {
  readonly jobs: SearchJobs;
  readonly quirks: ServiceQuirks;
  readonly clock: Clock;
  /** Cancels the creation of a search job, even while the creation is waiting for a search-job slot. */
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface OpenWishes {
  /** Maximum time in ms to wait for a free search-job slot. The default is no limit. */
  readonly turnMs?: number | undefined;
  /** Expected duration of the search job in ms. The default is the duration of earlier jobs with the same purpose. */
  readonly expectedMs?: number | undefined;
}

export class JobSet {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly #options: JobSetOptions;
  readonly #open = new Map<SearchJob, JobView['purpose']>();
  /** Bytes scanned by the search jobs that have been closed. */
  #scannedBytes = 0;

  constructor(options: JobSetOptions) {
    this.clock = options.clock;
    this.signal = options.signal;
    this.#options = options;
  }

  /** Open search jobs, as shown in the status. */
  get views(): readonly JobView[] {
    return [...this.#open].map(([job, purpose]) => {
      const { state, messageCount, recordCount, warnings } = job.progress;
      const { fromMs, toMs } = job.order;
      return { id: job.id, fromMs, toMs, state, messageCount, recordCount, warnings, purpose };
    });
  }

  /** Bytes scanned by all jobs, including those that have been closed. */
  get scannedBytes(): number {
    return [...this.#open.keys()].reduce((sum, job) => sum + scannedBy(job), this.#scannedBytes);
  }

  /** Opens a search job. Rejects with the error `export.noTurn` if no search-job slot becomes free within `turnMs`. */
  async open(order: JobOrder, purpose: JobView['purpose'], wishes: OpenWishes = {}): Promise<SearchJob> {
    const { jobs, quirks, clock, signal, onProgress } = this.#options;
    const { turnMs, expectedMs = purpose === 'Rows' ? quirks.searchMs : quirks.countMs } = wishes;
    const turn = new AbortController();
    const timer = turnMs === undefined ? undefined : clock.after(turnMs, () => turn.abort(noFreeSlot()));
    const opening = crossing('export.createJob', () =>
      jobs.open(order, {
        signal: AbortSignal.any([signal, turn.signal]),
        onProgress: ({ dateMs }) => {
          if (dateMs !== undefined) quirks.showedDate(dateMs, clock.now());
          onProgress();
        },
      }),
    );
    const job = await opening.finally(() => timer?.cancel());
    job.expect(expectedMs);
    quirks.hasAnswered = true;
    const { dateMs } = job.progress;
    if (dateMs !== undefined) quirks.showedDate(dateMs, clock.now());
    this.add(job, purpose);
    return job;
  }

  /** Records how long a counting aggregation took. The next counting aggregation is expected to take as long. */
  counted(job: SearchJob): void {
    this.#options.quirks.countMs = job.tookMs;
  }

  /** Adds a search job that other code has opened. */
  add(job: SearchJob, purpose: JobView['purpose']): void {
    this.#open.set(job, purpose);
    this.#options.onProgress();
  }

  /** Removes a job from this set without closing it. */
  release(job: SearchJob): void {
    this.#open.delete(job);
    this.#options.onProgress();
  }

  /** Closes a search job. Never rejects. */
  async close(job: SearchJob): Promise<void> {
    await job.close();
    if (this.#open.delete(job)) this.#scannedBytes += scannedBy(job);
    this.#options.onProgress();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((job) => this.close(job)));
  }
}

function scannedBy(job: SearchJob): number {
  return job.progress.scannedBytes ?? 0;
}

export const noTurnCode = 'export.noTurn';

function noFreeSlot(): LogfleetError {
  const message =
    'The export is waiting for a free search-job slot, because the maximum number of search jobs is active.';
  return failure('wait', noTurnCode, message, { reason: 'JobsExhausted' });
}
