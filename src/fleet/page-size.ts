/**
 * How many rows a page of the collectors' list has. The specification names a default of 50 and no maximum (4.6): a larger limit
 * may be taken, refused with 400, or cut down in silence. What the service does is learnt from its answers.
 */
import { ServiceError } from '../service/service-error.ts';

/** Tried from the second on; the first only once a page of the second came back full. */
const limits = [10_000, 1_000, 500, 100, 50] as const;
/** The documented default: no service cuts below it. */
const defaultRows = 50;

export class PageSize {
  /** Index into `limits` of the limit asked for. */
  #step = 1;
  /** The largest limit that was not refused is `limits[#smallestStep]`. */
  #smallestStep = 0;
  /** The largest page that was followed by another row. */
  #cut: number | undefined;

  /** The limit to ask for. */
  limit(): number {
    return this.#cut ?? limits[this.#step] ?? defaultRows;
  }

  /** Rows of a full page. */
  rows(): number {
    return this.limit();
  }

  /** Takes note of a refused limit; false when the failure was another, or no smaller limit is left. */
  refused(thrown: unknown, limit: number): boolean {
    if (!(thrown instanceof ServiceError) || thrown.status !== 400 || limit <= defaultRows) return false;
    this.#cut = undefined;
    this.#step = Math.max(this.#step, limits.findIndex((candidate) => candidate < limit));
    this.#smallestStep = this.#step;
    return true;
  }

  /** Takes note of an answer with `rows` rows to `limit` at `offset`; returns whether the list ends with it. */
  learn(limit: number, rows: number, offset: number): boolean {
    if (rows === 0) return true;
    if (rows >= limit) {
      // Full pages are worth asking for more, unless that was refused or cut down before.
      if (this.#cut === undefined && this.#step > this.#smallestStep && offset === 0) this.#step--;
      return false;
    }
    if (rows < defaultRows) return true;
    if (offset > 0 && this.#cut === undefined && limit === limits[0] && rows < limits[1]) return true;
    if (this.#cut === undefined) {
      // Either the end, or cut down: the next page tells. Until then this is what a page holds.
      this.#cut = rows;
      return false;
    }
    return rows < this.#cut;
  }
}
