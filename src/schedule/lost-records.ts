/**
 * Rewrites lost schedule records: files at the destination that show which time ranges were exported (S1). Rewriting
 * needs the export manifests of the runs in the schedule's status.
 */

import type { RunStatus } from '../api/generated/search-export-schedule.ts';
import { LogfleetError } from '../base/errors.ts';
import type { TimeRange } from '../base/time-range.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { manifestKind, manifestSha256 } from '../destination/manifest.ts';
import { type RunRecord, recordRun, type ScheduleLayout } from '../destination/schedule-records.ts';
import { type Destination, largestManifestBytes } from '../destination/store/destination.ts';
import { destinationError } from '../destination/store/destination-error.ts';
import { runTimes } from './run-name.ts';

const manifestUrlForm = /\/([0-9a-f]{64})\/manifest\.json$/;

type CompleteRun = Pick<RunStatus, 'name' | 'manifest'>;

/**
 * Writes the schedule record of a complete run. Returns false if the run's manifest is missing, damaged or for another
 * time range.
 */
export async function restoreRecord(
  destination: Destination,
  layout: ScheduleLayout,
  run: CompleteRun,
  span: TimeRange,
): Promise<boolean> {
  const [, fingerprint] = manifestUrlForm.exec(run.manifest ?? '') ?? [];
  if (fingerprint === undefined) return false;
  const record = await recordFrom(destination, run.name, fingerprint);
  if (!record || record.fromMs !== span.fromMs || record.toMs !== span.toMs) return false;
  await recordRun(destination, layout, runTimes(span), record);
  return true;
}

async function recordFrom(destination: Destination, run: string, fingerprint: string): Promise<RunRecord | undefined> {
  const { manifest: name } = ExportLayout.of(run, fingerprint);
  try {
    const content = await destination.read(name, largestManifestBytes);
    if (!content) return undefined;
    const { export: identity, totals, complete } = manifestKind.decode(name, content);
    const { fromMs, toMs } = identity;
    const { rows, bytes } = totals;
    return { run, fromMs, toMs, fingerprint, manifestSha256: manifestSha256(content), rows, bytes, complete };
  } catch (error) {
    if (!(error instanceof LogfleetError)) throw error;
    if (error.code === 'destination.damaged') return undefined;
    throw error.code === 'destination.frozen' ? archived(run, name, error) : error;
  }
}

function archived(run: string, manifest: string, cause: LogfleetError): LogfleetError {
  const message =
    `the schedule record of run ${run} is lost and cannot be rewritten, because the export manifest ${manifest} is archived; ` +
    'restore the export manifest from its archive, so that logfleet can rewrite the schedule record';
  return destinationError('frozen', message, cause);
}
