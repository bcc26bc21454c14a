/**
 * The digest of a range: what the service's own aggregation says of its rows, slice by slice, compared with what was written (E6). Pages
 * cannot fake it, since no row passes through it. Pure; `proving.ts` asks the service.
 *
 * An interval has one hash for each figure over the slices that lie wholly inside it. The figures of a slice that intervals share are
 * added up: a shared slice joins its intervals, which are compared together. Where slices are not bounded by intervals, as by receipt time,
 * or a service begins its slices at other moments than multiples of their length, only the figures of whole intervals are compared.
 *
 * A service may round large figures, as in `1.788E12`. A figure whose rounding is coarser than one is known up to half a unit of its last
 * digit. It is compared where ours is equal, differs where ours is not in reach, and is left out of the comparison otherwise.
 */
import type { CommitRecord, RepeatedMessage } from '../destination/commit-record.ts';
import {
  type ComparableFigure,
  comparableFigures,
  type DifferingRange,
  figuresOf,
  type ProvenRange,
  type RangeFigures,
  type RepeatedRows,
  type TimeRange,
} from '../destination/digest-verdict.ts';
import { joinFigures, joinRepeated } from '../destination/proof-range.ts';
import {
  hashOfSlices,
  isInside,
  joinSlices,
  type SliceFigureName,
  type SliceFigures,
  type SliceSummary,
  sliceFigureNames,
} from '../destination/slice-figures.ts';
import { maxPageRows, type RecordPage } from '../service/search-service.ts';
import { figureOf, textOf } from './aggregation.ts';
import { evenSegments, firstSegments } from './first-segments.ts';

/** A number that is known up to `reach` in both directions. */
export interface Figure {
  readonly value: number;
  readonly reach: number;
}

/** What a digest has of the rows of one slice; a figure that it does not know is undefined. */
export interface DigestSlice extends TimeRange {
  readonly rows: number;
  readonly bytes: Figure | undefined;
  readonly oldestMs: Figure | undefined;
  readonly newestMs: Figure | undefined;
}

const slice = 'logfleet_slice';
const offset = 'logfleet_offset';

/** Times are counted from the begin of a slice: such numbers are small, and written as they are. */
export function digestOperators(sliceText: string): string {
  const figures = `count, sum(_size), min(${offset}), max(${offset})`;
  return `timeslice ${sliceText} as ${slice} | _messagetime - ${slice} as ${offset} | ${figures} by ${slice}`;
}

/** In order of time; undefined where the records are something else. */
export function digestSlices(records: RecordPage['records'], lengthMs: number): readonly DigestSlice[] | undefined {
  const slices: DigestSlice[] = [];
  const seen = new Set<number>();
  for (const record of records) {
    const fromMs = figureOf(record, slice);
    const rows = figureOf(record, '_count');
    // A number of rows that is rounded counts nothing.
    const isRounded = readFigure(textOf(record, '_count'))?.reach !== 0;
    if (fromMs === undefined || rows === undefined || isRounded || seen.has(fromMs)) return undefined;
    seen.add(fromMs);
    if (rows === 0) continue;
    const time = (name: string) => shifted(readFigure(textOf(record, name)), fromMs);
    const bytes = readFigure(textOf(record, '_sum'));
    slices.push({ fromMs, toMs: fromMs + lengthMs, rows, bytes, oldestMs: time('_min'), newestMs: time('_max') });
  }
  return slices.sort((left, right) => left.fromMs - right.fromMs);
}

const figureForm = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Undefined of what is no number. */
export function readFigure(text: string): Figure | undefined {
  const [, whole = '', fraction = '', exponent] = figureForm.exec(text) ?? [];
  if (whole === '') return undefined;
  const unit = exponent === undefined ? 0 : 10 ** (Number(exponent) - fraction.length);
  return { value: Number(text), reach: unit > 1 ? unit / 2 : 0 };
}

function shifted(figure: Figure | undefined, byMs: number): Figure | undefined {
  return figure && { value: figure.value + byMs, reach: figure.reach };
}

/** Neighbouring intervals that are compared together, and the slices that lie in them. */
export interface DigestGroup {
  readonly intervals: readonly CommitRecord[];
  readonly slices: readonly DigestSlice[];
}

/** `intervals` follow one another; a slice may begin before the first, or end behind the last. */
export function groupsOf(intervals: readonly CommitRecord[], slices: readonly DigestSlice[]): readonly DigestGroup[] {
  const groups: { intervals: CommitRecord[]; slices: DigestSlice[] }[] = [];
  let next = 0;
  let reachedMs = Number.NEGATIVE_INFINITY;
  for (const interval of intervals) {
    // A slice that begins in an interval before this one, and ends in it or behind it.
    const group = reachedMs > interval.fromMs ? groups.at(-1) : undefined;
    const own = group ?? { intervals: [], slices: [] };
    if (!group) groups.push(own);
    own.intervals.push(interval);
    for (; (slices[next]?.fromMs ?? Number.POSITIVE_INFINITY) < interval.toMs; next++) {
      const each = slices[next] as DigestSlice;
      own.slices.push(each);
      reachedMs = Math.max(reachedMs, each.toMs);
    }
  }
  // What lies behind the end is not in any interval: it is counted with the last.
  groups.at(-1)?.slices.push(...slices.slice(next));
  return groups;
}

/** What a group's slices add up to. */
interface Counted {
  readonly rows: number;
  readonly bytes: Figure | undefined;
  readonly oldestMs: Figure | undefined;
  readonly newestMs: Figure | undefined;
}

export type Comparison =
  | { readonly kind: 'same'; readonly range: ProvenRange }
  | { readonly kind: 'differs'; readonly range: DifferingRange };

/** Of one figure. `unknown`: the service rounds it, or one side does not know it. */
type Outcome = 'same' | 'differs' | 'unknown';

/** `confirmed`: messages that the service has confirmed to have more than once. */
export function compare({ intervals, slices }: DigestGroup, confirmed: readonly ConfirmedMessage[] = []): Comparison {
  const repeated = sumOfConfirmed(confirmed);
  const written = figuresOf(intervals);
  const counted = addUp(slices);
  const expected = {
    ...written,
    rows: written.rows + repeated.rows,
    bytes: sumOrNone(written.bytes, repeated.bytes),
  };
  const range = { fromMs: intervals[0]?.fromMs ?? 0, toMs: intervals.at(-1)?.toMs ?? 0 };
  const bySlice = outcomesBySlice(intervals, withoutRepeats(slices, confirmed));
  const outcomes = new Map(
    sliceFigureNames.map((name) => [name, joinOutcomes([outcomeOf(counted, expected, name), ...bySlice(name)])]),
  );
  const differing = sliceFigureNames.filter((name) => outcomes.get(name) === 'differs');
  if (differing.length > 0) {
    const inSlices = differing.filter((name) => outcomeOf(counted, expected, name) !== 'differs');
    const differs = { ...range, counted: exactOf(counted), written };
    return { kind: 'differs', range: { ...differs, ...(inSlices.length > 0 ? { inSlices } : {}) } };
  }
  const compared = comparableFigures.filter((name) => outcomes.get(name) === 'same');
  return {
    kind: 'same',
    range: { ...range, figures: written, compared, ...(repeated.rows > 0 ? { repeated } : {}) },
  };
}

function joinOutcomes(outcomes: readonly Outcome[]): Outcome {
  if (outcomes.includes('differs')) return 'differs';
  return outcomes.includes('unknown') ? 'unknown' : 'same';
}

/** Compares the figures of each slice. No outcome at all where the records and the digest do not have the same slices. */
function outcomesBySlice(
  intervals: readonly CommitRecord[],
  slices: readonly DigestSlice[],
): (name: SliceFigureName) => readonly Outcome[] {
  const summaries = intervals.flatMap((interval) => interval.slices ?? []);
  if (summaries.length < intervals.length || !haveSameSlices(summaries, slices)) return () => [];
  const inside: readonly DigestSlice[][] = intervals.map(() => []);
  const shared: DigestSlice[] = [];
  let index = 0;
  for (const slice of slices) {
    while (index < intervals.length - 1 && (intervals[index] as CommitRecord).toMs <= slice.fromMs) index++;
    const isOwn = isInside(slice, intervals[index] as CommitRecord);
    (isOwn ? (inside[index] as DigestSlice[]) : shared).push(slice);
  }
  const pairs = pairsOf(shared, joinSlices(summaries.map((summary) => summary.shared)));
  return (name) => [
    ...summaries.map(({ whole }, at) => outcomeOfHash(inside[at] ?? [], whole, name)),
    ...pairs.map(([counted, written]) => outcomeOf(counted, written, name)),
  ];
}

function haveSameSlices([first, ...others]: readonly SliceSummary[], slices: readonly DigestSlice[]): boolean {
  const lengthMs = first?.lengthMs ?? 0;
  const areOnGrid = slices.every(({ fromMs, toMs }) => toMs - fromMs === lengthMs && fromMs % lengthMs === 0);
  return areOnGrid && others.every((other) => other.lengthMs === lengthMs);
}

const noRows = { rows: 0, bytes: undefined, oldestMs: undefined, newestMs: undefined };

/** Each slice as it was counted, beside what was written of it. */
function pairsOf(
  counted: readonly DigestSlice[],
  written: readonly SliceFigures[],
): readonly (readonly [Counted, Expected])[] {
  const writtenAt = new Map(written.map((figures) => [figures.fromMs, figures]));
  const countedAt = new Set(counted.map(({ fromMs }) => fromMs));
  return [
    ...counted.map((slice) => [slice, writtenAt.get(slice.fromMs) ?? noRows] as const),
    ...written.filter(({ fromMs }) => !countedAt.has(fromMs)).map((figures) => [noRows, figures] as const),
  ];
}

function outcomeOfHash(slices: readonly DigestSlice[], written: SliceSummary['whole'], name: SliceFigureName): Outcome {
  const figures = slices.map((slice) => [slice.fromMs, name === 'rows' ? exactly(slice.rows) : slice[name]] as const);
  const known = figures.flatMap(([fromMs, figure]) => (figure ? [[fromMs, figure.value] as const] : []));
  const ours = written[name];
  if (ours === undefined || known.length < figures.length) return 'unknown';
  if (hashOfSlices(known) === ours) return 'same';
  return figures.some(([, figure]) => figure?.reach !== 0) ? 'unknown' : 'differs';
}

/** The slices as they would be if the service had each message once. */
function withoutRepeats(
  slices: readonly DigestSlice[],
  confirmed: readonly ConfirmedMessage[],
): readonly DigestSlice[] {
  if (confirmed.every(({ rows }) => rows === 0)) return slices;
  return slices.map((slice) => {
    const repeats = sumOfConfirmed(confirmed.filter(({ atMs }) => slice.fromMs <= atMs && atMs < slice.toMs));
    if (repeats.rows === 0) return slice;
    const value = sumOrNone(slice.bytes?.value, repeats.bytes === undefined ? undefined : -repeats.bytes);
    const bytes = slice.bytes && value !== undefined ? { ...slice.bytes, value } : undefined;
    return { ...slice, rows: slice.rows - repeats.rows, bytes };
  });
}

function exactly(value: number): Figure {
  return { value, reach: 0 };
}

function sumOrNone(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

function addUp(slices: readonly DigestSlice[]): Counted {
  const figures = (name: ComparableFigure) => slices.map((each) => each[name]);
  const none = slices.length === 0;
  return {
    rows: slices.reduce((sum, { rows }) => sum + rows, 0),
    bytes: sumOf(figures('bytes')),
    oldestMs: none ? undefined : extremeOf(figures('oldestMs'), -1),
    newestMs: none ? undefined : extremeOf(figures('newestMs'), 1),
  };
}

function sumOf(figures: readonly (Figure | undefined)[]): Figure | undefined {
  let sum = { value: 0, reach: 0 };
  for (const figure of figures) {
    if (!figure) return undefined;
    sum = { value: sum.value + figure.value, reach: sum.reach + figure.reach };
  }
  return sum;
}

function extremeOf(figures: readonly (Figure | undefined)[], sign: 1 | -1): Figure | undefined {
  let extreme: Figure | undefined;
  for (const figure of figures) {
    if (!figure) return undefined;
    if (!extreme || (figure.value - extreme.value) * sign > 0) extreme = figure;
  }
  return extreme;
}

/** What has to be counted: figures of rows that were written. */
type Expected = { readonly rows: number } & { readonly [name in ComparableFigure]?: number | undefined };

/** Of no rows there are no times, and that is the same. */
function outcomeOf(counted: Counted, expected: Expected, name: SliceFigureName): Outcome {
  if (name === 'rows') return counted.rows === expected.rows ? 'same' : 'differs';
  const [theirs, ours] = [counted[name], expected[name]];
  if (counted.rows === 0 && expected.rows === 0) return 'same';
  if (!theirs || ours === undefined) return 'unknown';
  if (theirs.value === ours) return 'same';
  return Math.abs(theirs.value - ours) <= theirs.reach ? 'unknown' : 'differs';
}

function exactOf({ rows, bytes, oldestMs, newestMs }: Counted): RangeFigures {
  const exact = (figure: Figure | undefined) =>
    figure && figure.reach === 0 && Number.isSafeInteger(figure.value) ? figure.value : undefined;
  const [sum, oldest, newest] = [bytes, oldestMs, newestMs].map(exact);
  return {
    rows,
    ...(sum === undefined ? {} : { bytes: sum }),
    ...(oldest === undefined ? {} : { oldestMs: oldest }),
    ...(newest === undefined ? {} : { newestMs: newest }),
  };
}

/** Neighbours that are proven by the same figures are one range. */
export function joinProven(ranges: readonly ProvenRange[]): readonly ProvenRange[] {
  const joined: ProvenRange[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (last?.toMs !== range.fromMs || last.compared.join() !== range.compared.join()) {
      joined.push(range);
      continue;
    }
    const repeated = joinRepeated(last.repeated, range.repeated);
    joined[joined.length - 1] = {
      ...{ fromMs: last.fromMs, toMs: range.toMs, compared: last.compared },
      figures: joinFigures(last.figures, range.figures),
      ...(repeated && { repeated }),
    };
  }
  return joined;
}

/**
 * How a group that differs is searched again: in pieces with fewer rows than a search has found of it where that lacks some, since a
 * service may cut a search without a word. Otherwise as it was.
 */
export function againOf(
  { intervals, slices }: DigestGroup,
  { byReceiptTime, round }: { readonly byReceiptTime: boolean; readonly round: number },
): readonly TimeRange[] {
  const { rows } = figuresOf(intervals);
  const lacksRows = slices.reduce((sum, each) => sum + each.rows, 0) > rows;
  const same = intervals.map(({ fromMs, toMs }) => ({ fromMs, toMs }));
  if (!lacksRows) return same;
  if (byReceiptTime) return same.flatMap((range) => halvesOf(range));
  const range = { fromMs: intervals[0]?.fromMs ?? 0, toMs: intervals.at(-1)?.toMs ?? 0 };
  // A page at most where nearly all is missing; less from round to round, since any number of rows may be the limit.
  const least = Math.ceil(maxPageRows / 2 ** (round - 1));
  const limit = intervals.reduce((most, { written }) => Math.max(most, written), least);
  const counts = slices
    .filter(({ fromMs }) => fromMs < range.toMs)
    .map((each) => ({ ...each, fromMs: Math.max(each.fromMs, range.fromMs), toMs: Math.min(each.toMs, range.toMs) }))
    // Nothing shows where in a slice its rows are.
    .flatMap((each) => evenSegments(each, limit))
    .map(({ fromMs, rows }) => ({ startMs: fromMs, rows }));
  return firstSegments({ range, slices: counts, limit, foundRows: 0 }).map(({ fromMs, toMs }) => ({ fromMs, toMs }));
}

function halvesOf({ fromMs, toMs }: TimeRange): readonly TimeRange[] {
  const middleMs = Math.floor((fromMs + toMs) / 2);
  if (middleMs === fromMs) return [{ fromMs, toMs }];
  return [
    { fromMs, toMs: middleMs },
    { fromMs: middleMs, toMs },
  ];
}

/** So many messages are asked for by their ids at most: a query has at most 10,000 characters. */
export const mostConfirmed = 100;

/**
 * The messages of a group that came more than once, where the service can be asked whether it has them so. Undefined where there are
 * none, where they are too many, or where a record does not name them.
 */
export function repeatedOf({ intervals }: DigestGroup): readonly RepeatedMessage[] | undefined {
  const repeated = intervals.flatMap((interval) => interval.repeated ?? []);
  const areNamed = intervals.every((interval) => interval.duplicates === 0 || interval.repeated !== undefined);
  const ids = new Set(repeated.map(({ id }) => id));
  return areNamed && ids.size > 0 && ids.size <= mostConfirmed && ids.size === repeated.length ? repeated : undefined;
}

export function confirmOperators(repeated: readonly RepeatedMessage[]): string {
  const condition = repeated.map(({ id }) => `_messageid = "${id}"`).join(' or ');
  return `where ${condition} | count by _messageid`;
}

/** A message that came more than once, and how many of its rows the service has beside the first. */
export interface ConfirmedMessage {
  readonly atMs: number;
  readonly rows: number;
  /** Of these rows together; absent where the message has no `_size`. */
  readonly bytes?: number;
}

/** Messages that the service has more than once, of those that came so; undefined where it has another number of one than can be. */
export function confirmedOf(
  records: RecordPage['records'],
  repeated: readonly RepeatedMessage[],
): readonly ConfirmedMessage[] | undefined {
  const counts = new Map(records.map((record) => [textOf(record, '_messageid'), figureOf(record, '_count')]));
  const confirmed: ConfirmedMessage[] = [];
  for (const { id, atMs, times, bytes } of repeated) {
    const count = counts.get(id);
    if (count === undefined || count < 1 || count > times + 1) return undefined;
    const rows = count - 1;
    confirmed.push({ atMs, rows, ...(bytes === undefined ? {} : { bytes: rows * bytes }) });
  }
  return confirmed;
}

function sumOfConfirmed(confirmed: readonly ConfirmedMessage[]): RepeatedRows {
  const rows = confirmed.reduce((sum, each) => sum + each.rows, 0);
  const bytes = confirmed.reduce((sum, each) => sum + (each.bytes ?? Number.NaN), 0);
  return { rows, ...(Number.isNaN(bytes) ? {} : { bytes }) };
}
