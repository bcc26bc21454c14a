/**
 * Writes rows to data files of limited size (parts). Each part belongs to one partition, such as an hour.
 *
 * The number of open parts is limited, because each part uses about 1 MB of memory (Parquet: 6 MB). If the limit has
 * been reached when a new partition begins, the part that has not received a row for the longest time is ended.
 */
import { type PartOptions, type PartSummary, PartWriter } from './part-writer.ts';
import type { RawRow } from './row-encoder.ts';

/** Maximum number of parts that have ended but are still being written. */
const maxFinishingParts = 8;

interface OpenPart {
  /** Number of the part within the series. */
  readonly index: number;
  readonly partition: string;
  readonly writer: PartWriter;
}

export class PartSeries {
  readonly #optionsOf: (index: number, partition: string) => PartOptions;
  readonly #maxOpenParts: number;
  /** Results of parts that have ended, by part number. */
  readonly #ended: Promise<PartSummary>[] = [];
  readonly #unfinished = new Set<PartWriter>();
  /** Parts that accept rows, by partition. The last part in the map has received the most recent row. */
  readonly #open = new Map<string, OpenPart>();
  /** Part that received the most recent row. */
  #current: OpenPart | undefined;
  #begun = 0;
  /** Number of parts that have ended but are still being written. */
  #finishing = 0;
  /** Resolves when one of the ended parts has been completely written. Undefined if no caller is waiting for this. */
  #finished: PromiseWithResolvers<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  /**
   * @param optionsOf returns the options of a part; called when a part begins, with the part's number (from 0) and
   *   partition
   * @param maxOpenParts maximum number of parts that accept rows at the same time
   */
  constructor(optionsOf: (index: number, partition: string) => PartOptions, maxOpenParts: number) {
    this.#optionsOf = optionsOf;
    this.#maxOpenParts = maxOpenParts;
  }

  /** Writes a row to its partition. If files are not partitioned, the partition is ''. */
  row(row: RawRow, partition = ''): void {
    this.#partOf(partition).row(row);
  }

  /**
   * Returns a promise if too much data is waiting to be written. The caller must wait for the promise before it adds
   * the next row.
   */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    const draining = this.#current?.writer.drained();
    if (draining) return draining;
    const maxFinishing = this.#current?.writer.isFull ? 1 : maxFinishingParts;
    if (this.#finishing < maxFinishing) return undefined;
    this.#finished ??= Promise.withResolvers();
    return this.#finished.promise;
  }

  /** Ends all parts, and returns their summaries by part number. If a part fails, aborts all parts and rejects. */
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

  /** Returns the part to which a partition's next row is written. Begins a new part if the open part is full. */
  #partOf(partition: string): PartWriter {
    if (this.#failure) throw this.#failure.error;
    if (this.#current?.partition !== partition) this.#current = this.#switchTo(partition);
    if (this.#current.writer.isFull) {
      this.#endPart(this.#current);
      this.#current = this.#begin(partition);
    }
    return this.#current.writer;
  }

  /** Returns the open part of a partition. Begins a new part if the partition has none. */
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
