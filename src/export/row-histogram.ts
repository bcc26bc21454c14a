/**
 * How the rows that are written lie in time, in a few pieces: by the records, and more finely where a search of this process has seen it.
 * For people; nothing is decided by it.
 *
 * Invariant: no row of a record is counted twice or left out, however fine its pieces are. So much is kept as there are records, and
 * pieces that are shown.
 */
import { type CommitRecord, recordKey } from '../destination/commit-record.ts';
import type { Histogram } from '../service/job-histogram.ts';
import type { Interval } from './cut.ts';

/** Rows of `[fromMs, toMs)`. */
export interface RowPiece extends Interval {
  readonly rows: number;
}

export const maxRowPieces = 60;

export class RowHistogram {
  readonly #range: Interval;
  readonly #fine = new Map<string, readonly RowPiece[]>();

  constructor({ fromMs, toMs }: Interval) {
    this.#range = { fromMs, toMs };
  }

  /** What the job of a record's search has found, and where. */
  learn(record: CommitRecord, found: Histogram | undefined): void {
    const pieces = found && piecesOf(record, found);
    if (pieces) this.#fine.set(recordKey(record), this.#fewer(this.#withEmpty(record, pieces)));
  }

  /** Of records in order of time: pieces in order of time, which may leave out time of which nothing is known. */
  read(records: readonly CommitRecord[]): readonly RowPiece[] {
    return this.#fewer(records.flatMap((record) => this.#fine.get(recordKey(record)) ?? [wholeOf(record)]));
  }

  /** All rows of a record are in its pieces: where it has none is known, too, and is no time of which nothing is known. */
  #withEmpty({ fromMs, toMs }: Interval, pieces: readonly RowPiece[]): readonly RowPiece[] {
    const filled: RowPiece[] = [];
    let reachedMs = fromMs;
    for (const piece of pieces) {
      filled.push(...this.#empty(reachedMs, piece.fromMs), piece);
      reachedMs = Math.max(reachedMs, piece.toMs);
    }
    return [...filled, ...this.#empty(reachedMs, toMs)];
  }

  /** By sixtieth of the range: put together with a neighbour it would spread the rows of that one. */
  #empty(fromMs: number, toMs: number): readonly RowPiece[] {
    const pieces: RowPiece[] = [];
    for (let reachedMs = fromMs; reachedMs < toMs; ) {
      const edgeMs = this.#range.fromMs + (this.#sliceOf(reachedMs) + 1) * this.#sliceMs;
      const endMs = Math.min(toMs, Math.max(reachedMs + 1, Math.ceil(edgeMs)));
      pieces.push({ fromMs: reachedMs, toMs: endMs, rows: 0 });
      reachedMs = endMs;
    }
    return pieces;
  }

  get #sliceMs(): number {
    return (this.#range.toMs - this.#range.fromMs) / maxRowPieces;
  }

  #sliceOf(timeMs: number): number {
    return Math.min(maxRowPieces - 1, Math.floor((timeMs - this.#range.fromMs) / this.#sliceMs));
  }

  /** Neighbours that begin in the same sixtieth of the range are put together. */
  #fewer(pieces: readonly RowPiece[]): readonly RowPiece[] {
    const bySlice = new Map<number, RowPiece>();
    for (const piece of pieces) {
      const slice = this.#sliceOf(piece.fromMs);
      const known = bySlice.get(slice);
      bySlice.set(slice, known ? { fromMs: known.fromMs, toMs: piece.toMs, rows: known.rows + piece.rows } : piece);
    }
    return [...bySlice.values()];
  }
}

/** Undefined where what was found cannot be what was written. */
function piecesOf({ fromMs, toMs, written }: CommitRecord, { buckets }: Histogram): readonly RowPiece[] | undefined {
  // A bucket may reach beyond the range that was searched, whose end is the record's.
  const pieces = buckets
    .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    .map(({ startMs, lengthMs, count }) => ({
      fromMs: startMs,
      toMs: Math.min(toMs, startMs + lengthMs),
      rows: count,
    }));
  // The bucket that the record's begin goes through has rows of it, too.
  const rest = written - pieces.reduce((sum, { rows }) => sum + rows, 0);
  const [first] = pieces;
  if (!first || rest < 0) return undefined;
  if (rest === 0) return pieces;
  return first.fromMs > fromMs ? [{ fromMs, toMs: first.fromMs, rows: rest }, ...pieces] : undefined;
}

function wholeOf({ fromMs, toMs, written }: CommitRecord): RowPiece {
  return { fromMs, toMs, rows: written };
}
