/**
 * Compares the written rows with the counts, sizes and times that the service itself computes for short periods. This
 * comparison is called a digest (E6). The functions are pure; `proving.ts` sends the requests.
 *
 * A commit record contains a hash over the values of all periods, or a weighted sum for searches by receipt time. The
 * service may round a number, for example to `1.788E12`. If rounding may explain a difference, the value counts as not
 * compared.
 */
import { defined } from '../../base/record.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { type CommitRecord, type RepeatedMessage, sumOfFigures } from '../../destination/commit-record.ts';
import {
  type ComparableFigure,
  comparableFigures,
  type DifferingRange,
  figuresOf,
  type ProvenRange,
  type RangeFigures,
  type RepeatedRows,
} from '../../destination/digest-verdict.ts';
import {
  addWeightedSums,
  hashOfSlices,
  isInside,
  isSummable,
  joinSlices,
  type SliceFigureName,
  type SliceFigures,
  sliceFigureNames,
  weightedSumOf,
} from '../../destination/slice-figures.ts';
import { figureOf, textOf } from '../../service/jobs/aggregation.ts';
import { maxPageRows, type RecordPage } from '../../service/jobs/search-service.ts';
import { evenSegments, firstSegments } from '../plan/first-segments.ts';

/** Reports whether the service's row counts for all `parts` add up to its row count for `whole`. */
export function areWhole(whole: DigestGroup, parts: readonly DigestGroup[]): boolean {
  const rowsIn = ({ slices }: DigestGroup) => weightedSumOf(slices.map(({ fromMs, rows }) => [fromMs, rows] as const));
  return addWeightedSums(parts.map(rowsIn)) === rowsIn(whole);
}

/** A number that the service returned. `reach` is the maximum rounding error of the number, or 0 if it is exact. */
export interface Figure {
  readonly value: number;
  readonly reach: number;
}

/** Count, sizes and times of rows according to the service. A value is undefined if the service did not report it. */
interface CountedFigures {
  readonly rows: number;
  readonly bytes: Figure | undefined;
  readonly oldestMs: Figure | undefined;
  readonly newestMs: Figure | undefined;
  /**
   * Sum of the rows' times in ms, each relative to the start of the row's period. Undefined if the range has several
   * periods.
   */
  readonly offsetsMs: Figure | undefined;
}

export interface DigestSlice extends TimeRange, CountedFigures {}

const slice = 'logfleet_slice';
const offset = 'logfleet_offset';
const offsets = 'logfleet_offsets';

/**
 * Returns the query operators that compute counts, sizes and times for each period. Times are relative to the start of
 * their period, so that their sums are small enough to be exact.
 */
export function digestOperators(sliceText: string): string {
  const figures = `count, sum(_size), min(${offset}), max(${offset}), sum(${offset}) as ${offsets}`;
  return `timeslice ${sliceText} as ${slice} | _messagetime - ${slice} as ${offset} | ${figures} by ${slice}`;
}

/** Returns the periods in the service's response in chronological order, or undefined if a record is invalid. */
export function digestSlices(records: RecordPage['records'], lengthMs: number): readonly DigestSlice[] | undefined {
  const slices: DigestSlice[] = [];
  const seen = new Set<number>();
  for (const record of records) {
    // Messages before 1970 have negative times, so the start of a period can be negative.
    const start = readFigure(textOf(record, slice));
    const fromMs = start?.reach === 0 && Number.isSafeInteger(start.value) ? start.value : undefined;
    const count = readFigure(textOf(record, '_count'));
    // Rejects a rounded row count, because it could hide missing rows.
    if (fromMs === undefined || !isWholeNumber(count) || seen.has(fromMs)) return undefined;
    const rows = count.value;
    seen.add(fromMs);
    if (rows === 0) continue;
    const time = (name: string) => shifted(readFigure(textOf(record, name)), fromMs);
    slices.push({
      ...{ fromMs, toMs: fromMs + lengthMs, rows },
      bytes: readFigure(textOf(record, '_sum')),
      oldestMs: time('_min'),
      newestMs: time('_max'),
      offsetsMs: readFigure(textOf(record, offsets)),
    });
  }
  return slices.sort((left, right) => left.fromMs - right.fromMs);
}

function isWholeNumber(figure: Figure | undefined): figure is Figure {
  return figure?.reach === 0 && Number.isSafeInteger(figure.value) && figure.value >= 0;
}

/** Matches integers of up to 15 digits, which JavaScript can represent exactly. */
const plainForm = /^\d{1,15}$/;
const figureForm = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Parses a number such as `1.788E12`. Returns undefined if the text is not a number. */
export function readFigure(text: string): Figure | undefined {
  if (plainForm.test(text)) return { value: Number(text), reach: 0 };
  const [, whole = '', fraction = '', exponent] = figureForm.exec(text) ?? [];
  if (whole === '') return undefined;
  const unit = exponent === undefined ? 0 : 10 ** (Number(exponent) - fraction.length);
  return { value: Number(text), reach: unit > 1 ? unit / 2 : 0 };
}

function shifted(figure: Figure | undefined, by: number): Figure | undefined {
  return figure && { value: figure.value + by, reach: figure.reach };
}

/** Neighbouring intervals that are compared together, because they share a period. */
export interface DigestGroup {
  readonly intervals: readonly CommitRecord[];
  readonly slices: readonly DigestSlice[];
}

/** Groups intervals that share a period with rows. */
export function groupsOf(intervals: readonly CommitRecord[], slices: readonly DigestSlice[]): readonly DigestGroup[] {
  const groups: { intervals: CommitRecord[]; slices: DigestSlice[] }[] = [];
  let next = 0;
  let reachedMs = Number.NEGATIVE_INFINITY;
  for (const interval of intervals) {
    // If an interval shares a period with the previous interval, both belong to the same group. The service counts all
    // rows of a period together, so the rows of the two intervals cannot be compared separately.
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
  // The last group also contains the periods after its last interval. Unexpected rows in these periods then count as a
  // difference.
  groups.at(-1)?.slices.push(...slices.slice(next));
  return groups;
}

export type Comparison =
  | { readonly kind: 'same'; readonly range: ProvenRange }
  | { readonly kind: 'differs'; readonly range: DifferingRange };

/**
 * Result of comparing one value with the service's value. `unknown` means that a value is missing, or that rounding may
 * explain a difference.
 */
type Agreement = 'same' | 'differs' | 'unknown';

/**
 * Compares the service's values with the written rows. `confirmed` lists messages that the service is known to store
 * more than once.
 */
export function compare({ intervals, slices }: DigestGroup, confirmed: readonly ConfirmedMessage[] = []): Comparison {
  const repeated = sumOfConfirmed(confirmed);
  const written = figuresOf(intervals);
  const counted = addUp(slices);
  const expected = {
    ...written,
    rows: written.rows + repeated.rows,
    bytes: sumOrNone(written.bytes, repeated.bytes),
  };
  const range = rangeOf(intervals);
  const own = withoutRepeats(slices, confirmed);
  const bySlice = agreementsBySlice(intervals, own) ?? agreementsBySums(intervals, own);
  const agreements = new Map(
    sliceFigureNames.map((name) => {
      return [name, joinAgreements([compareFigure(counted, expected, name), ...(bySlice?.(name) ?? [])])];
    }),
  );
  const differing = sliceFigureNames.filter((name) => agreements.get(name) === 'differs');
  if (differing.length > 0) {
    const inSlices = differing.filter((name) => compareFigure(counted, expected, name) !== 'differs');
    const differs = { ...range, counted: exactOf(counted), written };
    return { kind: 'differs', range: { ...differs, ...(inSlices.length > 0 ? { inSlices } : {}) } };
  }
  const compared = comparableFigures.filter((name) => agreements.get(name) === 'same');
  return {
    kind: 'same',
    range: {
      ...{ ...range, figures: written, compared },
      ...(repeated.rows > 0 ? { repeated } : {}),
      ...(bySlice ? {} : { wholeIntervals: true }),
    },
  };
}

function joinAgreements(agreements: readonly Agreement[]): Agreement {
  if (agreements.includes('differs')) return 'differs';
  return agreements.includes('unknown') ? 'unknown' : 'same';
}

/**
 * Compares the values for each period. Returns undefined if the periods in the commit records differ from those in the
 * service's response.
 */
function agreementsBySlice(
  intervals: readonly CommitRecord[],
  slices: readonly DigestSlice[],
): ((name: SliceFigureName) => readonly Agreement[]) | undefined {
  const summaries = intervals.flatMap((interval) => interval.slices ?? []);
  if (summaries.length < intervals.length || !haveSameSlices(summaries, slices)) return undefined;
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
    ...summaries.map(({ whole }, at) => agreementOf(inside[at] ?? [], name, whole[name], hashOfSlices)),
    ...pairs.map(([counted, written]) => compareFigure(counted, written, name)),
  ];
}

/**
 * Compares the weighted sums of an export that searches by receipt time. Returns undefined if a commit record has no
 * comparable sums.
 */
function agreementsBySums(
  intervals: readonly CommitRecord[],
  slices: readonly DigestSlice[],
): ((name: SliceFigureName) => readonly Agreement[]) | undefined {
  const written = intervals.flatMap(({ sliceSums }) => sliceSums ?? []);
  if (written.length < intervals.length || !haveSameSlices(written, slices)) return undefined;
  return (name) => {
    if (!isSummable(name)) return [];
    const ours = written.flatMap((sums) => sums[name] ?? []);
    return [agreementOf(slices, name, ours.length < written.length ? undefined : addWeightedSums(ours), weightedSumOf)];
  };
}

function haveSameSlices(
  [first, ...others]: readonly { readonly lengthMs: number }[],
  slices: readonly DigestSlice[],
): boolean {
  const lengthMs = first?.lengthMs ?? 0;
  const areOnGrid = slices.every(({ fromMs, toMs }) => toMs - fromMs === lengthMs && fromMs % lengthMs === 0);
  return areOnGrid && others.every((other) => other.lengthMs === lengthMs);
}

const noRows = { rows: 0, bytes: undefined, oldestMs: undefined, newestMs: undefined, offsetsMs: undefined };

/** Pairs the service's values for each period with those of the written rows in the same period. */
function pairsOf(
  counted: readonly DigestSlice[],
  written: readonly SliceFigures[],
): readonly (readonly [CountedFigures, Expected])[] {
  const writtenAt = new Map(written.map((figures) => [figures.fromMs, figures]));
  const countedAt = new Set(counted.map(({ fromMs }) => fromMs));
  return [
    ...counted.map((slice) => [slice, writtenAt.get(slice.fromMs) ?? noRows] as const),
    ...written.filter(({ fromMs }) => !countedAt.has(fromMs)).map((figures) => [noRows, figures] as const),
  ];
}

/**
 * Compares the service's values of one kind, such as message sizes, with those of the written rows. `ours` is the hash
 * or weighted sum of the written values. `shorten` computes the same hash or sum from the service's values.
 */
function agreementOf(
  slices: readonly DigestSlice[],
  name: SliceFigureName,
  ours: string | undefined,
  shorten: (values: readonly (readonly [fromMs: number, value: number])[]) => string,
): Agreement {
  if (ours === undefined) return 'unknown';
  const values: (readonly [number, number])[] = [];
  let isRounded = false;
  for (const slice of slices) {
    const figure = name === 'rows' ? exactly(slice.rows) : slice[name];
    if (!figure) return 'unknown';
    if (figure.reach !== 0) isRounded = true;
    values.push([slice.fromMs, figure.value]);
  }
  if (shorten(values) === ours) return 'same';
  return isRounded ? 'unknown' : 'differs';
}

/** Returns the values that the service would have if it stored each of the `confirmed` messages only once. */
function withoutRepeats(
  slices: readonly DigestSlice[],
  confirmed: readonly ConfirmedMessage[],
): readonly DigestSlice[] {
  if (confirmed.every(({ rows }) => rows === 0)) return slices;
  return slices.map((slice) => {
    const inside = confirmed.filter(({ atMs }) => slice.fromMs <= atMs && atMs < slice.toMs);
    const { rows, bytes } = sumOfConfirmed(inside);
    if (rows === 0) return slice;
    const offsetsMs = inside.reduce((sum, each) => sum + each.rows * (each.atMs - slice.fromMs), 0);
    return {
      ...slice,
      rows: slice.rows - rows,
      bytes: bytes === undefined ? undefined : shifted(slice.bytes, -bytes),
      offsetsMs: shifted(slice.offsetsMs, -offsetsMs),
    };
  });
}

function exactly(value: number): Figure {
  return { value, reach: 0 };
}

function sumOrNone(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}

function addUp(slices: readonly DigestSlice[]): CountedFigures {
  const figures = (name: ComparableFigure) => slices.map((each) => each[name]);
  const sum = (left: Figure, right: Figure) => ({ value: left.value + right.value, reach: left.reach + right.reach });
  return {
    rows: slices.reduce((rows, each) => rows + each.rows, 0),
    bytes: joined(figures('bytes'), sum, exactly(0)),
    oldestMs: joined(figures('oldestMs'), (left, right) => (right.value < left.value ? right : left)),
    newestMs: joined(figures('newestMs'), (left, right) => (right.value > left.value ? right : left)),
    offsetsMs: undefined,
  };
}

/** Combines the values of several periods into one. Returns undefined if a value is missing. */
function joined(
  figures: readonly (Figure | undefined)[],
  join: (left: Figure, right: Figure) => Figure,
  first = figures[0],
): Figure | undefined {
  return figures.reduce((all, each) => all && each && join(all, each), first);
}

/** Values that the service must return if no row is missing. */
type Expected = { readonly rows: number } & { readonly [name in SliceFigureName]?: number | undefined };

/**
 * Compares a value from the service with the expected value. If neither side has any rows, the values count as equal.
 */
function compareFigure(counted: CountedFigures, expected: Expected, name: SliceFigureName): Agreement {
  if (name === 'rows') return counted.rows === expected.rows ? 'same' : 'differs';
  const [theirs, ours] = [counted[name], expected[name]];
  if (counted.rows === 0 && expected.rows === 0) return 'same';
  if (!theirs || ours === undefined) return 'unknown';
  if (theirs.value === ours) return 'same';
  return Math.abs(theirs.value - ours) <= theirs.reach ? 'unknown' : 'differs';
}

function exactOf({ rows, bytes, oldestMs, newestMs }: CountedFigures): RangeFigures {
  const exact = (figure: Figure | undefined) =>
    figure && figure.reach === 0 && Number.isSafeInteger(figure.value) ? figure.value : undefined;
  return { rows, ...defined({ bytes: exact(bytes), oldestMs: exact(oldestMs), newestMs: exact(newestMs) }) };
}

/**
 * Returns new segments for intervals whose rows differ from the service's counts. If rows are missing, the new segments
 * are shorter than the intervals.
 */
export function againOf(
  { intervals, slices }: DigestGroup,
  { byReceiptTime, round }: { readonly byReceiptTime: boolean; readonly round: number },
): readonly TimeRange[] {
  const { rows } = figuresOf(intervals);
  const lacksRows = slices.reduce((sum, each) => sum + each.rows, 0) > rows;
  if (!lacksRows) return intervals.map(timeRange);
  if (byReceiptTime) {
    return intervals.flatMap(({ fromMs, toMs }) => evenSegments({ fromMs, toMs, rows: 0 }, 2)).map(timeRange);
  }
  const range = rangeOf(intervals);
  // The service's message limit is not known here. The largest row count of an interval is used instead, because one
  // search has returned this many rows.
  const min = Math.ceil(maxPageRows / 2 ** (round - 1));
  const limit = intervals.reduce((max, { written }) => Math.max(max, written), min);
  const counts = slices
    .filter(({ fromMs }) => fromMs < range.toMs)
    .map((each) => ({ ...each, fromMs: Math.max(each.fromMs, range.fromMs), toMs: Math.min(each.toMs, range.toMs) }))
    .flatMap((each) => evenSegments(each, Math.ceil(each.rows / limit)))
    .map(({ fromMs, rows }) => ({ startMs: fromMs, rows }))
    .sort((left, right) => left.startMs - right.startMs);
  const segments = firstSegments({ range, slices: counts, limit, foundRows: 0 }).map(timeRange);
  // Removes empty segments. They arise if the service counts rows in a period that begins before the range. This period
  // is moved to the start of the range, where another period may also begin.
  return segments.filter(({ fromMs, toMs }) => fromMs < toMs);
}

function timeRange({ fromMs, toMs }: TimeRange): TimeRange {
  return { fromMs, toMs };
}

/** Returns the range that adjacent intervals cover. */
export function rangeOf(intervals: readonly TimeRange[]): TimeRange {
  return { fromMs: intervals[0]?.fromMs ?? 0, toMs: intervals.at(-1)?.toMs ?? 0 };
}

/** Maximum number of messages that one query can select by id, because a query has at most 10,000 characters. */
export const maxConfirmed = 100;

/**
 * Returns the messages that were received more than once. Returns undefined if there are none, or if one query cannot
 * select all of them by id.
 */
export function repeatedOf(group: DigestGroup): readonly RepeatedMessage[] | undefined {
  const repeated = namedRepeats(group) ?? [];
  const ids = new Set(repeated.map(({ id }) => id));
  return ids.size > 0 && ids.size <= maxConfirmed && ids.size === repeated.length ? repeated : undefined;
}

/**
 * Returns true if written rows were received more than once, and no query can show whether the service also stores them
 * more than once.
 */
export function hasUnconfirmed(group: DigestGroup): boolean {
  return namedRepeats(group)?.length !== 0 && repeatedOf(group) === undefined;
}

/** Returns the repeated messages in the commit records, or undefined if a record does not list all of them. */
function namedRepeats({ intervals }: DigestGroup): readonly RepeatedMessage[] | undefined {
  const areNamed = intervals.every(({ duplicates, repeated }) => duplicates === 0 || repeated !== undefined);
  return areNamed ? intervals.flatMap(({ repeated = [] }) => repeated) : undefined;
}

export function confirmOperators(repeated: readonly RepeatedMessage[]): string {
  const condition = repeated.map(({ id }) => `_messageid = "${id}"`).join(' or ');
  return `where ${condition} | count by _messageid`;
}

/** A repeated message. `rows` is the number of additional copies that the service stores. */
export interface ConfirmedMessage {
  readonly atMs: number;
  readonly rows: number;
  readonly bytes?: number;
}

/**
 * Returns for each message how many additional copies the service stores. Returns undefined if the service's response
 * contains an impossible number.
 */
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
  return { rows, ...sumOfFigures(confirmed) };
}
