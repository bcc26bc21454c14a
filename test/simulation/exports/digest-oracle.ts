/**
 * Checks the time ranges that an export manifest lists as complete. For each range, a later aggregation must count the
 * same rows (E6).
 */
import { createHash } from 'node:crypto';
import { manifestKind } from '../../../src/destination/manifest.ts';
import type { SliceSummary } from '../../../src/destination/slice-figures.ts';
import { messageText } from './file-rows.ts';
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryRecord, StoredRecord } from './record.ts';

export function digestViolations(history: ExportHistoryRecord): string[] {
  const { plan, definition, store, records, reported } = history;
  const content = store.objects.get(definition.layout.manifest);
  if (!content || !definition.isSplittable || plan.aggregation || !reported.every(({ isComplete }) => isComplete))
    return [];
  const { proof, intervals } = manifestKind.decode(definition.layout.manifest, content);
  const digests = history.searches.filter(({ query }) => query?.includes('timeslice') && query.includes('sum(_size)'));
  const found: string[] = [];
  for (const { fromMs, toMs, level, compared } of proof) {
    const where = `[${fromMs}, ${toMs}) has the level ${level}`;
    if (plan.proof === 'Digest' && (level === 'Search' || (level === 'Count' && compared.length === 0))) {
      found.push(`E6: ${where}, although the spec requires a digest`);
    }
    if (compared.length === 0) continue;
    const inside = intervals.filter((interval) => interval.fromMs >= fromMs && interval.toMs <= toMs);
    const stored = inside.flatMap((interval) => records.filter(({ record }) => sameInterval(record, interval)));
    for (const each of stored) if (!isCounted(digests, each)) found.push(`E6: ${where}, but no digest confirms it`);
  }
  return found;
}

function sameInterval(left: StoredRecord['record'], right: StoredRecord['record']): boolean {
  return left.segment === right.segment && left.toMs === right.toMs;
}

/** Reports whether a later aggregation counted as many distinct rows as the commit record states. */
function isCounted(digests: readonly LiveSearch[], { record, atMs }: StoredRecord): boolean {
  return digests.some((search) => {
    const expected = search.beganAtMs >= atMs ? search.expected(record) : undefined;
    const different = new Map(expected?.map(({ message }) => [messageText(message.id, message.raw), message.atMs]));
    if (expected === undefined || different.size !== record.written) return false;
    return record.slices === undefined || areTimesOf(record.slices, record, [...different.values()]);
  });
}

type Index = 1 | 2 | 3 | 4;

/** Reports whether the rows match the counts and times that the commit record states for each period. */
function areTimesOf(
  { lengthMs, shared, whole }: SliceSummary,
  { fromMs, toMs }: StoredRecord['record'],
  timesMs: readonly number[],
): boolean {
  const slices = Map.groupBy(timesMs, (atMs) => atMs - (atMs % lengthMs));
  const inOrder = [...slices].sort(([left], [right]) => left - right);
  const isWhole = (beginMs: number) => beginMs >= fromMs && beginMs + lengthMs <= toMs;
  const explicit = shared.map((slice) => [slice.fromMs, slice.rows, slice.oldestMs, slice.newestMs, slice.offsetsMs]);
  const figures = inOrder.map(([beginMs, all]) => {
    const offsetsMs = all.reduce((sum, atMs) => sum + atMs - beginMs, 0);
    return [beginMs, all.length, Math.min(...all), Math.max(...all), offsetsMs] as const;
  });
  const hashOf = (index: Index) => {
    const own = figures.filter(([beginMs]) => isWhole(beginMs));
    const pairs = new Float64Array(own.flatMap((each) => [each[0], each[index]]));
    return createHash('sha256').update(pairs).digest('hex');
  };
  const isSame = JSON.stringify(explicit) === JSON.stringify(figures.filter(([beginMs]) => !isWhole(beginMs)));
  const hashes = [whole.rows, whole.oldestMs, whole.newestMs, whole.offsetsMs];
  return isSame && hashes.every((hash, index) => hashOf((index + 1) as Index).slice(0, 32) === hash);
}
