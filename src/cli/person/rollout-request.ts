/**
 * `logfleet retry` and `logfleet abort`: they write a user's request about the current rollout into an annotation. Each request contains
 * its time, so that a repeated request differs from the first.
 */

import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { Rollout } from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { counted } from '../../base/number-text.ts';
import type { CommandContext } from '../context.ts';
import type { TargetOptions } from '../options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { commandLine } from '../render/next-steps.ts';
import { type OpenResources, openResources } from '../resources/resource-access.ts';
import { actOnPolicy, nothingToDo, renderInProgress, renderPaused } from './person-action.ts';

export function retryCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
  clock: Clock = systemClock,
): Promise<number> {
  return actOnPolicy(target, options, context, open, (resource) => {
    const { id } = rolloutOf(resource, 'retry');
    const failed = resource.status?.collectors?.failed ?? 0;
    if (!resource.status?.rollout?.stopped && !hasFailures(resource)) {
      throw nothingToDo(resource, `rollout ${id} is not stopped and has no failures`);
    }
    return { annotation: request(annotations.retry, id, clock), report: renderRetry(resource, id, failed, options) };
  });
}

export function abortCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
  clock: Clock = systemClock,
): Promise<number> {
  return actOnPolicy(target, options, context, open, (resource) => {
    const { id } = rolloutOf(resource, 'abort');
    const retry = commandLine('retry', resource, options);
    const over = overBy(resource);
    if (over !== undefined) {
      throw nothingToDo(resource, `rollout ${id} ${over}: set another target, or continue with: ${retry}`);
    }
    const running = renderInProgress(resource);
    const report = `aborted rollout ${id}${running}. Upgraded collectors stay upgraded. Set another target, or continue with: ${retry}`;
    return { annotation: request(annotations.abort, id, clock), report };
  });
}

/**
 * Returns the current rollout from the status. Throws `cli.nothingToDo` if there is none; the message names `command`.
 */
export function rolloutOf(resource: CollectorVersionPolicy, command: 'approve' | 'retry' | 'abort'): Rollout {
  const { status } = resource;
  if (!status) throw nothingToDo(resource, 'no operator has read it yet. Check that an operator is running');
  if (status.rollout) return status.rollout;
  const state = status.summary?.state;
  const why = state === undefined ? '' : ` (${state})`;
  throw nothingToDo(resource, `there is no rollout to ${command}${why}`);
}

function request(name: string, rolloutId: string, clock: Clock) {
  return { name, value: `${rolloutId}/${new Date(clock.now()).toISOString()}` };
}

function renderRetry(resource: CollectorVersionPolicy, id: string, failed: number, options: TargetOptions): string {
  const again = failed === 0 ? '' : `${counted(failed, 'failed collector')} ${failed === 1 ? 'is' : 'are'} retried`;
  const also = renderPaused(resource, options);
  if (resource.status?.rollout?.stopped)
    return `rollout ${id} continues${again === '' ? '' : `, and ${again}`}.${also}`;
  return `${again === '' ? 'failed collectors are retried' : again} in rollout ${id}.${also}`;
}

/**
 * Returns whether a retry would have an effect on any collector. Collectors that the service refused to upgrade count too. The lists in the
 * status can omit failed collectors.
 */
function hasFailures(resource: CollectorVersionPolicy): boolean {
  const { status } = resource;
  const reason = conditionOf(resource.status, 'Ready')?.reason;
  if (reason === reasons.collectorsFailed || reason === reasons.collectorsRefused) return true;
  if (status?.skippedReasons?.some(({ reason: why }) => refusals.includes(why.split(':', 1)[0]))) return true;
  return (status?.collectors?.failed ?? 0) > 0 || (status?.stages?.some(({ failed }) => failed > 0) ?? false);
}

/** Reasons for which an upgrade is skipped and which a retry ignores. In the status, a text of the service may follow the reason. */
const refusals: readonly (string | undefined)[] = ['RefusedByService', 'NotPermitted', 'Contested'];

/** Returns a text that says how a rollout has ended, so that it cannot be aborted any more. Returns undefined if it can be aborted. */
function overBy({ status }: CollectorVersionPolicy): string | undefined {
  if (status?.rollout?.stopped?.reason === 'Aborted') return 'is already aborted';
  return conditionOf(status, 'Ready')?.reason === reasons.rolledBack ? 'is already rolled back' : undefined;
}
