/**
 * Reads the records of a finished search job into files. Records are not read while the job is still running, because
 * they may still change (section 10.3 of docs/service.md).
 */
import { crossing } from '../../base/boundary.ts';
import { hasCode } from '../../base/errors.ts';
import { recordRow } from '../../output/record-row.ts';
import { uncountedError } from '../../service/jobs/job-end.ts';
import type { RecordPage } from '../../service/jobs/search-service.ts';
import { IntervalFiles } from './interval-files.ts';
import { type Findings, type ReaderOptions, type ReadingOrder, ResultReader, type SearchEnd } from './result-reader.ts';
import { noRows } from './row-filter.ts';

export class RecordReader extends ResultReader {
  readonly #options: ReaderOptions;
  #received: number | undefined;

  constructor(options: ReaderOptions) {
    super();
    this.#options = options;
  }

  get found(): Findings {
    const received = this.#received;
    const sums = { areDuplicatesSure: true, messages: {}, slices: undefined, repeated: [] };
    const figures = received === undefined ? undefined : { ...noRows, received, written: received, ...sums };
    return { figures, isReadInPart: false, isReadAgain: false, isReadTwice: false };
  }

  async read(_reading: ReadingOrder, { progress }: SearchEnd): Promise<void> {
    const { job, signal } = this.#options;
    const { recordCount } = progress;
    // If a search job has no records, its query may lack an aggregation. `checkAggregation` reports this mistake.
    if (!recordCount) await job.checkAggregation(signal);
    if (recordCount === undefined) throw uncountedError(job.id);
    await this.giveUp();
    this.files = undefined;
    this.#received = 0;
    for (let offset = 0; offset < recordCount; ) {
      const next = await this.#readPage(offset);
      if (next === undefined) return;
      offset = next;
    }
  }

  /** Reads a page of records. Returns the offset of the next page, or undefined if there are no more records. */
  async #readPage(offset: number): Promise<number | undefined> {
    const { job, signal } = this.#options;
    const take = (page: RecordPage) => this.#take(page);
    try {
      return await crossing('export.readPage', () => job.readRecordPage({ offset, take, signal }));
    } catch (thrown) {
      if (hasCode(thrown, 'job.pagesEmpty')) return undefined;
      throw thrown;
    }
  }

  #take({ fields, records }: RecordPage): Promise<void> | undefined {
    // An empty page may lack the descriptions of the fields, from which the columns are derived.
    if (records.length === 0) return undefined;
    const { tools, order } = this.#options;
    this.files ??= new IntervalFiles(tools, order, fields);
    tools.chosenFields.saw(fields);
    for (const record of records) this.files.row(recordRow(record));
    this.#received = (this.#received ?? 0) + records.length;
    return this.files.drained();
  }
}
