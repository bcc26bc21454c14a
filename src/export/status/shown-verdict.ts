/**
 * Decides how long the conditions that an earlier process wrote into an export's status are shown (H1). After a restart, logfleet has to
 * read the destination and search before it knows as much as that process.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { reasonsOfSpecAndSecrets } from '../../controller/health.ts';
import type { WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';

/** Reasons of conditions about the spec or Secrets. A process that can use the spec and Secrets replaces such conditions immediately. */
const ofSpecAndSecrets: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.volumeNotFound,
  reasons.ambientCredentialsNotAllowed,
]);

/** Reasons of an earlier process's conditions that are shown until this process has committed another interval. */
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
 * True if the conditions of an earlier process must stay in the status: they belong to the current spec, and this process has seen nothing
 * that disproves them. Most conditions are disproved by a search job of this export, and an outage by a search job of any export. `found`
 * is the health as this process sees it, `doneAtFirst` the number of committed intervals at its first reading of the destination.
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
