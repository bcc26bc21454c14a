/** Checks how many requests the operator sends while there is nothing to upgrade (U9). */
import { parseDuration } from '../../src/base/duration.ts';
import type { HistoryRecord } from './record.ts';

/** Maximum number of requests needed to read all builds and all collectors once. */
const sweepRequests = 6;
const spareRequests = 8;

export function idleViolations({ plan, journal, startMs, convergedAtMs, endMs, policies }: HistoryRecord): string[] {
  if (convergedAtMs === undefined) return [];
  const found: string[] = [];
  const whileIdle = journal.filter(({ at }) => at - startMs > convergedAtMs);
  const posts = whileIdle.filter(({ operation }) => operation === 'createTask');
  if (posts.length > 0) found.push(`U9: ${posts.length} requests to create tasks after all policies were complete`);
  const resyncMs = Math.min(...policies.map(({ spec }) => parseDuration(spec.resyncInterval) ?? 1));
  const max = spareRequests + sweepRequests * Math.ceil((endMs - convergedAtMs) / resyncMs);
  if (whileIdle.length > max) found.push(`U9: ${whileIdle.length} requests while idle; at most ${max} are permitted`);
  return [...found, ...sweepViolations(whileIdle, plan.latencyMs, endMs - convergedAtMs)];
}

/** Checks that reading the collector list takes up at most a quarter of the idle time. */
function sweepViolations(whileIdle: HistoryRecord['journal'], latencyMs: number, idleMs: number): string[] {
  const lists = whileIdle.filter(({ operation }) => operation === 'listCollectors');
  const busyMs = lists.reduce((sum, { at, end }) => sum + (end - at) + 2 * latencyMs, 0);
  const share = busyMs / idleMs;
  return share > 0.25 ? [`U9: sweeps take ${Math.round(share * 100)} % of the idle time`] : [];
}
