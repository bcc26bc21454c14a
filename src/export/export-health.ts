/**
 * The answer to "how is the export, and why is nothing happening?": one verdict for the conditions, found by a chain of checks, of which
 * the first that has something to say decides. The order of the chain is the whole of the precedence.
 */
import { fileURLToPath } from 'node:url';
import { reasons } from '../api/conditions.ts';
import { renderDuration } from '../base/duration.ts';
import type { LogfleetError } from '../base/errors.ts';
import type { Health } from '../controller/health.ts';
import type { Outcome } from '../service/outcome.ts';
import type { Wait } from './export-decision.ts';
import type { Unproven } from './export-holds.ts';
import { amountText, countText, percentText } from './figure-text.ts';
import type { Shortcoming } from './proof.ts';
import type { StandingManifest, WorkLimits, WorkView } from './work-view.ts';

export interface ExportHealth extends Health {
  /** All is in files, and the manifest stands. */
  readonly isComplete: boolean;
  /** It has ended without that, by its own limits or by what cannot be proven. Goes on where these are changed. */
  readonly isFailed: boolean;
}

export interface ExportHealthInput {
  /** By what the export is paused, or undefined. */
  readonly pausedBy: string | undefined;
  /** What keeps it from being worked on at all: its spec, its Secrets, its destination's settings. */
  readonly problem: LogfleetError | undefined;
  /** Undefined while it is not worked on. */
  readonly view: WorkView | undefined;
  readonly limits: WorkLimits | undefined;
}

type Check = (input: ExportHealthInput) => ExportHealth | undefined;

const checks: readonly Check[] = [
  keptUnwanted,
  complete,
  deadlineExceeded,
  paused,
  stalledByProblem,
  waitingForProblem,
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

const quiet = { reconciling: false, stalled: false, isComplete: false, isFailed: false } as const;
const stalled = { ...quiet, ready: 'False', stalled: true } as const;
const failed = { ...stalled, isFailed: true } as const;
const atWork = { ...quiet, ready: 'False', reconciling: true } as const;
const outage = { ...atWork, outage: true } as const;

/** By less than this clocks differ here and there, and nobody need know. */
const noteworthyBehindMs = 60_000;
/** Of chosen fields that are missing. */
const namedFields = 3;

/** What `Keep` has kept, before or under another manifest, is not taken for whole by who wants it whole. */
function keptUnwanted({ view, limits }: ExportHealthInput): ExportHealth | undefined {
  if (!view?.manifest || view.manifest.manifest.complete || limits?.incompletePolicy !== 'Fail') return undefined;
  const message = `${writtenText(view.manifest)}; the manifest flags ${flaggedText(view.manifest)} as incomplete, which status.incomplete names, and spec.incompletePolicy is Fail. Set it to Keep to take them so, or move the folder ${view.location} away and set the annotation logfleet.dev/requestedAt, and the export begins anew.`;
  return { ...failed, reason: reasons.intervalIncomplete, message };
}

function complete({ view }: ExportHealthInput): ExportHealth | undefined {
  if (!view?.manifest) return undefined;
  const written = writtenText(view.manifest);
  const missing = fieldsText(view);
  const undescribed =
    missing === '' ? '' : ` No page of the service describes ${missing}: look how it is spelled there.`;
  const done = { ...quiet, ready: 'True', isComplete: true } as const;
  if (view.manifest.manifest.complete)
    return {
      ...done,
      reason: reasons.exported,
      message: `${written}, and the manifest proves that these are all.${undescribed}`,
    };
  const flagged = flaggedText(view.manifest);
  const message = `${written}; the manifest flags ${flagged} as incomplete, which status.incomplete names.${undescribed}`;
  return { ...done, reason: reasons.exportedIncomplete, message };
}

function writtenText({ manifest: { totals } }: StandingManifest): string {
  const { rows, files } = totals;
  return `${countText(rows)} ${rows === 1 ? 'row is' : 'rows are'} in ${counted(files, 'file')}`;
}

/** Chosen fields that are missing, the first ones by name; empty where none is, or nobody can say. */
function fieldsText({ undescribedFields: missing }: WorkView): string {
  if (missing.length === 0) return '';
  const names = missing.slice(0, namedFields).map((name) => JSON.stringify(name));
  const more = missing.length > namedFields ? ` and ${missing.length - namedFields} more` : '';
  return `${names.join(', ')}${more} of spec.output.fields`;
}

function flaggedText({ manifest: { proof } }: StandingManifest): string {
  return counted(proof.filter(({ level }) => level === 'None').length, 'interval');
}

function deadlineExceeded({ view, problem }: ExportHealthInput): ExportHealth | undefined {
  if (problem || view?.waitsFor?.kind !== 'deadline') return undefined;
  const message = `spec.activeDeadlineSeconds is over: nothing more is searched.${kept(view)} Raise it to go on.`;
  return { ...failed, reason: reasons.deadlineExceeded, message };
}

function paused({ pausedBy, view }: ExportHealthInput): ExportHealth | undefined {
  if (pausedBy === undefined || view?.stage === 'finishing') return undefined;
  const running = view?.searches ?? 0;
  const rest =
    running === 0 ? '' : ` ${counted(running, 'search', 'searches')} that began before will be read to the end.`;
  const message = `Paused by ${pausedBy}: nothing new is searched.${rest}`;
  return { ...quiet, ready: 'Unknown', reason: reasons.paused, message };
}

function stalledByProblem({ problem }: ExportHealthInput): ExportHealth | undefined {
  if (problem?.handling.kind !== 'stall') return undefined;
  return { ...stalled, reason: problem.reason, message: problem.message };
}

function waitingForProblem({ problem }: ExportHealthInput): ExportHealth | undefined {
  return problem && { ...outage, reason: problem.reason, message: triedAgain(problem) };
}

/** What the service refuses of the query and its range, or is too much, which no SearchExport can change where it stands. */
const needsAnother: ReadonlySet<string> = new Set([
  ...['export.countRefused', 'export.receiptTimeMissing', 'destination.tooMuch'],
  ...(
    [
      'parse.error',
      'query.creation.error',
      'unknown.timezone',
      'no.records.not.an.aggregation.query',
      'raw.messages.not.available',
    ] satisfies Outcome[]
  ).map((outcome) => `service.${outcome}`),
]);

/** Ends what is said of that. */
export const anotherExport = '. A SearchExport cannot change what its files hold: write a new one, with another name.';

/** As long as nothing has succeeded since: each try would make it come and go otherwise. */
function stalledByTrouble({ view }: ExportHealthInput): ExportHealth | undefined {
  const error = view?.lastError;
  if (error?.handling.kind !== 'stall') return undefined;
  const message = needsAnother.has(error.code) ? `${withoutStop(error.message)}${anotherExport}` : error.message;
  return { ...stalled, reason: error.reason, message: withWholeNames(message, view?.location) };
}

/** Errors of a destination name files from its root, and a person is to find them. `location`, that of the export's folder, ends as they begin. */
function withWholeNames(message: string, location: string | undefined): string {
  const [folder] = /[^/]+\/[^/]+$/.exec(location ?? '') ?? [];
  if (location === undefined || folder === undefined) return message;
  const place = location.startsWith('file://') ? fileURLToPath(location) : location;
  return message.replace(new RegExp(`(?<![\\w./-])${folder}/`, 'g'), () => `${place}/`);
}

function inDisorder({ view }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (wait?.kind !== 'disorder') return undefined;
  const [stray] = wait.strays;
  const which = stray ? ` (segment ${stray.segment}, up to ${iso(stray.toMs)})` : '';
  const message = `Records at the destination do not fit together${which}: somebody has changed or removed some. Put them back, or move the folder ${view?.location} away, and the export begins anew.`;
  return { ...stalled, reason: reasons.destinationDamaged, message };
}

/** Those that run are read to their end before. */
function limitReached({ view, limits }: ExportHealthInput): ExportHealth | undefined {
  if (!view || !limits || view.searches > 0) return undefined;
  const { kind } = view.waitsFor ?? {};
  if (kind === 'maxMessages') {
    const message = `spec.limits.maxMessages, ${countText(limits.maxMessages ?? 0)}, is reached: nothing more is searched.${kept(view)} Raise it to go on.`;
    return { ...failed, reason: reasons.maxMessagesReached, message };
  }
  if (kind !== 'maxBytesScanned') return undefined;
  const scanned = amountText(view.progress?.scannedBytes ?? 0);
  const message = `spec.limits.maxBytesScanned is reached: ${scanned} bytes are scanned, and nothing more is searched.${kept(view)} Raise it to go on.`;
  return { ...failed, reason: reasons.maxBytesScannedReached, message };
}

/** Once nothing else can be searched now. It has not ended while others are to settle yet. */
function unproven({ view, limits }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (!view || wait?.kind !== 'people') return undefined;
  const [first, ...others] = view.unproven;
  const which =
    others.length === 0 ? '' : `; and ${counted(others.length, 'more interval')}, which status.incomplete names`;
  const message = `Not all rows can be proven: ${first?.message ?? 'an interval'}${which}. ${wayOn(view.unproven)}`;
  const isKept = limits?.incompletePolicy === 'Keep' && view.unproven.some(({ reason }) => reason === 'PendingErrors');
  const uncovered = isKept ? ' spec.incompletePolicy keeps nothing of a search that brought errors.' : '';
  const rest = wait.isRest ? '' : ' What is left besides is searched once it is past.';
  const verdict = wait.isRest ? failed : stalled;
  return { ...verdict, reason: reasons.intervalIncomplete, message: `${message}${uncovered}${rest}` };
}

function wayOn(intervals: readonly Unproven[]): string {
  const anew = 'have it searched anew with the annotation logfleet.dev/requestedAt';
  const keep = 'Set spec.incompletePolicy to Keep to keep what was found, flagged';
  const has = (...reasons: readonly Shortcoming[]) => intervals.some(({ reason }) => reasons.includes(reason));
  if (has('CountDiffers', 'RowsOutside', 'MillisecondTooDense')) return `${keep}, or ${anew}.`;
  // Another search comes as far.
  if (has('LimitReached')) return `${keep}, or export a smaller range in another SearchExport.`;
  // Of an aggregation that was not done nothing can be kept, and of a search that brought errors (E5).
  if (has('TimeOver')) return 'Export a smaller range in another SearchExport.';
  return `Mend the query in another SearchExport, or ${anew}.`;
}

/** What waits for room is said at once; what may pass by itself when it has not for a while. */
function lastingTrouble({ view }: ExportHealthInput): ExportHealth | undefined {
  const error = view?.lastError;
  if (!view || !error || !(view.isTroubleLasting || error.handling.kind === 'wait')) return undefined;
  return { ...outage, reason: error.reason, message: `${triedAgain(error)}${kept(view)}` };
}

function beginning({ view }: ExportHealthInput): ExportHealth | undefined {
  if (!view || view.stage === 'loading') {
    return { ...atWork, reason: reasons.progressing, message: 'Reading what stands at the destination.' };
  }
  if (view.stage === 'proving' && !view.waitsFor) {
    const message = 'All is searched; an aggregation of the service is compared with the rows that were written.';
    return { ...atWork, reason: reasons.exporting, message };
  }
  if (view.stage === 'finishing') {
    return { ...atWork, reason: reasons.exporting, message: 'All rows are in files; the manifest is being written.' };
  }
  if (view.stage !== 'planning' || view.waitsFor) return undefined;
  const jobs = view.jobs.length === 0 ? '' : `: ${counted(view.jobs.length, 'search job')} at work`;
  const message = `Finding out where to cut the range${jobs}.`;
  return { ...atWork, reason: reasons.exporting, message };
}

function settling({ view }: ExportHealthInput): ExportHealth | undefined {
  const wait = view?.waitsFor;
  if (wait?.kind !== 'settling') return undefined;
  const behindMs = view?.clockBehindMs ?? 0;
  const clocks =
    behindMs < noteworthyBehindMs
      ? ''
      : ` The clock of the service is ${renderDuration(1_000 * Math.floor(behindMs / 1_000))} behind, and now is what it says.`;
  const message = `What is left is newer than now minus spec.settleDelay: the next of it is searched at ${iso(wait.untilMs)}.${clocks}`;
  return { ...atWork, reason: reasons.waitingToSettle, message };
}

function exporting({ view }: ExportHealthInput): ExportHealth {
  const { progress, waitsFor, trouble, unproven: open = [] } = view ?? {};
  const done = progress
    ? `${percentText(progress.coveredPart)} of the range is done, ${rowsText(progress.rows)}`
    : 'It begins';
  const running = view ? searchesText(view) : '';
  const lacking = open.length === 0 ? '' : `; ${counted(open.length, 'interval')} could not be proven`;
  const missing = view ? fieldsText(view) : '';
  const undescribed = missing === '' ? '' : `; no page so far describes ${missing}`;
  const waits = waitText(waitsFor, trouble?.error);
  return {
    ...atWork,
    reason: reasons.exporting,
    message: `${done}${running}${lacking}${undescribed}${waits === '' ? '' : `; ${waits}`}.`,
  };
}

/** Empty where there are none. */
function searchesText({ searches, waitingSearches }: WorkView): string {
  if (searches === 0) return '';
  if (waitingSearches < searches) return `; ${counted(searches, 'search runs', 'searches run')}`;
  const waiting = counted(searches, 'search waits for its', 'searches wait for their');
  return `; ${waiting} turn, since all search jobs of one user share what the service allows`;
}

/** Why nothing more begins, without a full stop; empty where nothing keeps it. */
function waitText(wait: Wait | undefined, error: LogfleetError | undefined): string {
  switch (wait?.kind) {
    case 'trouble':
      return `it is tried again soon after: ${withoutStop(error?.message ?? 'a failure')}`;
    case 'retry':
      return `it is tried again soon after: ${withoutStop(wait.holds[0]?.message ?? 'a failure')}`;
    case 'maxMessages':
    case 'maxBytesScanned':
      return `nothing more begins, since spec.limits.${wait.kind} is reached`;
    default:
      return '';
  }
}

function triedAgain({ message }: LogfleetError): string {
  return `${withoutStop(message)}. It is tried again.`;
}

function withoutStop(message: string): string {
  return message.replace(/\.$/, '');
}

/** With a blank before it, and to the row, since it is said of what stands still; empty where it is not known. */
function kept({ progress }: WorkView): string {
  if (!progress) return '';
  const { rows } = progress;
  return rows > 0 ? ` What is done stays: ${rowsText(rows, countText)}.` : ' Nothing is written yet.';
}

function rowsText(rows: number, text = amountText): string {
  return rows === 1 ? '1 row is written' : `${text(rows)} rows are written`;
}

function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
