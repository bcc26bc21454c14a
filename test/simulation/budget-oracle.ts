/** Checks that a simulated run never exceeded the service's request limits (B1). */
import { busiest } from '../support/world.ts';
import type { HistoryRecord } from './record.ts';

const maxPerSecond = 4;
const maxAtOnce = 10;

export function budgetViolations({ plan, journal, startMs, state, disturbances }: HistoryRecord): string[] {
  const found: string[] = [];
  const { perSecond, endMs, atOnce } = busiest(journal);
  if (perSecond > maxPerSecond) found.push(`B1: ${perSecond} arrivals within the second before ${endMs - startMs}`);
  // Requests that had stalled when a process was killed may still be running. Later processes do not know about these
  // requests, so the number of concurrent requests is not checked (B6).
  const stalls = Object.values(plan.scenario.faults ?? {}).some(({ kind }) => kind === 'stall');
  if (stalls && disturbances.some(({ what }) => what.startsWith('kill'))) return found;
  if (atOnce > maxAtOnce) found.push(`B1: ${atOnce} concurrent requests`);
  if (state.counters.rejected429 > 0)
    found.push(`B1: ${state.counters.rejected429} requests exceeded a limit and were refused`);
  return found;
}
