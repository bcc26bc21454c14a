/**
 * Sends the status requests for one search job (B4) at the times that `job-cadence.ts` computes. If a response is late,
 * the request is sent again. The late response is still read, because it may contain search errors (E5).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import type { CallResponse } from '../requests/call.ts';
import { endedIn, ServiceError } from '../requests/service-error.ts';
import { delayAfterFailure, firstPollMs, keepAliveMs, pollTimeoutMs, secondTryMs } from './job-cadence.ts';
import type { JobStatus, OpenJob } from './search-service.ts';

/** Minimum delay in ms before a status request is retried if the service was unreachable or did not know the job. */
const againDelayMs = 1_000;

export interface JobPollsOptions {
  readonly job: OpenJob;
  readonly clock: Clock;
  readonly onResponse: (response: CallResponse<JobStatus>) => void;
  readonly onFailure: (error: LogfleetError) => void;
}

/** A waiting or sent status request. */
interface Poll {
  readonly isProgressCheck: boolean;
  readonly withdrawal: AbortController;
  /** Send time. Undefined while the request is waiting. */
  sentAtMs: number | undefined;
}

export class JobPolls {
  readonly #options: JobPollsOptions;
  readonly #inFlight = new Set<Poll>();
  #queued: Poll | undefined;
  /** Latest status request. Undefined once that request has ended. */
  #newest: Poll | undefined;
  /** Number of status requests since the last response. */
  #tries = 0;
  /** Time at which the failed status request is sent again. Undefined after a success. */
  #againAtMs: number | undefined;
  /** Time of the next progress check. Infinity means that only keep-alives are sent. */
  #progressAtMs: number;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: JobPollsOptions) {
    this.#options = options;
    this.#progressAtMs = options.job.heardAtMs + firstPollMs();
    this.#plan();
  }

  /** Send time of the oldest status request in flight, or Infinity if there is none. */
  get oldestSentMs(): number {
    const times = [...this.#inFlight].map(({ sentAtMs }) => sentAtMs ?? Number.POSITIVE_INFINITY);
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  /** Sets the time of the next progress check. Infinity means that only keep-alives are sent. */
  checkProgressAt(atMs: number): void {
    this.#progressAtMs = atMs;
    this.#plan();
  }

  /** Stops sending status requests. Requests in flight may still be answered. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#queued?.withdrawal.abort(new Error('the search job needs no further status requests'));
  }

  get #dueMs(): number {
    return this.#options.job.heardAtMs + keepAliveMs;
  }

  /** Sends the next status request if it is due. Otherwise sets a timer for it. */
  #plan(): void {
    this.#timer?.cancel();
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const waitMs = this.#nextMs() - clock.monotonic();
    if (waitMs === Number.POSITIVE_INFINITY) return;
    if (waitMs > 0) this.#timer = clock.after(waitMs, () => this.#plan());
    else if (this.#queued) this.#queued.withdrawal.abort(new Error('a keep-alive replaces this progress check'));
    else void this.#ask();
  }

  #nextMs(): number {
    // The request budget sends keep-alives before progress checks, so a due keep-alive replaces a waiting progress
    // check.
    if (this.#queued) return this.#queued.isProgressCheck ? this.#dueMs : Number.POSITIVE_INFINITY;
    if (this.#newest?.sentAtMs !== undefined) {
      const { sentAtMs, isProgressCheck } = this.#newest;
      const nextMs = isProgressCheck ? this.#dueMs : this.#options.job.heardAtMs + secondTryMs;
      return Math.max(nextMs, sentAtMs + pollTimeoutMs(this.#tries));
    }
    return this.#againAtMs ?? Math.min(this.#dueMs, this.#progressAtMs);
  }

  async #ask(): Promise<void> {
    const { job, clock } = this.#options;
    const isProgressCheck = this.#tries === 0 && clock.monotonic() < this.#dueMs;
    const poll: Poll = { isProgressCheck, withdrawal: new AbortController(), sentAtMs: undefined };
    this.#queued = poll;
    this.#tries++;
    this.#againAtMs = undefined;
    this.#plan();
    let response: CallResponse<JobStatus>;
    try {
      response = await job.getStatus({
        signal: poll.withdrawal.signal,
        dueMs: isProgressCheck ? clock.monotonic() : this.#dueMs,
        isProgressCheck,
        beforeSend: () => this.#sent(poll),
      });
    } catch (thrown) {
      this.#failed(poll, asLogfleetError(thrown));
      return;
    }
    this.#ended(poll);
    this.#tries = 0;
    this.#againAtMs = undefined;
    if (!this.#isStopped) this.#options.onResponse(response);
    this.#plan();
  }

  #sent(poll: Poll): void {
    poll.sentAtMs = this.#options.clock.monotonic();
    // After a 401, the request is sent a second time. By then, `#queued` may be a newer request, which must stay
    // queued.
    if (this.#queued === poll) this.#queued = undefined;
    this.#inFlight.add(poll);
    this.#newest = poll;
    this.#plan();
  }

  #ended(poll: Poll): void {
    this.#inFlight.delete(poll);
    if (this.#queued === poll) this.#queued = undefined;
    if (this.#newest === poll) this.#newest = undefined;
  }

  #failed(poll: Poll, error: LogfleetError): void {
    const isLast = this.#newest === poll || this.#queued === poll;
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
    const isEarly = endedIn(error, 'jobNotKnownYet');
    return Math.max(delayAfterFailure(this.#tries), isEarly || !isSent ? againDelayMs : 0);
  }
}
