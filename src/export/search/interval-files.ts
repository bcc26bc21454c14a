/**
 * The files (parts) that a search writes for its interval, with unique names. If the export has partitions, each file belongs to one of
 * them. A file at the destination belongs to the export only once a commit record names it (E3).
 *
 * Invariant: discarded files are removed. If the destination refuses to remove a file, it is removed with other unneeded files once the
 * whole range is exported (E15).
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { type CommittedFile, maxFiles } from '../../destination/commit-record.ts';
import { destinationError } from '../../destination/destination-error.ts';
import { dataFileName } from '../../destination/export-layout.ts';
import type { ExportIdentity } from '../../destination/fingerprint.ts';
import { Partitions } from '../../destination/partitions.ts';
import type { DescribedField } from '../../output/columns.ts';
import { PartSeries } from '../../output/part-series.ts';
import type { PartSink } from '../../output/part-writer.ts';
import type { RawRow } from '../../output/row-encoder.ts';
import type { RowReceiver } from '../../service/jobs/search-service.ts';
import type { PageRow } from '../../service/pages/page-row.ts';
import type { RunTally } from './run-tally.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';

export type FileTools = Pick<SearchTools, 'destination' | 'task' | 'writer' | 'log'>;

export class IntervalFiles {
  readonly #tools: FileTools;
  readonly #order: Pick<SearchOrder, 'segment' | 'toMs'>;
  readonly #parts: PartSeries;
  /** Name of each part, relative to the export's folder. */
  readonly #names: string[] = [];
  readonly #staged: string[] = [];
  #givingUp: Promise<void> | undefined;

  constructor(tools: FileTools, order: Pick<SearchOrder, 'segment' | 'toMs'>, described: readonly DescribedField[]) {
    this.#tools = tools;
    this.#order = order;
    const { encoder, compression } = tools.task.form(described);
    const { output } = tools.task.identity;
    const { maxPartBytes } = output;
    this.#parts = new PartSeries((index, partition) => {
      if (index >= maxFiles) throw tooManyFiles(output);
      const name = this.#newName(index, partition);
      return { encoder, compression, maxPartBytes, open: () => this.#open(name) };
    });
  }

  /** Writes a row without a partition. Throws the error of an earlier write. */
  row(row: RawRow): void {
    this.#parts.row(row);
  }

  /** Returns a promise while too many bytes wait to be written, otherwise undefined; see `PartSeries.drained`. */
  drained(): Promise<void> | undefined {
    return this.#parts.drained();
  }

  /** Receiver that writes the rows of a search's pages, except the rows that `tally` excludes, such as duplicates. */
  receiver(tally: RunTally): RowReceiver {
    const folderOf = folderFinder(this.#tools.task.identity);
    return {
      row: (row) => {
        if (tally.take(row)) this.#parts.row(row, folderOf(row));
      },
      drained: () => this.drained(),
    };
  }

  /**
   * Returns the parts when all of them are complete at the destination, without a commit record yet. They are in the order of their first
   * rows. Rejects with the first error.
   */
  async end(): Promise<readonly CommittedFile[]> {
    const parts = await this.#parts.end();
    return parts.map((part, index) => ({ name: this.#names[index] as string, ...part }));
  }

  /** Discards all parts. Never rejects. */
  giveUp(): Promise<void> {
    this.#givingUp ??= this.#giveUp();
    return this.#givingUp;
  }

  async #giveUp(): Promise<void> {
    const { destination, task, log } = this.#tools;
    await this.#parts.abort();
    for (const name of this.#staged) {
      await destination.remove(task.layout.within(name)).catch((error: unknown) => {
        log.debug('cannot remove an unneeded file', { name, error });
      });
    }
  }

  #newName(index: number, partition: string): string {
    const { writer, task } = this.#tools;
    const { segment, toMs } = this.#order;
    const file = { segment, toMs, part: index + 1, writerToken: writer.newToken(), partition };
    const name = dataFileName(file, task.identity.output);
    this.#names[index] = name;
    return name;
  }

  async #open(name: string): Promise<PartSink> {
    const { destination, task } = this.#tools;
    const upload = await destination.open(task.layout.within(name));
    return {
      write: (chunk) => upload.write(chunk),
      finish: async () => {
        await crossing('export.stagePart', () => upload.finish());
        this.#staged.push(name);
      },
      abort: () => upload.abort(),
    };
  }
}

/**
 * Returns a function that finds the folder of a row's partition. Rows are divided by the time to which the export's range applies, so every
 * row has this time and every partition is part of the range.
 */
function folderFinder({ output, timeZone, byReceiptTime }: ExportIdentity): (row: PageRow) => string {
  if (output.partitionBy === undefined) return () => '';
  const partitions = new Partitions(output.partitionBy, timeZone);
  return ({ messageTimeMs, receiptTimeMs }) => {
    const timeMs = byReceiptTime ? receiptTimeMs : messageTimeMs;
    assert(timeMs !== undefined, 'a row of a search by receipt time has no receipt time');
    return partitions.folderOf(timeMs);
  };
}

function tooManyFiles({ maxPartBytes, partitionBy }: ExportIdentity['output']): Error {
  const what = `the rows of one search do not fit into ${maxFiles} files of ${maxPartBytes} bytes`;
  const advice = partitionBy === undefined ? 'raise maxPartSize' : 'raise maxPartSize, or write partitionBy: None';
  return destinationError('tooMuch', `${what}: ${advice}`);
}
