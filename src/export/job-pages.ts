/**
 * The pages of messages of one job, in their order, as often as they are read.
 *
 * Invariant: a page begins behind the last row that came. No two readings have pages that end at the same rows.
 * A row that comes twice because of where a page ends does so in one reading only (E9).
 */
import { crossing } from '../base/boundary.ts';
import { LogfleetError } from '../base/errors.ts';
import type { PageRows } from '../service/page-row.ts';
import type { SearchJob } from '../service/search-job.ts';
import { type MessagePage, maxPageRows, type RowReceiver } from '../service/search-service.ts';
import type { SearchTools } from './search-tools.ts';

export interface JobPagesOptions {
  readonly job: SearchJob;
  readonly tools: Pick<SearchTools, 'chosenFields'>;
  readonly signal: AbortSignal;
}

/** What takes the rows. */
export interface PageReceiver extends RowReceiver {
  /** The next row is the first of a page. */
  beginPage(): void;
  /** With how many rows the page began that came before. */
  readonly repeatedAtStart: number;
  /** The page before lacked rows: those with which this page began were asked for twice. */
  overlaps(): void;
}

export class JobPages {
  readonly #options: JobPagesOptions;
  #offset = 0;
  #readings = 1;
  /** Rows of the first page of the first reading. */
  #firstPageRows: number | undefined;
  /** The last row of the page before, where that had fewer rows than were asked for. */
  #shortEnd: Buffer | undefined;

  constructor(options: JobPagesOptions) {
    this.#options = options;
  }

  /** Index of the next row. */
  get offset(): number {
    return this.#offset;
  }

  /** The next page is the first of another reading. */
  beginAgain(): void {
    if (this.#offset > 0) this.#readings++;
    this.#offset = 0;
    this.#shortEnd = undefined;
  }

  /** Reads one page. Resolves to false where the service gives no more rows, although it counts more. */
  async read(rows: PageReceiver): Promise<boolean> {
    const { job, signal, tools } = this.#options;
    const onPage = (page: MessagePage) => {
      if (page.rows > 0) tools.chosenFields.saw(page.fields);
    };
    const [offset, limit] = [this.#offset, this.#limit];
    rows.beginPage();
    const lastRow = new LastRow(rows);
    const reading = { offset, total: offset + 1, limit, receiver: lastRow.receiver, onPage, signal };
    try {
      this.#offset = await crossing('export.readPage', () => job.readMessages(reading));
    } catch (thrown) {
      if (thrown instanceof LogfleetError && thrown.code === 'job.pagesEmpty') return false;
      throw thrown;
    }
    if (rows.repeatedAtStart > 0 && (await this.#hasMoved(offset))) rows.overlaps();
    this.#firstPageRows ??= this.#offset;
    this.#shortEnd = this.#offset - offset < limit ? lastRow.bytes : undefined;
    return true;
  }

  /** Whether another row than the last one of a short page stands before `offset`: then that page lacked rows. */
  async #hasMoved(offset: number): Promise<boolean> {
    const end = this.#shortEnd;
    if (!end) return false;
    const { job, signal } = this.#options;
    const lastRow = new LastRow({ row() {} });
    const reading = { offset: offset - 1, total: offset, limit: 1, receiver: lastRow.receiver, signal };
    await crossing('export.readPage', () => job.readMessages(reading));
    return lastRow.bytes?.equals(end) !== true;
  }

  /** Rows to ask for. The first page of a further reading is smaller than that of any before it. */
  get #limit(): number {
    const isFirst = this.#offset === 0 && this.#readings > 1;
    return isFirst ? Math.ceil((this.#firstPageRows ?? maxPageRows) / this.#readings) : maxPageRows;
  }
}

/** Keeps the last of the rows that go to a receiver. */
class LastRow {
  readonly receiver: RowReceiver;
  bytes: Buffer | undefined;

  constructor(receiver: RowReceiver) {
    this.receiver = {
      row: (row) => {
        receiver.row(row);
        this.bytes = Buffer.from(row.bytes);
      },
      ...(receiver.run && {
        run: (rows: PageRows) => {
          receiver.run?.(rows);
          if (rows.length > 0) this.bytes = Buffer.from(rows.bytes(rows.length - 1));
        },
      }),
      room: () => receiver.room?.(),
    };
  }
}
