/**
 * Rows to as many parts as it takes, each of a bounded size: when one is full the next row opens another, while the full one is still
 * being written. A row is never cut.
 *
 * Invariant: no part is empty, and every row that was taken is in exactly one.
 */
import { type PartOptions, type PartSummary, PartWriter } from './part-writer.ts';
import type { RawRow, RawRows } from './row-encoder.ts';

export class PartSeries {
  readonly #optionsOf: (index: number) => PartOptions;
  readonly #ended: Promise<PartSummary>[] = [];
  readonly #unfinished = new Set<PartWriter>();
  #current: PartWriter | undefined;
  /** While the part that ended last is still being written. */
  #finishing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** `optionsOf` is asked for each part when its first row comes; parts are numbered from 0 on. */
  constructor(optionsOf: (index: number) => PartOptions) {
    this.#optionsOf = optionsOf;
  }

  row(row: RawRow): void {
    this.#open().row(row);
  }

  /** From the row at `from` to before the one at `to`. */
  run(rows: RawRows, from: number, to: number): void {
    for (let at = from; at < to; ) at = this.#open().run(rows, at, to);
  }

  /** As `PartWriter.room`; also when the next row would open a third part. */
  room(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return this.#current?.room() ?? (this.#current?.isFull ? this.#finishing : undefined);
  }

  /** The parts in the order of their rows; none where no row came. Rejects with what went wrong in any, which are all given up then. */
  async end(): Promise<PartSummary[]> {
    if (this.#current !== undefined) this.#endCurrent(this.#current);
    try {
      return await Promise.all(this.#ended);
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  /** Gives up all parts that are not finished. */
  async abort(): Promise<void> {
    await Promise.all([...this.#unfinished].map((part) => part.abort()));
  }

  /** The part for the next row. */
  #open(): PartWriter {
    if (this.#failure) throw this.#failure.error;
    if (this.#current?.isFull) this.#endCurrent(this.#current);
    this.#current ??= this.#begin();
    return this.#current;
  }

  #begin(): PartWriter {
    const part = new PartWriter(this.#optionsOf(this.#ended.length));
    this.#unfinished.add(part);
    return part;
  }

  #endCurrent(part: PartWriter): void {
    const ended = part.end();
    this.#ended.push(ended);
    this.#current = undefined;
    const finishing = ended.then(
      () => {
        this.#unfinished.delete(part);
        if (this.#finishing === finishing) this.#finishing = undefined;
      },
      (error: unknown) => {
        this.#failure ??= { error };
      },
    );
    this.#finishing = finishing;
  }
}
