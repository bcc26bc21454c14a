/**
 * Behaviours of a service that its specification does not define, as observed in this process. All exports of the service that search by
 * the same time (message or receipt time) share these observations. Observations are not stored. After a restart one more search job may be
 * needed to observe them again, and no row is lost.
 */
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import { smallestLimitAfter } from './message-limit.ts';

/**
 * Factor by which the next search is expected to be shorter, if the last search had already ended at its first status request. The true
 * duration of the last search is then shorter than measured, by an unknown time.
 */
const soonerRatio = 0.99;

/** Allowance in ms for the rounding of the `Date` header, which has whole seconds. */
export const dateRoundingMs = 1_500;

/** A search that is starting, and the time at which its end is expected. */
export interface BegunSearch {
  /** Expected duration in ms; undefined if no search has shown it. */
  readonly expectedMs: number | undefined;
  /**
   * Promise to await before the first status request. It resolves when another search has shown the usual duration or has failed; absent if
   * nothing is awaited.
   */
  readonly shown?: Promise<void>;
  /** Ends the wait of other searches for the usual duration, because this search has ended. */
  readonly ends: () => void;
}

export class ServiceQuirks {
  /**
   * True after a search returned a row at the exact end of its range, although that end is excluded. Searches send `to
   * − 1` from then on (E10).
   */
  isEndInclusive = false;
  /**
   * Duration in ms of the latest count, from creation until it was observed as done; undefined before the first count.
   */
  countMs: number | undefined;
  /** Smallest message limit at which the service has cut a search (E4); undefined if it has cut none. */
  smallestLimit: number | undefined;
  /** Time in ms by which the service's clock is behind the clock of logfleet; at least 0 (E11). */
  clockBehindMs = 0;
  /** Usual maximum duration of a search in ms, from the creation of its job; undefined until a search has ended. */
  searchMs: number | undefined;
  /** True once the service has created a search job for an export of this process. */
  hasAnswered = false;
  #isDateKnown = false;
  /** Promise that resolves when the first search ends; undefined while no first search runs. */
  #first: PromiseWithResolvers<void> | undefined;

  /**
   * Registers a starting search. While no duration is known, only one search sends early status requests. Searches that start meanwhile
   * wait for its end, because their requests would show the same duration.
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

  /** Updates the smallest message limit from the progress of a search that is finished or was ended. */
  searched(progress: JobProgress): void {
    this.smallestLimit = smallestLimitAfter(progress, this.smallestLimit);
  }

  /** Records how long a finished search took. `statuses` is the number of status requests until it was seen as finished. */
  took(searchMs: number, statuses: number): void {
    const isAsExpected = this.searchMs !== undefined && statuses <= 1;
    this.searchMs = isAsExpected ? soonerRatio * (this.searchMs ?? searchMs) : searchMs;
  }

  /**
   * Maximum time in ms by which the service's clock can be behind, according to earlier answers. It includes the rounding of `Date` to
   * whole seconds.
   */
  get foreseenBehindMs(): number {
    return this.#isDateKnown ? this.clockBehindMs + dateRoundingMs : 0;
  }

  /** Records the service's time `dateMs`, in whole seconds, when the clock of logfleet showed `nowMs`. */
  showedDate(dateMs: number, nowMs: number): void {
    this.#isDateKnown = true;
    this.clockBehindMs = Math.max(0, nowMs - dateMs);
  }
}

/**
 * Observed behaviours of each service by its id. Observations by message time are not used for searches by receipt time: if an inclusive
 * end were assumed wrongly, rows would be lost (E10).
 */
export class QuirksOfServices {
  readonly #byService = new Map<string, ServiceQuirks>();

  of(serviceId: string, byReceiptTime: boolean): ServiceQuirks {
    const key = `${serviceId} ${byReceiptTime ? 'receipt' : 'message'}`;
    const known = this.#byService.get(key);
    if (known) return known;
    const quirks = new ServiceQuirks();
    this.#byService.set(key, quirks);
    return quirks;
  }
}
