/**
 * The digest: what a manifest says to be proven by an aggregation against what an aggregation of the history had to count that began after
 * the last search of it (E6).
 */
import { decodeManifest } from '../../../src/destination/manifest.ts';
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

/** Whether a digest that began after the record was written had as many different rows of the interval. */
function isCounted(digests: readonly LiveSearch[], { record, atMs }: StandingRecord): boolean {
  return digests.some((search) => {
    const expected = search.beganAtMs >= atMs ? search.expected(record) : undefined;
    const different = new Set(expected?.map(({ message: { id, raw } }) => messageText(id, raw)));
    return expected !== undefined && different.size === record.written;
  });
}
