/** Checks that an exported aggregation matches the messages that its search was able to find (E5, E6, E8, E13). */
import { expectedRecords } from './expected-records.ts';
import type { LiveSearch } from './live-data.ts';
import type { AggregationPlan } from './planned-aggregation.ts';
import { isInTime } from './planned-corpus.ts';
import type { ExportHistoryRecord, StoredRecord } from './record.ts';
import { mayBeOf, rowsOf } from './row-oracle.ts';

export function aggregateViolations(history: ExportHistoryRecord): string[] {
  const { aggregation } = history.plan;
  if (!aggregation) return [];
  return history.records.flatMap((stored) => recordViolations(history, stored, aggregation));
}

function recordViolations(
  history: ExportHistoryRecord,
  { record, atMs }: StoredRecord,
  aggregation: AggregationPlan,
): string[] {
  const { fromMs, toMs, incomplete, written, count } = record;
  const where = `[${fromMs}, ${toMs}), ${written} records, counted ${count.rows}`;
  if (incomplete?.reason === 'TimeOver') return [`E13: the export kept records of an unfinished aggregation: ${where}`];
  const rows = rowsOf(history, record);
  if (typeof rows === 'string') return [rows];
  const searches = history.searches.filter(
    (search) => search.query === history.plan.query && mayBeOf(search, record, atMs) && isDone(search),
  );
  const tables = searches.map((search) => recordsOf(search, aggregation));
  if (incomplete) {
    const known = new Set(tables.flat());
    return rows.filter((row) => !known.has(row)).map((row) => `rows: ${where}: no search found the record ${row}`);
  }
  if (written !== rows.length || count.rows !== rows.length) return [`E6: ${where}, but the files have ${rows.length}`];
  const found = rows.toSorted().join('\n');
  const same = searches.filter((_, index) => tables[index]?.toSorted().join('\n') === found);
  const [search] = same;
  if (!search) return [nearest(where, rows, tables)];
  return same.some((each) => hasAllInTime(history, each))
    ? []
    : [`E11: ${where} lack messages that were searchable in time`];
}

function isDone(search: LiveSearch): boolean {
  return search.expected(search.range) !== undefined && (search.isRead || search.passed.length === 0);
}

/**
 * Computes the rows that the aggregation should return. Messages exactly at the end of the range are included, because
 * the service might treat the end as inclusive (E10).
 */
function recordsOf(search: LiveSearch, aggregation: AggregationPlan): string[] {
  return expectedRecords(
    aggregation,
    search.passed.map(({ message }) => message),
  );
}

function nearest(where: string, rows: readonly string[], tables: readonly (readonly string[])[]): string {
  const [table] = tables;
  if (!table) return `E6: no search covers ${where}`;
  const missing = table.filter((row) => !rows.includes(row));
  const extra = rows.filter((row) => !table.includes(row));
  const example = `wanted ${missing[0] ?? 'nothing more'}, found ${extra[0] ?? 'nothing else'}`;
  return `rows: ${where}: ${missing.length} records are missing and ${extra.length} are not expected: ${example}`;
}

function hasAllInTime({ plan }: ExportHistoryRecord, { passed }: LiveSearch): boolean {
  const seen = new Set(passed.map(({ message }) => message));
  return plan.corpus.messages.every((message) => seen.has(message) || !isInTime(plan, message));
}
