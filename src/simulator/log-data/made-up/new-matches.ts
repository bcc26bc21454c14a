/** How new matches reach those who asked for each of them: one by one, or as many at once as look the same to them. */
import { unitsPerLook } from '../effort.ts';
import type { Telling } from '../log-data.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchTally } from './match-tally.ts';
import { isSettledByTemplate, type TemplateMatches } from './matches.ts';

/** What a search tells of what it finds, step by step. */
export interface NewMatches {
  /** Messages that are looked at one by one for each match, about; 1 at most. */
  readonly looksPerMatch: number;
  readonly unitsPerMatch: number;
  /** A single match. */
  at(rank: number): void;
  /** All matches in [from, to). */
  between(from: number, to: number): void;
  /** The step is over. */
  end(): void;
}

export function newMatches(rows: MadeUpRows, matches: TemplateMatches, telling: Telling): NewMatches {
  return telling.reads && isSettledByTemplate(telling.reads)
    ? new CountedByKind(rows, matches, telling, telling.reads)
    : new OneByOne(rows, matches, telling);
}

class OneByOne implements NewMatches {
  readonly looksPerMatch = 1;
  readonly unitsPerMatch: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  readonly #telling: Telling;

  constructor(rows: MadeUpRows, matches: TemplateMatches, telling: Telling) {
    this.#rows = rows;
    this.#matches = matches;
    this.#telling = telling;
    this.unitsPerMatch = unitsPerLook(telling, rows.meanRawBytes);
  }

  at(rank: number): void {
    this.#telling.each(this.#rows.row(rank), 1);
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
  readonly looksPerMatch: number;
  readonly unitsPerMatch: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  readonly #telling: Telling;
  readonly #tally: MatchTally;
  readonly #sliceMs: number | undefined;
  /** Where the slice begins whose matches are being counted; undefined before the first one, and where there are no slices. */
  #sliceStartMs: number | undefined;

  constructor(rows: MadeUpRows, matches: TemplateMatches, telling: Telling, reads: ReadonlySet<string>) {
    this.#rows = rows;
    this.#matches = matches;
    this.#telling = telling;
    this.#tally = new MatchTally(rows, reads);
    this.#sliceMs = telling.sliceMs;
    // A slice costs what its beginning is looked up for, too.
    this.looksPerMatch =
      this.#sliceMs === undefined
        ? 0
        : Math.min(1, (this.#tally.kindCount + 1) / Math.max(1, rows.timeline.rowsPerMs * this.#sliceMs));
    this.unitsPerMatch = this.looksPerMatch * unitsPerLook(telling, rows.meanRawBytes);
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
    this.#tally.take((template, times) =>
      this.#telling.each(this.#rows.templateRow(template, this.#sliceStartMs), times),
    );
  }

  /** Goes to the slice of a rank, and returns where it begins. */
  #enterSlice(rank: number, sliceMs: number): number {
    const startMs = Math.floor(this.#rows.timeline.timeOf(rank) / sliceMs) * sliceMs;
    if (startMs !== this.#sliceStartMs) this.end();
    this.#sliceStartMs = startMs;
    return startMs;
  }
}
