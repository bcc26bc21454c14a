/**
 * Decides whether the verdict in status still holds while this process knows too little of an export to replace it (H1). A new process
 * reads the destination first and then searches. Until that has a result, the former verdict is the best knowledge.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { reasonsOfSpecAndSecrets } from '../../controller/health.ts';
import type { WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';

/** Verdicts on spec and Secrets. They no longer hold as soon as work can begin. */
const ofTheHost: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.volumeNotFound,
  reasons.ambientCredentialsNotAllowed,
]);

/** Verdicts that only a newly committed interval ends. Any search job ends the other verdicts, since the service has answered. */
const ofAnInterval: ReadonlySet<string> = new Set([
  reasons.intervalIncomplete,
  reasons.countMissing,
  reasons.resultsMissing,
  reasons.receiptTimeMissing,
  reasons.destinationFull,
  reasons.destinationSlow,
  reasons.destinationAccessDenied,
  reasons.destinationUnavailable,
]);

/**
 * Whether the conditions in status still hold: they concern the current spec, and this process has observed nothing that contradicts them.
 * @param found the verdict by the observations of this process
 * @param doneAtFirst number of intervals at the destination at the first reading by this process
 */
export function stillHolds(
  { metadata, status }: SearchExport,
  found: ExportHealth,
  view: WorkView | undefined,
  doneAtFirst: number,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || ofTheHost.has(shown.reason)) return false;
  if (found.reason === reasons.progressing) return true;
  if (found.reason !== reasons.exporting || shown.reason === reasons.exporting) return false;
  if (!view || view.stage === 'finishing' || (view.progress?.intervalsDone ?? 0) > doneAtFirst) return false;
  return ofAnInterval.has(shown.reason) || view.jobs.length === 0;
}
