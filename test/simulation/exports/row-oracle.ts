/**
 * Checks that the files in each commit record contain exactly the messages that the record's search was able to find
 * (E4 to E11).
 */
import { createHash } from 'node:crypto';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { messageText } from './file-rows.ts';
import type { LiveMessage, LiveSearch } from './live-data.ts';
import { isInTime } from './planned-corpus.ts';
import type { ExportHistoryRecord, StoredRecord } from './record.ts';

export function rowViolations(history: ExportHistoryRecord): string[] {
  if (history.plan.aggregation) return [];
  const found: string[] = [];
  const everywhere = new Map<string, number>();
  for (const stored of history.records) {
    if (history.voided.has(stored.record)) continue;
    const rows = rowsOf(history, stored.record);
    if (typeof rows === 'string') {
      found.push(rows);
      continue;
    }
    for (const row of rows) everywhere.set(row, (everywhere.get(row) ?? 0) + 1);
    if (stored.record.incomplete) found.push(...foreignRows(history, stored, rows));
    else found.push(...recordViolations(history, stored, rows));
  }
  for (const [row, times] of everywhere)
    if (times > 1) found.push(`E3: the row ${row} occurs ${times} times in the files`);
  return [...found, ...missingInTime(history, everywhere)];
}

function recordViolations(
  history: ExportHistoryRecord,
  { record, atMs }: StoredRecord,
  rows: readonly string[],
): string[] {
  const { fromMs, toMs, count } = record;
  const searches = history.searches.filter((search) => mayBeOf(search, record, atMs));
  const { query, queryLimit } = history.plan;
  const whole = searches.filter((search) => search.query === query).toReversed();
  let nearest: RowDifference | undefined;
  for (const search of whole) {
    // If a count query found no rows in the first part of the interval, the search need not cover this part.
    const isEmpty = count.source === 'Aggregate' && isCountedEmpty(searches, fromMs, search.wholeFromMs);
    const expected = search.expected({ fromMs: isEmpty ? search.wholeFromMs : fromMs, toMs }, queryLimit);
    if (!expected || !isHad(search, expected)) continue;
    const difference = differenceOf(expected, rows);
    if (!difference) return [];
    nearest ??= difference;
  }
  if (toMs === fromMs + 1 && count.source === 'Aggregate' && isDivided(searches, record, rows)) return [];
  const where = `[${fromMs}, ${toMs}), counted ${count.rows} by ${count.source}`;
  if (!nearest) return [`E6: no search covers ${where}`];
  return [
    `rows: ${where}: ${nearest.missing} rows are missing and ${nearest.extra} are not expected, for example ${nearest.example}`,
  ];
}

export function mayBeOf(search: LiveSearch, { toMs }: CommitRecord, atMs: number): boolean {
  if (search.query === undefined || search.beganAtMs > atMs || (search.endedAtMs ?? 0) > atMs) return false;
  // If the service treats the end of a range as inclusive, the search covers one more millisecond.
  return search.range.toMs === toMs || search.range.toMs === toMs + 1;
}

function isCountedEmpty(searches: readonly LiveSearch[], fromMs: number, toMs: number): boolean {
  return fromMs < toMs && searches.some((search) => search.expected({ fromMs, toMs })?.length === 0);
}

/** Reports whether a client received all results of the search. This is also true if the search found nothing. */
function isHad({ isRead }: LiveSearch, rows: readonly LiveMessage[]): boolean {
  return isRead || rows.length === 0;
}

/** Reports whether the rows of one millisecond come from several searches by message id (E4). */
function isDivided(
  searches: readonly LiveSearch[],
  record: CommitRecord,
  rows: readonly string[],
  behind = '',
): boolean {
  return Array.from('0123456789').every((digit) => {
    const ending = `${digit}${behind}`;
    const own = rows.filter((row) => row.split(' ', 1)[0]?.endsWith(ending));
    const parts = searches.filter(({ query }) => query?.endsWith(`_messageid matches "*${ending}"`));
    if (parts.length === 0) return false;
    const isShown = parts.some((search) => {
      const expected = search.expected(record);
      return expected && isHad(search, expected) && !differenceOf(expected, own);
    });
    return isShown || isDivided(searches, record, rows, ending);
  });
}

interface RowDifference {
  readonly missing: number;
  readonly extra: number;
  readonly example: string;
}

/** Returns how the rows differ from the expected rows, or undefined if they are equal. */
function differenceOf(expected: readonly LiveMessage[], rows: readonly string[]): RowDifference | undefined {
  const wanted = new Set(expected.map(keyOf));
  if ([...wanted].sort().join('\n') === rows.toSorted().join('\n')) return undefined;
  const missing = [...wanted].filter((row) => !rows.includes(row));
  const extra = rows.filter((row) => !wanted.has(row));
  return {
    ...{ missing: missing.length, extra: extra.length },
    example: missing[0] ?? extra[0] ?? 'a row that occurs twice',
  };
}

/** Returns a violation for each row of an incomplete commit record that no search returned. */
function foreignRows({ searches }: ExportHistoryRecord, { record }: StoredRecord, rows: readonly string[]): string[] {
  const known = new Set(
    searches
      .filter(({ isRead }) => isRead)
      .flatMap(({ passed }) => passed)
      .map(keyOf),
  );
  return rows
    .filter((row) => !known.has(row))
    .map((row) => `rows: [${record.fromMs}, ${record.toMs}) has the row ${row}, which no search found`);
}

/** Checks that a complete export contains every message that was searchable within `settleDelay` (E11). */
function missingInTime(
  { plan, records, definition, store }: ExportHistoryRecord,
  rows: ReadonlyMap<string, number>,
): string[] {
  const flagged = records.some(({ record }) => record.incomplete);
  const isComplete = store.objects.has(definition.layout.manifest) && !flagged;
  if (!isComplete || !definition.isSplittable) return [];
  const missing = plan.corpus.messages.filter(
    (message) => isInTime(plan, message) && !rows.has(messageText(message.id, message.raw)),
  );
  const [first] = missing;
  return first
    ? [
        `E11: ${missing.length} rows are missing although they were searchable within settleDelay, for example ${messageText(first.id, first.raw)}`,
      ]
    : [];
}

/** Rows of all files listed in a commit record. */
export function rowsOf(
  { definition, store, files: held }: ExportHistoryRecord,
  { files }: CommitRecord,
): string[] | string {
  const rows: string[] = [];
  for (const { name, rows: count, bytes, sha256 } of files) {
    const [own, content] = [
      held.get(definition.layout.within(name)),
      store.objects.get(definition.layout.within(name)),
    ];
    if (!own || !content) return `E3: a record names the file ${name}, which does not exist`;
    const isSame = content.length === bytes && createHash('sha256').update(content).digest('hex') === sha256;
    if (!isSame) return `E3: the file ${name} has other bytes than its record states`;
    if (own.length !== count) return `E3: the file ${name} has ${own.length} rows, but its record states ${count}`;
    rows.push(...own);
  }
  return rows;
}

function keyOf({ message: { id, raw } }: LiveMessage): string {
  return messageText(id, raw);
}
