/**
 * Applies the annotations by which users control a rollout: approve, retry, abort and pause (R9). Each value of an
 * annotation is applied only once.
 */
import { annotations, parseApproval, parseRolloutRequest } from '../../api/annotations.ts';
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy, ObjectMeta } from '../../api/kinds.ts';
import { pausedByOf } from '../../controller/pauses.ts';
import { analysisAtStart } from '../analysis/message-analysis.ts';
import {
  type ActionRecord,
  type LedgerHeader,
  type StageAnalysis,
  type StageRecord,
  withNewTally,
} from '../ledger/ledger.ts';
import { soakEndMs } from '../members/stages.ts';

const maxActions = 20;

export interface AppliedAnnotations {
  readonly header: LedgerHeader;
  /** True if a user retried the rollout. A retry resumes a stopped rollout and resets its failures. */
  readonly retried: boolean;
}

/**
 * Returns the ledger header after all new user actions have been applied. Returns the same object if there are none.
 */
export function applyAnnotations(
  policy: CollectorVersionPolicy,
  before: LedgerHeader,
  wallMs: number,
): AppliedAnnotations {
  const { metadata, spec } = policy;
  const note = (header: LedgerHeader, action: ActionRecord['action'], annotation: string, stage?: string) =>
    noted(header, {
      action,
      ...authorAndTime(metadata, annotation, wallMs),
      ...(stage === undefined ? {} : { stage }),
      ...(!isOfPause(action) && { value: metadata.annotations[annotation] ?? '' }),
    });
  let header = before;

  const isPaused = pausedByOf(policy) !== undefined;
  const wasPaused = header.actions?.findLast(({ action }) => isOfPause(action))?.action === 'Pause';
  if (isPaused !== wasPaused) header = note(header, isPaused ? 'Pause' : 'Resume', annotations.paused);

  const approves = metadata.annotations[annotations.approve];
  const approval = isHandled(header, 'approve', approves) ? undefined : parseApproval(approves);
  const stages = [...(spec.strategy.stages ?? []), ...(header.stages ?? [])];
  const isStage = stages.some(({ name }) => name === approval?.stage);
  if (approval?.rolloutId === header.rolloutId && isStage && !header.approved?.includes(approval.stage)) {
    header = note(header, 'Approve', annotations.approve, approval.stage);
    header = approved(header, approval.stage, wallMs);
  }

  const abort = newRequest(metadata, 'abort', header);
  const retry = newRequest(metadata, 'retry', header);
  const aborted = (before: LedgerHeader): LedgerHeader => {
    if (abort === undefined) return before;
    const by = metadata.annotationWriters?.[annotations.abort]?.by;
    const message = `Aborted by ${by === undefined ? 'a person' : by}.`;
    const after = { ...note(before, 'Abort', annotations.abort), handled: { ...before.handled, abort } };
    // The aborted rollback may already have changed the versions of collectors, so a later retry begins with the first
    // stage.
    const known = after.stop?.kind === 'rollback' ? fromTheStart(after, approves) : after;
    return { ...known, stop: { kind: 'abort', message, atMs: wallMs } };
  };
  const goingOn = (before: LedgerHeader): LedgerHeader => {
    if (retry === undefined) return before;
    const lifted = before.stop === undefined ? {} : { liftedAtMs: before.stop.atMs };
    const after = { ...note(before, 'Retry', annotations.retry), handled: { ...before.handled, retry, ...lifted } };
    return withNewTally(withoutStop(retried(after, policy, wallMs)));
  };
  // The newer of an abort and a retry is applied last. If either of them has no time, the abort is applied last.
  header = timeOf(retry) > timeOf(abort) ? goingOn(aborted(header)) : aborted(goingOn(header));
  return { header, retried: retry !== undefined };
}

/**
 * Returns the value of an abort or retry annotation that names this rollout and has not been applied yet. Returns
 * undefined if there is none. Also called before each upgrade request (U2).
 */
export function newRequest(
  { annotations: values }: ObjectMeta,
  name: 'abort' | 'retry',
  header: LedgerHeader,
): string | undefined {
  const value = values[annotations[name]];
  const isNew = parseRolloutRequest(value)?.rolloutId === header.rolloutId && !isHandled(header, name, value);
  return isNew ? value : undefined;
}

const actionOf = { approve: 'Approve', retry: 'Retry', abort: 'Abort' } as const;

/** Reports whether this value of the annotation was applied before, or must be ignored (R9). */
function isHandled(
  { handled, actions = [] }: LedgerHeader,
  name: keyof typeof actionOf,
  value: string | undefined,
): boolean {
  if (value === undefined) return false;
  return value === handled?.[name] || actions.some((one) => one.action === actionOf[name] && one.value === value);
}

/** Returns the time that a command wrote into an annotation's value, or NaN if the value contains no time. */
function timeOf(value: string | undefined): number {
  const { suffix = '' } = parseRolloutRequest(value) ?? {};
  // Checks the format first, because `Date.parse` is too tolerant: it reads `again-2` as a day in 2001.
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(suffix) ? Date.parse(suffix) : Number.NaN;
}

function authorAndTime(metadata: ObjectMeta, annotation: string, wallMs: number): Pick<ActionRecord, 'atMs' | 'by'> {
  const { by, atMs = wallMs } = metadata.annotationWriters?.[annotation] ?? {};
  return { atMs, ...(by === undefined ? {} : { by }) };
}

/**
 * Adds an action to the header. If the header then has too many actions, drops one that need not be kept, preferably a
 * pause or resume. The remaining actions show which annotations have been applied before.
 */
function noted(header: LedgerHeader, action: ActionRecord): LedgerHeader {
  const actions = [...(header.actions ?? []), action];
  if (actions.length <= maxActions) return { ...header, actions };
  const unneeded = actions.filter((one, index) => !isNeeded(one, actions.slice(index + 1)));
  const dropped = unneeded.find((one) => isOfPause(one.action)) ?? unneeded[0] ?? actions[0];
  return { ...header, actions: actions.filter((one) => one !== dropped) };
}

/**
 * Reports whether the ledger must keep a user's action. The ledger may drop an abort, and any action that was followed
 * by another of the same kind.
 */
function isNeeded({ action, stage }: ActionRecord, later: readonly ActionRecord[]): boolean {
  if (isOfPause(action)) return !later.some((one) => isOfPause(one.action));
  return action !== 'Abort' && !later.some((one) => one.action === action && one.stage === stage);
}

function isOfPause(action: ActionRecord['action']): boolean {
  return action === 'Pause' || action === 'Resume';
}

/** Restarts a rolled-back rollout from its first stage. Earlier approvals are no longer valid. */
function fromTheStart({ stages: _, approved: __, ...header }: LedgerHeader, approve: string | undefined): LedgerHeader {
  return {
    ...header,
    unproven: true,
    unprovenSinceMs: header.unprovenSinceMs ?? header.startedAtMs,
    handled: { ...header.handled, ...(approve !== undefined && { approve }) },
  };
}

/**
 * Returns the ledger header after the approval of a stage. Approving an inconclusive stage also ends the stage and
 * resumes the rollout.
 */
function approved(header: LedgerHeader, stage: string, wallMs: number): LedgerHeader {
  const given = { ...header, approved: [...(header.approved ?? []), stage] };
  const { stop, stages } = given;
  if (stop?.kind !== 'inconclusive' || stop.stage !== stage || !stages) return given;
  const ended = stages.map((record) => (record.name === stage ? { ...record, endedAtMs: wallMs } : record));
  return { ...withoutStop(given), stages: ended, handled: { ...given.handled, liftedAtMs: stop.atMs } };
}

/** Returns the header after a user's retry, with the stages from which the rollout continues. */
function retried(header: LedgerHeader, { metadata, spec }: CollectorVersionPolicy, wallMs: number): LedgerHeader {
  const { stop, stages = [] } = header;
  if (stop?.kind === 'rollback') return fromTheStart(header, metadata.annotations[annotations.approve]);
  const last = stages.at(-1);
  const isSoaked = last !== undefined && last.endedAtMs === undefined && wallMs >= soakEndMs(last);
  if (last?.analysis && isSoaked && (last.analysis.outcome || stop?.kind !== 'inconclusive')) {
    return { ...header, stages: stages.with(-1, analyzedAgain(last, last.analysis, spec, wallMs)) };
  }
  // Removes the inconclusive stage, so that it starts over and chooses its collectors again.
  return stop?.kind === 'inconclusive'
    ? { ...header, stages: stages.filter(({ name }) => name !== stop.stage) }
    : header;
}

/**
 * Removes the stage's analysis result, so that messages are counted again. The new analysis uses the current settings
 * of the spec.
 */
function analyzedAgain(
  { analysis: _, ...stage }: StageRecord,
  { outcome: __, ...former }: StageAnalysis,
  { strategy }: CollectorVersionPolicySpec,
  wallMs: number,
): StageRecord {
  const wanted = strategy.stages?.find(({ name }) => name === stage.name);
  if (wanted && !wanted.analysis) return stage;
  const settings = wanted?.analysis ? analysisAtStart(wanted.analysis.messages, former.baselineBeforeMs) : former;
  return { ...stage, analysis: { ...settings, fromMs: wallMs } };
}

function withoutStop({ stop: _, ...header }: LedgerHeader): LedgerHeader {
  return header;
}
