/** Assertions about the requests that the simulator received during a test. */
import { expect } from 'vitest';
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { TaskState } from '../../../simulator/snapshot.ts';
import { isPost, type Tenant } from './simulator.ts';

const ratePerSecond = 4;
const maxConcurrent = 10;

/** At most 4 requests by a user may arrive in any second, and at most 10 may be in flight at the same time. */
export function expectWithinLimits(journal: readonly JournalEntry[]): void {
  const inOrder = [...journal].sort((left, right) => left.at - right.at);
  const crowded = inOrder.map((first) => arrivalsFrom(first, inOrder)).filter(({ length }) => length > ratePerSecond);
  expect(crowded, 'seconds with more than 4 arrivals').toEqual([]);
  const atOnce = journal.map(({ at }) => journal.filter((other) => other.at <= at && at < other.end).length);
  expect(Math.max(0, ...atOnce, ...journal.map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(maxConcurrent);
  expect(journal.filter(({ status, fault }) => status === 429 && fault === null)).toEqual([]);
}

function arrivalsFrom(first: JournalEntry, journal: readonly JournalEntry[]): readonly string[] {
  return journal
    .filter(({ at }) => at >= first.at && at < first.at + 1_000)
    .map(({ at, end, method, path, status }) => {
      const [afterMs, tookMs] = [at - first.at, end - at].map(Math.round);
      return `${new Date(first.at).toISOString()} + ${afterMs} ms, for ${tookMs} ms: ${method} ${path} ${status}`;
    });
}

export interface Promised {
  /** Maximum number of times that the policy retries a collector's upgrade. */
  readonly retryLimit: number;
  /**
   * Number of times that the test killed the operator. Each kill can hide the outcome of one upgrade per collector, so
   * the test permits one more upgrade per kill.
   */
  readonly kills?: number;
  readonly failures?: boolean;
  /** Delay in ms until collector lists show an upgrade. */
  readonly lagMs?: number;
}

/** Checks that no collector has two upgrades at the same time, and that each repeated upgrade was necessary (U15). */
export async function expectPromiseKept(tenant: Tenant, promised: Promised): Promise<void> {
  const { retryLimit, kills = 0, failures = false, lagMs = 0 } = promised;
  const byCollector = Map.groupBy(await tenant.tasks(), ({ collectorId }) => collectorId);
  // Reads the journal last, because the simulator writes the entry of a request just after its response.
  const journal = tenant.journal();
  for (const [collectorId, tasks] of byCollector) {
    expect(overlapping(tasks), `tasks of collector ${collectorId} that ran at the same time`).toEqual([]);
    const posts = journal.filter((entry) => isPost(entry) && entry.collectorId === collectorId);
    const unknown = posts.filter(({ status, fault }) => status === 0 || fault !== null).length + kills;
    const max = 1 + (failures ? retryLimit : 0) + unknown;
    expect(tasks.length, `tasks that were accepted for collector ${collectorId}`).toBeLessThanOrEqual(max);
    if (!failures) expect(needless(tasks, journal, lagMs), `tasks that were not needed`).toEqual([]);
  }
}

function overlapping(tasks: readonly TaskState[]): readonly TaskState[] {
  return successors(tasks)
    .filter(({ before, task }) => endOf(before) > task.requestTime)
    .map(({ task }) => task);
}

/**
 * Returns upgrades that were started although a collector list had already shown the collector running the target
 * version.
 */
function needless(tasks: readonly TaskState[], journal: readonly JournalEntry[], lagMs: number): readonly TaskState[] {
  const lists = journal.filter(({ operation, path }) => operation === 'listCollectors' && !path.endsWith('&limit=1'));
  return successors(tasks)
    .filter(({ before, task }) => lists.some(({ at, end }) => end < task.requestTime && at - lagMs > endOf(before)))
    .map(({ task }) => task);
}

function successors(tasks: readonly TaskState[]): readonly { readonly before: TaskState; readonly task: TaskState }[] {
  const inOrder = [...tasks].sort((left, right) => left.requestTime - right.requestTime);
  return inOrder.slice(1).map((task, index) => ({ before: inOrder[index] as TaskState, task }));
}

function endOf({ collectorEndTime }: TaskState): number {
  return collectorEndTime ?? Number.POSITIVE_INFINITY;
}
