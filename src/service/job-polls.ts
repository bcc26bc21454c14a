/**
 * The questions for the status of one job: when the next one goes out, and what came of those before (protocol B4). The times are
 * `job-cadence.ts`'s.
 *
 * A question that is not answered soon is asked again, and its answer is waited for all the same: it may hold what no other answer
 * does (protocol E5). So answers may come in another order than they were asked for, each with the time of its sending.
 *
 * Invariant: at most one question waits for its turn in the budget; a later one goes out only when the one before it has had its time.
 * None goes out once it is stopped.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import { delayAfterFailure, firstLookMs, keepAliveMs, patienceMs, secondTryMs } from './job-cadence.ts';
import type { JobStatus, OpenJob } from './search-service.ts';
import { ServiceError } from './service-error.ts';
import type { Answer } from './upgrade-service.ts';

/** A replica that has not heard of the job, and a service that cannot be reached, are not asked again sooner. */
const againDelayMs = 1_000;

export interface JobPollsOptions {
  readonly job: OpenJob;
  readonly clock: Clock;
  /** How long after its creation the search should be over; see `firstLookMs`. */
  readonly expectedMs?: number | undefined;
  readonly onAnswer: (answer: Answer<JobStatus>) => void;
  readonly onFailure: (error: LogfleetError) => void;
}

/** One question, from its turn in the line on. */
interface Poll {
  readonly isLook: boolean;
  readonly withdrawal: AbortController;
  /** Undefined while it waits for its turn. */
  sentAtMs: number | undefined;
}

export class JobPolls {
  readonly #options: JobPollsOptions;
  readonly #underWay = new Set<Poll>();
  #inLine: Poll | undefined;
  /** The one that was sent last, until its end. */
  #newest: Poll | undefined;
  /** Questions since the last answer. */
  #tries = 0;
  /** After a failure: when to ask again. */
  #againAtMs: number | undefined;
  /** When to look how far the job is; infinity once that is known. */
  #lookAtMs: number;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: JobPollsOptions) {
    this.#options = options;
    this.#lookAtMs = options.job.heardAtMs + firstLookMs(options.expectedMs);
    this.#plan();
  }

  /** When the oldest question was sent whose answer may still come; infinity where there is none. */
  get oldestSentMs(): number {
    const times = [...this.#underWay].map(({ sentAtMs }) => sentAtMs ?? Number.POSITIVE_INFINITY);
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  /** The next look is at `atMs`; infinity: from now on the job is only kept alive. */
  lookAt(atMs: number): void {
    this.#lookAtMs = atMs;
    this.#plan();
  }

  /** Nothing more is asked; what is under way may end. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#inLine?.withdrawal.abort(new Error('no longer wanted'));
  }

  get #dueMs(): number {
    return this.#options.job.heardAtMs + keepAliveMs;
  }

  /** Does what it is time for, and otherwise sees to it that it will be done. Pages that were answered meanwhile put a poll off. */
  #plan(): void {
    this.#timer?.cancel();
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const waitMs = this.#nextMs() - clock.monotonic();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    if (waitMs > 0) this.#timer = clock.after(waitMs, () => this.#plan());
    else if (this.#inLine) this.#inLine.withdrawal.abort(new Error('makes way for a poll'));
    else void this.#ask();
  }

  #nextMs(): number {
    // A look that is still in line when the job needs a poll makes way for it.
    if (this.#inLine) return this.#inLine.isLook ? this.#dueMs : Number.POSITIVE_INFINITY;
    if (this.#newest?.sentAtMs !== undefined) {
      const { sentAtMs, isLook } = this.#newest;
      const nextMs = isLook ? this.#dueMs : this.#options.job.heardAtMs + secondTryMs;
      return Math.max(nextMs, sentAtMs + patienceMs(this.#tries));
    }
    return this.#againAtMs ?? Math.min(this.#dueMs, this.#lookAtMs);
  }

  async #ask(): Promise<void> {
    const { job, clock } = this.#options;
    const isLook = this.#tries === 0 && clock.monotonic() < this.#dueMs;
    const poll: Poll = { isLook, withdrawal: new AbortController(), sentAtMs: undefined };
    this.#inLine = poll;
    this.#tries++;
    this.#againAtMs = undefined;
    this.#plan();
    let answer: Answer<JobStatus>;
    try {
      answer = await job.getStatus({
        signal: poll.withdrawal.signal,
        dueMs: isLook ? clock.monotonic() : this.#dueMs,
        isLook,
        beforeSend: () => this.#sent(poll),
      });
    } catch (thrown) {
      this.#failed(poll, asLogfleetError(thrown));
      return;
    }
    this.#ended(poll);
    this.#tries = 0;
    this.#againAtMs = undefined;
    if (!this.#isStopped) this.#options.onAnswer(answer);
    this.#plan();
  }

  #sent(poll: Poll): void {
    poll.sentAtMs = this.#options.clock.monotonic();
    // An older one may be written a second time, after a spurious 401, while another is in line.
    if (this.#inLine === poll) this.#inLine = undefined;
    this.#underWay.add(poll);
    this.#newest = poll;
    this.#plan();
  }

  #ended(poll: Poll): void {
    this.#underWay.delete(poll);
    if (this.#inLine === poll) this.#inLine = undefined;
    if (this.#newest === poll) this.#newest = undefined;
  }

  #failed(poll: Poll, error: LogfleetError): void {
    const isLast = this.#newest === poll || this.#inLine === poll;
    this.#ended(poll);
    const isSent = poll.sentAtMs !== undefined;
    if (!isSent && poll.withdrawal.signal.aborted) {
      this.#tries--;
    } else {
      if (isLast) this.#againAtMs = this.#options.clock.monotonic() + this.#delayMs(error);
      if (!this.#isStopped) this.#options.onFailure(error);
    }
    this.#plan();
  }

  #delayMs(error: LogfleetError): number {
    const isSent = error instanceof ServiceError && error.sentAtMs !== undefined;
    const isEarly = error.code === 'service.jobNotKnownYet';
    return Math.max(delayAfterFailure(this.#tries), isEarly || !isSent ? againDelayMs : 0);
  }
}
