/** Stores behaviour of the service that logfleet has observed, and that the service's specification leaves open. */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import { smallestLimitAfter } from './message-limit.ts';

/**
 * Factor by which the expected duration of a search is multiplied if the last search had already ended when its status
 * was first requested. That search was probably shorter than expected.
 */
const soonerRatio = 0.99;

/** Maximum error in ms of the time in a `Date` header, which is rounded to whole seconds. */
export const dateRoundingMs = 1_500;

/** Registration of a search that is about to begin. */
export interface BegunSearch {
  /** Expected duration of the search in ms. Undefined until an earlier search has ended. */
  readonly expectedMs: number | undefined;
  /** Resolves when the first search has ended. The usual duration of a search is then known. */
  readonly shown?: Promise<void>;
  /** Must be called when this search has ended. */
  readonly ends: () => void;
}

export class ServiceQuirks {
  /**
   * True if a search also returns the rows at the exclusive end of its time range. In that case, logfleet ends the
   * ranges of later searches 1 ms earlier (E10).
   */
  isEndInclusive = false;
  /** Duration in ms of the latest aggregation that counted rows; undefined until one has ended. */
  countMs: number | undefined;
  /**
   * Smallest row count at which the service has cut a search short (E4). Undefined if the service has not cut any
   * search short.
   */
  smallestLimit: number | undefined;
  /** Time in ms by which the service's clock is behind logfleet's clock (E11); 0 if the service's clock is ahead. */
  clockBehindMs = 0;
  /** Usual duration of a search in ms. Undefined until a search has ended. */
  searchMs: number | undefined;
  /** True if the service has created a search job. */
  hasAnswered = false;
  #isDateKnown = false;
  /** Resolves when the first search ends. Undefined unless the first search is running. */
  #first: PromiseWithResolvers<void> | undefined;

  /**
   * Registers a search that is about to begin. Until the duration of a search is known, only the first search requests
   * its status early. The other searches wait until the first search has ended.
   */
  begins(): BegunSearch {
    if (this.searchMs !== undefined) return { expectedMs: this.searchMs, ends: () => {} };
    if (this.#first) return { expectedMs: Number.POSITIVE_INFINITY, shown: this.#first.promise, ends: () => {} };
    const first = Promise.withResolvers<void>();
    this.#first = first;
    const ends = () => {
      if (this.#first === first) this.#first = undefined;
      first.resolve();
    };
    return { expectedMs: undefined, ends };
  }

  /** Updates `smallestLimit` after a search has ended. */
  searched(progress: JobProgress): void {
    this.smallestLimit = smallestLimitAfter(progress, this.smallestLimit);
  }

  /**
   * Stores the duration of a search. `statuses` is the number of status requests that were needed to learn that the
   * search had ended.
   */
  took(searchMs: number, statuses: number): void {
    const isAsExpected = this.searchMs !== undefined && statuses <= 1;
    this.searchMs = isAsExpected ? soonerRatio * (this.searchMs ?? searchMs) : searchMs;
  }

  /**
   * Maximum time in ms by which the service's clock is expected to be behind logfleet's clock. It is 0 until the
   * service's time is known.
   */
  get foreseenBehindMs(): number {
    return this.#isDateKnown ? this.clockBehindMs + dateRoundingMs : 0;
  }

  /**
   * Computes how far the service's clock is behind logfleet's clock. `dateMs` is the time in a response that arrived at
   * `nowMs` by logfleet's clock.
   */
  showedDate(dateMs: number, nowMs: number): void {
    this.#isDateKnown = true;
    this.clockBehindMs = Math.max(0, nowMs - dateMs);
  }
}

/**
 * Stores what logfleet has observed about each service, separately for searches by message time and by receipt time
 * (E10).
 */
export class QuirksOfServices {
  readonly #byService = new Map<string, ServiceQuirks>();

  of(serviceId: string, byReceiptTime: boolean): ServiceQuirks {
    const key = [serviceId, byReceiptTime].join(' ');
    return getOrAdd(this.#byService, key, () => new ServiceQuirks());
  }
}
