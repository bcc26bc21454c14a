/**
 * The rows: each record that stands against the corpus as it was searchable when its interval's search ended (E4 to E11), row by row, by
 * what the files hold.
 */
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { LiveSearch, StoredMessage } from './live-data.ts';
import type { ExportHistoryPlan } from './plan.ts';
import type { ExportHistoryRecord, StandingRecord } from './record.ts';

export function rowViolations(history: ExportHistoryRecord): string[] {
  const found: string[] = [];
  const everywhere = new Map<string, number>();
  for (const standing of history.records) {
    const rows = rowsOf(history, standing.record);
    if (typeof rows === 'string') {
      found.push(rows);
      continue;
    }
    for (const row of rows) everywhere.set(row, (everywhere.get(row) ?? 0) + 1);
    if (standing.record.incomplete) found.push(...foreignRows(history, standing, rows));
    else found.push(...recordViolations(history, standing, rows));
  }
  for (const [row, times] of everywhere) if (times > 1) found.push(`E3: ${row} is there ${times} times`);
  return [...found, ...missingInTime(history, everywhere)];
}

/** Of one record that claims to have all. */
function recordViolations(
  history: ExportHistoryRecord,
  { record, atMs }: StandingRecord,
  rows: readonly string[],
): string[] {
  const { fromMs, toMs, count } = record;
  const written = rows.toSorted().join('\n');
  let nearest: { readonly missing: number; readonly extra: number; readonly example: string } | undefined;
  for (const search of history.searches.toReversed()) {
    const expected = candidate(search, history.plan, record, atMs);
    if (!expected) continue;
    const wanted = new Set(expected.map(keyOf));
    if ([...wanted].sort().join('\n') === written) return [];
    const missing = [...wanted].filter((row) => !rows.includes(row));
    const extra = rows.filter((row) => !wanted.has(row));
    const example = missing[0] ?? extra[0] ?? 'one is there twice';
    nearest ??= { missing: missing.length, extra: extra.length, example };
  }
  const where = `[${fromMs}, ${toMs}), counted ${count.rows} by ${count.source}`;
  if (!nearest) return [`E6: no search has gone through ${where}`];
  return [`rows: ${where}: ${nearest.missing} are missing, ${nearest.extra} are too many, as ${nearest.example}`];
}

/** What a search that was over by then should have shown of the interval; undefined where it is not about that. */
function candidate(
  search: LiveSearch,
  { queryLimit }: ExportHistoryPlan,
  { fromMs, toMs }: CommitRecord,
  atMs: number,
): readonly StoredMessage[] | undefined {
  if (search.beganAtMs > atMs || (search.endedAtMs ?? 0) > atMs) return undefined;
  // One more millisecond where the service takes the end for a part of the range.
  if (search.range.toMs !== toMs && search.range.toMs !== toMs + 1) return undefined;
  return search.expected({ fromMs, toMs }, queryLimit);
}

/** Of a record that says itself that rows may be missing: none is made up. */
function foreignRows({ searches }: ExportHistoryRecord, { record }: StandingRecord, rows: readonly string[]): string[] {
  const known = new Set(searches.flatMap((search) => search.expected(search.gone) ?? []).map(keyOf));
  return rows
    .filter((row) => !known.has(row))
    .map((row) => `rows: [${record.fromMs}, ${record.toMs}) has ${row}, which nobody found`);
}

/** E11: whatever was searchable within the time that is waited for is there, where all is said to be. */
function missingInTime(
  { plan, records, task, store }: ExportHistoryRecord,
  rows: ReadonlyMap<string, number>,
): string[] {
  const isComplete = store.objects.has(task.layout.manifest) && records.every(({ record }) => !record.incomplete);
  if (!isComplete || !task.isSplittable) return [];
  const matches = (raw: string) => plan.query !== 'app' || raw.startsWith('app');
  const missing = plan.corpus.messages.filter((message) => {
    const { atMs, receivedMs, searchableMs, raw } = message;
    const timeMs = plan.byReceiptTime ? receivedMs : atMs;
    const isInside = timeMs >= plan.fromMs && timeMs < plan.toMs && matches(raw) && !isTooShort(plan.query, raw);
    return isInside && searchableMs <= timeMs + plan.settleMs && !rows.has(textOf(message.id, raw));
  });
  const [first] = missing;
  return first
    ? [`E11: ${missing.length} rows are missing that were there in time, as ${textOf(first.id, first.raw)}`]
    : [];
}

function isTooShort(query: string, raw: string): boolean {
  return query.includes('_size > 12') && raw.length <= 12;
}

/** By what the files of a record hold. */
function rowsOf({ task, store }: ExportHistoryRecord, { files }: CommitRecord): string[] | string {
  const rows: string[] = [];
  for (const { name, rows: count } of files) {
    const content = store.objects.get(task.layout.within(name));
    if (!content) return `E3: ${name} is named by a record, and not there`;
    const lines = Buffer.from(content).toString().split('\n').slice(0, -1);
    if (lines.length !== count) return `E3: ${name} has ${lines.length} rows, and its record says ${count}`;
    for (const line of lines) {
      const row = JSON.parse(line) as Record<string, string>;
      rows.push(textOf(row['_messageid'] ?? row['_messageId'] ?? '', row['_raw'] ?? ''));
    }
  }
  return rows;
}

function keyOf({ message: { id, raw } }: StoredMessage): string {
  return textOf(id, raw);
}

function textOf(id: string, raw: string): string {
  return `${id} ${raw}`;
}
