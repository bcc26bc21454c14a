/**
 * Learns from the service's responses how many rows a page of the collector list can have (section 4.6 of
 * docs/service.md). The service may reject a request for many rows, or return fewer rows without an error. A page with
 * fewer rows than requested is therefore not the last page; only an empty page ends the list.
 */
import { ServiceError } from '../service/requests/service-error.ts';

/** Default number of rows per page, according to the service's documentation. */
export const defaultRows = 50;
const limits = [defaultRows, 100, 500, 1_000, 10_000] as const;
const maxLimit = limits[limits.length - 1] as number;
/**
 * Number of rows that the first request asks for. If the service returns all of these rows, the next request asks for
 * more.
 */
const firstLimit = 1_000;

export class PageSize {
  #limit: number = firstLimit;
  /** Maximum number of rows to request. It is lowered when the service rejects a request for too many rows. */
  #ceiling: number = maxLimit;
  /** Number of rows on a full page if the service returns fewer rows than requested. Otherwise undefined. */
  #cut: number | undefined;
  /** Number of rows on the longest page since the read of the list began. */
  #largest = 0;
  /** True if the previous page contained fewer rows than requested. */
  #wasShort = false;

  /** Number of rows to request next. */
  limit(): number {
    return this.#limit;
  }

  /** Number of rows on a full page of the list. */
  rows(): number {
    return this.#cut ?? this.#limit;
  }

  /**
   * Reduces the number of rows to request after the service has rejected a request. Returns false if the rejection has
   * another cause, or if the service rejects even the smallest number of rows. After a rejection of the smallest
   * number, the next request asks for as many rows as the first request.
   */
  refused(thrown: unknown, limit: number): boolean {
    if (!(thrown instanceof ServiceError) || thrown.status !== 400) return false;
    // The service does not know the requested build.
    if (thrown.serviceCode === 'collector.version.invalid') return false;
    const smaller = limits.findLast((candidate) => candidate < limit);
    this.#ceiling = smaller ?? maxLimit;
    this.#limit = smaller ?? firstLimit;
    this.#cut = undefined;
    return smaller !== undefined;
  }

  /**
   * Updates the page size from the number of rows in a response. Returns true if the page is empty, which means that
   * the list has ended.
   * @param rows number of rows on the page, or 0 if the page only repeats the end of the list
   */
  learn(limit: number, rows: number, offset: number): boolean {
    const continues = offset > 0 && this.#wasShort;
    this.#wasShort = rows < limit;
    if (rows === 0) return true;
    this.#largest = offset === 0 ? rows : Math.max(this.#largest, rows);
    // The previous page had fewer rows than requested, but the list continues. This shows that the service limits the
    // size of pages.
    if (continues) this.#cut = this.#largest;
    else if (rows > (this.#cut ?? rows)) this.#cut = undefined;
    const larger = limits.find((candidate) => candidate > this.#limit);
    const mayGrow = rows >= limit && offset === 0 && larger !== undefined && larger <= this.#ceiling;
    if (mayGrow) this.#limit = larger;
    return false;
  }
}
