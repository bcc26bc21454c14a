/** What must be true of the service afterwards, by its own record, whatever befell the operator. */
import { expect } from 'vitest';
import type { JournalEntry } from '../../../src/simulator/journal.ts';
import type { TaskState } from '../../../src/simulator/snapshot.ts';
import { isPost, type Tenant } from './simulator.ts';

const ratePerSecond = 4;
const maxConcurrent = 10;

/** Section 8: no half-open second with more than 4 arrivals of the user, never more than 10 requests at once, nothing refused for it. */
export function expectWithinLimits(journal: readonly JournalEntry[]): void {
  const tooMany = journal.filter(({ at }) => arrivalsWithin(journal, at, at + 1_000) > ratePerSecond);
  expect(tooMany, 'seconds with more than 4 arrivals').toEqual([]);
  const atOnce = journal.map(({ at }) => journal.filter((other) => other.at <= at && at < other.end).length);
  expect(Math.max(0, ...atOnce, ...journal.map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(maxConcurrent);
  expect(journal.filter(({ status, fault }) => status === 429 && fault === null)).toEqual([]);
}

function arrivalsWithin(journal: readonly JournalEntry[], fromMs: number, toMs: number): number {
  return journal.filter(({ at }) => at >= fromMs && at < toMs).length;
}

export interface Promised {
  /** How often each collector may be upgraded again after a failure. */
  readonly retryLimit: number;
  /** How often the operator was killed: each time, one outcome of each collector may have become unknown. */
  readonly kills: number;
  /** Whether upgrades fail in this scenario. */
  readonly failures: boolean;
}

/** U15: never two upgrades of a collector at once, and no more accepted than failures and unknown outcomes explain. */
export async function expectPromiseKept(tenant: Tenant, { retryLimit, kills, failures }: Promised): Promise<void> {
  const tasks = await tenant.tasks();
  const byCollector = Map.groupBy(tasks, ({ collectorId }) => collectorId);
  for (const [collectorId, ofCollector] of byCollector) {
    expect(overlapping(ofCollector), `tasks of collector ${collectorId} that ran at the same time`).toEqual([]);
    const posts = tenant.journal().filter((entry) => isPost(entry) && entry.collectorId === collectorId);
    const unknown = posts.filter(({ status }) => status === 0 || status >= 500).length + kills;
    const most = failures ? 1 + retryLimit + unknown : 1;
    expect(ofCollector.length, `tasks accepted of collector ${collectorId}`).toBeLessThanOrEqual(most);
  }
}

function overlapping(tasks: readonly TaskState[]): readonly TaskState[] {
  const inOrder = [...tasks].sort((left, right) => left.requestTime - right.requestTime);
  return inOrder.filter((task, index) => {
    const before = inOrder[index - 1];
    return before !== undefined && (before.collectorEndTime ?? Number.POSITIVE_INFINITY) > task.requestTime;
  });
}
