/**
 * Writes lost records of complete runs again (S1). The status of a schedule names the folder of each of its latest runs, and the manifest in
 * this folder has all data of the record.
 */
import type { RunStatus } from '../api/generated/search-export-schedule.ts';
import { LogfleetError } from '../base/errors.ts';
import { type Destination, largestManifestBytes } from '../destination/destination.ts';
import { ExportLayout } from '../destination/export-layout.ts';
import { manifestKind, manifestSha256 } from '../destination/manifest.ts';
import { type RunRecord, recordRun, type ScheduleLayout } from '../destination/schedule-records.ts';
import { runTimes } from './run-name.ts';
import type { TimeSpan } from './time-spans.ts';

const manifestUrlForm = /\/([0-9a-f]{64})\/manifest\.json$/;

/** Complete run as status shows it. */
type CompleteRun = Pick<RunStatus, 'name' | 'manifest'>;

/**
 * Writes the record of a complete run from the manifest of the run. Returns false if the destination has no manifest of the run, or a damaged
 * one.
 */
export async function restoreRecord(
  destination: Destination,
  layout: ScheduleLayout,
  run: CompleteRun,
  span: TimeSpan,
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
    if (error instanceof LogfleetError && error.code === 'destination.damaged') return undefined;
    throw error;
  }
}
