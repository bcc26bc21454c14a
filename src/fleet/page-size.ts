/**
 * How many rows a page of the collectors' list has. The specification names a default of 50 and no maximum (4.6): a larger limit
 * may be taken, refused with 400, or cut down in silence. What the service does is learnt from its answers.
 */
import { ServiceError } from '../service/service-error.ts';
import { refusesBuild } from './refused-build.ts';

const limits = [50, 100, 500, 1_000, 10_000] as const;
/** Asked for first; more only once it came back full. */
const firstLimit = 1_000;
/** The documented default: no service cuts below it, so a page that is shorter is the last. */
export const defaultRows = 50;

export class PageSize {
  #limit: number = firstLimit;
  /** The largest limit that was not refused. */
  #ceiling: number = limits[limits.length - 1] as number;
  /** Proven: the service cuts its pages down to this. */
  #cut: number | undefined;
  /** Rows of a page that was shorter than asked for: the end, or cut down. The next page tells. */
  #suspect: number | undefined;

  /** The limit to ask for, which is also how many rows a full page has. */
  rows(): number {
    return this.#cut ?? this.#limit;
  }

  /** Takes note of a refused limit; false when the failure was another, or no smaller limit is left. */
  refused(thrown: unknown, limit: number): boolean {
    if (!(thrown instanceof ServiceError) || thrown.status !== 400 || refusesBuild(thrown)) return false;
    const smaller = limits.findLast((candidate) => candidate < limit);
    if (smaller === undefined) return false;
    this.#ceiling = smaller;
    this.#limit = smaller;
    this.#cut = undefined;
    return true;
  }

  /** Takes note of an answer with `rows` rows to `limit` at `offset`; returns whether the list ends with it. */
  learn(limit: number, rows: number, offset: number): boolean {
    // A list that begins says nothing of where another one ended.
    const suspect = offset === 0 ? undefined : this.#suspect;
    this.#suspect = undefined;
    if (rows === 0) return true;
    // A few rows more may have come to the list meanwhile; a page of them has not.
    if (suspect !== undefined && rows >= defaultRows) this.#cut = suspect;
    if (rows >= limit) {
      if (offset === 0 && this.#cut === undefined) this.#grow();
      return false;
    }
    if (rows < defaultRows || this.#cut !== undefined) return rows < this.rows();
    this.#suspect = rows;
    return false;
  }

  #grow(): void {
    const larger = limits.find((candidate) => candidate > this.#limit);
    if (larger !== undefined && larger <= this.#ceiling) this.#limit = larger;
  }
}
