/**
 * Reads the result pages of one search job, newest rows first. Each read uses different page sizes, so that an error
 * between two pages, such as a missing or repeated row, does not recur (E9).
 */
import { crossing } from '../../base/boundary.ts';
import { hasCode } from '../../base/errors.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import { type MessagePage, maxPageRows, type RowReceiver } from '../../service/jobs/search-service.ts';
import type { RowFilter } from './row-filter.ts';
import type { SearchTools } from './search-tools.ts';

export type PageFilter = Pick<RowFilter, 'beginPage' | 'repeatedAtStart' | 'overlaps'>;

export interface JobPagesOptions {
  readonly job: SearchJob;
  readonly tools: Pick<SearchTools, 'chosenFields'>;
  readonly signal: AbortSignal;
}

export class JobPages {
  readonly #options: JobPagesOptions;
  #offset = 0;
  #readings = 1;
  /** Number of rows in the first page of the first read. */
  #firstPageRows: number | undefined;
  /** Last row of the previous page if that page had fewer rows than requested. Undefined otherwise. */
  #shortEnd: Buffer | undefined;

  constructor(options: JobPagesOptions) {
    this.#options = options;
  }

  /** Index of the next row to request. */
  get offset(): number {
    return this.#offset;
  }

  /** Makes the next read begin at the first row again. */
  beginAgain(): void {
    if (this.#offset > 0) this.#readings++;
    this.#offset = 0;
    this.#shortEnd = undefined;
  }

  /** Reads pages until `end` rows have been read, or until the service returns no more rows. */
  async readTo(end: number, filter: PageFilter, rows: RowReceiver): Promise<void> {
    while (this.#offset < end) if (!(await this.#readPage(filter, rows))) return;
  }

  /** Reads one page. Resolves to false if the service returns fewer rows than it reported. */
  async #readPage(filter: PageFilter, rows: RowReceiver): Promise<boolean> {
    const { job, signal, tools } = this.#options;
    const onPage = (page: MessagePage) => {
      if (page.rows > 0) tools.chosenFields.saw(page.fields);
    };
    const [offset, limit] = [this.#offset, this.#limit];
    filter.beginPage();
    const lastRow = new LastRow(rows);
    const reading = { offset, limit, receiver: lastRow.receiver, onPage, signal };
    try {
      this.#offset = await crossing('export.readPage', () => job.readMessagePage(reading));
    } catch (thrown) {
      if (hasCode(thrown, 'job.pagesEmpty')) return false;
      throw thrown;
    }
    if (filter.repeatedAtStart > 0 && (await this.#hasMoved(offset))) filter.overlaps();
    this.#firstPageRows ??= this.#offset;
    this.#shortEnd = this.#offset - offset < limit ? lastRow.bytes : undefined;
    return true;
  }

  /**
   * Returns the time of the oldest row, which is the row at `count - 1`. Returns undefined if the service does not return
   * this row.
   */
  async lastMs(count: number): Promise<number | undefined> {
    return (await this.#rowAt(count - 1))?.timeMs;
  }

  /**
   * Returns true if rows changed their positions while the job's pages were being read (E9). As a test, requests the
   * last row of a short page again, and compares it with the row that was received before.
   */
  async #hasMoved(offset: number): Promise<boolean> {
    const end = this.#shortEnd;
    return end !== undefined && !(await this.#rowAt(offset - 1))?.bytes.equals(end);
  }

  async #rowAt(offset: number): Promise<LastRow | undefined> {
    const { job, signal } = this.#options;
    const row = new LastRow({ row() {} });
    const reading = { offset, limit: 1, receiver: row.receiver, signal };
    try {
      await crossing('export.readPage', () => job.readMessagePage(reading));
      return row;
    } catch (thrown) {
      if (hasCode(thrown, 'job.pagesEmpty')) return undefined;
      throw thrown;
    }
  }

  /**
   * Number of rows to request for the next page. When the pages are read again, the first page is smaller than before,
   * which moves all page boundaries.
   */
  get #limit(): number {
    const isFirst = this.#offset === 0 && this.#readings > 1;
    return isFirst ? Math.ceil((this.#firstPageRows ?? maxPageRows) / this.#readings) : maxPageRows;
  }
}

/** Passes rows on to a receiver, and keeps a copy of the last row. */
class LastRow {
  readonly receiver: RowReceiver;
  /** Message time of the last row in ms; NaN until a row has been received. */
  timeMs = Number.NaN;
  #memory = Buffer.alloc(0);
  #length = 0;

  constructor(receiver: RowReceiver) {
    this.receiver = {
      row: (row) => {
        receiver.row(row);
        this.timeMs = row.messageTimeMs;
        this.#keep(row.bytes);
      },
      drained: () => receiver.drained?.(),
    };
  }

  /** Bytes of the last row; empty until a row has been received. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(2 * bytes.length);
    this.#memory.set(bytes);
    this.#length = bytes.length;
  }
}
