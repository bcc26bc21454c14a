/**
 * `logfleet approve`: lets a stage begin that waits for a person. The approval names rollout and stage, so that it approves nothing
 * that comes later.
 */
import { annotations, parseApproval } from '../api/annotations.ts';
import type { Rollout, StageStatus } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { CommandContext } from './context.ts';
import type { ApproveOptions, TargetOptions } from './options.ts';
import { actOnPolicy, commandLine, nothingToDo, type PersonAction } from './person-action.ts';
import { counted } from './render/counted.ts';
import { type OpenResources, openResources } from './resource-access.ts';
import { rolloutOf } from './rollout-request.ts';
import { UsageError } from './usage-error.ts';
import { wayOn } from './way-on.ts';

export function approveCommand(
  target: string,
  { stage, ...options }: ApproveOptions,
  context: CommandContext,
  open: OpenResources = openResources,
): Promise<number> {
  const why = () => ', which has no stages: there is nothing to approve';
  return actOnPolicy(target, options, context, open, why, (resource) => {
    const rollout = rolloutOf(resource, 'approve');
    const stages = resource.status?.stages ?? [];
    const wanted = stage === undefined ? awaiting(resource, rollout, stages) : named(stage, rollout, stages);
    const unheard = unheardBefore(resource, rollout, stages, wanted);
    if (unheard !== undefined) {
      const first = `stage ${unheard} was approved, and nobody has heard of it yet`;
      throw nothingToDo(
        resource,
        `${first}; approve ${wanted.name} once an operator has looked: one annotation holds one approval`,
      );
    }
    return approve(resource, rollout, wanted, options);
  });
}

/** The stage whose turn it is, and that waits for nothing else. */
function awaiting(resource: CollectorVersionPolicy, { id }: Rollout, stages: readonly StageStatus[]): StageStatus {
  const stage = stages.find(({ state }) => state === 'AwaitingApproval');
  if (stage) return stage;
  if (stages.length === 0)
    throw nothingToDo(resource, `rollout ${id} has no stages, so that there is nothing to approve`);
  const ahead = stages.filter(({ name, state }) => state === 'Pending' && needsApproval(resource, name));
  const instead =
    ahead.length === 0
      ? 'no stage that is left needs an approval'
      : `write --stage ${ahead[0]?.name} to approve that one ahead of its turn`;
  throw nothingToDo(resource, `no stage of rollout ${id} waits for approval now (${renderStates(stages)}); ${instead}`);
}

/** The annotation has one approval at a time: another stage's, as long as it stands there alone, would be lost. */
function unheardBefore(
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

/** A retry may have made the approval before it void: one that is given after it is another value. */
function markOf({ actions = [] }: Rollout, name: string): string {
  const last = actions.findLast(({ action, stage }) => action === 'Retry' || (action === 'Approve' && stage === name));
  const isAgain = actions.some(({ action, stage }) => action === 'Approve' && stage === name);
  return isAgain && last?.action === 'Retry' ? `/${last.time}` : '';
}

function named(name: string, { id }: Rollout, stages: readonly StageStatus[]): StageStatus {
  const stage = stages.find((one) => one.name === name);
  if (stage) return stage;
  const choice = stages.length === 0 ? 'it has none' : `it has ${stages.map((one) => one.name).join(', ')}`;
  throw new UsageError(`rollout ${id} has no stage '${name}': ${choice}`);
}

function approve(
  resource: CollectorVersionPolicy,
  rollout: Rollout,
  stage: StageStatus,
  options: TargetOptions,
): PersonAction {
  const { id } = rollout;
  const { name, state } = stage;
  const value = `${id}/${name}${markOf(rollout, name)}`;
  if (resource.metadata.annotations[annotations.approve] === value) {
    return { annotation: undefined, said: `stage ${name} of rollout ${id} was approved already.` };
  }
  const annotation = { name: annotations.approve, value };
  const paused = wayOn(resource, options);
  const also = paused === undefined ? '' : ` It is paused; to go on: ${paused}`;
  switch (state) {
    case 'AwaitingApproval': {
      const said = `approved stage ${name} of rollout ${id}: ${renderMembers(stage)} upgraded from now on${renderOffline(resource)}.${also}`;
      return { annotation, said };
    }
    case 'Pending':
      if (!needsApproval(resource, name)) {
        throw nothingToDo(resource, `stage ${name} needs no approval; it begins once those before it have ended`);
      }
      return {
        annotation,
        said: `approved stage ${name} of rollout ${id} ahead of its turn: it begins once those before it have ended.${also}`,
      };
    case 'Stopped': {
      const retry = commandLine('retry', resource, options);
      throw nothingToDo(resource, `rollout ${id} was stopped in stage ${name}; ${retry} goes on with it`);
    }
    case 'Progressing':
    case 'Soaking':
    case 'Failed':
    case 'Completed':
      throw nothingToDo(
        resource,
        `stage ${name} of rollout ${id} has begun already, so that there is nothing to approve`,
      );
  }
}

/** Some may be at the target before their stage begins. */
function renderMembers({ members, updated }: StageStatus): string {
  const left = Math.max(0, members - updated);
  const verb = left === 1 ? 'is' : 'are';
  return left === members
    ? `its ${counted(members, 'collector')} ${verb}`
    : `${left} of its ${members} collectors ${verb}`;
}

/** Status does not say in which stages they are. */
function renderOffline({ status }: CollectorVersionPolicy): string {
  const offline = status?.collectors?.offline ?? 0;
  return offline === 0 ? '' : `, those of them that are offline once they are back (${offline} in the whole policy)`;
}

function needsApproval({ spec }: CollectorVersionPolicy, stage: string): boolean {
  return spec.strategy.stages?.some(({ name, approval }) => name === stage && approval === 'Required') ?? false;
}

function renderStates(stages: readonly StageStatus[]): string {
  return stages.map(({ name, state }) => `${name} ${state}`).join(', ');
}
