/** Reads from the destination which intervals have been confirmed by an aggregation. */
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { allSegmentsOf, coverageOf } from '../../../src/destination/coverage.ts';
import { type DigestVerdict, verdictKind } from '../../../src/destination/digest-verdict.ts';
import { planKind } from '../../../src/destination/plan-object.ts';
import type { ExportDefinition } from '../../../src/export/search/export-definition.ts';
import type { MemoryStore } from '../../support/memory-destination.ts';
import type { StoredRecord } from './record.ts';

interface ExportFiles {
  readonly definition: ExportDefinition;
  readonly store: MemoryStore;
}

/**
 * Returns the results of checking the exported rows against an aggregation, oldest first. They are read from the
 * destination.
 */
export function verdictsOf({ definition, store }: ExportFiles): readonly DigestVerdict[] {
  const verdicts: DigestVerdict[] = [];
  for (let round = 1; ; round++) {
    const name = definition.layout.verdict(round);
    const content = store.objects.get(name);
    if (!content) return verdicts;
    verdicts.push(verdictKind.decode(name, content));
  }
}

/** Returns the commit records whose rows the export discarded after a failed check. */
export function voidedOf(files: ExportFiles, records: readonly StoredRecord[]): ReadonlySet<CommitRecord> {
  const { definition, store } = files;
  const plan = store.objects.get(definition.layout.plan);
  const verdicts = verdictsOf(files);
  if (!plan || verdicts.length === 0) return new Set();
  const all = records.map(({ record }) => record);
  return new Set(coverageOf(planKind.decode(definition.layout.plan, plan), all, verdicts).voided);
}

/**
 * Returns lists of the commit records whose rows count as exported: one list for the time before the first check, and
 * one for the time after each check.
 */
export function countingRecords(
  files: ExportFiles,
  records: readonly StoredRecord[],
): readonly (readonly CommitRecord[])[] {
  const { definition, store } = files;
  const content = store.objects.get(definition.layout.plan);
  if (!content) return [];
  const plan = planKind.decode(definition.layout.plan, content);
  const verdicts = verdictsOf(files);
  return [undefined, ...verdicts].map((_, round) => {
    const before = verdicts.slice(0, round);
    const segments = allSegmentsOf(plan, before).length;
    const known = records.map(({ record }) => record).filter(({ segment }) => segment < segments);
    return coverageOf(plan, known, before).intervals;
  });
}
