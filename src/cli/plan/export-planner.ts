/**
 * Plans exports. Sends a few requests that make the log service count the rows. Writes nothing. When planning ends or
 * times out, the search jobs that it created are closed.
 */
import type { Accounts } from '../../account/accounts.ts';
import { type RequestLimits, shareSize } from '../../account/worker-shares.ts';
import { findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { asLogfleetError, failure, type LogfleetError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { requestedDelayMs } from '../../base/retry-delay.ts';
import { isoText } from '../../base/time-text.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import { unconfirmedRequest } from '../../controller/status-text.ts';
import { type ExportForecast, proposePlan, settledBeforeSearch } from '../../export/plan/export-planning.ts';
import { requestsOfCount } from '../../export/plan/first-segments.ts';
import { limitsOf, requestOf, startOf, wantedShare, workersOf } from '../../export/resource/export-spec.ts';
import { type ExportDefinition, exportDefinition } from '../../export/search/export-definition.ts';
import { JobSet } from '../../export/search/job-set.ts';
import { ServiceQuirks } from '../../export/search/service-quirks.ts';
import { usualLimit } from '../../export/work/export-decision.ts';
import type { WorkLimits } from '../../export/work/work-view.ts';
import type { JobProgress } from '../../service/jobs/job-gathering.ts';
import { maxFailureMs } from '../operator/service-reading.ts';
import { holds } from '../render/condition-lines.ts';
import { type Problem, problemOf, timedOut } from './planner.ts';

interface ExportPlanningOptions {
  readonly exports: readonly SearchExport[];
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Cause of the operator's pause, as text that follows "paused by". Undefined if the operator is not paused. */
  readonly pausedBy: string | undefined;
  /** Maximum duration of the planning in ms, measured from `startedMs`. */
  readonly timeoutMs: number;
  readonly startedMs: number;
  readonly signal: AbortSignal;
  /** Called after each failed attempt that will be retried. */
  readonly onTrouble: (resource: SearchExport, error: LogfleetError) => void;
}

/**
 * Plan of one export. `complete`: the export has already ended. `tooNew`: no search starts before `untilMs`, because
 * too much of the data is too new (E11). `hindrances` are the reasons why no search will start after `untilMs` either.
 */
export type ExportOutlook = { readonly resource: SearchExport } & (
  | { readonly kind: 'searches'; readonly plan: PlannedSearches }
  | { readonly kind: 'complete' }
  | { readonly kind: 'tooNew'; readonly untilMs: number; readonly hindrances: readonly string[] }
  | Problem<SearchExport>
);

/**
 * Estimates for the whole export: rows, searches, requests and duration. Data that has already been exported is
 * included.
 */
export interface PlannedSearches extends ExportForecast {
  readonly rows: number;
  /** Time up to which data can be searched now. Data after this time is still too new. */
  readonly settledMs: number;
  readonly toMs: number;
  /** Planned number of intervals. It is larger than the number of segments if some segments must be divided. */
  readonly intervals: number;
  /** Planned number of search jobs, including search jobs that only count rows. */
  readonly jobs: number;
  readonly parallelism: number;
  readonly requestsPerSecond: number;
  /**
   * Maximum total request rate of several exports that run at the same time. If they run in Kubernetes Jobs, this is
   * the sum of the rates of all shares (B8).
   */
  readonly jointRequestsPerSecond: number;
  /**
   * Number of shares into which the user's request limits are divided for Kubernetes Jobs. Undefined if the operator
   * itself runs the export.
   */
  readonly shares: number | undefined;
  /** Number of bytes that the planned searches will scan. Undefined if unknown. */
  readonly bytesToScan: number | undefined;
  /** Cost of the digest, an aggregation that checks the exported rows (E6). Undefined if the export uses no digest. */
  readonly digest: PlannedDigest | undefined;
  readonly durationMs: number;
  /** One sentence for each problem that stops or delays the export. */
  readonly hindrances: readonly string[];
}

interface PlannedDigest {
  readonly jobs: number;
  readonly requests: number;
  /** Number of bytes that the log service scans for the digest. Undefined if unknown. */
  readonly bytes: number | undefined;
}

const retryMs = 2_000;
/**
 * Margin in ms for the difference between the local clock and the service's clock. The service's clock shows whole
 * seconds (E11).
 */
export const clockMarginMs = 2_000;

/**
 * Approximate number of requests that planning an export takes. The estimated duration does not include these requests,
 * because they have already been sent.
 */
const requestsOfPlanning = 6;

/** Plans the exports, and resolves to the plans in the same order. Rejects on abort and on unexpected errors. */
export function planExports(options: ExportPlanningOptions): Promise<readonly ExportOutlook[]> {
  return Promise.all(options.exports.map((resource) => planInTime(resource, options)));
}

async function planInTime(resource: SearchExport, options: ExportPlanningOptions): Promise<ExportOutlook> {
  const { clock, timeoutMs, signal } = options;
  const beganMs = clock.monotonic();
  const timeout = new AbortController();
  const timer = clock.after(Math.max(0, options.startedMs + timeoutMs - beganMs), () => timeout.abort());
  const either = AbortSignal.any([signal, timeout.signal]);
  let trouble: LogfleetError | undefined;
  try {
    for (;;) {
      try {
        return await plan(resource, { ...options, signal: either });
      } catch (thrown) {
        signal.throwIfAborted();
        if (timeout.signal.aborted) return trouble ? problemOf(resource, trouble) : timedOut(resource, timeoutMs);
        const error = asLogfleetError(thrown);
        const { handling } = error;
        if (handling.kind === 'bug') throw thrown;
        if (handling.kind === 'stall' || clock.monotonic() - beganMs >= maxFailureMs) return problemOf(resource, error);
        trouble = error;
        options.onTrouble(resource, error);
        await sleep(clock, Math.max(retryMs, requestedDelayMs(error)), either).catch(() => {});
      }
    }
  } finally {
    timer.cancel();
  }
}

async function plan(resource: SearchExport, options: ExportPlanningOptions): Promise<ExportOutlook> {
  const { accounts, clock, signal } = options;
  if (holds(resource.status, 'Complete')) return { kind: 'complete', resource };
  const { namespace } = resource.metadata;
  const pausedBy = options.pausedBy ?? pausedByOf(resource);
  const limits = limitsOf(resource, deadlineStartOf(resource) ?? clock.now(), pausedBy !== undefined);
  const settledMs = clock.now() - limits.settleDelayMs - clockMarginMs;
  const wanted = definitionOf(resource, 'unknown');
  const beginsMs = settledBeforeSearch(wanted);
  const failure = failureOf(resource);
  const noSearch = failure === undefined ? pauseOf(pausedBy) : [failure];
  if (settledMs < beginsMs)
    return { kind: 'tooNew', resource, untilMs: beginsMs + limits.settleDelayMs, hindrances: noSearch };
  const { toMs } = wanted.identity;
  const account = await accounts.resolve({ namespace, name: resource.spec.credentialsSecretRef.name });
  const definition = definitionOf(endingAt(resource, Math.min(toMs, settledMs)), account.serviceId);
  const quirks = new ServiceQuirks();
  const jobs = new JobSet({ jobs: account.searches, quirks, clock, signal, onProgress: () => {} });
  const startedMs = clock.monotonic();
  const proposing = proposePlan({ definition, quirks, log: silentLogger }, { settleDelayMs: 0, jobs });
  const { first, forecast } = await proposing.finally(() => jobs.closeAll());
  const planningMs = clock.monotonic() - startedMs;
  const { progress } = first.job;
  const scans = scansOf(forecast, progress, jobs.scannedBytes - (progress.scannedBytes ?? 0));
  const digest = limits.proof === 'Digest' ? digestOf(definition, scans?.ofRange) : undefined;
  const bytesToScan = scans && scans.ofSearches + (digest?.bytes ?? 0);
  const requestLimits = accounts.limitsOf(account);
  const rates = ratesOf(resource, requestLimits);
  const figures = figuresOf(forecast, rates, limits, { planningMs, digest });
  const planned = { ...forecast, ...figures, settledMs: Math.min(toMs, settledMs), toMs, bytesToScan, digest };
  const shareProblem = shareProblemOf(resource, requestLimits);
  const hindrances = failure ? [failure] : hindrancesOf(planned, definition, limits, { pausedBy, shareProblem, clock });
  return { kind: 'searches', resource, plan: { ...planned, hindrances } };
}

/**
 * Returns the time in ms from which `activeDeadlineSeconds` of an existing export counts. Returns undefined for a new
 * export, and for an export in a Kubernetes Job, because `activeDeadlineSeconds` starts again with each Job.
 */
function deadlineStartOf(resource: SearchExport): number | undefined {
  return resource.spec.execution.mode === 'Job' ? undefined : startOf(resource);
}

/**
 * Returns why an existing export does not run again. Returns undefined if the export has not failed with this spec, or
 * if a user has requested a retry that has not begun yet.
 */
function failureOf(resource: SearchExport): string | undefined {
  const { metadata, status } = resource;
  const failed = findCondition(status?.conditions, 'Failed');
  if (unconfirmedRequest(resource) !== undefined) return undefined;
  if (failed?.observedGeneration !== metadata.generation) return undefined;
  return `The export has failed with this spec, so no search starts: ${failed.message}`;
}

/**
 * Returns the export's definition, such as its query and time range, for planning searches. Throws if the spec is
 * invalid.
 */
function definitionOf(resource: SearchExport, serviceHost: string): ExportDefinition {
  const definition = exportDefinition(requestOf(resource), serviceHost);
  if (!('problem' in definition)) return definition;
  const message = `spec.${definition.member}: ${definition.problem}.`;
  throw failure('stall', 'cli.range', message, { reason: reasons.invalidSpec });
}

function endingAt({ spec, ...rest }: SearchExport, toMs: number): SearchExport {
  return { ...rest, spec: { ...spec, timeRange: { ...spec.timeRange, to: isoText(toMs) } } };
}

/** Returns the cost of an export's digest: one aggregation over the whole time range. */
function digestOf({ identity, isSplittable }: ExportDefinition, bytes: number | undefined): PlannedDigest | undefined {
  if (identity.results === 'Records' || !isSplittable) return undefined;
  return { jobs: 1, requests: requestsOfCount, bytes };
}

interface KnownBeforehand {
  /** Duration of the planning in ms, from which the duration of the export is estimated. */
  readonly planningMs: number;
  readonly digest: PlannedDigest | undefined;
}

type RequestRates = Pick<PlannedSearches, 'requestsPerSecond' | 'jointRequestsPerSecond' | 'shares'>;

/** Returns the maximum request rates of an export, which depend on where the export runs. */
function ratesOf({ spec }: SearchExport, limits: RequestLimits): RequestRates {
  const isJob = spec.execution.mode === 'Job';
  const size = isJob ? shareSize(limits) : undefined;
  const shares = isJob ? (size?.workers ?? 0) : undefined;
  const { requestsPerSecond } = limits;
  if (!size) return { requestsPerSecond, jointRequestsPerSecond: requestsPerSecond, shares };
  const rateOf = (workers: number) => workers * size.share.requestsPerSecond;
  return {
    requestsPerSecond: rateOf(Math.min(workersOf(spec), size.workers)),
    jointRequestsPerSecond: rateOf(size.workers),
    shares,
  };
}

/**
 * Returns why the request limits are too low for the export's Kubernetes Job. Returns undefined if they are high
 * enough.
 */
function shareProblemOf({ spec }: SearchExport, limits: RequestLimits): string | undefined {
  if (spec.execution.mode !== 'Job') return undefined;
  const wanted = wantedShare(spec, limits);
  return 'problem' in wanted ? wanted.problem : undefined;
}

function figuresOf(
  forecast: ExportForecast,
  rates: RequestRates,
  { parallelism }: WorkLimits,
  { planningMs, digest }: KnownBeforehand,
) {
  const { segments, rowsBasis } = forecast;
  const requests = forecast.requests + (digest?.requests ?? 0);
  const rows = rowsOf(segments);
  // A segment with more rows than one search can return is divided into several intervals. If only a minimum of rows is
  // known, it is unknown whether the segment can be divided.
  const limit = rowsBasis === 'Minimum' ? undefined : forecast.limit;
  const intervals = segments.reduce((sum, segment) => sum + 1 + (limit ? Math.floor(segment.rows / limit) : 0), 0);
  const isCounted = rowsBasis === 'Counted' && segments.length > 1;
  const jobs = intervals + (isCounted ? 1 : 0) + (digest?.jobs ?? 0);
  const searchMs = planningMs / (isCounted ? 2 : 1);
  const requestsMs = (Math.max(0, requests - requestsOfPlanning) / rates.requestsPerSecond) * 1_000;
  const searchingMs = Math.max(requestsMs, ((intervals - 1) / Math.min(parallelism, intervals)) * searchMs);
  const durationMs = Math.ceil((planningMs + searchingMs) / 1_000) * 1_000;
  return { rows, intervals, jobs, requests, ...rates, parallelism, durationMs };
}

/**
 * Returns two estimates of the bytes that the log service scans: `ofRange` for one scan of the whole time range, and
 * `ofSearches` for all searches of the export. Returns undefined if the byte counts are unknown.
 */
function scansOf(
  { segments, rowsBasis }: ExportForecast,
  { messageCount, scannedBytes: ofFirst }: JobProgress,
  ofCounts: number,
): { readonly ofRange: number; readonly ofSearches: number } | undefined {
  const newest = segments.at(-1);
  if (rowsBasis === 'Minimum' || ofFirst === undefined || !newest) return undefined;
  if (rowsBasis === 'Counted' && segments.length > 1) {
    const fromMs = segments[0]?.fromMs ?? newest.fromMs;
    // `ofSearches` is the sum of three amounts: the whole time range, which counting has scanned (`ofCounts`); the
    // newest segment, which the first search has scanned (`ofFirst`); and all other segments, whose size is estimated
    // from their duration (`remaining`).
    const remaining = Math.round((ofCounts * (newest.fromMs - fromMs)) / (newest.toMs - fromMs));
    return { ofRange: ofCounts, ofSearches: ofFirst + ofCounts + remaining };
  }
  // If the first search returned only some of the rows, it scanned only the bytes of those rows. The estimate for all
  // rows assumes that every row has the same number of bytes.
  const isPart = rowsBasis !== 'Counted' && messageCount > 0;
  const ofRange = isPart ? Math.round((ofFirst * rowsOf(segments)) / messageCount) : ofFirst;
  return { ofRange, ofSearches: ofRange + ofCounts };
}

function rowsOf(segments: ExportForecast['segments']): number {
  return segments.reduce((sum, { rows }) => sum + rows, 0);
}

function pauseOf(pausedBy: string | undefined): readonly string[] {
  return pausedBy === undefined ? [] : [`Paused by ${pausedBy}: no search starts until this pause ends.`];
}

type SearchFigures = Omit<PlannedSearches, 'hindrances'>;

interface Circumstances extends Pick<ExportPlanningOptions, 'pausedBy' | 'clock'> {
  /** Reason why the request limits are too low for the export's Kubernetes Job. Undefined if they are high enough. */
  readonly shareProblem: string | undefined;
}

function hindrancesOf(
  { rows, segments, rowsBasis, isCountRefused, limit, bytesToScan, durationMs }: SearchFigures,
  { isSplittable, unsplittableReason }: ExportDefinition,
  { maxMessages, maxBytesScanned, deadlineMs }: WorkLimits,
  { pausedBy, shareProblem, clock }: Circumstances,
): readonly string[] {
  const sentences: string[] = [...pauseOf(pausedBy)];
  if (shareProblem !== undefined) sentences.push(shareProblem);
  const areCounted = rowsBasis === 'Counted';
  if (!areCounted && !isSplittable) {
    const maximum = limit === undefined ? 'the maximum number of rows' : `${limit} rows`;
    sentences.push(
      `The query cannot be split into several searches (${unsplittableReason}), and the service ends a search after ${maximum}: the export would be incomplete.`,
    );
  } else if (isCountRefused) {
    sentences.push(
      'The service cannot count the rows of this query in advance, so there may be more rows and searches than in this plan.',
    );
  }
  const isOneSearch = areCounted && segments.length === 1;
  if (maxMessages !== undefined && rows >= maxMessages && !isOneSearch) {
    // When the export reaches `maxMessages`, running searches continue, so the export can exceed the limit.
    const stops = rows - maxMessages >= (limit ?? usualLimit) ? 'stops' : 'may stop';
    sentences.push(`limits.maxMessages of ${maxMessages} rows ${stops} the export before it is complete.`);
  }
  if (maxBytesScanned !== undefined && (bytesToScan ?? 0) >= maxBytesScanned) {
    sentences.push(`limits.maxBytesScanned of ${maxBytesScanned} bytes stops the export before it is complete.`);
  }
  if (deadlineMs !== undefined && clock.now() + durationMs > deadlineMs) {
    sentences.push('The export needs more time than activeDeadlineSeconds allows, so it will fail at this deadline.');
  }
  return sentences;
}
