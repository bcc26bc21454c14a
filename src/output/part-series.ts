/**
 * Writes rows to a series of files (parts) of limited size. When a part is full, the next row opens another part, while the full part is
 * still being written. A row is never divided.
 *
 * Invariant: no part is empty, and every row is in exactly one part.
 */
import { type PartOptions, type PartSummary, PartWriter } from './part-writer.ts';
import type { RawRow } from './row-encoder.ts';

export class PartSeries {
  readonly #optionsOf: (index: number) => PartOptions;
  readonly #ended: Promise<PartSummary>[] = [];
  readonly #unfinished = new Set<PartWriter>();
  #current: PartWriter | undefined;
  /** Promise for the end of the part (data file) that became full last. The promise is pending while that part is being written. */
  #finishing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** `optionsOf` returns the options of a part, and is called at the part's first row. Parts are numbered from 0. */
  constructor(optionsOf: (index: number) => PartOptions) {
    this.#optionsOf = optionsOf;
  }

  row(row: RawRow): void {
    this.#open().row(row);
  }

  /**
   * Returns a promise if the caller should wait before it passes the next row (see `PartWriter.drained`). The caller also waits while two
   * parts are being written and the next row would open a third.
   */
  drained(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    return this.#current?.drained() ?? (this.#current?.isFull ? this.#finishing : undefined);
  }

  /**
   * Ends the series and returns its parts in order. The list is empty if there was no row. If a part fails, all parts are aborted, and the
   * call rejects with the first error.
   */
  async end(): Promise<PartSummary[]> {
    if (this.#current !== undefined) this.#endCurrent(this.#current);
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

  /** Returns the part that receives the next row, and opens it if necessary. */
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
