/**
 * Decides whether the conditions that a former process wrote into status still hold (H1). A new process reads the destination first and
 * then searches. Until then, it knows less than the former process.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { reasonsOfSpecAndSecrets } from '../../controller/health.ts';
import type { WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';

/** Reasons of conditions that concern the spec and Secrets. These conditions no longer hold as soon as work can begin. */
const ofSpecAndSecrets: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.volumeNotFound,
  reasons.ambientCredentialsNotAllowed,
]);

/** Reasons of conditions that hold until another interval is committed. */
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
 * Returns whether the conditions in status still hold: they concern the current spec, and this process has observed nothing that disproves
 * them. If this export has a search job, only conditions that concern the spec, Secrets or an interval can still hold. If another export
 * has a search job, the service has no outage.
 * @param found the health of the export as observed by this process
 * @param doneAtFirst number of intervals at the destination when this process first read it
 */
export function stillHolds(
  { metadata, status }: SearchExport,
  found: ExportHealth,
  view: WorkView | undefined,
  doneAtFirst: number,
): boolean {
  const shown = findCondition(status?.conditions, 'Ready');
  if (!shown || shown.observedGeneration !== metadata.generation || ofSpecAndSecrets.has(shown.reason)) return false;
  if (found.reason === reasons.progressing) return true;
  if (found.reason !== reasons.exporting || shown.reason === reasons.exporting) return false;
  if (!view || view.stage === 'finishing' || (view.progress?.intervalsDone ?? 0) > doneAtFirst) return false;
  if (ofAnInterval.has(shown.reason)) return true;
  const isOutage = status?.outageStartTime !== undefined;
  return view.jobs.length === 0 && !(isOutage && view.hasServiceAnswered);
}
