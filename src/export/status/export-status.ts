/** Builds an export's status. Lists and texts are truncated to the maximum length that the schema allows. */

import { findCondition, reasons, removeCondition, setCondition } from '../../api/conditions.ts';
import type {
  IncompleteInterval,
  ManifestStatus,
  ProgressStatus,
  SearchExportStatus,
  SearchJobStatus,
} from '../../api/generated/search-export.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { statusTimeMs } from '../../api/status-age.ts';
import { bounded } from '../../base/short-text.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import { describeHealth, type ShownHealth } from '../../controller/health.ts';
import { echoOfRequest } from '../../controller/status-text.ts';
import { StatusWriter } from '../../controller/status-writer.ts';
import { incompleteRanges, lowestLevel } from '../../destination/proof-range.ts';
import { renderJobState } from '../../service/jobs/decode-jobs.ts';
import type { RuntimeOptions } from '../resource/export-resource.ts';
import type { ExportDefinition } from '../search/export-definition.ts';
import type { JobView } from '../search/search-tools.ts';
import { amountText, percentOf, percentText } from '../work/figure-text.ts';
import type { StoredManifest, WorkView } from '../work/work-view.ts';
import type { ExportHealth } from './export-health.ts';
import type { Pace } from './export-pace.ts';

const maxJobs = 50;
const maxIncomplete = 20;
const maxReason = 512;
const maxTexts = 10;
const maxUrl = 2_048;

export interface ExportStatusInput {
  readonly resource: SearchExport;
  /** The newest known status. */
  readonly before: SearchExportStatus | undefined;
  readonly health: ExportHealth;
  readonly startedAtMs: number;
  /** Settings of the export; undefined while unknown. */
  readonly definition: ExportDefinition | undefined;
  readonly view: WorkView | undefined;
  /** True if the status may confirm the user's last request for a check, because the check has ended. */
  readonly hasChecked: boolean;
  readonly wallMs: number;
}

/** Builds the status fields that are written immediately when they change. */
export function describeExportEssentials(input: ExportStatusInput): SearchExportStatus {
  const { resource, before, health, startedAtMs, definition, view, hasChecked, wallMs } = input;
  const now = isoSeconds(statusTimeMs(resource.metadata, wallMs));
  const end = health.isComplete ? 'Complete' : health.isFailed ? 'Failed' : undefined;
  const { completionTime: _, estimatedCompletionTime: __, outageStartTime: ___, ...rest } = before ?? {};
  const { manifest: knownManifest, ...kept } = rest;
  const location = view?.location;
  // Until the destination has been read, the status still shows the manifest that an earlier process found.
  const isUnread = view === undefined || view.stage === 'loading';
  const manifest = view?.manifest ? describeManifest(view.manifest) : isUnread ? knownManifest : undefined;
  return {
    ...kept,
    observedGeneration: resource.metadata.generation,
    ...(hasChecked && echoOfRequest(resource)),
    startTime: isoSeconds(startedAtMs),
    // If the status already shows this result, its completion time does not change.
    ...(end && { completionTime: (findCondition(before?.conditions, end) && before?.completionTime) ?? now }),
    ...(definition && { timeRange: describeRange(definition), fingerprint: definition.fingerprint }),
    ...(location === undefined ? {} : { location: bounded(location, maxUrl) }),
    ...(manifest && { manifest }),
    ...describeVerdict(input, now),
  };
}

function describeVerdict({ resource, before, health }: ExportStatusInput, now: string): ShownHealth {
  const observedGeneration = resource.metadata.generation;
  const { reason, message, isComplete, isFailed } = health;
  const shown = describeHealth(before, health, observedGeneration, now);
  let { conditions } = shown;
  for (const [type, on] of [
    ['Complete', isComplete],
    ['Failed', isFailed],
  ] as const) {
    conditions = on
      ? setCondition(conditions, { type, status: 'True', reason, message, observedGeneration }, now)
      : removeCondition(conditions, type);
  }
  return { ...shown, conditions };
}

function describeRange({ identity }: ExportDefinition) {
  return { startTime: isoText(identity.fromMs), endTime: isoText(identity.toMs) };
}

function describeManifest({ url, sha256, manifest }: StoredManifest): ManifestStatus {
  const { rows, files, bytes } = manifest.totals;
  const proof = lowestLevel(manifest.proof);
  return { url: bounded(url, maxUrl), sha256, rows, files, bytes, complete: manifest.complete, proof };
}

/** While one interval waits for a user to act, the export continues with its other intervals. */
const interruption = { reason: reasons.exporting, of: reasons.intervalIncomplete };

/** Returns the writer for an export's status. */
export function exportStatusWriter(
  { namespace, name, uid }: SearchExport['metadata'],
  { host, clock, draining, settings }: Pick<RuntimeOptions, 'host' | 'clock' | 'draining' | 'settings'>,
): StatusWriter<'SearchExport'> {
  return new StatusWriter({
    rules: { kind: 'SearchExport', verdicts: verdictsOf, interruption },
    ...{ host, clock, draining, intervalMs: settings.statusIntervalMs },
    owner: { kind: 'SearchExport', namespace, name, uid },
  });
}

/**
 * Returns the status fields that are written immediately when they change. Other fields, such as row counts, are
 * written later.
 */
export function verdictsOf(status: SearchExportStatus): unknown {
  const { observedGeneration, lastHandledReconcileAt, startTime, completionTime, timeRange } = status;
  const { fingerprint, location, manifest, kubernetesJob, conditions } = status;
  const found = conditions?.map((condition) => {
    const { type, status: holds, reason, observedGeneration: generation } = condition;
    return { type, holds, reason, generation };
  });
  const begun = { observedGeneration, lastHandledReconcileAt, startTime, completionTime, timeRange };
  return { ...begun, fingerprint, location, manifest, kubernetesJob, found };
}

/**
 * Builds the status fields with numbers that change often. Until the destination has been read, only the state is
 * updated.
 */
export function describeExportFigures(
  { before, health, view, wallMs }: ExportStatusInput,
  pace: Pace,
): SearchExportStatus {
  const state = health.reason;
  if (!view || view.stage === 'loading') return { summary: { ...before?.summary, state }, jobs: [] };
  const { progress } = view;
  const estimated = health.reconciling ? pace.leftMs : undefined;
  return {
    summary: progress
      ? { state, progress: percentText(progress.coveredRatio), rows: amountText(progress.rows) }
      : { ...before?.summary, state },
    ...(progress && { progress: describeProgress(view, before, pace) }),
    ...(estimated === undefined ? {} : { estimatedCompletionTime: isoSeconds(wallMs + estimated) }),
    jobs: view.jobs.slice(0, maxJobs).map(describeJob),
    rowHistogram: view.histogram(),
    incomplete: describeIncomplete(view),
    pendingErrors: view.messages.slice(0, maxTexts).map((text) => bounded(text, maxReason)),
    pendingWarnings: view.warnings.slice(0, maxTexts).map((text) => bounded(text, maxReason)),
  };
}

function describeProgress(view: WorkView, before: SearchExportStatus | undefined, pace: Pace): ProgressStatus {
  const { coveredRatio, intervalsPlanned, intervalsDone, rows, bytes, duplicates, scannedBytes } =
    view.progress as NonNullable<WorkView['progress']>;
  const incomplete = incompleteRanges(view.intervals, view.manifest?.manifest.proof ?? []).length;
  const scanned = Math.max(scannedBytes, before?.progress?.bytesScanned ?? 0);
  const { rowsPerSecond, bytesPerSecond } = pace;
  return {
    coveredPercent: percentOf(coveredRatio),
    intervalsPlanned,
    intervalsDone,
    ...(incomplete > 0 && { intervalsIncomplete: incomplete }),
    rowsWritten: rows,
    bytesWritten: bytes,
    ...(scanned > 0 && { bytesScanned: scanned }),
    duplicatesDropped: duplicates,
    ...(view.stage !== 'complete' && rowsPerSecond > 0 && { rowsPerSecond }),
    ...(view.stage !== 'complete' && bytesPerSecond > 0 && { bytesPerSecond }),
  };
}

function describeJob({ id, fromMs, toMs, state, messageCount, recordCount }: JobView): SearchJobStatus {
  return {
    id: bounded(id, 128),
    from: isoText(fromMs),
    to: isoText(toMs),
    state: bounded(renderJobState(state), 64),
    messageCount,
    ...(recordCount === undefined ? {} : { recordCount }),
  };
}

/** Returns the incomplete intervals, newest first. */
function describeIncomplete({ unproven, intervals, manifest }: WorkView): readonly IncompleteInterval[] {
  const open = unproven.map(({ order: { fromMs, toMs }, message, figures }) => ({
    ...{ fromMs, toMs, reason: message, ...figures },
  }));
  const kept = incompleteRanges(intervals, manifest?.manifest.proof ?? []).map(
    ({ fromMs, toMs, reason, received, counted }) => ({ fromMs, toMs, reason, received, expected: counted }),
  );
  return [...open, ...kept]
    .sort((left, right) => right.toMs - left.toMs)
    .slice(0, maxIncomplete)
    .map(({ fromMs, toMs, reason, ...figures }) => {
      return { from: isoText(fromMs), to: isoText(toMs), reason: bounded(reason, maxReason), ...figures };
    });
}
