/** B1: the request budget, seen from the server. */
import type { HistoryRecord } from './record.ts';

const mostPerSecond = 4;
const mostAtOnce = 10;

export function budgetViolations({ plan, journal, startMs, state, disturbances }: HistoryRecord): string[] {
  // A process that was stopped and goes on may meet the one that took over: the lease rules out tasks, not the odd read.
  if (disturbances.some(({ what }) => what.startsWith('thaw'))) return [];
  const found: string[] = [];
  const arrivals = journal.map(({ at }) => at).sort((left, right) => left - right);
  for (let first = 0, last = 0; last < arrivals.length; last++) {
    while ((arrivals[last] as number) - (arrivals[first] as number) >= 1_000) first++;
    if (last - first + 1 > mostPerSecond) {
      found.push(`B1: ${last - first + 1} arrivals within the second before ${(arrivals[last] as number) - startMs}`);
      break;
    }
  }
  // What stalls when its process is killed hangs on here for ever, and nobody who is left knows of it (B6).
  const stalls = Object.values(plan.scenario.faults ?? {}).some(({ kind }) => kind === 'stall');
  if (stalls && disturbances.some(({ what }) => what.startsWith('kill'))) return found;
  const atOnce = Math.max(0, ...journal.map(({ inFlight }) => inFlight));
  if (atOnce > mostAtOnce) found.push(`B1: ${atOnce} requests at once`);
  if (state.counters.rejected429 > 0)
    found.push(`B1: ${state.counters.rejected429} requests were refused for the limits`);
  return found;
}
