/** How new matches reach those who asked for each of them: one by one, or as many at once as look the same to them. */
import type { Row } from '../../query/row.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { isSettledByTemplate, type Matches } from './matches.ts';

type Each = (row: Row, times: number) => void;

/** What a search tells of what it finds during one step. */
export interface NewMatches {
  /** A single match. */
  at(rank: number): void;
  /** All matches in [from, to). */
  between(from: number, to: number): void;
  /** The step is over. */
  end(): void;
}

/** `reads`: the fields in lower case that decide what `each` does; undefined where nothing is known about them. */
export function newMatches(
  rows: MadeUpRows,
  matches: Matches,
  each: Each,
  reads: ReadonlySet<string> | undefined,
): NewMatches {
  return reads && isSettledByTemplate(reads)
    ? new CountedByTemplate(rows, matches, each)
    : new OneByOne(rows, matches, each);
}

class OneByOne implements NewMatches {
  readonly #rows: MadeUpRows;
  readonly #matches: Matches;
  readonly #each: Each;

  constructor(rows: MadeUpRows, matches: Matches, each: Each) {
    this.#rows = rows;
    this.#matches = matches;
    this.#each = each;
  }

  at(rank: number): void {
    this.#each(this.#rows.row(rank), 1);
  }

  between(from: number, to: number): void {
    this.#matches.each(from, to, (rank) => {
      this.at(rank);
      return true;
    });
  }

  end(): void {}
}

class CountedByTemplate implements NewMatches {
  readonly #rows: MadeUpRows;
  readonly #matches: Matches;
  readonly #each: Each;
  readonly #times: Float64Array;

  constructor(rows: MadeUpRows, matches: Matches, each: Each) {
    this.#rows = rows;
    this.#matches = matches;
    this.#each = each;
    this.#times = new Float64Array(rows.templates.count);
  }

  at(rank: number): void {
    const template = this.#rows.templateOf(rank);
    this.#times[template] = (this.#times[template] as number) + 1;
  }

  between(from: number, to: number): void {
    this.#matches.countByTemplate(from, to, this.#times);
  }

  end(): void {
    for (const [template, times] of this.#times.entries()) {
      if (times > 0) this.#each(this.#rows.templateRow(template), times);
    }
  }
}
