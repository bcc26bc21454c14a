/**
 * Renders the status of a search job. Records that the errors and warnings in this status have been reported to the
 * client.
 */
import type { SearchSettings } from '../scenario/search-settings.ts';
import type { SimulatedSearchJob } from './search-job.ts';

/** Warning about cookies that real services include in their responses. */
export const cookieNotice =
  'The 404 Error status means the job was not found, or that the cookies of its creation were not sent back.';

/**
 * Renders the status of a search job. If `state` is given, the status shows `state` instead of the job's real state.
 */
export function renderStatus(job: SimulatedSearchJob, atMs: number, settings: SearchSettings, state?: string): string {
  const { extraMembers, pending, cookieNotice: hasNotice } = settings.status;
  const trueState = job.stateAt(atMs, settings);
  return JSON.stringify({
    warning: hasNotice ? cookieNotice : '',
    state: state ?? trueState,
    messageCount: job.messageCount,
    recordCount: job.recordCount,
    histogramBuckets: bucketsOf(job, atMs, settings),
    pendingErrors: job.errors.take(pending),
    pendingWarnings: job.warnings.take(pending),
    usageDetails: { dataScannedInBytes: job.scannedBytes },
    ...(extraMembers ? extras(job, atMs) : {}),
  });
}

function bucketsOf(job: SimulatedSearchJob, atMs: number, { status }: SearchSettings): object[] {
  const results = job.resultsAt(atMs);
  if (!results) return [];
  const { histogram } = results;
  const fresh = histogram.take();
  const reported = status.buckets === 'all' ? histogram.all : fresh;
  return reported.map((bucket) => (status.extraMembers ? { ...bucket, logLevel: null } : bucket));
}

function extras({ createdMs, schedule, definition }: SimulatedSearchJob, atMs: number): object {
  return {
    searchedTimeRange: { from: definition.fromMs, to: definition.toMs },
    timeElapsed: Math.floor(Math.min(atMs, schedule.doneMs) - createdMs),
  };
}
