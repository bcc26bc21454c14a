/**
 * Checks that a simulated export stayed within the request limits (B1), and polled its search jobs often enough (B4).
 */
import { busiest } from '../../support/world.ts';
import type { ExportHistoryRecord } from './record.ts';

const maxPerSecond = 4;
const maxAtOnce = 10;

export function budgetViolations({ plan, journal, counters, disturbances, startMs }: ExportHistoryRecord): string[] {
  const found: string[] = [];
  // Around a freeze, the rate limits are not checked, because requests sent before and after the freeze may arrive
  // within the same second.
  if (disturbances.some((what) => what.startsWith('freeze'))) return found;
  const { faults = {} } = plan.scenario;
  const isLate = Object.values(faults).some(({ kind }) => kind === 'stall' || kind === 'delay');
  const isKilled = disturbances.length > 0;
  for (const user of new Set(journal.map((entry) => entry.user))) {
    const own = journal.filter((entry) => entry.user === user);
    const { perSecond, endMs, atOnce } = busiest(own);
    if (perSecond > maxPerSecond) {
      found.push(`B1: ${perSecond} arrivals of ${user} within the second before ${endMs - startMs}`);
    }
    // Requests that stalled before a kill may still be running. Later processes do not count these requests, so the
    // total may exceed the limit (B6).
    if (atOnce > maxAtOnce && !(isLate && isKilled)) found.push(`B1: ${atOnce} concurrent requests of ${user}`);
  }
  const isDisturbed = isKilled || Object.keys(faults).length > 0;
  if (!isDisturbed && counters.jobsLostToSilence > 0) {
    found.push(`B4: the service cancelled ${counters.jobsLostToSilence} search jobs, because they got no requests`);
  }
  return found;
}
