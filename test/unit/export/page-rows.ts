/** Rows of a page in one batch, for tests of receivers. */
import type { PageRow, PageRows } from '../../../src/service/pages/page-row.ts';

export class GivenRows implements PageRows {
  readonly #rows: readonly PageRow[];

  constructor(rows: readonly PageRow[]) {
    this.#rows = rows;
  }

  get length(): number {
    return this.#rows.length;
  }

  row(index: number): PageRow {
    const nextTimeMs = this.#rows[index + 1]?.messageTimeMs;
    return { ...(this.#rows[index] as PageRow), nextTimeMs };
  }

  bytes(index: number): Uint8Array {
    return (this.#rows[index] as PageRow).bytes;
  }

  linesLength(from: number, to: number): number {
    return this.lines(from, to).length;
  }

  lines(from: number, to: number): Uint8Array {
    return Buffer.concat(this.#rows.slice(from, to).flatMap(({ bytes }) => [bytes, Buffer.from('\n')]));
  }
}
