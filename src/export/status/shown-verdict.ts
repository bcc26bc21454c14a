/**
 * Decides how long the status keeps the conditions that an earlier process wrote (H1). A restarted process must read
 * the destination before it can replace these conditions.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { reasonsOfSpecAndSecrets } from '../../controller/health.ts';
import type { WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';

/**
 * Reasons of conditions that report a problem of the spec or the Secrets. If this process can use the spec and the
 * Secrets, it immediately replaces such a condition of an earlier process.
 */
const ofSpecAndSecrets: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.volumeNotFound,
  reasons.ambientCredentialsNotAllowed,
]);

/**
 * Reasons of conditions that an earlier process wrote, and that stay in the status until this process has committed an
 * interval.
 */
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
 * Returns whether the conditions that an earlier process wrote stay in the status. They stay until this process finds
 * something that disproves them. `doneAtFirst` is the number of intervals that were committed when this process
 * started.
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
