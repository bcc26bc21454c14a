/**
 * Passes the messages of one search to its files. The tally decides what happens to each row (`run-tally.ts`), and held rows are kept here.
 * Rows are not parsed.
 *
 * A bounded number of bytes is held. A larger millisecond is written, since it usually does not have to be left (E4). If it has to be left,
 * the rows are read again when the start of the counted rows is known.
 */

import type { RowReceiver } from '../../service/jobs/search-service.ts';
import type { PageRow } from '../../service/pages/page-row.ts';
import type { IntervalFiles } from './interval-files.ts';
import type { RunTally } from './run-tally.ts';

/** Maximum size in bytes of the rows that one search holds in memory. */
const maxHeldBytes = 4 * 1_024 * 1_024;
const firstBytes = 16 * 1_024;

export class IntervalRows implements RowReceiver {
  readonly tally: RunTally;
  readonly files: IntervalFiles;
  readonly #maxHeldBytes: number;
  #held = Buffer.allocUnsafe(firstBytes);
  #used = 0;
  /** End position in the buffer of each row that is held in memory. */
  readonly #ends: number[] = [];
  /** True if rows of the oldest millisecond have been written although they should be held in memory. */
  #isSpilled = false;

  constructor(tally: RunTally, files: IntervalFiles, maxBytes = maxHeldBytes) {
    this.tally = tally;
    this.files = files;
    this.#maxHeldBytes = maxBytes;
  }

  /**
   * True if rows of the oldest millisecond are written although they should be held. They can then no longer be left to the next search.
   */
  get isSpilled(): boolean {
    return this.#isSpilled;
  }

  row(row: PageRow): void {
    switch (this.tally.take(row)) {
      case 'write':
        this.files.row(row);
        break;
      case 'hold':
        this.#hold(row);
        break;
      case 'holdInstead':
        this.writeHeld();
        this.#hold(row);
        break;
      case 'drop':
        break;
    }
  }

  drained(): Promise<void> | undefined {
    return this.files.drained();
  }

  /** Writes the rows that are held in memory. Call it after the last row of the search. */
  writeHeld(): void {
    let start = 0;
    for (const end of this.#ends) {
      this.files.row({ bytes: this.#held.subarray(start, end) });
      start = end;
    }
    this.#ends.length = 0;
    this.#used = 0;
    this.#isSpilled = false;
  }

  #hold({ bytes }: PageRow): void {
    const end = this.#used + bytes.length;
    if (end > this.#maxHeldBytes || this.#isSpilled) {
      this.writeHeld();
      this.#isSpilled = true;
      this.files.row({ bytes });
      return;
    }
    if (end > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#used);
      this.#held = larger;
    }
    this.#held.set(bytes, this.#used);
    this.#used = end;
    this.#ends.push(end);
  }
}
