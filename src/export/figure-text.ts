/** Figures of an export in a few characters, for tables and messages. */
import type { RangeFigures } from '../destination/digest-verdict.ts';
import type { SliceFigureName } from '../destination/slice-figures.ts';

const units = ['', 'k', 'M', 'G', 'T', 'P'];

/** With two digits at least, as in `999`, `1.2M`, `34k`; rounded down, so that nothing is promised. */
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

/** All digits, in groups: `1,234,567`. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** 0.29 times 100 is a little less than 29. */
const roundingError = 1e-9;

/** A part of a whole, 0 to 1, as whole percent: 100 only when all of it is done. */
export function percentOf(part: number): number {
  return part >= 1 ? 100 : Math.min(99, Math.floor(part * 100 + roundingError));
}

export function percentText(part: number): string {
  return `${percentOf(part)}%`;
}

/** Figures of messages, as far as they are known: `12 rows of 480 bytes, 2026-11-01T00:00:00.000Z to 2026-11-01T00:59:59.999Z`. */
export function figuresText({ rows, bytes, oldestMs, newestMs }: RangeFigures): string {
  const size = bytes === undefined ? '' : ` of ${countText(bytes)} bytes`;
  const [oldest, newest] = [oldestMs, newestMs].map((ms) => (ms === undefined ? '?' : new Date(ms).toISOString()));
  const times = oldestMs === undefined && newestMs === undefined ? '' : `, ${oldest} to ${newest}`;
  return `${countText(rows)} ${rows === 1 ? 'row' : 'rows'}${size}${times}`;
}

const sliceFigures: Readonly<Record<SliceFigureName, string>> = {
  rows: 'the number of rows',
  bytes: 'the bytes',
  oldestMs: 'the oldest time',
  newestMs: 'the newest time',
};

/** Which figures differ in slices of time alone, as the end of a sentence: `; some slices differ in the oldest time`. */
export function slicesText(names: readonly SliceFigureName[]): string {
  return names.length === 0 ? '' : `; some slices differ in ${names.map((name) => sliceFigures[name]).join(', ')}`;
}
