/** B1, B4: the request budget, seen from the server, and jobs that were lost although nothing was in the way. */
import type { JournalEntry } from '../../../src/simulator/journal.ts';
import type { ExportHistoryRecord } from './record.ts';

const mostPerSecond = 4;
const mostAtOnce = 10;

export function budgetViolations({ plan, journal, counters, disturbances, startMs }: ExportHistoryRecord): string[] {
  const found: string[] = [];
  // What was stopped in between meets what it had sent before.
  if (disturbances.some((what) => what.startsWith('freeze'))) return found;
  const { faults = {} } = plan.scenario;
  const isLate = Object.values(faults).some(({ kind }) => kind === 'stall' || kind === 'delay');
  const isKilled = disturbances.length > 0;
  for (const user of new Set(journal.map((entry) => entry.user))) {
    const own = journal.filter((entry) => entry.user === user);
    const burst = busiestSecond(own);
    if (burst.count > mostPerSecond) {
      found.push(`B1: ${burst.count} arrivals of ${user} within the second before ${burst.endMs - startMs}`);
    }
    // What stalls when its process is killed hangs on here, and nobody who is left knows of it (B6).
    const atOnce = Math.max(0, ...own.map(({ inFlight }) => inFlight));
    if (atOnce > mostAtOnce && !(isLate && isKilled)) found.push(`B1: ${atOnce} requests of ${user} at once`);
  }
  const isDisturbed = isKilled || Object.keys(faults).length > 0;
  if (!isDisturbed && counters.jobsLostToSilence > 0) {
    found.push(`B4: ${counters.jobsLostToSilence} jobs were lost to silence`);
  }
  return found;
}

function busiestSecond(entries: readonly JournalEntry[]): { readonly count: number; readonly endMs: number } {
  const arrivals = entries.map(({ at }) => at).sort((left, right) => left - right);
  let busiest = { count: 0, endMs: 0 };
  for (let first = 0, last = 0; last < arrivals.length; last++) {
    const endMs = arrivals[last] as number;
    while (endMs - (arrivals[first] as number) >= 1_000) first++;
    if (last - first + 1 > busiest.count) busiest = { count: last - first + 1, endMs };
  }
  return busiest;
}
