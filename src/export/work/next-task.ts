/**
 * Decides which task of an export runs next. Searches are not tasks. The function is pure.
 *
 * `stage` says what the destination contains: no plan (`planning`), a plan (`planned`) or a manifest (`complete`). It
 * is `loading` until the destination is read.
 */
import type { CommitRecord } from '../../destination/commit-record.ts';
import type { Coverage } from '../../destination/coverage.ts';
import type { ExportDecision } from './export-decision.ts';
import type { StoredExport } from './stored-export.ts';

/** Work on an export other than searches. */
export type Task =
  /** Reads the plan, the commit records and the manifest. */
  | { readonly kind: 'load' }
  /** Removes uploads of ended processes. */
  | { readonly kind: 'tidy' }
  /** Writes a probe file to test the destination. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'readRecords' }
  /** Compares the written rows of the given intervals with the service. */
  | { readonly kind: 'prove'; readonly intervals: readonly CommitRecord[]; readonly round: number }
  /** Writes the export manifest. */
  | { readonly kind: 'finish'; readonly coverage: Coverage };

export interface TaskFacts {
  readonly stored: Pick<StoredExport, 'stage' | 'recordsState' | 'isUntidy' | 'verdicts'>;
  /** True while a failure delays the whole export. */
  readonly isHeld: boolean;
  /** True if the destination failed, so that a probe file must be written to test the destination. */
  readonly needsProbe: boolean;
  readonly isPaused: boolean;
  /** True if no limit prevents planning. */
  readonly mayPlan: boolean;
  /** True while another worker of the export plans it. */
  readonly awaitsPlan: boolean;
  /** True if other workers may have written objects since the last reading. */
  readonly isOutdated: boolean;
  /** Decision about the export's searches; undefined if the export has no plan. */
  readonly decision: ExportDecision | undefined;
  /** Number of running searches. */
  readonly searches: number;
}

export function nextTask(facts: TaskFacts): Task | undefined {
  const { stage, recordsState, isUntidy, verdicts } = facts.stored;
  if (stage === 'complete' || facts.isHeld) return undefined;
  if (stage === 'loading') return { kind: 'load' };
  if (isUntidy) return { kind: 'tidy' };
  if (facts.needsProbe && !facts.isPaused) return { kind: 'probe' };
  if (stage === 'planning' && facts.awaitsPlan) return facts.isOutdated ? { kind: 'load' } : undefined;
  if (stage === 'planning') return facts.mayPlan ? { kind: 'plan' } : undefined;
  if (recordsState !== 'current') return { kind: 'readRecords' };
  if (facts.searches > 0 || !facts.decision?.isCovered) return undefined;
  const { unproven, coverage, waitsFor } = facts.decision;
  if (unproven.length === 0) return { kind: 'finish', coverage };
  return waitsFor ? undefined : { kind: 'prove', intervals: unproven, round: verdicts.length + 1 };
}
