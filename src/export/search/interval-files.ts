/**
 * Writes the data files of one search. Files that no commit record lists do not belong to the export, and are removed
 * (E3).
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import { type CommittedFile, maxFiles } from '../../destination/commit-record.ts';
import { dataFileName } from '../../destination/export-layout.ts';
import type { ExportIdentity } from '../../destination/fingerprint.ts';
import { Partitions } from '../../destination/partitions.ts';
import { destinationError } from '../../destination/store/destination-error.ts';
import type { DescribedField } from '../../output/columns.ts';
import { PartSeries } from '../../output/part-series.ts';
import type { PartSink } from '../../output/part-writer.ts';
import type { RawRow } from '../../output/row-encoder.ts';
import type { RowReceiver } from '../../service/jobs/search-service.ts';
import type { PageRow } from '../../service/pages/page-row.ts';
import type { RowFilter } from './row-filter.ts';
import type { SearchOrder, SearchTools } from './search-tools.ts';

export type FileTools = Pick<SearchTools, 'destination' | 'definition' | 'writer' | 'log'>;

/**
 * Maximum number of files that are open for rows at the same time. Searches by receipt time need several open files,
 * because messages can arrive late and belong in the folder of an earlier day or hour.
 */
const maxOpenParts = { byMessageTime: 2, byReceiptTime: 8 } as const;

export class IntervalFiles {
  readonly #tools: FileTools;
  readonly #order: Pick<SearchOrder, 'segment' | 'toMs'>;
  readonly #parts: PartSeries;
  readonly #names: string[] = [];
  readonly #staged: string[] = [];
  #givingUp: Promise<void> | undefined;

  constructor(tools: FileTools, order: Pick<SearchOrder, 'segment' | 'toMs'>, described: readonly DescribedField[]) {
    this.#tools = tools;
    this.#order = order;
    const { encoder, compression } = tools.definition.form(described);
    const { output, byReceiptTime } = tools.definition.identity;
    const { maxPartBytes } = output;
    this.#parts = new PartSeries(
      (index, partition) => {
        if (index >= maxFiles) throw tooManyFiles(output);
        const name = this.#newName(index, partition);
        return { encoder, compression, maxPartBytes, open: () => this.#open(name) };
      },
      maxOpenParts[byReceiptTime ? 'byReceiptTime' : 'byMessageTime'],
    );
  }

  /**
   * Writes a row to the export's folder, outside of any partition. If an earlier write failed, throws the error of that
   * write.
   */
  row(row: RawRow): void {
    this.#parts.row(row);
  }

  /**
   * Returns a promise that resolves when the destination accepts more rows, or undefined if it already accepts rows.
   */
  drained(): Promise<void> | undefined {
    return this.#parts.drained();
  }

  /**
   * Returns a receiver that writes the rows that the filter accepts. The filter rejects duplicates and rows outside the
   * interval, for example.
   */
  receiver(filter: RowFilter): RowReceiver {
    const folderOf = folderFinder(this.#tools.definition.identity);
    return {
      row: (row) => {
        if (filter.take(row)) this.#parts.row(row, folderOf(row));
      },
      drained: () => this.drained(),
    };
  }

  /** Completes the uploads. Resolves to the uploaded files, or rejects with the first upload error. */
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
    const { destination, definition, log } = this.#tools;
    await this.#parts.abort();
    for (const name of this.#staged) {
      await destination.remove(definition.layout.within(name)).catch((error: unknown) => {
        log.debug('cannot remove an unneeded file', { name, error });
      });
    }
  }

  #newName(index: number, partition: string): string {
    const { writer, definition } = this.#tools;
    const { segment, toMs } = this.#order;
    const file = { segment, toMs, part: index + 1, writerToken: writer.newToken(), partition };
    const name = dataFileName(file, definition.identity.output);
    this.#names[index] = name;
    return name;
  }

  async #open(name: string): Promise<PartSink> {
    const { destination, definition } = this.#tools;
    const upload = await destination.open(definition.layout.within(name));
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

/** Returns a function that returns the day or hour folder for a row. */
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
  const what = `the rows of one search need more than ${maxFiles} files of ${maxPartBytes} bytes each`;
  const larger = partitionBy === undefined ? 'a larger maxPartSize' : 'a larger maxPartSize or larger partitions';
  return destinationError('tooMuch', `${what}: create another export with ${larger}`);
}
