/** Renders bars and histograms as text. Each state has its own character, so that bars are readable without colours. */
import type { CollectorCounts } from '../../api/generated/collector-version-policy.ts';
import type { TimeRange } from '../../base/time-range.ts';
import type { Colour, Paint } from './paint.ts';
import { widthOf } from './terminal-text.ts';

interface CollectorState {
  readonly member: Exclude<keyof CollectorCounts, 'matched'>;
  readonly label: string;
  readonly mark: string;
  readonly colour: Colour;
}

/**
 * States of collectors in the order in which the bar shows them. Each selected collector is in exactly one of these
 * states.
 */
export const collectorStates: readonly CollectorState[] = [
  { member: 'updated', label: 'updated', mark: '█', colour: 'green' },
  { member: 'inProgress', label: 'in progress', mark: '▓', colour: 'cyan' },
  { member: 'pending', label: 'pending', mark: '░', colour: 'dim' },
  { member: 'failed', label: 'failed', mark: '×', colour: 'red' },
  { member: 'offline', label: 'offline', mark: '○', colour: 'yellow' },
  { member: 'newer', label: 'newer', mark: '^', colour: 'blue' },
  { member: 'skipped', label: 'skipped', mark: '-', colour: 'magenta' },
  { member: 'foreign', label: 'foreign', mark: '~', colour: 'blue' },
];

/** Renders the bar of collector states, such as `[████▓▓░░]`, with exactly `width` columns. */
export function renderBar(counts: CollectorCounts, width: number, paint: Paint): string {
  const columns = Math.max(0, width - 2);
  const cells = apportion(
    collectorStates.map(({ member }) => counts[member]),
    columns,
  );
  const inside = collectorStates
    .map(({ mark, colour }, index) => paint(colour, mark.repeat(cells[index] ?? 0)))
    .join('');
  return `[${inside}${' '.repeat(columns - sum(cells))}]`;
}

/** Renders the legend of the bar, such as `█ updated 80  ▓ in progress 6`, without empty states. */
export function renderLegend(counts: CollectorCounts, width: number, paint: Paint): readonly string[] {
  const lines: string[] = [];
  for (const { member, label, mark, colour } of collectorStates) {
    if (counts[member] === 0) continue;
    const item = `${paint(colour, mark)} ${label} ${counts[member]}`;
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 2 + widthOf(item) <= width) lines[lines.length - 1] = `${line}  ${item}`;
    else lines.push(item);
  }
  return lines;
}

/**
 * Divides the columns of a bar in proportion to `amounts`. Each amount above 0 gets at least one column, so that even
 * one failed collector in ten thousand is visible.
 */
export function apportion(amounts: readonly number[], cells: number): readonly number[] {
  const total = sum(amounts);
  if (total === 0) return amounts.map(() => 0);
  const exact = amounts.map((amount) => (amount / total) * cells);
  const shares = exact.map(Math.floor);
  const byRemainder = exact
    .map((share, index) => ({ index, remainder: share % 1 }))
    .sort((a, b) => b.remainder - a.remainder);
  for (const { index } of byRemainder.slice(0, cells - sum(shares))) shares[index] = (shares[index] ?? 0) + 1;
  for (const [index, amount] of amounts.entries()) {
    const largest = shares.indexOf(Math.max(...shares));
    if (amount === 0 || (shares[index] ?? 0) > 0 || (shares[largest] ?? 0) < 2) continue;
    shares[largest] = (shares[largest] ?? 0) - 1;
    shares[index] = 1;
  }
  return shares;
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/**
 * Renders a progress bar such as `[████▌     ]` with exactly `width` columns. `ratio` is the completed fraction. The
 * bar is full only if `ratio` is 1.
 */
export function renderProgressBar(ratio: number, width: number, paint: Paint): string {
  const columns = Math.max(0, width - 2);
  const done = Math.floor(Math.min(1, Math.max(0, ratio)) * columns * 8);
  const inside = '█'.repeat(Math.floor(done / 8)) + eighths[done % 8];
  return `[${paint('green', inside)}${' '.repeat(columns - inside.length)}]`;
}

/** A time range with its number of rows. */
interface CountedRange extends TimeRange {
  readonly rows: number;
}

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
/** Character for a column with an unknown number of rows. */
const unknown = '·';
const empty = ' ';

/** Renders a histogram of rows over time in `width` columns. */
export function renderHistogram(ranges: readonly CountedRange[], range: TimeRange, width: number): string {
  const lengthMs = (range.toMs - range.fromMs) / width;
  const columns = Array.from({ length: width }, (_, column) => {
    const fromMs = range.fromMs + column * lengthMs;
    return rowsWithin({ fromMs, toMs: fromMs + lengthMs }, ranges);
  });
  const highest = Math.max(...columns.map((rows) => rows ?? 0));
  return columns.map((rows) => (rows === undefined ? unknown : block(rows, highest))).join('');
}

function block(rows: number, highest: number): string {
  if (rows === 0) return empty;
  // Any number of rows above 0 is visible as a block.
  return heights[Math.max(0, Math.ceil((rows / highest) * heights.length) - 1)] ?? heights[0];
}

/**
 * Returns the number of rows in one column of a histogram. Returns undefined if the number is unknown for most of the
 * column's time range.
 */
function rowsWithin({ fromMs, toMs }: TimeRange, ranges: readonly CountedRange[]): number | undefined {
  let [rows, knownMs] = [0, 0];
  for (const each of ranges) {
    const sharedMs = Math.min(toMs, each.toMs) - Math.max(fromMs, each.fromMs);
    if (sharedMs <= 0) continue;
    knownMs += sharedMs;
    rows += (each.rows * sharedMs) / Math.max(1, each.toMs - each.fromMs);
  }
  return knownMs * 2 >= toMs - fromMs || rows > 0 ? rows : undefined;
}
