/**
 * Decides how long a restarted process keeps the conditions that an earlier process wrote to an export's status. The
 * new process must read the destination before it can replace these conditions.
 */
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { reasonsOfSpecAndSecrets } from '../../controller/health.ts';
import type { WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';

/**
 * Reasons of conditions about a problem in the spec or the Secrets. A restarted process replaces such a condition as
 * soon as it can use the spec and the Secrets.
 */
const ofSpecAndSecrets: ReadonlySet<string> = new Set([
  ...reasonsOfSpecAndSecrets,
  reasons.volumeNotFound,
  reasons.ambientCredentialsNotAllowed,
]);

/**
 * Reasons of conditions that end only after a success. The status keeps such a condition until this process has
 * committed an interval.
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
 * Reports whether the status keeps the conditions that an earlier process wrote. The status keeps them until this
 * process finds a reason to replace them. `doneAtFirst` is the number of intervals that had been committed when this
 * process started.
 */
export function earlierConditionsHold(
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
