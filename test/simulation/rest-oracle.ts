/** Checks how many requests the operator sends while there is nothing to upgrade (U9). */
import { parseDuration } from '../../src/base/duration.ts';
import type { HistoryRecord } from './record.ts';

/** Maximum number of requests for one read of all builds and all collectors. */
const sweepRequests = 6;
const spareRequests = 8;

export function restViolations({ plan, journal, startMs, convergedAtMs, endMs, policies }: HistoryRecord): string[] {
  if (convergedAtMs === undefined) return [];
  const found: string[] = [];
  const atRest = journal.filter(({ at }) => at - startMs > convergedAtMs);
  const posts = atRest.filter(({ operation }) => operation === 'createTask');
  if (posts.length > 0) found.push(`U9: ${posts.length} requests to create tasks after all was as it should be`);
  const resyncMs = Math.min(...policies.map(({ spec }) => parseDuration(spec.resyncInterval) ?? 1));
  const most = spareRequests + sweepRequests * Math.ceil((endMs - convergedAtMs) / resyncMs);
  if (atRest.length > most) found.push(`U9: ${atRest.length} requests at rest, ${most} are the most`);
  return [...found, ...sweepViolations(atRest, plan.latencyMs, endMs - convergedAtMs)];
}

/** Checks that the interval between two reads of the collector list is at least ten times their duration. */
function sweepViolations(atRest: HistoryRecord['journal'], latencyMs: number, restMs: number): string[] {
  const lists = atRest.filter(({ operation }) => operation === 'listCollectors');
  const busyMs = lists.reduce((sum, { at, end }) => sum + (end - at) + 2 * latencyMs, 0);
  const share = busyMs / restMs;
  return share > 0.25 ? [`U9: sweeps take ${Math.round(share * 100)} % of the time at rest`] : [];
}
