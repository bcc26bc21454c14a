/**
 * Caches rows of the resource list in the browser. Reads the visible rows, and some rows before and after them, from
 * the server. When the list is refreshed, cached rows stay visible until the server has sent new ones.
 */
import type { ListPage, ListRow } from '../page-data.ts';
import { everything, type Filter } from './server-data.ts';

export interface RowRange {
  /** Index of the first row. */
  readonly first: number;
  readonly count: number;
}

/** Number of additional rows to read on each side of the visible rows. */
const margin = 30;

/** Returns the visible rows of a scrolled list. Sizes are in pixels. */
export function rangeInView(scrollTop: number, height: number, rowHeight: number, total: number): RowRange {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - 2);
  return { first, count: Math.max(0, Math.min(total - first, Math.ceil(height / rowHeight) + 4)) };
}

type ReadList = (filter: Filter, offset: number, limit: number) => Promise<ListPage>;

export class VisibleRows {
  readonly #read: ReadList;
  readonly #onChange: () => void;
  readonly #rows = new Map<number, ListRow>();
  #page: ListPage;
  #filter = everything;
  /** Filter of the cached rows. */
  #cachedFilter = everything;
  #range: RowRange = { first: 0, count: 20 };
  #isReading = false;
  /** True if the visible rows must be read. */
  #mustRead = false;
  /** True if the cached rows may be outdated. */
  #isOutdated = false;

  /** @param start the first rows of the list without a filter */
  constructor(start: ListPage, read: ReadList, onChange: () => void) {
    this.#page = start;
    this.#keep(start);
    this.#read = read;
    this.#onChange = onChange;
  }

  /** Most recent page of the list from the server. */
  get page(): ListPage {
    return this.#page;
  }

  row(index: number): ListRow | undefined {
    return this.#rows.get(index);
  }

  select(filter: Filter): void {
    if (filter === this.#filter) return;
    this.#filter = filter;
    this.refresh();
  }

  /**
   * Makes `range` the visible rows. If some of these rows are unknown or outdated, reads all of them from the server.
   */
  show(range: RowRange): void {
    this.#range = range;
    const indices = Array.from({ length: range.count }, (_, place) => range.first + place);
    if (this.#isOutdated || !indices.every((index) => this.#rows.has(index))) this.#readSoon();
  }

  /** Reads the visible rows from the server again, and then discards all other rows. */
  refresh(): void {
    this.#isOutdated = true;
    this.#readSoon();
  }

  /** Reads the visible rows: immediately or, if a request is already running, after this request. */
  #readSoon(): void {
    this.#mustRead = true;
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#mustRead) {
      this.#mustRead = false;
      // An error needs no message, because the page shows that the server cannot be reached. When the connection works
      // again, the rows are read again.
      await this.#readOnce().catch(() => {});
    }
    this.#isReading = false;
  }

  async #readOnce(): Promise<void> {
    const filter = this.#filter;
    const first = Math.max(0, this.#range.first - margin);
    const page = await this.#read(filter, first, this.#range.count + 2 * margin);
    if (filter !== this.#filter) return;
    // Rows that became visible during the request keep their outdated contents until the next response. Without
    // contents, they would not be links, and the Enter key would do nothing.
    const isUpToDate = this.#isOutdated && !this.#mustRead;
    if (isUpToDate || filter !== this.#cachedFilter) this.#rows.clear();
    if (isUpToDate) this.#isOutdated = false;
    this.#cachedFilter = filter;
    this.#page = page;
    this.#keep(page);
    this.#onChange();
  }

  #keep({ offset, rows }: ListPage): void {
    for (const [index, row] of rows.entries()) this.#rows.set(offset + index, row);
  }
}
