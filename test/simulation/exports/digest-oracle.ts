/**
 * The digest: what a manifest says to be proven by an aggregation against what an aggregation of the history had to count that began after
 * the last search of it (E6).
 */
import { createHash } from 'node:crypto';
import { decodeManifest } from '../../../src/destination/manifest.ts';
import type { SliceSummary } from '../../../src/destination/slice-figures.ts';
import { messageText } from './file-rows.ts';
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryRecord, StandingRecord } from './record.ts';

export function digestViolations(history: ExportHistoryRecord): string[] {
  const { plan, task, store, records, told } = history;
  const content = store.objects.get(task.layout.manifest);
  if (!content || !task.isSplittable || plan.aggregation || !told.every(({ isComplete }) => isComplete)) return [];
  const { proof, intervals } = decodeManifest(task.layout.manifest, content);
  const digests = history.searches.filter(({ query }) => query?.includes('timeslice') && query.includes('sum(_size)'));
  const found: string[] = [];
  for (const { fromMs, toMs, level, compared } of proof) {
    const where = `[${fromMs}, ${toMs}) is of level ${level}`;
    if (plan.proof === 'Digest' && (level === 'Search' || (level === 'Count' && compared.length === 0))) {
      found.push(`E6: ${where}, and a digest is wanted`);
    }
    if (compared.length === 0) continue;
    const inside = intervals.filter((interval) => interval.fromMs >= fromMs && interval.toMs <= toMs);
    const standing = inside.flatMap((interval) => records.filter(({ record }) => sameInterval(record, interval)));
    for (const each of standing) if (!isCounted(digests, each)) found.push(`E6: ${where}, which no digest shows`);
  }
  return found;
}

function sameInterval(left: StandingRecord['record'], right: StandingRecord['record']): boolean {
  return left.segment === right.segment && left.toMs === right.toMs;
}

/** Whether a digest that began after the record was written had as many different rows of the interval, in the same slices. */
function isCounted(digests: readonly LiveSearch[], { record, atMs }: StandingRecord): boolean {
  return digests.some((search) => {
    const expected = search.beganAtMs >= atMs ? search.expected(record) : undefined;
    const different = new Map(expected?.map(({ message }) => [messageText(message.id, message.raw), message.atMs]));
    if (expected === undefined || different.size !== record.written) return false;
    return record.slices === undefined || areTimesOf(record.slices, record, [...different.values()]);
  });
}

/** Whether the number, the oldest and the newest row of each slice are those of the times. */
function areTimesOf(
  { lengthMs, shared, whole }: SliceSummary,
  { fromMs, toMs }: StandingRecord['record'],
  timesMs: readonly number[],
): boolean {
  const slices = Map.groupBy(timesMs, (atMs) => atMs - (atMs % lengthMs));
  const inOrder = [...slices].sort(([left], [right]) => left - right);
  const isWhole = (beginMs: number) => beginMs >= fromMs && beginMs + lengthMs <= toMs;
  const explicit = shared.map(({ fromMs: beginMs, rows, oldestMs, newestMs }) => [beginMs, rows, oldestMs, newestMs]);
  const figures = inOrder.map(([beginMs, all]) => [beginMs, all.length, Math.min(...all), Math.max(...all)] as const);
  const lines = (index: 1 | 2 | 3) => {
    const own = figures.filter(([beginMs]) => isWhole(beginMs));
    return createHash('sha256')
      .update(own.map((each) => `${each[0]} ${each[index]}\n`).join(''))
      .digest('hex');
  };
  const isSame = JSON.stringify(explicit) === JSON.stringify(figures.filter(([beginMs]) => !isWhole(beginMs)));
  const hashes = [whole.rows, whole.oldestMs, whole.newestMs];
  return isSame && hashes.every((hash, index) => lines((index + 1) as 1 | 2 | 3).slice(0, 32) === hash);
}
