/**
 * Counts messages in short periods of equal length (time slices), so that the counts can be compared with the service's
 * counts (E6). Each slice starts at a multiple of its length since the epoch.
 */

import { createHash } from 'node:crypto';
import { getOrAdd } from '../base/get-or-add.ts';
import type { TimeRange } from '../base/time-range.ts';
import { integer, list, object, optional, type Stored, storedText, timestampMs } from './stored-json.ts';

/** Count, total size and times of the messages in one time slice. */
const sliceFigures = object({
  /** Start of the time slice in ms since the epoch. */
  fromMs: timestampMs,
  rows: integer(1),
  /**
   * Sum of the message sizes (`_size`) in bytes. Absent if any message has no size, or if the sum is too large to be
   * exact.
   */
  bytes: optional(integer()),
  /** Times (`_messagetime`) of the first and last message in ms since the epoch. */
  oldestMs: timestampMs,
  newestMs: timestampMs,
  /**
   * Sum of the message times in ms, each relative to the start of the time slice. Absent if the sum is too large to be
   * exact.
   */
  offsetsMs: optional(integer()),
});
export type SliceFigures = Stored<typeof sliceFigures>;

export const sliceFigureNames = ['rows', 'bytes', 'oldestMs', 'newestMs', 'offsetsMs'] as const;
export type SliceFigureName = (typeof sliceFigureNames)[number];

/** Message counts, sizes and times for each time slice that contains messages. */
export interface SlicedFigures {
  readonly lengthMs: number;
  /** Time slices that contain messages, in chronological order. */
  readonly slices: readonly SliceFigures[];
}

const hash = storedText(/^[0-9a-f]{32}$/);

/**
 * Summary of an interval's message counts, sizes and times. For time slices inside the interval, it contains hashes
 * instead of the values.
 */
export const sliceSummary = object({
  lengthMs: integer(1),
  /**
   * Time slices that extend beyond the start or end of the interval. A neighbouring interval may have rows in the same
   * slices.
   */
  shared: list(sliceFigures),
  /**
   * For each kind of value, such as message sizes, a hash of the values in all slices that lie completely inside the
   * interval. Absent if one of these values is unknown.
   */
  whole: object({
    rows: hash,
    bytes: optional(hash),
    oldestMs: hash,
    newestMs: hash,
    offsetsMs: optional(hash),
  }),
});
export type SliceSummary = Stored<typeof sliceSummary>;

/** Names of the values that can be added up across several intervals. */
const summableNames = ['rows', 'bytes', 'offsetsMs'] as const satisfies readonly SliceFigureName[];
type SummableName = (typeof summableNames)[number];

export function isSummable(name: SliceFigureName): name is SummableName {
  return (summableNames as readonly string[]).includes(name);
}

const weightedSum = storedText(/^[0-9a-f]{16}$/);

/**
 * Weighted sums of message counts, sizes and times. They replace the hashes in intervals that are searched by receipt
 * time, because the sums of several intervals can be added up, but hashes cannot.
 */
export const weightedSums = object({
  lengthMs: integer(1),
  rows: weightedSum,
  bytes: optional(weightedSum),
  offsetsMs: optional(weightedSum),
});
export type WeightedSums = Stored<typeof weightedSums>;

class SliceSum {
  readonly #fromMs: number;
  #rows = 0;
  /** Sum of the message sizes in bytes. NaN if any message has no size. */
  #bytes = 0;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;
  #offsetsMs = 0;

  constructor(fromMs: number) {
    this.#fromMs = fromMs;
  }

  add(timeMs: number, size = Number.NaN): void {
    this.#rows++;
    this.#bytes += size;
    if (timeMs < this.#oldestMs) this.#oldestMs = timeMs;
    if (timeMs > this.#newestMs) this.#newestMs = timeMs;
    this.#offsetsMs += timeMs - this.#fromMs;
  }

  take({ rows, bytes = Number.NaN, oldestMs, newestMs, offsetsMs = Number.NaN }: SliceFigures): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#oldestMs = Math.min(this.#oldestMs, oldestMs);
    this.#newestMs = Math.max(this.#newestMs, newestMs);
    this.#offsetsMs += offsetsMs;
  }

  get figures(): SliceFigures {
    return {
      fromMs: this.#fromMs,
      rows: this.#rows,
      ...(Number.isSafeInteger(this.#bytes) ? { bytes: this.#bytes } : {}),
      ...{ oldestMs: this.#oldestMs, newestMs: this.#newestMs },
      ...(Number.isSafeInteger(this.#offsetsMs) ? { offsetsMs: this.#offsetsMs } : {}),
    };
  }
}

/**
 * Computes the count, size and times of the messages in each time slice. It is fastest if messages are added in
 * chronological order.
 */
export class SliceSums {
  readonly #lengthMs: number;
  readonly #sums = new Map<number, SliceSum>();
  #fromMs = Number.NaN;
  #toMs = Number.NaN;
  #sum = new SliceSum(0);

  /** `lengthMs` is the length of a time slice. `Infinity` puts all messages in one slice. */
  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  add(timeMs: number, size: number | undefined): void {
    if (!(timeMs >= this.#fromMs && timeMs < this.#toMs)) this.#find(timeMs);
    this.#sum.add(timeMs, size);
  }

  /** Counts, sizes and times of all slices so far, in chronological order. */
  get slices(): readonly SliceFigures[] {
    return [...this.#sums.values()].map((sum) => sum.figures).sort(byTime);
  }

  #find(timeMs: number): void {
    const isOne = this.#lengthMs === Number.POSITIVE_INFINITY;
    const fromMs = isOne ? 0 : Math.floor(timeMs / this.#lengthMs) * this.#lengthMs;
    this.#fromMs = isOne ? Number.NEGATIVE_INFINITY : fromMs;
    this.#toMs = fromMs + this.#lengthMs;
    this.#sum = getOrAdd(this.#sums, fromMs, () => new SliceSum(fromMs));
  }
}

/** Merges several lists of time slices, adding up the values for the same slice. */
export function joinSlices(lists: readonly (readonly SliceFigures[])[]): readonly SliceFigures[] {
  const sums = new Map<number, SliceSum>();
  for (const figures of lists.flat()) {
    getOrAdd(sums, figures.fromMs, () => new SliceSum(figures.fromMs)).take(figures);
  }
  return [...sums.values()].map((sum) => sum.figures).sort(byTime);
}

/** Summarises the time slices of an interval. */
export function summaryOf({ lengthMs, slices }: SlicedFigures, interval: TimeRange): SliceSummary {
  const isOwn = ({ fromMs }: SliceFigures) => isInside({ fromMs, toMs: fromMs + lengthMs }, interval);
  const inside = slices.filter((each) => isOwn(each));
  const hashOf = (name: SliceFigureName) => {
    const values = inside.map((each) => [each.fromMs, each[name]] as const);
    return values.every(isKnown) ? { [name]: hashOfSlices(values) } : {};
  };
  return {
    lengthMs,
    shared: slices.filter((each) => !isOwn(each)),
    whole: Object.assign({}, ...sliceFigureNames.map(hashOf)),
  };
}

/** Computes the weighted sums of an interval that is searched by receipt time. The sums replace the hashes. */
export function weightedSumsOf({ lengthMs, slices }: SlicedFigures): WeightedSums {
  const sumOf = (name: SummableName) => {
    const values = slices.map((each) => [each.fromMs, each[name]] as const);
    return values.every(isKnown) ? { [name]: weightedSumOf(values) } : {};
  };
  return Object.assign({ lengthMs, rows: '' }, ...summableNames.map(sumOf));
}

export function recordedSlices(
  figures: SlicedFigures,
  interval: TimeRange,
  byReceiptTime: boolean,
): { readonly slices: SliceSummary } | { readonly sliceSums: WeightedSums } {
  return byReceiptTime ? { sliceSums: weightedSumsOf(figures) } : { slices: summaryOf(figures, interval) };
}

/**
 * Returns the weighted sum of the values modulo 2^64 in hexadecimal, or an empty string if a value is not an integer.
 */
export function weightedSumOf(values: readonly (readonly [fromMs: number, value: number])[]): string {
  if (!values.every(([, value]) => Number.isSafeInteger(value))) return '';
  return hexOf(values.reduce((sum, [fromMs, value]) => sum + weightOf(fromMs) * BigInt(value), 0n));
}

/** Adds up the weighted sums of several intervals. */
export function addWeightedSums(sums: readonly string[]): string {
  return hexOf(sums.reduce((all, sum) => all + BigInt(`0x${sum}`), 0n));
}

function hexOf(sum: bigint): string {
  return BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
}

/**
 * Returns the weight of a time slice: a pseudorandom odd 64-bit number (SplitMix64). Because each slice has its own
 * weight, a value in the wrong slice changes the weighted sum.
 */
function weightOf(fromMs: number): bigint {
  let weight = BigInt.asUintN(64, BigInt(fromMs) + 0x9e3779b97f4a7c15n);
  weight = BigInt.asUintN(64, (weight ^ (weight >> 30n)) * 0xbf58476d1ce4e5b9n);
  weight = BigInt.asUintN(64, (weight ^ (weight >> 27n)) * 0x94d049bb133111ebn);
  return (weight ^ (weight >> 31n)) | 1n;
}

function isKnown(value: readonly [number, number | undefined]): value is readonly [number, number] {
  return value[1] !== undefined;
}

/** Reports whether a time slice lies completely inside an interval. */
export function isInside(slice: TimeRange, interval: TimeRange): boolean {
  return slice.fromMs >= interval.fromMs && slice.toMs <= interval.toMs;
}

/** Number of hashed bytes per time slice: its start and its value, as two doubles. */
const pairBytes = 16;

/** Returns a hash of the values of one kind, such as message sizes, in all time slices. */
export function hashOfSlices(values: readonly (readonly [fromMs: number, value: number])[]): string {
  const pairs = Buffer.allocUnsafe(values.length * pairBytes);
  let at = 0;
  for (const [fromMs, value] of values) {
    at = pairs.writeDoubleLE(fromMs, at);
    at = pairs.writeDoubleLE(value, at);
  }
  return createHash('sha256').update(pairs).digest('hex').slice(0, 32);
}

function byTime(left: SliceFigures, right: SliceFigures): number {
  return left.fromMs - right.fromMs;
}
