/** Measures the throughput of a rollout, from which its remaining time is estimated. */
import type { Entry } from '../ledger/ledger.ts';

/** Period in ms over which the throughput of a rollout is measured, so that the estimate follows the current speed. */
const measuredMs = 15 * 60_000;

/** Number of upgrade attempts of the rollout per ms that ended in the last 15 minutes; undefined when none ended. */
export function measureThroughput(entries: Iterable<Entry>, wallMs: number): number | undefined {
  let ended = 0;
  let sinceMs = wallMs;
  for (const { ending } of entries) {
    if (ending?.taskId === undefined || ending.endedAtMs < wallMs - measuredMs) continue;
    ended++;
    sinceMs = Math.min(sinceMs, ending.startedAtMs);
  }
  const elapsedMs = Math.min(wallMs - sinceMs, measuredMs);
  return ended === 0 || elapsedMs <= 0 ? undefined : ended / elapsedMs;
}
