/**
 * Behaviour of a service that its specification does not define, as searches of this process have observed it. After a restart the
 * behaviour is observed again, which may cost one more search.
 */
import { getOrAdd } from '../../base/get-or-add.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import { smallestLimitAfter } from './message-limit.ts';

/**
 * Factor that shortens the expected duration after a search that had already ended at its first status request. That search may have ended
 * much earlier, so the status of the next search is requested slightly sooner.
 */
const soonerRatio = 0.99;

/** Maximum error in ms of a clock comparison that uses the `Date` header, which has whole seconds. */
export const dateRoundingMs = 1_500;

/** A search whose job is about to be created, with its expected duration. */
export interface BegunSearch {
  /** Expected duration in ms; undefined if no search of this service has ended yet. */
  readonly expectedMs: number | undefined;
  /**
   * Resolves when the first search of this service has ended, so that the duration of a search is known. Absent for the first search, and
   * if the duration is already known.
   */
  readonly shown?: Promise<void>;
  /** Must be called when this search has ended. */
  readonly ends: () => void;
}

export class ServiceQuirks {
  /** True if a search has returned a row exactly at the end of its range, so that later searches request an end 1 ms earlier (E10). */
  isEndInclusive = false;
  /** Duration in ms of the latest counting aggregation; undefined until one has finished. */
  countMs: number | undefined;
  /** Smallest number of rows at which the service has cut a search short (E4); undefined if that has not happened. */
  smallestLimit: number | undefined;
  /** Time in ms by which the service's clock is behind the clock of logfleet; at least 0 (E11). */
  clockBehindMs = 0;
  /** Usual duration of a search in ms; undefined until a search has ended. */
  searchMs: number | undefined;
  /** True once the service has created a search job for any export of this process. */
  hasAnswered = false;
  #isDateKnown = false;
  /** Resolves when the first search of this service ends; undefined while no first search runs. */
  #first: PromiseWithResolvers<void> | undefined;

  /**
   * Registers a search whose job is about to be created. While the duration of a search is unknown, only the first search requests its
   * status early. All others wait for the end of the first search, because they probably take as long.
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

  /** Stores how long a search took. `statuses` is the number of status requests until a status showed the end of the search. */
  took(searchMs: number, statuses: number): void {
    const isAsExpected = this.searchMs !== undefined && statuses <= 1;
    this.searchMs = isAsExpected ? soonerRatio * (this.searchMs ?? searchMs) : searchMs;
  }

  /** Maximum time in ms by which the service's clock may be behind the clock of logfleet, according to earlier answers. */
  get foreseenBehindMs(): number {
    return this.#isDateKnown ? this.clockBehindMs + dateRoundingMs : 0;
  }

  /** Compares the clocks: an answer of the service had the time `dateMs` when the clock of logfleet showed `nowMs`. */
  showedDate(dateMs: number, nowMs: number): void {
    this.#isDateKnown = true;
    this.clockBehindMs = Math.max(0, nowMs - dateMs);
  }
}

/**
 * Observed behaviour of each service. Searches by message time and by receipt time are kept apart, because a service may include the end of
 * a range for only one of them (E10).
 */
export class QuirksOfServices {
  readonly #byService = new Map<string, ServiceQuirks>();

  of(serviceId: string, byReceiptTime: boolean): ServiceQuirks {
    const key = `${serviceId} ${byReceiptTime ? 'receipt' : 'message'}`;
    return getOrAdd(this.#byService, key, () => new ServiceQuirks());
  }
}
