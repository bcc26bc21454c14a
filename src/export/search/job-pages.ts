/**
 * Reads the pages of messages of one job in order, once or several times.
 *
 * Invariant: a page starts after the last received row. The pages of different readings end at different rows. A row
 * that is repeated because of a page boundary is therefore repeated in one reading only (E9).
 */
import { crossing } from '../../base/boundary.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { SearchJob } from '../../service/jobs/search-job.ts';
import { type MessagePage, maxPageRows, type RowReceiver } from '../../service/jobs/search-service.ts';
import type { RunTally } from './run-tally.ts';
import type { SearchTools } from './search-tools.ts';

export type PageTally = Pick<RunTally, 'beginPage' | 'repeatedAtStart' | 'overlaps'>;

export interface JobPagesOptions {
  readonly job: SearchJob;
  readonly tools: Pick<SearchTools, 'chosenFields'>;
  readonly signal: AbortSignal;
}

export class JobPages {
  readonly #options: JobPagesOptions;
  #offset = 0;
  #readings = 1;
  /** Number of rows in the first page of the first reading; undefined until it is read. */
  #firstPageRows: number | undefined;
  /** Last row of the previous page if that page had fewer rows than requested; undefined otherwise. */
  #shortEnd: Buffer | undefined;

  constructor(options: JobPagesOptions) {
    this.#options = options;
  }

  /** Index of the next row to request from the search job. */
  get offset(): number {
    return this.#offset;
  }

  /** Starts another reading of all rows of the search job. */
  beginAgain(): void {
    if (this.#offset > 0) this.#readings++;
    this.#offset = 0;
    this.#shortEnd = undefined;
  }

  /** Reads pages until the row with the index `end` is reached, or until the service returns no more rows. */
  async readTo(end: number, tally: PageTally, rows: RowReceiver): Promise<void> {
    while (this.#offset < end) if (!(await this.#readPage(tally, rows))) return;
  }

  /**
   * Reads one page. The receiver `rows` passes each row to `tally`, which counts the row. Resolves to false if the
   * service returns no more rows, although it counted more rows.
   */
  async #readPage(tally: PageTally, rows: RowReceiver): Promise<boolean> {
    const { job, signal, tools } = this.#options;
    const onPage = (page: MessagePage) => {
      if (page.rows > 0) tools.chosenFields.saw(page.fields);
    };
    const [offset, limit] = [this.#offset, this.#limit];
    tally.beginPage();
    const lastRow = new LastRow(rows);
    const reading = { offset, total: offset + 1, limit, receiver: lastRow.receiver, onPage, signal };
    try {
      this.#offset = await crossing('export.readPage', () => job.readMessages(reading));
    } catch (thrown) {
      if (thrown instanceof LogfleetError && thrown.code === 'job.pagesEmpty') return false;
      throw thrown;
    }
    if (tally.repeatedAtStart > 0 && (await this.#hasMoved(offset))) tally.overlaps();
    this.#firstPageRows ??= this.#offset;
    this.#shortEnd = this.#offset - offset < limit ? lastRow.bytes : undefined;
    return true;
  }

  /** Message time of the last of `count` rows. It is the oldest time, because pages come newest first (4.3). */
  async lastMs(count: number): Promise<number> {
    return (await this.#rowAt(count - 1)).timeMs;
  }

  /** Returns whether the row before `offset` is no longer the last row of the previous page, which was short. If so, that page lacked rows. */
  async #hasMoved(offset: number): Promise<boolean> {
    const end = this.#shortEnd;
    return end !== undefined && !(await this.#rowAt(offset - 1)).bytes.equals(end);
  }

  async #rowAt(offset: number): Promise<LastRow> {
    const { job, signal } = this.#options;
    const row = new LastRow({ row() {} });
    await crossing('export.readPage', () =>
      job.readMessages({ offset, total: offset + 1, limit: 1, receiver: row.receiver, signal }),
    );
    return row;
  }

  /**
   * Number of rows to request for the next page. In each reading, the first page is smaller than in the readings before, so that pages end
   * at other rows.
   */
  get #limit(): number {
    const isFirst = this.#offset === 0 && this.#readings > 1;
    return isFirst ? Math.ceil((this.#firstPageRows ?? maxPageRows) / this.#readings) : maxPageRows;
  }
}

/** Passes rows on to a receiver and keeps a copy of the last one. */
class LastRow {
  readonly receiver: RowReceiver;
  /** Message time of the last row; not a number until the first row arrives. */
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

  /** Bytes of the last row; empty until the first row arrives. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(2 * bytes.length);
    this.#memory.set(bytes);
    this.#length = bytes.length;
  }
}
