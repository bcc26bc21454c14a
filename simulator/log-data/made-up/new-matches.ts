/** Reports the new matches of a search to the search's listener, either one by one or as counts of equal matches. */
import { unitsPerMessage } from '../effort.ts';
import type { MatchListener } from '../log-data.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { MatchTally } from './match-tally.ts';
import { dependsOnTemplateOnly, type TemplateMatches } from './matches.ts';

/**
 * Reports matches to the search's listener. If matches are counted together, they are reported later, at the latest
 * when `end` is called.
 */
export interface NewMatches {
  /** Estimated number of messages examined per match: 1, or less than 1 if equal matches are counted together. */
  readonly examinedPerMatch: number;
  readonly unitsPerMatch: number;
  at(rank: number): void;
  /**
   * Reports the matches with ranks in [from, to) to the listener. The rank of a message is the number of newer
   * messages.
   */
  between(from: number, to: number): void;
  /** Reports to the listener the matches that have been counted but not yet reported. */
  end(): void;
}

export function newMatches(rows: MadeUpRows, matches: TemplateMatches, listener: MatchListener): NewMatches {
  return listener.reads && dependsOnTemplateOnly(listener.reads)
    ? new CountedByKind(rows, matches, listener, listener.reads)
    : new OneByOne(rows, matches, listener);
}

class OneByOne implements NewMatches {
  readonly examinedPerMatch = 1;
  readonly unitsPerMatch: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  readonly #listener: MatchListener;

  constructor(rows: MadeUpRows, matches: TemplateMatches, listener: MatchListener) {
    this.#rows = rows;
    this.#matches = matches;
    this.#listener = listener;
    this.unitsPerMatch = unitsPerMessage(listener, rows.meanRawBytes);
  }

  at(rank: number): void {
    this.#listener.each(this.#rows.row(rank), 1);
  }

  between(from: number, to: number): void {
    this.#matches.each(from, to, (rank) => {
      this.at(rank);
      return true;
    });
  }

  end(): void {}
}

/**
 * Counts equal matches and reports the counts. Equal matches have the same time slice and equal values in the fields
 * that the listener reads.
 */
class CountedByKind implements NewMatches {
  readonly examinedPerMatch: number;
  readonly unitsPerMatch: number;
  readonly #rows: MadeUpRows;
  readonly #matches: TemplateMatches;
  readonly #listener: MatchListener;
  readonly #tally: MatchTally;
  readonly #sliceMs: number | undefined;
  #sliceStartMs: number | undefined;

  constructor(rows: MadeUpRows, matches: TemplateMatches, listener: MatchListener, reads: ReadonlySet<string>) {
    this.#rows = rows;
    this.#matches = matches;
    this.#listener = listener;
    this.#tally = new MatchTally(rows, reads);
    this.#sliceMs = listener.sliceMs;
    // For each time slice, the search examines one message of each message kind, and one more message to find the start
    // of the time slice.
    this.examinedPerMatch =
      this.#sliceMs === undefined
        ? 0
        : Math.min(1, (this.#tally.kindCount + 1) / Math.max(1, rows.timeline.rowsPerMs * this.#sliceMs));
    this.unitsPerMatch = this.examinedPerMatch * unitsPerMessage(listener, rows.meanRawBytes);
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
      this.#listener.each(this.#rows.templateRow(template, this.#sliceStartMs), times),
    );
  }

  /**
   * Returns the start time of the time slice that contains the message. If this is a new time slice, first reports the
   * matches in the previous time slice.
   */
  #enterSlice(rank: number, sliceMs: number): number {
    const startMs = Math.floor(this.#rows.timeline.timeOf(rank) / sliceMs) * sliceMs;
    if (startMs !== this.#sliceStartMs) this.end();
    this.#sliceStartMs = startMs;
    return startMs;
  }
}
