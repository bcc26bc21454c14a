/** Reads from the destination which intervals the check aggregations confirmed. */
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { allSegmentsOf, coverageOf } from '../../../src/destination/coverage.ts';
import { type DigestVerdict, verdictKind } from '../../../src/destination/digest-verdict.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import type { ExportTask } from '../../../src/export/search/export-task.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import type { StandingRecord } from './record.ts';

interface Standing {
  readonly task: ExportTask;
  readonly store: MemoryStore;
}

/**
 * Returns the results of the checks that compare the exported rows with an aggregation, oldest first. They are read
 * from the destination.
 */
export function verdictsOf({ task, store }: Standing): readonly DigestVerdict[] {
  const verdicts: DigestVerdict[] = [];
  for (let round = 1; ; round++) {
    const name = task.layout.verdict(round);
    const content = store.objects.get(name);
    if (!content) return verdicts;
    verdicts.push(verdictKind.decode(name, content));
  }
}

/** Returns the commit records whose rows the export discarded after a failed check. */
export function voidedOf(standing: Standing, records: readonly StandingRecord[]): ReadonlySet<CommitRecord> {
  const { task, store } = standing;
  const plan = store.objects.get(task.layout.plan);
  const verdicts = verdictsOf(standing);
  if (!plan || verdicts.length === 0) return new Set();
  const all = records.map(({ record }) => record);
  return new Set(coverageOf(planKind.decode(task.layout.plan, plan), all, verdicts).voided);
}

/**
 * Returns the commit records that the export used: one list for the time before the first check, and one list for the
 * time after each check.
 */
export function countingRecords(
  standing: Standing,
  records: readonly StandingRecord[],
): readonly (readonly CommitRecord[])[] {
  const { task, store } = standing;
  const content = store.objects.get(task.layout.plan);
  if (!content) return [];
  const plan = planKind.decode(task.layout.plan, content);
  const verdicts = verdictsOf(standing);
  return [undefined, ...verdicts].map((_, round) => {
    const before = verdicts.slice(0, round);
    const segments = allSegmentsOf(plan, before).length;
    const known = records.map(({ record }) => record).filter(({ segment }) => segment < segments);
    return coverageOf(plan, known, before).intervals;
  });
}
