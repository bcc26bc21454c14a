/**
 * `logfleet approve`: approves a stage of the current rollout. The approval contains the rollout's id and the stage's
 * name, so it never applies to a later rollout or stage.
 */

import { annotations, parseApproval } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { Rollout, StageStatus } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import { takesRemaining } from '../../policy/members/stages.ts';
import type { ApproveOptions, TargetOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { commandLine } from '../render/next-steps.ts';
import { nothingToDo, type PersonAction, personCommand, renderPaused, rolloutAction } from './person-action.ts';

export const approveCommand = personCommand(
  rolloutAction('approve', (policy, rollout, options: ApproveOptions) => {
    const { stage, ...target } = options;
    const stages = policy.status?.stages ?? [];
    const wanted = stage === undefined ? awaiting(policy, rollout, stages) : named(stage, rollout, stages);
    const unread = unreadApprovalBefore(policy, rollout, stages, wanted);
    if (unread === undefined) return approve(policy, rollout, wanted, target);
    throw nothingToDo(
      policy,
      `no operator has read the approval of stage ${unread} yet, and another approval would replace it: approve stage ${wanted.name} later`,
    );
  }),
);

/**
 * Returns the stage that `logfleet approve` approves by default: a stage that is waiting for approval, or an
 * inconclusive stage. An inconclusive stage has stopped the rollout, because none of its collectors reached the target
 * version.
 */
function awaiting(resource: CollectorVersionPolicy, rollout: Rollout, stages: readonly StageStatus[]): StageStatus {
  const { id } = rollout;
  const stage = stages.find(({ name, state }) => state === 'AwaitingApproval' || isInconclusive(rollout, name));
  if (stage) return stage;
  if (stages.length === 0) throw nothingToDo(resource, `rollout ${id} has no stages`);
  const ahead = stages.filter((one) => one.state === 'Pending' && needsApproval(resource, one));
  const nextStage = ahead[0]?.name;
  const advice =
    nextStage === undefined
      ? 'no later stage needs an approval'
      : `to approve stage ${nextStage} in advance, add --stage ${nextStage}`;
  const stageStates = stages.map(({ name, state }) => `${name} ${state}`).join(', ');
  throw nothingToDo(resource, `no stage of rollout ${id} is waiting for approval (${stageStates}); ${advice}`);
}

/**
 * Returns the stage whose approval is in the annotation, but has not been read by an operator yet. A new approval would
 * overwrite this approval.
 */
function unreadApprovalBefore(
  { metadata }: CollectorVersionPolicy,
  { id, actions = [] }: Rollout,
  stages: readonly StageStatus[],
  wanted: StageStatus,
): string | undefined {
  const held = parseApproval(metadata.annotations[annotations.approve]);
  if (held?.rolloutId !== id || held.stage === wanted.name) return undefined;
  const isHeard = actions.some(({ action, stage }) => action === 'Approve' && stage === held.stage);
  const waits = stages.some(({ name, state }) => name === held.stage && stillWaits.has(state));
  return waits && !isHeard ? held.stage : undefined;
}

const stillWaits: ReadonlySet<StageStatus['state']> = new Set(['Pending', 'AwaitingApproval']);

function isInconclusive({ stopped }: Rollout, name: string): boolean {
  return stopped?.reason === reasons.stageInconclusive && stopped.stage === name;
}

/**
 * Returns a suffix for the annotation of an approval. Without this suffix, a second approval of a stage would be
 * identical to the first one, and the operator would ignore it.
 */
function suffixOf(rollout: Rollout, name: string): string {
  const { actions = [], stopped } = rollout;
  const retry = actions.findLast(({ action }) => action === 'Retry');
  const time = isInconclusive(rollout, name) ? stopped?.time : retry?.time;
  return time === undefined ? '' : `/${time}`;
}

function named(name: string, { id }: Rollout, stages: readonly StageStatus[]): StageStatus {
  const stage = stages.find((one) => one.name === name);
  if (stage) return stage;
  const stageNames = stages.map((one) => one.name).join(', ') || 'none';
  throw new UsageError(`rollout ${id} has no stage '${name}'; stages of the rollout: ${stageNames}`);
}

function approve(
  resource: CollectorVersionPolicy,
  rollout: Rollout,
  stage: StageStatus,
  options: TargetOptions,
): PersonAction {
  const { id } = rollout;
  const { name, state } = stage;
  const value = `${id}/${name}${suffixOf(rollout, name)}`;
  if (resource.metadata.annotations[annotations.approve] === value) {
    return { annotation: undefined, report: `stage ${name} of rollout ${id} is already approved.` };
  }
  const annotation = { name: annotations.approve, value };
  const pauseNote = renderPaused(resource, options);
  if (state === 'AwaitingApproval') {
    const isEmpty = stage.members === 0;
    const limits = resource.spec.maintenance
      ? 'maxInProgress and the maintenance window permit'
      : 'maxInProgress permits';
    const upgrades = `${renderMembers(stage)} upgraded as soon as ${limits}.${renderOffline(resource)}`;
    const effect = isEmpty
      ? 'the stage has no collectors now. If it is still empty when it starts, it is skipped.'
      : upgrades;
    return { annotation, report: `approved stage ${name} of rollout ${id}: ${effect}${pauseNote}` };
  }
  if (state === 'Pending') {
    const later = 'the stage starts after the stages before it';
    if (!needsApproval(resource, stage)) throw nothingToDo(resource, `stage ${name} needs no approval: ${later}`);
    return { annotation, report: `approved stage ${name} of rollout ${id} in advance: ${later}.${pauseNote}` };
  }
  if (state === 'Stopped' && isInconclusive(rollout, name)) {
    const report = `ended stage ${name} of rollout ${id}, although none of its collectors runs the target version: the rollout continues.${pauseNote}`;
    return { annotation, report };
  }
  if (state !== 'Stopped')
    throw nothingToDo(resource, `stage ${name} of rollout ${id} has already started, so the stage needs no approval`);
  const retry = commandLine('retry', resource, options);
  throw nothingToDo(
    resource,
    `rollout ${id} was stopped in stage ${name}, so an approval has no effect. To continue the rollout: ${retry}`,
  );
}

/** Renders the number of the stage's collectors that can be upgraded after the approval. */
function renderMembers({ members, updated }: StageStatus): string {
  const left = Math.max(0, members - updated);
  const verb = wordFor(left, 'is', 'are');
  return left === members
    ? `its ${counted(members, 'collector')} ${verb}`
    : `${left} of its ${members} collectors ${verb}`;
}

/**
 * Returns a sentence with the number of offline collectors in the whole policy. The status does not contain the numbers
 * for each stage.
 */
function renderOffline({ status }: CollectorVersionPolicy): string {
  const offline = status?.collectors?.offline ?? 0;
  return offline === 0
    ? ''
    : ` Offline collectors are upgraded when they are online again (${offline} in the whole policy).`;
}

/**
 * Reports whether the stage is expected to wait for an approval: because its spec requires one, or because it has no
 * collectors yet. A stage that takes all remaining collectors is not expected to wait while it is empty.
 */
function needsApproval({ spec }: CollectorVersionPolicy, { name, members }: StageStatus): boolean {
  const stage = spec.strategy.stages?.find((one) => one.name === name);
  if (!stage) return false;
  return stage.approval === 'Required' || (members === 0 && !takesRemaining(stage));
}
