/** All checks on simulated upgrades. Each violation begins with the name of the broken rule. */
import { maxShardBytes } from '../../src/host/host.ts';
import { budgetViolations } from './budget-oracle.ts';
import { addsUp } from './convergence.ts';
import { evidenceViolations } from './evidence-oracle.ts';
import { failureViolations } from './failure-oracle.ts';
import { idleViolations } from './idle-oracle.ts';
import { inProgressViolations } from './in-progress-oracle.ts';
import { postViolations } from './post-oracle.ts';
import type { HistoryRecord } from './record.ts';
import { rollbackViolations } from './rollback-oracle.ts';
import { stageViolations } from './stage-oracle.ts';
import { statusViolations } from './status-oracle.ts';
import { stopViolations } from './stop-oracle.ts';
import { taskViolations } from './task-oracle.ts';
import { windowViolations } from './window-oracle.ts';

type Oracle = (record: HistoryRecord) => string[];

const oracles: readonly Oracle[] = [
  taskViolations,
  budgetViolations,
  postViolations,
  evidenceViolations,
  windowViolations,
  stopViolations,
  failureViolations,
  inProgressViolations,
  stageViolations,
  rollbackViolations,
  statusViolations,
  idleViolations,
  boundViolations,
  purityViolations,
  convergenceViolations,
];

export function violationsOf(record: HistoryRecord): string[] {
  return oracles.flatMap((oracle) => oracle(record));
}

/** Checks that decisions do not change their input, and return plain data. */
function purityViolations({ impurities }: HistoryRecord): string[] {
  return impurities.map((why) => `purity: ${why}`);
}

/** Checks that each policy becomes complete after the last fault, or that its status says why it does not. */
function convergenceViolations({ missing, convergedAtMs }: HistoryRecord): string[] {
  const when = convergedAtMs === undefined ? 'did not converge' : 'did not stay complete';
  return missing.map((what) => `convergence: ${when}: ${what}`);
}

const maxStatusBytes = 100 * 1024;

/** Checks the sizes of ledgers and statuses, and that the collector counts in a status add up. */
function boundViolations({ statuses, largestShardBytes }: HistoryRecord): string[] {
  const found: string[] = [];
  if (largestShardBytes > maxShardBytes) found.push(`U1: an object of a ledger has ${largestShardBytes} bytes`);
  for (const { atMs, policy, status } of statuses) {
    if (status.collectors && !addsUp(status.collectors)) {
      found.push(`status: at ${atMs} the counts of ${policy} do not add up: ${JSON.stringify(status.collectors)}`);
    }
    const tasks = status.tasks?.length ?? 0;
    if (tasks > 100) found.push(`status: at ${atMs} ${policy} shows ${tasks} tasks`);
  }
  for (const [policy, own] of Map.groupBy(statuses, (one) => one.policy)) {
    const bytes = Math.max(...own.map(({ status }) => JSON.stringify(status).length));
    if (bytes > maxStatusBytes) found.push(`status: a status of ${policy} has ${bytes} bytes`);
  }
  return found;
}
