/**
 * The pages of messages of one job, in their order, as often as they are read.
 *
 * Invariant: a page begins behind the last row that came. No two readings have pages that end at the same rows.
 * A row that comes twice because of where a page ends does so in one reading only (E9).
 */
import { crossing } from '../base/boundary.ts';
import { LogfleetError } from '../base/errors.ts';
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
  /** The next row is the first of a page. `isBehindShort`: the page before had fewer rows than were asked for. */
  beginPage(isBehindShort: boolean): void;
}

export class JobPages {
  readonly #options: JobPagesOptions;
  #offset = 0;
  #readings = 1;
  /** Rows of the first page of the first reading. */
  #firstPageRows: number | undefined;
  #isBehindShort = false;

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
    this.#isBehindShort = false;
  }

  /** Reads one page. Resolves to false where the service gives no more rows, although it counts more. */
  async read(rows: PageReceiver): Promise<boolean> {
    const { job, signal, tools } = this.#options;
    const onPage = (page: MessagePage) => {
      if (page.rows > 0) tools.chosenFields.saw(page.fields);
    };
    const [offset, limit] = [this.#offset, this.#limit];
    rows.beginPage(this.#isBehindShort);
    const reading = { offset, total: offset + 1, limit, receiver: rows, onPage, signal };
    try {
      this.#offset = await crossing('export.readPage', () => job.readMessages(reading));
    } catch (thrown) {
      if (thrown instanceof LogfleetError && thrown.code === 'job.pagesEmpty') return false;
      throw thrown;
    }
    this.#firstPageRows ??= this.#offset;
    this.#isBehindShort = this.#offset - offset < limit;
    return true;
  }

  /** Rows to ask for. The first page of a further reading is smaller than that of any before it. */
  get #limit(): number {
    const isFirst = this.#offset === 0 && this.#readings > 1;
    return isFirst ? Math.ceil((this.#firstPageRows ?? maxPageRows) / this.#readings) : maxPageRows;
  }
}
