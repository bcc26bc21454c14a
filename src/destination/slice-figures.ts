/**
 * Figures of messages by slices of message time, as an aggregation of the service has them, and their short form in a commit record (E6).
 *
 * Slices begin at multiples of their length since the epoch. All intervals of an export have the same slices, so that figures of a slice
 * that two intervals share can be added up.
 */
import { createHash } from 'node:crypto';
import type { StoredMembers } from './stored-json.ts';

/** Figures of the messages of one slice. Slices without messages are left out of all lists. */
export interface SliceFigures {
  /** Begin of the slice, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly rows: number;
  /** Sum of `_size`; absent where a message has none. */
  readonly bytes?: number;
  /** Smallest and largest `_messagetime`, in milliseconds since the epoch. */
  readonly oldestMs: number;
  readonly newestMs: number;
}

export const sliceFigureNames = ['rows', 'bytes', 'oldestMs', 'newestMs'] as const;
export type SliceFigureName = (typeof sliceFigureNames)[number];

/** The figures of a list of slices. */
export interface SlicedFigures {
  readonly lengthMs: number;
  /** In order of time. */
  readonly slices: readonly SliceFigures[];
}

/** The figures of the slices of one interval, in a form of bounded size. */
export interface SliceSummary {
  readonly lengthMs: number;
  /** Slices that lie partly outside the interval: a neighbouring interval may have other messages of them. At most two. */
  readonly shared: readonly SliceFigures[];
  /** For each figure one hash over all other slices (`hashOfSlices`). `bytes` is absent where a message has no `_size`. */
  readonly whole: { readonly [name in SliceFigureName]?: string };
}

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Adds up messages one after the other. */
export class MessageSum {
  #rows = 0;
  #bytes = 0;
  #hasSizes = true;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;

  add(timeMs: number, size: number | undefined): void {
    this.#rows++;
    if (size === undefined) this.#hasSizes = false;
    else this.#bytes += size;
    if (timeMs < this.#oldestMs) this.#oldestMs = timeMs;
    if (timeMs > this.#newestMs) this.#newestMs = timeMs;
  }

  take({ rows, bytes, oldestMs, newestMs }: Omit<SliceFigures, 'fromMs'>): void {
    this.#rows += rows;
    if (bytes === undefined) this.#hasSizes = false;
    else this.#bytes += bytes;
    this.#oldestMs = Math.min(this.#oldestMs, oldestMs);
    this.#newestMs = Math.max(this.#newestMs, newestMs);
  }

  /** Undefined where there are no messages. */
  figures(fromMs: number): SliceFigures | undefined {
    if (this.#rows === 0) return undefined;
    const times = { oldestMs: this.#oldestMs, newestMs: this.#newestMs };
    return { fromMs, rows: this.#rows, ...(this.#hasSizes ? { bytes: this.#bytes } : {}), ...times };
  }
}

/** Adds up messages by slices. Messages that come in order of time find their slice without a look-up. */
export class SliceSums {
  readonly #lengthMs: number;
  readonly #sums = new Map<number, MessageSum>();
  #index = Number.NaN;
  #sum = new MessageSum();

  /** One slice has all messages where the length is `Infinity`. */
  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  add(timeMs: number, size: number | undefined): void {
    this.#at(timeMs).add(timeMs, size);
  }

  /** `sum`: of messages of one millisecond. */
  take(sum: MessageSum): void {
    const figures = sum.figures(0);
    if (figures) this.#at(figures.oldestMs).take(figures);
  }

  /** In order of time. */
  get slices(): readonly SliceFigures[] {
    const isOne = this.#lengthMs === Number.POSITIVE_INFINITY;
    const all = [...this.#sums].map(([index, sum]) => sum.figures(isOne ? 0 : index * this.#lengthMs));
    return all.filter((each) => each !== undefined).sort(byTime);
  }

  #at(timeMs: number): MessageSum {
    const index = Math.floor(timeMs / this.#lengthMs);
    if (index === this.#index) return this.#sum;
    const sum = this.#sums.get(index) ?? new MessageSum();
    this.#sums.set(index, sum);
    this.#index = index;
    this.#sum = sum;
    return sum;
  }
}

/** Lists of slices of the same length as one list: a slice that is in several lists gets the sum of their figures. */
export function joinSlices(lists: readonly (readonly SliceFigures[])[]): readonly SliceFigures[] {
  const sums = new Map<number, MessageSum>();
  for (const figures of lists.flat()) {
    const sum = sums.get(figures.fromMs) ?? new MessageSum();
    sums.set(figures.fromMs, sum);
    sum.take(figures);
  }
  return [...sums].flatMap(([fromMs, sum]) => sum.figures(fromMs) ?? []).sort(byTime);
}

/** `slices`: of the messages of that interval, and of no others. */
export function summaryOf({ lengthMs, slices }: SlicedFigures, interval: Range): SliceSummary {
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

function isKnown(value: readonly [number, number | undefined]): value is readonly [number, number] {
  return value[1] !== undefined;
}

/** Whether the slice lies wholly inside the interval: no other interval has messages of it. */
export function isInside(slice: Range, interval: Range): boolean {
  return slice.fromMs >= interval.fromMs && slice.toMs <= interval.toMs;
}

/** The first 32 digits of a SHA-256 over one figure of slices in order of time: begin and value, a slice a line. */
export function hashOfSlices(values: readonly (readonly [fromMs: number, value: number])[]): string {
  const text = values.map(([fromMs, value]) => `${fromMs} ${value}\n`).join('');
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

export function readSummary(members: StoredMembers): SliceSummary {
  return {
    lengthMs: members.integer('lengthMs', 1),
    shared: members.objects('shared', readSlice),
    whole: members.object('whole', (whole) => {
      const hash = /^[0-9a-f]{32}$/;
      const bytes = whole.optionalText('bytes', hash);
      return {
        rows: whole.text('rows', hash),
        ...(bytes === undefined ? {} : { bytes }),
        oldestMs: whole.text('oldestMs', hash),
        newestMs: whole.text('newestMs', hash),
      };
    }),
  };
}

function readSlice(members: StoredMembers): SliceFigures {
  const bytes = members.optionalInteger('bytes');
  return {
    fromMs: members.instant('fromMs'),
    rows: members.integer('rows', 1),
    ...(bytes === undefined ? {} : { bytes }),
    oldestMs: members.instant('oldestMs'),
    newestMs: members.instant('newestMs'),
  };
}

function byTime(left: SliceFigures, right: SliceFigures): number {
  return left.fromMs - right.fromMs;
}
