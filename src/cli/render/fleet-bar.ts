/**
 * Bar and legend of the states of a fleet. Each state takes cells of the bar in proportion to its number of collectors. The marks differ,
 * so the bar is readable without colours.
 */
import type { CollectorCounts } from '../../api/generated/collector-version-policy.ts';
import { type Colour, type Paint, widthOf } from './palette.ts';

interface CollectorState {
  readonly member: Exclude<keyof CollectorCounts, 'matched'>;
  readonly label: string;
  readonly mark: string;
  readonly colour: Colour;
}

/** States in the order of the bar. Their numbers add up to `matched`. */
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

/** `[████▓▓░░]` with exactly `width` columns, including the brackets. Empty inside without collectors. */
export function renderBar(counts: CollectorCounts, width: number, paint: Paint): string {
  const room = Math.max(0, width - 2);
  const cells = apportion(
    collectorStates.map(({ member }) => counts[member]),
    room,
  );
  const inside = collectorStates
    .map(({ mark, colour }, index) => paint(colour, mark.repeat(cells[index] ?? 0)))
    .join('');
  return `[${inside}${' '.repeat(room - sum(cells))}]`;
}

/** `█ updated 80  ▓ in progress 6  …` without states of 0 collectors, in lines of at most `width` columns. */
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

/** `80 updated, 6 in progress, 2 failed`, without states of 0 collectors. */
export function renderCounts(counts: CollectorCounts): string {
  const parts = collectorStates
    .filter(({ member }) => counts[member] > 0)
    .map(({ member, label }) => `${counts[member]} ${label}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/**
 * Divides `cells` in proportion to `amounts`, by the largest remainder. Each amount above 0 gets a cell while there are enough, taken from
 * the largest amount, so that one failed collector of ten thousand is visible.
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
