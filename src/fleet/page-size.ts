/**
 * Learns the page size of the service's collector list from its answers. The specification defines a default of 50 rows, no
 * maximum and no minimum (4.6). The service may accept a larger limit, reject it with 400, or silently return fewer rows. Only an
 * empty page ends a list.
 */
import { ServiceError } from '../service/requests/service-error.ts';

/** Number of rows per page that the service documents as its default. */
export const defaultRows = 50;
const limits = [defaultRows, 100, 500, 1_000, 10_000] as const;
/** Limit (rows per page) of the first request. A larger limit is tried only after a full page. */
const firstLimit = 1_000;

export class PageSize {
  #limit: number = firstLimit;
  /** Largest limit (rows per page) that the service has not rejected. */
  #ceiling: number = limits[limits.length - 1] as number;
  /**
   * Number of rows on a full page if the service returns fewer rows than requested; undefined if it returns as many as
   * requested.
   */
  #cut: number | undefined;
  /** Largest number of rows on a page since the current read of the list began. */
  #largest = 0;
  /** Whether the previous page of the list had fewer rows than its limit (rows per page). */
  #wasShort = false;

  /** Limit (rows per page) for the next request of a list. */
  limit(): number {
    return this.#limit;
  }

  /** Number of rows on a full page of the list. */
  rows(): number {
    return this.#cut ?? this.#limit;
  }

  /**
   * Records a rejected limit (rows per page). Returns false if the limit did not cause the rejection, or if no smaller limit
   * is left.
   */
  refused(thrown: unknown, limit: number): boolean {
    if (!(thrown instanceof ServiceError) || thrown.status !== 400 || refusesBuild(thrown)) return false;
    const smaller = limits.findLast((candidate) => candidate < limit);
    if (smaller === undefined) return false;
    this.#ceiling = smaller;
    this.#limit = smaller;
    this.#cut = undefined;
    return true;
  }

  /** Records that a request was answered with `rows` rows. Returns whether the list ends with this answer. */
  learn(limit: number, rows: number, offset: number): boolean {
    const continues = offset > 0 && this.#wasShort;
    this.#wasShort = rows < limit;
    if (rows === 0) return true;
    this.#largest = offset === 0 ? rows : Math.max(this.#largest, rows);
    // The list continues after a page with fewer rows than requested, so the service limits pages to that number of rows.
    if (continues) this.#cut = this.#largest;
    else if (rows > (this.#cut ?? rows)) this.#cut = undefined;
    const larger = limits.find((candidate) => candidate > this.#limit);
    const mayGrow = rows >= limit && offset === 0 && larger !== undefined && larger <= this.#ceiling;
    if (mayGrow) this.#limit = larger;
    return false;
  }
}

/** Whether the service rejected a listing because it does not know the build. The service's list of builds may have changed. */
export function refusesBuild(error: unknown): boolean {
  return error instanceof ServiceError && error.serviceCode === 'collector.version.invalid';
}
