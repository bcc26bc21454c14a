/** Rows over a time range as one line of blocks. Each column is a slice of time, and its height shows the number of rows. */

interface Piece {
  readonly startMs: number;
  /** Exclusive. */
  readonly endMs: number;
  readonly count: number;
}

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
/** Mark of a slice with an unknown number of rows. */
const unknown = '·';
const empty = ' ';

/** Histogram in `width` columns. Rows of a piece are spread evenly over its columns. */
export function renderHistogram(
  pieces: readonly Piece[],
  range: { readonly startMs: number; readonly endMs: number },
  width: number,
): string {
  const columns = slices(pieces, range, width);
  const highest = Math.max(...columns.map(({ rows }) => rows));
  return columns.map(({ rows, isKnown }) => mark(rows, isKnown, highest)).join('');
}

function mark(rows: number, isKnown: boolean, highest: number): string {
  if (!isKnown) return unknown;
  if (rows === 0) return empty;
  // A slice with any rows is visible.
  return heights[Math.max(0, Math.ceil((rows / highest) * heights.length) - 1)] ?? heights[0];
}

interface Slice {
  readonly rows: number;
  readonly isKnown: boolean;
}

function slices(
  pieces: readonly Piece[],
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  width: number,
): readonly Slice[] {
  const lengthMs = (endMs - startMs) / width;
  return Array.from({ length: width }, (_, column) => {
    const fromMs = startMs + column * lengthMs;
    const toMs = fromMs + lengthMs;
    let [rows, knownMs] = [0, 0];
    for (const piece of pieces) {
      const sharedMs = Math.min(toMs, piece.endMs) - Math.max(fromMs, piece.startMs);
      if (sharedMs <= 0) continue;
      knownMs += sharedMs;
      rows += (piece.count * sharedMs) / Math.max(1, piece.endMs - piece.startMs);
    }
    return { rows, isKnown: knownMs * 2 >= lengthMs || rows > 0 };
  });
}
