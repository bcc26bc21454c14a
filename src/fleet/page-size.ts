/**
 * Page size of the collector listing. The specification defines a default of 50 rows, no maximum and no minimum (4.6). The service may
 * accept a larger limit, reject it with 400, or silently return fewer rows. This class learns the behaviour from the answers. Only an
 * empty page ends a list.
 */
import { ServiceError } from '../service/requests/service-error.ts';

/** Documented default. */
export const defaultRows = 50;
const limits = [defaultRows, 100, 500, 1_000, 10_000] as const;
/** Limit of the first request. Raised only after a full page. */
const firstLimit = 1_000;

export class PageSize {
  #limit: number = firstLimit;
  /** Largest limit that was not rejected. */
  #ceiling: number = limits[limits.length - 1] as number;
  /** Number of rows in a full page, if the service returns fewer than the limit. */
  #cut: number | undefined;
  /** Number of rows in the largest page of the current list. */
  #largest = 0;
  /** Whether the previous page was shorter than its limit. */
  #wasShort = false;

  /** Limit for the next request of a list. */
  limit(): number {
    return this.#limit;
  }

  /** Number of rows in a full page. */
  rows(): number {
    return this.#cut ?? this.#limit;
  }

  /** Records a rejected limit. Returns false if the failure has another cause or no smaller limit is left. */
  refused(thrown: unknown, limit: number): boolean {
    if (!(thrown instanceof ServiceError) || thrown.status !== 400 || refusesBuild(thrown)) return false;
    const smaller = limits.findLast((candidate) => candidate < limit);
    if (smaller === undefined) return false;
    this.#ceiling = smaller;
    this.#limit = smaller;
    this.#cut = undefined;
    return true;
  }

  /** Records an answer with `rows` rows. Returns whether it is the end of the list. */
  learn(limit: number, rows: number, offset: number): boolean {
    const continues = offset > 0 && this.#wasShort;
    this.#wasShort = rows < limit;
    if (rows === 0) return true;
    this.#largest = offset === 0 ? rows : Math.max(this.#largest, rows);
    // The list continues behind a short page, so the service returns fewer rows than the limit.
    if (continues) this.#cut = this.#largest;
    else if (rows > (this.#cut ?? rows)) this.#cut = undefined;
    if (rows >= limit && offset === 0) this.#grow();
    return false;
  }

  #grow(): void {
    const larger = limits.find((candidate) => candidate > this.#limit);
    if (larger !== undefined && larger <= this.#ceiling) this.#limit = larger;
  }
}

/** Whether the service does not know the build of the listing. Its list of builds may have changed. */
export function refusesBuild(error: unknown): boolean {
  return error instanceof ServiceError && error.serviceCode === 'collector.version.invalid';
}
