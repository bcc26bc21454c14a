/**
 * Measures the throughput of a rollout. Its estimated remaining time is the number of remaining collectors divided by the
 * throughput.
 */
import type { Entry } from '../ledger/ledger.ts';

/**
 * Period in ms over which the throughput of a rollout (ended attempts per time) is measured. Older attempts say little
 * about the current speed.
 */
const measuredMs = 15 * 60_000;

/**
 * Number of ended upgrade attempts per ms in this rollout over the last 15 minutes; undefined when no attempt ended in this
 * period.
 * @param entries entries of the ledger
 */
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
