/** Runs all checks on a simulated export. Each violation begins with the name of the broken rule. */
import { aggregateViolations } from './aggregate-oracle.ts';
import { budgetViolations } from './budget-oracle.ts';
import { digestViolations } from './digest-oracle.ts';
import { endViolations } from './end-oracle.ts';
import { limitViolations } from './limit-oracle.ts';
import type { ExportHistoryRecord } from './record.ts';
import { rowViolations } from './row-oracle.ts';
import { statusViolations } from './status-oracle.ts';

const oracles: readonly ((record: ExportHistoryRecord) => string[])[] = [
  rowViolations,
  aggregateViolations,
  endViolations,
  digestViolations,
  budgetViolations,
  statusViolations,
  limitViolations,
];

export function violationsOf(record: ExportHistoryRecord): string[] {
  return oracles.flatMap((oracle) => oracle(record));
}
