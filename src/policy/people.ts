/**
 * What people ask of a rollout by annotations (R9): each value acts once, in the rollout that it names, and is noted with who wrote it.
 * What is noted stands in the ledger's header, since annotations come and go.
 */
import { annotationWriter } from '../api/annotation-writers.ts';
import { annotations, parseApproval, parseRolloutRequest } from '../api/annotations.ts';
import type { CollectorVersionPolicy, ObjectMeta } from '../api/kinds.ts';
import { pausedByOf } from '../controller/pauses.ts';
import type { ActionRecord, LedgerHeader } from './ledger.ts';

const maxActions = 20;

export interface Heeded {
  readonly header: LedgerHeader;
  /** Whether a person wants to go on: stops are lifted, and failures forgiven. */
  readonly retried: boolean;
}

/** The header with what people have asked since it was written; the same object where that is nothing. */
export function heedPeople(policy: CollectorVersionPolicy, before: LedgerHeader, wallMs: number): Heeded {
  const { metadata, spec } = policy;
  const note = (header: LedgerHeader, action: ActionRecord['action'], annotation: string, stage?: string) =>
    noted(header, { action, ...whoAndWhen(metadata, annotation, wallMs), ...(stage === undefined ? {} : { stage }) });
  let header = before;

  const isPaused = pausedByOf(policy) !== undefined;
  if (isPaused !== (header.pauseNoted ?? false)) {
    header = { ...note(header, isPaused ? 'Pause' : 'Resume', annotations.paused), pauseNoted: isPaused };
  }

  const approves = metadata.annotations[annotations.approve];
  const approval = approves === header.handled?.approve ? undefined : parseApproval(approves);
  const isStage = spec.strategy.stages?.some(({ name }) => name === approval?.stage) ?? false;
  if (approval?.rolloutId === header.rolloutId && isStage && !header.approved?.includes(approval.stage)) {
    header = note(header, 'Approve', annotations.approve, approval.stage);
    header = { ...header, approved: [...(header.approved ?? []), approval.stage] };
  }

  const abort = requestOf(metadata, annotations.abort, header);
  if (abort !== undefined && abort !== header.handled?.abort) {
    const by = annotationWriter(metadata, annotations.abort)?.by;
    const message = `Aborted by ${by === undefined ? 'a person' : by}.`;
    header = { ...note(header, 'Abort', annotations.abort), handled: { ...header.handled, abort } };
    // Some were taken back already, which no stop tells any more.
    if (header.stop?.kind === 'rollback') header = fromTheStart(header, approves);
    header = { ...header, stop: { kind: 'abort', message, atMs: wallMs } };
  }

  const retry = requestOf(metadata, annotations.retry, header);
  if (retry === undefined || retry === header.handled?.retry) return { header, retried: false };
  const lifted = header.stop === undefined ? {} : { liftedAtMs: header.stop.atMs };
  header = { ...note(header, 'Retry', annotations.retry), handled: { ...header.handled, retry, ...lifted } };
  if (header.stop?.kind === 'rollback') header = fromTheStart(header, approves);
  return { header: withoutStop(header), retried: true };
}

/** Whether a newer text of the policy ends the rollout, which the ledger does not know yet: asked right before each POST (U2). */
export function asksToAbort({ metadata }: CollectorVersionPolicy, header: LedgerHeader): boolean {
  const abort = requestOf(metadata, annotations.abort, header);
  return abort !== undefined && abort !== header.handled?.abort;
}

/** The value of the annotation, where it is about this rollout. */
function requestOf(metadata: ObjectMeta, annotation: string, { rolloutId }: LedgerHeader): string | undefined {
  const value = metadata.annotations[annotation];
  return parseRolloutRequest(value)?.rolloutId === rolloutId ? value : undefined;
}

function whoAndWhen(metadata: ObjectMeta, annotation: string, wallMs: number): Pick<ActionRecord, 'atMs' | 'by'> {
  const { by, atMs = wallMs } = annotationWriter(metadata, annotation) ?? {};
  return { atMs, ...(by === undefined ? {} : { by }) };
}

function noted(header: LedgerHeader, action: ActionRecord): LedgerHeader {
  return { ...header, actions: [...(header.actions ?? []), action].slice(-maxActions) };
}

/** Who was taken back has proved nothing: the first stage comes first again, and what was approved was approved for another try. */
function fromTheStart({ stages: _, approved: __, ...header }: LedgerHeader, approve: string | undefined): LedgerHeader {
  return { ...header, again: true, handled: { ...header.handled, ...(approve !== undefined && { approve }) } };
}

function withoutStop({ stop: _, ...header }: LedgerHeader): LedgerHeader {
  return header;
}
