/** Checks that the status shows an export as complete exactly when the export manifest exists. */
import { findCondition } from '../../../src/api/conditions.ts';
import { manifestKind } from '../../../src/destination/manifest.ts';
import type { ExportHistoryRecord } from './record.ts';

export function statusViolations({ statuses, store, definition }: ExportHistoryRecord): string[] {
  const found: string[] = [];
  for (const { atMs, status, hasManifest } of statuses) {
    const complete = findCondition(status.conditions, 'Complete');
    if (complete && !hasManifest) found.push(`status: complete at ${atMs}, before the manifest exists`);
    const { coveredPercent = 0, intervalsDone = 0, intervalsPlanned = 0 } = status.progress ?? {};
    if (coveredPercent === 100 && intervalsDone < intervalsPlanned) {
      found.push(
        `status: 100 % covered at ${atMs}, but only ${intervalsDone} of ${intervalsPlanned} intervals are done`,
      );
    }
  }
  const last = statuses.at(-1)?.status;
  const content = store.objects.get(definition.layout.manifest);
  if (!content || !findCondition(last?.conditions, 'Complete')) return found;
  const { totals } = manifestKind.decode(definition.layout.manifest, content);
  const { rowsWritten, coveredPercent } = last?.progress ?? {};
  if (rowsWritten !== totals.rows)
    found.push(`status: ${rowsWritten} rows at the end, but ${totals.rows} in the files`);
  if (coveredPercent !== 100) found.push(`status: only ${coveredPercent} % covered at the end`);
  return found;
}
