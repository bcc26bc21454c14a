/**
 * Table of false responses (lies) from a log service. Each entry states the outcome of an export that receives the
 * false response:
 *
 * - `whole`: the files contain exactly the correct rows.
 * - `noticed`: the status says that the exported rows are not confirmed.
 * - `undetectable`: the files contain wrong rows that no check can find. docs/exports.md lists these lies.
 */
import type { Scenario } from '../../../../simulator/scenario/scenario.ts';
import { dayMs, hourMs, minuteMs } from '../../../../src/base/time-units.ts';
import { type Corpus, denseMs, fromMs, large, type ResultFields, small, toMs } from './corpus.ts';
import { type Lie, type LyingStatus, timeOf } from './lying-service.ts';

export type LieOutcome = 'whole' | 'noticed' | 'undetectable';

export interface LieCase {
  readonly outcome: LieOutcome;
  readonly lie: Lie;
  /** Fields of the export's spec that this lie requires. */
  readonly spec?: object;
  readonly search?: Scenario['search'];
  /** Rows of the service. Default: the small corpus. */
  readonly corpus?: Corpus;
}

type Rows = readonly ResultFields[];
type Cases = Readonly<Record<string, LieCase>>;

const { truth, pageRows } = small;
/** Simulator settings: a search returns at most 500 rows, and indicates whether its result was cut off. */
const cutting: Scenario['search'] = { messageLimit: 500 };
/** Corpus with more rows. The operator suspects an unreported row limit only if a search finds many rows. */
const inLarge = { corpus: large };

/** Rows changed by false responses. They are at different positions on their result pages. */
const certain = truth[300] as ResultFields;
const crowded = truth.findLast((row) => timeOf(row) === denseMs) as ResultFields;
const foreign = truth[900] as ResultFields;
const oldest = truth[0] as ResultFields;
const newest = truth.findLast((row) => timeOf(row) !== denseMs) as ResultFields;

function isRow({ _messageid }: ResultFields): (row: ResultFields) => boolean {
  return (row) => row['_messageid'] === _messageid;
}

function without(...rows: Rows): (rows: Rows) => Rows {
  const ids = new Set(rows.map((row) => row['_messageid']));
  return (found) => found.filter((row) => !ids.has(row['_messageid']));
}

/** Changes one row in every search that finds it. */
function withRow(row: ResultFields, change: (row: ResultFields) => Rows): (rows: Rows) => Rows {
  const isWanted = isRow(row);
  return (rows) => rows.flatMap((each) => (isWanted(each) ? change(each) : [each]));
}

/** Changes every hundredth row in all searches. */
function withHundredth(change: (row: ResultFields) => ResultFields): (rows: Rows) => Rows {
  return (rows) => rows.map((row) => ((row['_messageid'] ?? '').endsWith('07') ? change(row) : row));
}

/** Rows from newest to oldest, as on result pages. */
function sorted(rows: Rows): Rows {
  return rows.toSorted((left, right) => timeOf(right) - timeOf(left));
}

function shifted(row: ResultFields, byMs: number): ResultFields {
  return { ...row, _messagetime: String(timeOf(row) + byMs) };
}

/** Replaces the row after `index` with a copy of the row at `index`. */
function inPlaceOfNext(rows: Rows, index: number): Rows {
  const [row, next] = [rows[index], rows[index + 1]];
  return row && next ? rows.with(index + 1, row) : rows;
}

/** Returns a function that replaces the row `replaced` with a second copy of the row `given`. */
function inPlaceOf(given: ResultFields, replaced: ResultFields): (rows: Rows) => Rows {
  return (rows) => rows.map((row) => (isRow(replaced)(row) ? given : row));
}

/** A lie that swaps the times of two rows. */
function swapped(left: ResultFields, right: ResultFields): (rows: Rows) => Rows {
  const byMs = timeOf(right) - timeOf(left);
  return (rows) =>
    rows.map((row) => {
      if (isRow(left)(row)) return shifted(row, byMs);
      return isRow(right)(row) ? shifted(row, -byMs) : row;
    });
}

function withText(row: ResultFields, text: string): ResultFields {
  return { ...row, _raw: text };
}

/** Replaces a row's text with a different text of the same size. */
function garbled(row: ResultFields): ResultFields {
  return withText(row, '#'.repeat((row['_raw'] ?? '').length));
}

/** Returns a true row of the same size that is up to ten minutes newer than `row`. */
function sameSized(row: ResultFields): ResultFields {
  return truth.find(
    (other) => !isRow(row)(other) && other['_size'] === row['_size'] && isNear(other, row),
  ) as ResultFields;
}

function isNear(left: ResultFields, right: ResultFields): boolean {
  const distanceMs = timeOf(left) - timeOf(right);
  return distanceMs > 0 && distanceMs < 10 * minuteMs;
}

/**
 * Returns a row of the same size as `row`, but with different content. Its message and receipt times are 1 ms after the
 * time of the row `foreign`.
 */
function forged(row: ResultFields): ResultFields {
  const atMs = String(timeOf(foreign) + 1);
  return { ...garbled(row), _messageid: '-6917529099999999', _messagetime: atMs, _receipttime: atMs };
}

function ofRows(change: (status: LyingStatus) => LyingStatus): NonNullable<Lie['status']> {
  return (status, { isAggregation }) => (isAggregation ? status : change(status));
}

function countedMore(more: number): NonNullable<Lie['status']> {
  return ofRows((status) => {
    return status.state.startsWith('DONE') ? { ...status, messageCount: status.messageCount + more } : status;
  });
}

function histogramWith(change: (count: number) => number): NonNullable<Lie['status']> {
  return ofRows((status) => {
    const histogramBuckets = status.histogramBuckets.map((bucket) => ({ ...bucket, count: change(bucket.count) }));
    return { ...status, histogramBuckets };
  });
}

/** Changes one number in each aggregation record. */
function figures(name: RegExp, change: (figure: number) => number): NonNullable<Lie['records']> {
  return (records) => {
    return records.map((record) => {
      const entries = Object.entries(record).map(([field, value]) => {
        return [field, name.test(field) ? String(change(Number(value))) : value] as const;
      });
      return Object.fromEntries(entries);
    });
  };
}

function noticed(lie: Lie, more: Partial<LieCase> = {}): LieCase {
  return { outcome: 'noticed', lie, ...more };
}

function whole(lie: Lie, more: Partial<LieCase> = {}): LieCase {
  return { outcome: 'whole', lie, ...more };
}

function undetectable(lie: Lie, more: Partial<LieCase> = {}): LieCase {
  return { outcome: 'undetectable', lie, ...more };
}

/** Returns a false response in which the message count and the histogram agree with the false rows. */
function agreed(rows: (rows: Rows) => Rows): Lie {
  return { rows, isCounted: true };
}

const leftOut: Cases = {
  'each page lacks a row': noticed({ page: (rows) => rows.toSpliced(5, 1) }),
  'each page lacks its first row': noticed({ page: (rows) => rows.slice(1) }),
  'each page lacks its last row': whole({ page: (rows) => (rows.length > 1 ? rows.slice(0, -1) : rows) }),
  'each page lacks a different row at each reading': noticed({
    page: (rows, { reading }) => rows.toSpliced(10 * reading, 1),
  }),
  'each page lacks a row, but only at the first reading': whole({
    page: (rows, { reading }) => (reading === 1 ? rows.toSpliced(5, 1) : rows),
  }),
  'each page lacks a row, and searches are cut off': noticed(
    { page: (rows) => rows.toSpliced(5, 1) },
    { search: cutting },
  ),
  'pages always lack the same row': noticed({ page: without(certain) }),
  'pages always lack the same row, and searches are cut off': noticed({ page: without(certain) }, { search: cutting }),
  'pages lack a row of the dense millisecond': noticed({ page: without(crowded) }),
  'searches lack a row that their status counts': noticed({ rows: without(certain) }),
  'searches lack a row': noticed(agreed(without(certain))),
  'one search by receipt time lacks a row, and another has a wrong row of the same size': noticed(
    agreed((rows) => {
      const isAfter = rows.some(isRow(foreign));
      return sorted([...without(certain)(rows), ...(isAfter ? [forged(certain)] : [])]);
    }),
    { spec: { byReceiptTime: true }, search: cutting },
  ),
  'searches by receipt time lack a row': noticed(agreed(without(certain)), { spec: { byReceiptTime: true } }),
  'searches lack a row, and are cut off': noticed(agreed(without(certain)), { search: cutting }),
  'a search lacks its newest row': noticed(agreed(without(newest))),
  'a search lacks its oldest row': noticed(agreed(without(oldest))),
  'a search lacks its oldest millisecond': noticed(
    agreed((rows) => rows.filter((row) => timeOf(row) !== timeOf(oldest))),
  ),
  'a search lacks a row of the dense millisecond': noticed(agreed(without(crowded))),
  'a search lacks the dense millisecond': noticed(agreed((rows) => rows.filter((row) => timeOf(row) !== denseMs))),
  'a search lacks five minutes': noticed(
    agreed((rows) => rows.filter((row) => timeOf(row) < fromMs + minuteMs || timeOf(row) >= fromMs + 6 * minuteMs)),
  ),
  'a search lacks one of ten rows': noticed(agreed((rows) => rows.filter((_, index) => index % 10 !== 3))),
  'a search lacks its first page': noticed(agreed((rows) => rows.slice(pageRows))),
  'a search lacks its second page': whole(
    agreed((rows) => rows.slice(0, large.pageRows)),
    inLarge,
  ),
  'a search has no rows': noticed(agreed(() => [])),
  'only the first search lacks a row': whole({
    rows: (rows, { number }) => (number === 0 ? without(certain)(rows) : rows),
    isCounted: true,
  }),
};

const doubled: Cases = {
  'a row replaces the next row at each reading': noticed({ rows: (rows) => inPlaceOfNext(rows, 300) }),
  'a row replaces the next row, at another position in each reading': noticed({
    page: (rows, { reading }) => inPlaceOfNext(rows, 100 * reading),
  }),
  'a row replaces the next row, and searches are cut off': noticed(
    { rows: (rows) => inPlaceOfNext(rows, 300) },
    { search: cutting },
  ),
  'the last row of a page replaces the next row': noticed({ rows: (rows) => inPlaceOfNext(rows, pageRows - 1) }),
  'a row replaces another row of the same size': noticed({
    rows: inPlaceOf(certain, sameSized(certain)),
  }),
  'a row of the dense millisecond replaces the next row': noticed({
    rows: (rows) => inPlaceOfNext(rows, rows.findIndex(isRow(crowded))),
  }),
  'each second row replaces the next row': noticed({
    rows: (rows) => rows.map((row, index) => (index % 2 === 1 ? (rows[index - 1] ?? row) : row)),
  }),
  'the second page begins with the last row of the first': whole(
    {
      page: (rows, { offset }) =>
        offset === large.pageRows ? [large.truth.toReversed()[large.pageRows - 1] as ResultFields, ...rows] : rows,
    },
    inLarge,
  ),
  'a row occurs twice, and is counted twice': whole(agreed(withRow(certain, (row) => [row, row]))),
  'the newest row occurs again at the end': whole(agreed((rows) => [...rows, ...rows.slice(0, 1)])),
};

const shiftedCases: Cases = {
  'all rows are a day late': noticed(agreed((rows) => rows.map((row) => shifted(row, dayMs)))),
  'all rows are a day late, and searches are cut off': noticed(
    agreed((rows) => rows.map((row) => shifted(row, dayMs))),
    { search: cutting },
  ),
  'all rows are two hours early': noticed(agreed((rows) => rows.map((row) => shifted(row, -2 * hourMs)))),
  'all rows are two hours early, but only in pages': noticed({
    rows: (rows) => rows.map((row) => shifted(row, -2 * hourMs)),
  }),
  'one of a hundred rows is a day late': noticed({ rows: withHundredth((row) => shifted(row, dayMs)) }),
  'one of a hundred rows is two hours early': noticed({ rows: withHundredth((row) => shifted(row, -2 * hourMs)) }),
  'all rows are a millisecond late': noticed({ rows: (rows) => rows.map((row) => shifted(row, 1)) }),
  'all rows are a millisecond early': noticed({ rows: (rows) => rows.map((row) => shifted(row, -1)) }),
  'a row is half an hour early': noticed({
    rows: (rows) => sorted(withRow(certain, (row) => [shifted(row, hourMs / -2)])(rows)),
  }),
  'a row is exactly at the end of the range': noticed({
    rows: (rows) => sorted(withRow(newest, (row) => [{ ...row, _messagetime: String(toMs) }])(rows)),
  }),
  'the oldest row is a millisecond before the range': noticed({
    rows: withRow(oldest, (row) => [{ ...row, _messagetime: String(fromMs - 1) }]),
  }),
  'rows after the first thousand are a day late': noticed({
    rows: (rows) => rows.map((row, index) => (index < pageRows ? row : shifted(row, dayMs))),
  }),
  'the page at row 10,000 is a day late': whole(
    { page: (rows, { offset }) => (offset === large.pageRows ? rows.map((row) => shifted(row, dayMs)) : rows) },
    inLarge,
  ),
};

/**
 * False responses in which the times of rows are wrong. Each wrong time still lies within the interval in which its row
 * is exported.
 */
const movedInside: Cases = {
  'the oldest row of a slice is a millisecond late': noticed({ rows: withRow(certain, (row) => [shifted(row, 1)]) }),
  'the oldest row of a slice is a millisecond late, and searches are cut off': noticed(
    { rows: withRow(certain, (row) => [shifted(row, 1)]) },
    { search: cutting },
  ),
  'a row is a minute late': noticed({
    rows: (rows) => sorted(withRow(certain, (row) => [shifted(row, minuteMs)])(rows)),
  }),
  'two rows of different sizes exchange their times': noticed({
    rows: (rows) => sorted(swapped(certain, truth[310] as ResultFields)(rows)),
  }),
  'two rows of the same size exchange their times': undetectable({
    rows: (rows) => sorted(swapped(certain, sameSized(certain))(rows)),
  }),
  'the dense millisecond is a second late': noticed({
    rows: (rows) => sorted(rows.map((row) => (timeOf(row) === denseMs ? shifted(row, 1_000) : row))),
  }),
  'the dense millisecond is a millisecond late, between other rows of its slice': noticed({
    rows: (rows) => rows.map((row) => (timeOf(row) === denseMs ? shifted(row, 1) : row)),
  }),
  'a row by receipt time is a minute late': noticed(
    { rows: (rows) => sorted(withRow(certain, (row) => [shifted(row, minuteMs)])(rows)) },
    { spec: { byReceiptTime: true } },
  ),
};

const cut: Cases = {
  'searches are cut off at 12,345 rows without a sign': whole(
    agreed((rows) => rows.slice(0, 12_345)),
    inLarge,
  ),
  'searches are cut off at 10,000 rows without a sign': whole(
    agreed((rows) => rows.slice(0, 10_000)),
    inLarge,
  ),
  'searches are cut off at 5,000 rows without a sign': whole(
    agreed((rows) => rows.slice(0, 5_000)),
    inLarge,
  ),
  'searches are cut off at 1 row without a sign': noticed(agreed((rows) => rows.slice(0, 1))),
  'searches are cut off at 333 rows without a sign, although the limit is 500': whole(
    agreed((rows) => rows.slice(0, 333)),
    { search: cutting },
  ),
  'the status of searches that are cut off is complete': whole(
    {
      status: ofRows((status) => ({
        ...status,
        state: status.state.replace('FORCE PAUSED', 'DONE GATHERING RESULTS'),
      })),
    },
    { search: { messageLimit: 4_321 }, ...inLarge },
  ),
};

const reordered: Cases = {
  'pages are in another order': whole({ rows: (rows) => [...rows.slice(pageRows), ...rows.slice(0, pageRows)] }),
  'rows are in order, oldest first': whole({ rows: (rows) => rows.toReversed() }),
  'two adjacent rows are exchanged': whole({
    rows: (rows) => {
      const [first, second] = rows.slice(200, 202);
      return first && second ? rows.with(200, second).with(201, first) : rows;
    },
  }),
};

const changed: Cases = {
  'texts are replaced by others of the same length': undetectable({ rows: (rows) => rows.map(garbled) }),
  'a text is shortened, and its size is adjusted': noticed({
    rows: withRow(certain, (row) => [{ ...row, _raw: 'cut', _size: '3' }]),
  }),
  'a text is shortened, and its size is unchanged': undetectable({
    rows: withRow(certain, (row) => [withText(row, 'cut')]),
  }),
  'a size is wrong': noticed({ rows: withRow(certain, (row) => [{ ...row, _size: '1' }]) }),
  'another field is changed': undetectable({
    rows: (rows) => rows.map((row) => ({ ...row, _sourceHost: 'elsewhere' })),
  }),
  'ids are changed': undetectable({
    rows: (rows) => rows.map((row) => ({ ...row, _messageid: `1${(row['_messageid'] ?? '').slice(2)}` })),
  }),
  'a row of another hour replaces a row': noticed({
    rows: withRow(certain, (row) => [{ ...shifted(row, -3 * hourMs), _messageid: '1' }]),
  }),
  'a row of another query replaces a row': noticed({
    rows: withRow(certain, (row) => [{ ...row, _messageid: '1', _raw: 'foreign', _size: '7' }]),
  }),
  'a row of another query and the same size replaces a row': undetectable({
    rows: withRow(certain, (row) => [{ ...garbled(row), _messageid: '1' }]),
  }),
  'a row of another query is added': noticed(
    agreed(withRow(certain, (row) => [row, { ...row, _messageid: '1', _raw: 'foreign', _size: '7' }])),
  ),
};

const counted: Cases = {
  'the status counts one row more': noticed({ status: countedMore(1) }),
  'the status counts one row less': noticed({ status: countedMore(-1) }),
  'the status counts a hundred rows less': noticed({ status: countedMore(-100) }),
  'the histogram has half of the rows': whole({ status: histogramWith((count) => Math.floor(count / 2)) }),
  'the histogram of searches that are cut off has one row more in each bucket': whole(
    { status: histogramWith((count) => count + 1) },
    { search: cutting },
  ),
  'the histogram of searches that are cut off has one row less in each bucket': whole(
    { status: histogramWith((count) => count - 1) },
    { search: cutting },
  ),
  'aggregations count one row less': noticed({ records: figures(/^_?count$/, (count) => count - 1) }),
  'aggregations count one row more': noticed({ records: figures(/^_?count$/, (count) => count + 1) }),
  'aggregations have no records': noticed({ records: () => [] }),
  'aggregations lack their last record': noticed({ records: (records) => records.slice(0, -1) }),
  'aggregations have each record twice': noticed({ records: (records) => [...records, ...records] }),
  'aggregations return wrong sizes': noticed({ records: figures(/size|bytes|sum/i, (sum) => sum + 1) }),
};

export const lies: Cases = {
  ...leftOut,
  ...doubled,
  ...shiftedCases,
  ...movedInside,
  ...cut,
  ...reordered,
  ...changed,
  ...counted,
};
