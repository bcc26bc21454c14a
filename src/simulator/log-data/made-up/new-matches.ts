/** How new matches reach those who asked for each of them: one by one, or as many at once as look the same to them. */
import type { Row } from '../../query/row.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchTally } from './match-tally.ts';
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

/**
 * `reads`: the fields in lower case that decide what `each` does; undefined where nothing is known about them. `sliceMs`: besides
 * them, the slice of that length decides in which the message time lies.
 */
export function newMatches(
  rows: MadeUpRows,
  matches: Matches,
  each: Each,
  reads: ReadonlySet<string> | undefined,
  sliceMs: number | undefined,
): NewMatches {
  return reads && isSettledByTemplate(reads)
    ? new CountedByKind(rows, matches, each, reads, sliceMs)
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

/** Matches come from newer to older ones, so that a slice is over when one of another slice comes. */
class CountedByKind implements NewMatches {
  readonly #rows: MadeUpRows;
  readonly #matches: Matches;
  readonly #each: Each;
  readonly #tally: MatchTally;
  readonly #sliceMs: number | undefined;
  /** Where the slice begins whose matches are being counted; undefined before the first one, and where there are no slices. */
  #sliceStartMs: number | undefined;

  constructor(rows: MadeUpRows, matches: Matches, each: Each, reads: ReadonlySet<string>, sliceMs: number | undefined) {
    this.#rows = rows;
    this.#matches = matches;
    this.#each = each;
    this.#tally = new MatchTally(rows, reads);
    this.#sliceMs = sliceMs;
  }

  at(rank: number): void {
    if (this.#sliceMs !== undefined) this.#enterSlice(rank, this.#sliceMs);
    this.#tally.add(this.#rows.templateOf(rank), 1);
  }

  between(from: number, to: number): void {
    const sliceMs = this.#sliceMs;
    if (sliceMs === undefined) {
      this.#matches.addTo(this.#tally, from, to);
      return;
    }
    for (let rank = from; rank < to; ) {
      const end = Math.min(to, this.#rows.timeline.rankAt(this.#enterSlice(rank, sliceMs)));
      this.#matches.addTo(this.#tally, rank, end);
      rank = end;
    }
  }

  end(): void {
    this.#tally.take((template, times) => this.#each(this.#rows.templateRow(template, this.#sliceStartMs), times));
  }

  /** Goes to the slice of a rank, and returns where it begins. */
  #enterSlice(rank: number, sliceMs: number): number {
    const startMs = Math.floor(this.#rows.timeline.timeOf(rank) / sliceMs) * sliceMs;
    if (startMs !== this.#sliceStartMs) this.end();
    this.#sliceStartMs = startMs;
    return startMs;
  }
}
