/** Decides which conditions an export's status shows. The first check that applies determines the conditions. */
import { fileURLToPath } from 'node:url';
import { annotations } from '../../api/annotations.ts';
import { type Condition, findCondition, reasons } from '../../api/conditions.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { renderDuration } from '../../base/duration.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { counted, groupedText, wordFor } from '../../base/number-text.ts';
import { isoText } from '../../base/time-text.ts';
import type { Health } from '../../controller/health.ts';
import { lowestLevel, type ProofLevel } from '../../destination/proof-range.ts';
import type { RequestFailure } from '../../service/requests/request-failure.ts';
import type { Shortcoming } from '../search/search-verdict.ts';
import type { SearchWait } from '../work/export-decision.ts';
import type { Unproven } from '../work/export-delays.ts';
import { amountText, percentText, rangeText } from '../work/figure-text.ts';
import type { StoredManifest, WorkLimits, WorkView } from '../work/work-view.ts';
import type { ExportWording } from './export-wording.ts';

export interface ExportHealth extends Health {
  readonly isComplete: boolean;
  /**
   * True if the export has failed. The export continues if a user changes the limit or the `incompletePolicy` that
   * caused the failure.
   */
  readonly isFailed: boolean;
}

export interface ExportHealthInput {
  /** Field or command that paused the export; undefined if the export is not paused. */
  readonly pausedBy: string | undefined;
  /** Problem in the spec, a Secret or the destination that prevents all work. */
  readonly problem?: LogfleetError | undefined;
  /** State of the work; undefined while no work is running. */
  readonly view?: WorkView | undefined;
  readonly limits?: WorkLimits | undefined;
  readonly wording: ExportWording;
}

type HealthCheck = (input: ExportHealthInput) => ExportHealth | undefined;

const checks: readonly HealthCheck[] = [
  unwantedIncomplete,
  complete,
  deadlineExceeded,
  paused,
  hindered,
  stalledByTrouble,
  inDisorder,
  limitReached,
  unproven,
  lastingTrouble,
  beginning,
  settling,
];

export function exportHealth(input: ExportHealthInput): ExportHealth {
  for (const check of checks) {
    const health = check(input);
    if (health) return health;
  }
  return exporting(input);
}

/** Returns the health of an export that has ended. */
export function endedHealth(end: 'complete' | 'failed' | 'stalled', reason: string, message: string): ExportHealth {
  return { ...(end === 'complete' ? done : end === 'failed' ? failed : exportStalled), reason, message };
}

/** Returns the health of an ended export, as described by a condition in its status. */
export function shownHealth({ type, reason, message }: Condition): ExportHealth {
  return endedHealth(type === 'Complete' ? 'complete' : type === 'Failed' ? 'failed' : 'stalled', reason, message);
}

/** Returns the `Complete` condition of a complete export, or undefined for other exports. */
export function shownComplete({ spec, status }: SearchExport): Condition | undefined {
  const isUnwanted = status?.manifest?.complete === false && spec.incompletePolicy === 'Fail';
  return isUnwanted ? undefined : findCondition(status?.conditions, 'Complete');
}

const noFlags = { reconciling: false, stalled: false, isComplete: false, isFailed: false } as const;
const done = { ...noFlags, ready: 'True', isComplete: true } as const;
export const exportStalled = { ...noFlags, ready: 'False', stalled: true } as const;
const failed = { ...exportStalled, isFailed: true } as const;
export const exportAtWork = { ...noFlags, ready: 'False', reconciling: true } as const;
const outage = { ...exportAtWork, outage: true } as const;

/**
 * Messages mention the difference between the service's clock and logfleet's clock only if it is at least this time in
 * ms.
 */
const noteworthyBehindMs = 60_000;
/** Maximum number of unknown field names that a message lists. */
const namedFields = 3;

/**
 * Reports an export as failed if it ended with incomplete intervals, and the user has changed `incompletePolicy` to
 * `Fail` since then.
 */
function unwantedIncomplete({ view, limits, wording }: ExportHealthInput): ExportHealth | undefined {
  if (!view?.manifest || view.manifest.manifest.complete || limits?.incompletePolicy !== 'Fail') return undefined;
  const policy = wording.fieldName('incompletePolicy');
  const state = `${writtenText(view.manifest, wording)}${flaggedText(view.manifest, wording)}, and ${policy} is set to Fail`;
  const advice = `Set ${policy} to Keep to accept incomplete intervals, or move the folder ${view.location} away and ${againText(wording)} to start the export again`;
  const message = `${state}. ${advice}.`;
  return { ...failed, reason: reasons.intervalIncomplete, message };
}

/**
 * Returns the end of a sentence about the rows of a complete export. It names the check that the rows have passed, or
 * the weakest check if the rows have passed different checks (E6).
 */
function proofText(level: Exclude<ProofLevel, 'None'>, { rowsGoTo }: ExportWording): string {
  if (level === 'Search') return ', as many rows as the searches reported';
  const means = level === 'Digest' ? 'digests' : 'counts';
  const proof = rowsGoTo === 'stdout' ? `${means} prove` : `the manifest proves by ${means}`;
  return `, and ${proof} that no row is missing`;
}

function complete({ view, wording }: ExportHealthInput): ExportHealth | undefined {
  if (!view?.manifest) return undefined;
  const written = writtenText(view.manifest, wording);
  const missing = fieldsText(view, wording);
  const undescribed = missing === '' ? '' : ` The search results do not contain ${missing}: check the spelling.`;
  const rest = `${undescribed}${lockedText(view, wording)}`;
  const level = lowestLevel(view.manifest.manifest.proof);
  if (level !== 'None') {
    const message = `${written}${proofText(level, wording)}.${rest}`;
    return { ...done, reason: reasons.exported, message };
  }
  const message = `${written}${flaggedText(view.manifest, wording)}.${rest}`;
  return { ...done, reason: reasons.exportedIncomplete, message };
}

function writtenText({ manifest: { totals } }: StoredManifest, { rowsGoTo }: ExportWording): string {
  const { rows, files } = totals;
  if (rowsGoTo === 'stdout') return `${groupedText(rows)} ${wordFor(rows, 'row goes', 'rows go')} to stdout`;
  return `${groupedText(rows)} ${wordFor(rows, 'row is', 'rows are')} in ${counted(files, 'file')}`;
}

/** Returns a sentence about unneeded files that cannot be removed yet, or an empty string if there are none. */
function lockedText({ lockedFiles: count }: WorkView, wording: ExportWording): string {
  if (count === 0) return '';
  const files = counted(count, 'unneeded file');
  return ` The store keeps ${files} until their retention ends. If they are still in data/ afterwards, ${againText(wording)} to remove them.`;
}

/** Returns a user-facing list of the unknown names in `output.fields`, or an empty string if there are none. */
function fieldsText({ undescribedFields: missing }: WorkView, wording: ExportWording): string {
  if (missing.length === 0) return '';
  const names = missing.slice(0, namedFields).map((name) => JSON.stringify(name));
  const more = missing.length > namedFields ? ` and ${missing.length - namedFields} more` : '';
  return `${names.join(', ')}${more} of ${wording.fieldName('output.fields')}`;
}

/** Returns a text that states the number of incomplete intervals and where they are listed. */
function flaggedText({ manifest: { proof } }: StoredManifest, { startedAs, rowsGoTo }: ExportWording): string {
  const count = counted(proof.filter(({ level }) => level === 'None').length, 'interval');
  const flagged = rowsGoTo === 'stdout' ? `, with ${count} incomplete` : `; the manifest flags ${count} as incomplete`;
  return startedAs === 'process' ? `${flagged} (listed below)` : `${flagged} (see status.incomplete)`;
}

/** Returns advice on how to make logfleet check an export again. */
function againText({ startedAs }: ExportWording): string {
  return startedAs === 'process' ? 'run the export again' : `set the annotation ${annotations.requestedAt}`;
}

function deadlineExceeded({ view, problem, wording }: ExportHealthInput): ExportHealth | undefined {
  if (problem || view?.waitsFor?.kind !== 'deadline') return undefined;
  const deadline = wording.fieldName('activeDeadlineSeconds');
  // On the command line, the deadline is counted from the start of each run, so another run can continue the export.
  const advice = wording.startedAs === 'process' ? 'Run the export again to continue.' : raiseText(deadline, wording);
  const message = `The deadline (${deadline}) has passed, so no more searches will start.${writtenSoFar(view, wording)} ${advice}`;
  return { ...failed, reason: reasons.deadlineExceeded, message };
}

function raiseText(limit: string, { rowsGoTo }: ExportWording): string {
  return rowsGoTo === 'stdout' ? `Raise ${limit} to start the export again.` : `Raise ${limit} to continue.`;
}

function paused({ pausedBy, view }: ExportHealthInput): ExportHealth | undefined {
  if (pausedBy === undefined || view?.stage === 'finishing') return undefined;
  const running = view?.searches ?? 0;
  const rest = running === 0 ? '' : ` ${counted(running, 'running search')} will run to completion.`;
  const message = `Paused by ${pausedBy}: no new searches start.${rest}`;
  return { ...noFlags, ready: 'Unknown', reason: reasons.paused, message };
}

/** Reports a problem in the spec, the Secrets or the destination. */
function hindered({ problem }: ExportHealthInput): ExportHealth | undefined {
  if (problem?.handling.kind !== 'stall') {
    return problem && { ...outage, reason: problem.reason, message: triedAgain(problem) };
  }
  return { ...exportStalled, reason: problem.reason, message: problem.message };
}

/**
 * Error codes of failures after which the user must create another SearchExport, because the query and the time range
 * of a SearchExport cannot be changed.
 */
const needsAnother: ReadonlySet<string> = new Set([
  ...['export.countRefused', 'export.receiptTimeMissing'],
  ...(
    [
      'parse.error',
      'query.creation.error',
      'unknown.timezone',
      'no.records.not.an.aggregation.query',
      'raw.messages.not.available',
    ] satisfies RequestFailure[]
  ).map((outcome) => `service.${outcome}`),
]);

const unchangeable =
  'The settings that must be corrected cannot be changed in an existing SearchExport: create a new one with a different name.';

/**
 * Reports the export's last failure if a user must correct the cause of this failure. The failure is no longer reported
 * once a search has succeeded.
 */
function stalledByTrouble({ view, wording }: ExportHealthInput): ExportHealth | undefined {
  const error = view?.lastError;
  if (error?.handling.kind !== 'stall') return undefined;
  const isUnchangeable = wording.startedAs === 'resource' && needsAnother.has(error.code);
  const message = isUnchangeable ? `${withoutPeriod(error.message)}. ${unchangeable}` : error.message;
  return { ...exportStalled, reason: error.reason, message: withFullNames(message, view?.location) };
}

/** Replaces relative file names in a message with full names. `location` is the URL of the export's folder. */
function withFullNames(message: string, location: string | undefined): string {
  const [folder] = /[^/]+\/[^/]+$/.exec(location ?? '') ?? [];
  if (location === undefined || folder === undefined) return message;
  const place = location.startsWith('file://') ? fileURLToPath(location) : location;
  return message.replace(new RegExp(`(?<![\\w./-])${folder}/`, 'g'), () => `${place}/`);
}

function inDisorder({ view }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (wait?.kind !== 'disorder') return undefined;
  const [stray] = wait.strays;
  const which = stray ? ` (segment ${stray.segment}, up to ${isoText(stray.toMs)})` : '';
  const message = `Commit records at the destination contradict each other${which}, because some of them were changed or removed. Restore the original commit records, or move the folder ${view?.location} away to start the export again.`;
  return { ...exportStalled, reason: reasons.destinationDamaged, message };
}

/** Reports that a limit has been reached, but only after all running searches have ended. */
function limitReached({ view, limits, wording }: ExportHealthInput): ExportHealth | undefined {
  if (!view || !limits || view.searches > 0) return undefined;
  const { kind } = view.waitsFor ?? {};
  if (kind !== 'maxMessages' && kind !== 'maxBytesScanned') return undefined;
  const limit = wording.fieldName(`limits.${kind}`);
  const rest = `${writtenSoFar(view, wording)} ${raiseText(limit, wording)}`;
  if (kind === 'maxMessages') {
    const message = `The limit ${limit} (${groupedText(limits.maxMessages ?? 0)}) has been reached, so no more searches will start.${rest}`;
    return { ...failed, reason: reasons.maxMessagesReached, message };
  }
  const scanned = amountText(view.progress?.scannedBytes ?? 0);
  const message = `The limit ${limit} has been reached: searches have scanned ${scanned} bytes, and no more searches will start.${rest}`;
  return { ...failed, reason: reasons.maxBytesScannedReached, message };
}

/** Reports incomplete intervals, but only while no other interval can be searched. */
function unproven({ view, limits, wording }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (!view || wait?.kind !== 'people') return undefined;
  const [first, ...others] = view.unproven;
  const list = wording.startedAs === 'process' ? 'listed below' : 'see status.incomplete';
  const which = others.length === 0 ? '' : `; and ${counted(others.length, 'more interval')} (${list})`;
  const advice = adviceFor(view.unproven, wording);
  const message = `logfleet cannot prove that no row is missing: ${first ? `${rangeText(first.order)}, ${first.message}` : 'an interval is incomplete'}${which}. ${advice}`;
  const isKept = limits?.incompletePolicy === 'Keep' && view.unproven.some(({ reason }) => reason === 'PendingErrors');
  const policy = wording.fieldName('incompletePolicy');
  const uncovered = isKept ? ` ${policy} does not apply to a search that reported errors.` : '';
  const rest = wait.isRest ? '' : ' The other intervals will be searched when they are older than settleDelay.';
  const verdict = wait.isRest ? failed : exportStalled;
  return { ...verdict, reason: reasons.intervalIncomplete, message: `${message}${uncovered}${rest}` };
}

function adviceFor(intervals: readonly Unproven[], wording: ExportWording): string {
  const again = `${againText(wording)} to search again`;
  const keep = `Set ${wording.fieldName('incompletePolicy')} to Keep to write the rows that were found and mark the interval as incomplete`;
  const where = wording.startedAs === 'resource' ? ' in another SearchExport' : '';
  const has = (...reasons: readonly Shortcoming[]) => intervals.some(({ reason }) => reasons.includes(reason));
  if (has('CountDiffers', 'DigestDiffers', 'RowsOutside', 'MillisecondTooDense')) return `${keep}, or ${again}.`;
  // Another search does not help, because the service would also cut a second search of the same range short.
  if (has('LimitReached')) return `${keep}, or export a smaller range${where}.`;
  // `incompletePolicy: Keep` does not help if the query has an aggregation, because the results of an aggregation that
  // ended early are never written (E5).
  if (has('TimeOver')) return `Export a smaller range${where}.`;
  return `Correct the query${where}, or ${again}.`;
}

/** Reports a failure that has lasted for several attempts, or that only a user can correct. */
function lastingTrouble({ view, wording }: ExportHealthInput): ExportHealth | undefined {
  const error = view?.lastError;
  if (!view || !error || !(view.isTroubleLasting || error.handling.kind === 'wait')) return undefined;
  return { ...outage, reason: error.reason, message: `${triedAgain(error)}${writtenSoFar(view, wording)}` };
}

function beginning({ view }: ExportHealthInput): ExportHealth | undefined {
  if (!view || view.stage === 'loading') {
    return { ...exportAtWork, reason: reasons.progressing, message: 'Reading the destination.' };
  }
  if (view.stage === 'proving' && !view.waitsFor) {
    const message =
      'All intervals of the export have been searched. logfleet is comparing the written rows with counts from the service.';
    return { ...exportAtWork, reason: reasons.exporting, message };
  }
  if (view.stage === 'finishing') {
    return {
      ...exportAtWork,
      reason: reasons.exporting,
      message: 'All rows of the export are in files. logfleet is writing the export manifest.',
    };
  }
  if (view.stage !== 'planning' || view.waitsFor) return undefined;
  const jobs =
    view.jobs.length === 0 ? '' : `: ${counted(view.jobs.length, 'search job is running', 'search jobs are running')}`;
  const message = `Determining how to divide the time range${jobs}.`;
  return { ...exportAtWork, reason: reasons.exporting, message };
}

function settling({ view, wording }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (wait?.kind !== 'settling') return undefined;
  const behindMs = view?.clockBehindMs ?? 0;
  const clocks =
    behindMs < noteworthyBehindMs
      ? ''
      : ` The service's clock is ${renderDuration(1_000 * Math.floor(behindMs / 1_000))} behind, and logfleet measures the age of rows by that clock.`;
  const delay = wording.fieldName('settleDelay');
  const message = `The rest of the time range is not yet older than ${delay}, so rows may still be arriving. The next search will start at ${isoText(wait.untilMs)}.${clocks}`;
  return { ...exportAtWork, reason: reasons.waitingToSettle, message };
}

function exporting({ view, wording }: ExportHealthInput): ExportHealth {
  const { progress, waitsFor, trouble, unproven: open = [] } = view ?? {};
  const done = progress
    ? `${percentText(progress.coveredRatio)} of the export is done; ${rowsText(progress.rows)}`
    : 'No interval has been searched yet';
  const running = view ? searchesText(view) : '';
  const lacking = open.length === 0 ? '' : `; ${counted(open.length, 'interval')} could not be proven complete`;
  const missing = view ? fieldsText(view, wording) : '';
  const undescribed = missing === '' ? '' : `; so far, the search results do not contain ${missing}`;
  const waits = waitText(waitsFor, trouble?.error, wording);
  return {
    ...exportAtWork,
    reason: reasons.exporting,
    message: `${done}${running}${lacking}${undescribed}${waits === '' ? '' : `; ${waits}`}.`,
  };
}

/** Returns a user-facing text about running searches, or an empty string if no search is running. */
function searchesText({ searches, waitingSearches }: WorkView): string {
  if (searches === 0) return '';
  if (waitingSearches < searches) return `; ${counted(searches, 'search is running', 'searches are running')}`;
  const waiting = counted(searches, 'search is waiting', 'searches are waiting');
  return `; ${waiting} for a free search-job slot, because all exports of one user share the slots that the service allows`;
}

/** Returns the reason why no search can start, without a full stop, or an empty string if a search can start. */
function waitText(wait: SearchWait | undefined, error: LogfleetError | undefined, wording: ExportWording): string {
  switch (wait?.kind) {
    case 'trouble':
      return `logfleet will soon retry after this failure: ${withoutPeriod(error?.message ?? 'a failure')}`;
    case 'retry':
      return `logfleet will soon retry after this failure: ${withoutPeriod(wait.delays[0]?.message ?? 'a failure')}`;
    case 'maxMessages':
    case 'maxBytesScanned':
      return `no more searches start, because the limit ${wording.fieldName(`limits.${wait.kind}`)} has been reached`;
    case 'workers':
      return 'other pods of the Kubernetes Job are doing the remaining work';
    default:
      return '';
  }
}

function triedAgain({ message }: LogfleetError): string {
  return `${withoutPeriod(message)}. logfleet retries.`;
}

function withoutPeriod(message: string): string {
  return message.replace(/\.$/, '');
}

/** Returns a sentence about the rows written so far, or an empty string if their number is unknown. */
function writtenSoFar({ progress }: WorkView, { rowsGoTo }: ExportWording): string {
  if (!progress) return '';
  if (rowsGoTo === 'stdout')
    return ' No rows have been written to stdout yet, because logfleet first checks that no row is missing.';
  const { rows } = progress;
  return rows > 0
    ? ` ${rowsText(rows, groupedText)} and ${wordFor(rows, 'is', 'are')} kept.`
    : ' Nothing has been written yet.';
}

function rowsText(rows: number, text = amountText): string {
  return `${text(rows)} ${wordFor(rows, 'row has', 'rows have')} been written`;
}
