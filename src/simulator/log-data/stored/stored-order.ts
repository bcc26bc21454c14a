/** Messages that are there, in the order of their own time or of their receipt. */
import type { RowOrder } from '../row-search.ts';
import type { StoredRows } from './stored-rows.ts';

export class StoredOrder implements RowOrder {
  readonly #rows: StoredRows;
  readonly #byReceiptTime: boolean;

  constructor(rows: StoredRows, byReceiptTime: boolean) {
    this.#rows = rows;
    this.#byReceiptTime = byReceiptTime;
  }

  placeOf(timeMs: number): number {
    let [low, high] = [0, this.#rows.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.timeAt(middle) >= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  timeAt(place: number): number {
    const rank = this.rankAt(place);
    return this.#byReceiptTime ? this.#rows.receiptTimeOf(rank) : this.#rows.messageTimeOf(rank);
  }

  rankAt(place: number): number {
    return this.#byReceiptTime ? (this.#rows.byReceipt[place] as number) : place;
  }
}
