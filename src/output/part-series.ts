/**
 * Writes rows to data files (parts) of limited size. Each part belongs to one partition, such as an hour. When a part is full, the next row
 * of its partition begins another part, while the full part is still being written.
 *
 * The number of parts that accept rows at the same time is limited, because an open part takes about 1 MB of memory, or 6 MB for Parquet. If
 * another partition needs a part, the part that has received no row for the longest time ends.
 */
import { type PartOptions, type PartSummary, PartWriter } from './part-writer.ts';
import type { RawRow } from './row-encoder.ts';

/** Maximum number of parts that have ended and are still being written. */
const maxFinishingParts = 8;

interface OpenPart {
  /** Number of the part in the series. */
  readonly index: number;
  readonly partition: string;
  readonly writer: PartWriter;
}

export class PartSeries {
  readonly #optionsOf: (index: number, partition: string) => PartOptions;
  readonly #maxOpenParts: number;
  /** Results of the parts that have ended, by the number of the part. */
  readonly #ended: Promise<PartSummary>[] = [];
  readonly #unfinished = new Set<PartWriter>();
  /** Parts (data files) that still accept rows, by partition. The part that received the latest row is the last one. */
  readonly #open = new Map<string, OpenPart>();
  /** Part that received the latest row. Undefined before the first row. */
  #current: OpenPart | undefined;
  #begun = 0;
  /** Number of parts that accept no more rows and are still being written. */
  #finishing = 0;
  /** Promise of `drained` that resolves when one more of the ended parts is written. Undefined while no caller waits. */
  #finished: PromiseWithResolvers<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  /**
   * @param optionsOf called when a part begins, with the part's number (from 0, across all partitions) and its partition
   * @param maxOpenParts maximum number of parts that accept rows at the same time
   */
  constructor(optionsOf: (index: number, partition: string) => PartOptions, maxOpenParts: number) {
    this.#optionsOf = optionsOf;
    this.#maxOpenParts = maxOpenParts;
  }

  /** Writes a row to a data file of its partition. Rows without a partition have the partition ''. */
  row(row: RawRow, partition = ''): void {
    this.#partOf(partition).row(row);
  }

  /**
   * Returns a promise if the caller must wait before it passes the next row. The caller waits while the latest part has too much unwritten
   * data (`PartWriter.drained`), or while too many ended parts are being written.
   */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    const draining = this.#current?.writer.drained();
    if (draining) return draining;
    const mostFinishing = this.#current?.writer.isFull ? 1 : maxFinishingParts;
    if (this.#finishing < mostFinishing) return undefined;
    this.#finished ??= Promise.withResolvers();
    return this.#finished.promise;
  }

  /**
   * Ends the series and returns its parts by number. The list is empty if there was no row. If a part fails, all parts are aborted, and
   * the call rejects with the first error.
   */
  async end(): Promise<PartSummary[]> {
    for (const part of this.#open.values()) this.#endPart(part);
    try {
      return await Promise.all(this.#ended);
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  /** Aborts all unfinished parts. */
  async abort(): Promise<void> {
    await Promise.all([...this.#unfinished].map((part) => part.abort()));
  }

  /** Returns the part that receives the next row of a partition. Begins a part if none is open, or if the open part is full. */
  #partOf(partition: string): PartWriter {
    if (this.#failure) throw this.#failure.error;
    if (this.#current?.partition !== partition) this.#current = this.#switchTo(partition);
    if (this.#current.writer.isFull) {
      this.#endPart(this.#current);
      this.#current = this.#begin(partition);
    }
    return this.#current.writer;
  }

  /** Returns the open part (data file) of a partition, which becomes the latest open part. Begins a part if the partition has none. */
  #switchTo(partition: string): OpenPart {
    const part = this.#open.get(partition);
    if (!part) return this.#begin(partition);
    this.#open.delete(partition);
    this.#open.set(partition, part);
    return part;
  }

  #begin(partition: string): OpenPart {
    const [oldest] = this.#open.values();
    if (oldest && this.#open.size === this.#maxOpenParts) this.#endPart(oldest);
    const index = this.#begun++;
    const writer = new PartWriter(this.#optionsOf(index, partition));
    const part = { index, partition, writer };
    this.#unfinished.add(writer);
    this.#open.set(partition, part);
    return part;
  }

  #endPart({ index, partition, writer }: OpenPart): void {
    const ended = writer.end();
    this.#ended[index] = ended;
    this.#open.delete(partition);
    this.#finishing++;
    const finished = () => {
      this.#finishing--;
      this.#finished?.resolve();
      this.#finished = undefined;
    };
    ended.then(
      () => {
        this.#unfinished.delete(writer);
        finished();
      },
      (error: unknown) => {
        this.#failure ??= { error };
        finished();
      },
    );
  }
}
