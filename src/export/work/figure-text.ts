/** Short texts for numbers, ratios and time ranges. */

import { groupedText, wordFor } from '../../base/number-text.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { isoText } from '../../base/time-text.ts';
import type { DifferingRange, RangeFigures } from '../../destination/digest-verdict.ts';
import type { SliceFigureName } from '../../destination/slice-figures.ts';

const units = ['', 'k', 'M', 'G', 'T', 'P'];

/** Renders a number, such as `999`, `34k` or `1.2M`, rounded down. */
export function amountText(amount: number): string {
  let rest = amount;
  let unit = 0;
  while (rest >= 1_000 && unit < units.length - 1) {
    rest /= 1_000;
    unit++;
  }
  if (unit === 0) return String(Math.floor(rest));
  const text = rest < 10 ? String(Math.floor(rest * 10) / 10) : String(Math.floor(rest));
  return `${text}${units[unit]}`;
}

/** Tolerance for floating-point rounding errors, such as the error in 0.29 × 100. */
const roundingError = 1e-9;

/** Converts a ratio to a whole percentage, rounded down, so that only a ratio of 1 yields 100. */
export function percentOf(ratio: number): number {
  return ratio >= 1 ? 100 : Math.min(99, Math.floor(ratio * 100 + roundingError));
}

export function percentText(ratio: number): string {
  return `${percentOf(ratio)}%`;
}

/**
 * Renders counts, sizes and times, such as `12 rows of 480 bytes, 2026-11-01T00:00:00.000Z to
 * 2026-11-01T00:59:59.999Z`.
 */
function figuresText({ rows, bytes, oldestMs, newestMs }: RangeFigures): string {
  const size = bytes === undefined ? '' : ` of ${groupedText(bytes)} bytes`;
  const [oldest, newest] = [oldestMs, newestMs].map((ms) => (ms === undefined ? '?' : isoText(ms)));
  const times = oldestMs === undefined && newestMs === undefined ? '' : `, ${oldest} to ${newest}`;
  return `${groupedText(rows)} ${wordFor(rows, 'row', 'rows')}${size}${times}`;
}

const sliceFigures: Readonly<Record<SliceFigureName, string>> = {
  rows: 'the number of rows',
  bytes: 'the bytes',
  oldestMs: 'the oldest time',
  newestMs: 'the newest time',
  offsetsMs: 'the sum of the times',
};

/** Renders how the written rows of a time range differ from the service's digest. */
export function differenceText({ counted, written, inSlices = [] }: DifferingRange): string {
  const names = inSlices.map((name) => sliceFigures[name]).join(', ');
  const periods = names === '' ? '' : `; some short periods differ in ${names}`;
  return `the service counts ${figuresText(counted)}, but the files contain ${figuresText(written)}${periods}`;
}

/** Renders an interval: `from 2026-11-01T00:00:00.000Z to 2026-11-01T01:00:00.000Z`. */
export function rangeText({ fromMs, toMs }: TimeRange): string {
  return `from ${isoText(fromMs)} to ${isoText(toMs)}`;
}
