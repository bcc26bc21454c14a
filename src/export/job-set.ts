/**
 * The search jobs of one piece of work, from their creation until they are closed: what is shown of them, and what they have scanned.
 * Jobs that several works share are not for here.
 */
import { crossing } from '../base/boundary.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { SearchJob } from '../service/search-job.ts';
import type { SearchJobs } from '../service/search-jobs.ts';
import type { JobOrder } from '../service/search-service.ts';
import type { JobView } from './search-tools.ts';
import type { ServiceTraits } from './service-traits.ts';

export interface JobSetOptions {
  readonly jobs: SearchJobs;
  readonly traits: ServiceTraits;
  readonly clock: Clock;
  /** Gives up what is being created, and what waits for its turn. */
  readonly signal: AbortSignal;
  readonly onNews: () => void;
}

export interface OpenWishes {
  /** So long its turn is waited for; for ever where absent. */
  readonly turnMs?: number | undefined;
  /** How long after its creation it should be over; what others of its purpose took where absent. */
  readonly expectedMs?: number | undefined;
}

export class JobSet {
  readonly #options: JobSetOptions;
  readonly #open = new Map<SearchJob, JobView['purpose']>();
  /** By jobs that are closed. */
  #scannedBytes = 0;

  constructor(options: JobSetOptions) {
    this.#options = options;
  }

  /** Those that are alive. */
  get views(): readonly JobView[] {
    return [...this.#open].map(([job, purpose]) => {
      const { state, messageCount, recordCount, warnings } = job.progress;
      const { fromMs, toMs } = job.order;
      return { id: job.id, fromMs, toMs, state, messageCount, recordCount, warnings: warnings.texts, purpose };
    });
  }

  /** By all of them, closed ones too. */
  get scannedBytes(): number {
    return [...this.#open.keys()].reduce((sum, job) => sum + scannedBy(job), this.#scannedBytes);
  }

  /**
   * Rejects as `SearchJobs.open` does, or, after `turnMs`, with `export.noTurn`: whoever holds a job and needs another must not wait for ever,
   * since all others may do the same.
   */
  async open(order: JobOrder, purpose: JobView['purpose'], wishes: OpenWishes = {}): Promise<SearchJob> {
    const { jobs, traits, clock, signal, onNews } = this.#options;
    const { turnMs, expectedMs = purpose === 'Rows' ? traits.searchMs : traits.countMs } = wishes;
    const turn = new AbortController();
    const timer = turnMs === undefined ? undefined : clock.after(turnMs, () => turn.abort(noTurn()));
    const opening = crossing('export.createJob', () =>
      jobs.open(order, {
        signal: AbortSignal.any([signal, turn.signal]),
        expectedMs,
        onProgress: ({ dateMs }) => {
          if (dateMs !== undefined) traits.showedDate(dateMs, clock.now());
          onNews();
        },
      }),
    );
    const job = await opening.finally(() => timer?.cancel());
    const { dateMs } = job.progress;
    if (dateMs !== undefined) traits.showedDate(dateMs, clock.now());
    this.add(job, purpose);
    return job;
  }

  /** A count is over: the next one is expected to take as long. */
  counted(job: SearchJob): void {
    const { traits, clock } = this.#options;
    traits.countMs = clock.monotonic() - job.createdAtMs;
  }

  /** One that somebody else has opened. */
  add(job: SearchJob, purpose: JobView['purpose']): void {
    this.#open.set(job, purpose);
    this.#options.onNews();
  }

  /** It is somebody else's from now on. */
  release(job: SearchJob): void {
    this.#open.delete(job);
    this.#options.onNews();
  }

  /** Never rejects; see `SearchJob.close`. */
  async close(job: SearchJob): Promise<void> {
    await job.close();
    if (this.#open.delete(job)) this.#scannedBytes += scannedBy(job);
    this.#options.onNews();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((job) => this.close(job)));
  }
}

function scannedBy(job: SearchJob): number {
  return job.progress.scannedBytes ?? 0;
}

export const noTurnCode = 'export.noTurn';

function noTurn(): LogfleetError {
  return new LogfleetError({
    code: noTurnCode,
    message: 'As many search jobs are active as there may be, and none of them ends.',
    handling: { kind: 'wait' },
    reason: 'JobsExhausted',
  });
}
