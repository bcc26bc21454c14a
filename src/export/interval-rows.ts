/**
 * The messages of one search on their way into files: what becomes of each is the tally's (`run-tally.ts`), and those that it holds back
 * are kept here. No row is parsed.
 *
 * Of what is held back a bounded amount is kept. A millisecond that has more is written: mostly it turns out to be none that is left
 * (E4). Where it is, the rows have to be read once more, when it is known from where on they count.
 */
import type { PageRow, PageRows } from '../service/page-row.ts';
import type { IntervalFiles } from './interval-files.ts';
import type { PageReceiver } from './job-pages.ts';
import type { RunFigures, RunTally } from './run-tally.ts';

/** So many bytes of rows are kept at most. */
const maxHeldBytes = 4 * 1_024 * 1_024;
const firstBytes = 16 * 1_024;

export class IntervalRows implements PageReceiver {
  readonly files: IntervalFiles;
  readonly #tally: RunTally;
  readonly #maxHeldBytes: number;
  #held = Buffer.allocUnsafe(firstBytes);
  #used = 0;
  /** Where the rows end that are kept. */
  readonly #ends: number[] = [];
  /** The millisecond that is held back has rows that are written already. */
  #isSpilled = false;

  constructor(tally: RunTally, files: IntervalFiles, maxBytes = maxHeldBytes) {
    this.#tally = tally;
    this.files = files;
    this.#maxHeldBytes = maxBytes;
  }

  /** Of the rows inside the interval so far; undefined before the first. */
  get oldestMs(): number | undefined {
    return this.#tally.oldestMs;
  }

  /** Rows of the oldest millisecond are written that should be held back: it cannot be left any more. */
  get isSpilled(): boolean {
    return this.#isSpilled;
  }

  /** See `RunTally.beginPage`. */
  beginPage(): void {
    this.#tally.beginPage();
  }

  /** See `RunTally.repeatedAtStart`. */
  get repeatedAtStart(): number {
    return this.#tally.repeatedAtStart;
  }

  /** See `RunTally.overlaps`. */
  overlaps(): void {
    this.#tally.overlaps();
  }

  row(row: PageRow): void {
    switch (this.#tally.take(row)) {
      case 'write':
        this.files.row(row);
        break;
      case 'hold':
        this.#hold(row);
        break;
      case 'holdInstead':
        this.#release();
        this.#hold(row);
        break;
      case 'drop':
        break;
    }
  }

  /** What is to be written goes on together, and of what is held back only the last is copied: mostly a row or two. */
  run(rows: PageRows): void {
    const written = new Stretch((from, to) => this.files.run(rows, from, to));
    const held = new Stretch((from, to) => {
      written.end();
      for (let index = from; index < to; index++) this.#hold(rows.row(index));
    });
    for (let index = 0; index < rows.length; index++) {
      switch (this.#tally.take(rows.row(index))) {
        case 'write':
          written.add(index, index + 1);
          break;
        case 'hold':
          held.add(index, index + 1);
          break;
        case 'holdInstead':
          if (this.#used > 0 || this.#isSpilled) {
            written.end();
            this.#release();
          }
          held.moveTo(written);
          held.add(index, index + 1);
          break;
        case 'drop':
          break;
      }
    }
    held.end();
    written.end();
  }

  room(): Promise<void> | undefined {
    return this.files.room();
  }

  /** See `RunTally.leaveBefore`. */
  leaveBefore(beforeMs: number): void {
    this.#tally.leaveBefore(beforeMs);
    this.#release();
  }

  /** See `RunTally.figures`. */
  figures(heldAreWritten: boolean): RunFigures {
    return this.#tally.figures(heldAreWritten);
  }

  /** After the last row: what was held back is written after all. */
  writeHeld(): void {
    this.#release();
  }

  #hold({ bytes }: PageRow): void {
    const end = this.#used + bytes.length;
    if (end > this.#maxHeldBytes || this.#isSpilled) {
      this.#release();
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

  #release(): void {
    let start = 0;
    for (const end of this.#ends) {
      this.files.row({ bytes: this.#held.subarray(start, end) });
      start = end;
    }
    this.#ends.length = 0;
    this.#used = 0;
    this.#isSpilled = false;
  }
}

/** Rows of a page one behind the other that are to be used in the same way. */
class Stretch {
  readonly #use: (from: number, to: number) => void;
  #from = 0;
  #to = 0;

  constructor(use: (from: number, to: number) => void) {
    this.#use = use;
  }

  /** Uses those before first where these do not follow them. */
  add(from: number, to: number): void {
    if (from !== this.#to) {
      this.end();
      this.#from = from;
    }
    this.#to = to;
  }

  /** Uses them, and is empty. */
  end(): void {
    if (this.#to > this.#from) this.#use(this.#from, this.#to);
    this.#from = this.#to;
  }

  /** Is empty, and the other one has them. */
  moveTo(other: Stretch): void {
    if (this.#to > this.#from) other.add(this.#from, this.#to);
    this.#from = this.#to;
  }
}
