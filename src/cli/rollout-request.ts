/**
 * `logfleet retry` and `logfleet abort`: what a person asks of the rollout under way. Each request bears the time, so that a second
 * one of the same rollout is another.
 */
import { annotations } from '../api/annotations.ts';
import { reasons } from '../api/conditions.ts';
import type { Rollout } from '../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy, SearchExport } from '../api/kinds.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { CommandContext } from './context.ts';
import type { TargetOptions } from './options.ts';
import { actOnPolicy, commandLine, nothingToDo, renderInProgress } from './person-action.ts';
import { counted } from './render/counted.ts';
import { type OpenResources, openResources } from './resource-access.ts';
import { wayOn } from './way-on.ts';

export function retryCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
  clock: Clock = systemClock,
): Promise<number> {
  const why = () => ', which tries again by itself: mend what its condition names, and it goes on';
  return actOnPolicy(target, options, context, open, why, (resource) => {
    const { id } = rolloutOf(resource, 'retry');
    const failed = resource.status?.collectors?.failed ?? 0;
    if (!isStopped(resource) && !hasFailures(resource)) {
      throw nothingToDo(
        resource,
        `rollout ${id} is not stopped and nothing in it has failed: there is nothing to retry`,
      );
    }
    return { annotation: request(annotations.retry, id, clock), said: renderRetry(resource, id, failed, options) };
  });
}

export function abortCommand(
  target: string,
  options: TargetOptions,
  context: CommandContext,
  open: OpenResources = openResources,
  clock: Clock = systemClock,
): Promise<number> {
  return actOnPolicy(
    target,
    options,
    context,
    open,
    (resource) => whyNoAbort(resource, options),
    (resource) => {
      const { id } = rolloutOf(resource, 'abort');
      const retry = commandLine('retry', resource, options);
      const over = overBy(resource);
      if (over !== undefined) {
        throw nothingToDo(resource, `rollout ${id} ${over}; set another target, or go on with it: ${retry}`);
      }
      const running = renderInProgress(resource);
      const said = `aborted rollout ${id}: nothing more is started${running}. Who was upgraded stays so. Set another target, or go on with this one: ${retry}`;
      return { annotation: request(annotations.abort, id, clock), said };
    },
  );
}

/** What it has committed stays either way. */
function whyNoAbort(resource: SearchExport, options: TargetOptions): string {
  return `, which ends once its manifest is deleted; ${commandLine('pause', resource, options)} only holds it`;
}

/** The rollout that status shows. `cli.nothingToDo` where it shows none. `command` is what a person wanted with it. */
export function rolloutOf(resource: CollectorVersionPolicy, command: 'approve' | 'retry' | 'abort'): Rollout {
  const { status } = resource;
  if (!status) throw nothingToDo(resource, 'nothing has looked at it yet; is an operator running?');
  if (status.rollout) return status.rollout;
  const state = status.summary?.state;
  const why = state === undefined ? '' : ` (${state})`;
  throw nothingToDo(resource, `no rollout is under way${why}, so that there is nothing to ${command}`);
}

function request(name: string, rolloutId: string, clock: Clock) {
  return { name, value: `${rolloutId}/${new Date(clock.now()).toISOString()}` };
}

function renderRetry(resource: CollectorVersionPolicy, id: string, failed: number, options: TargetOptions): string {
  const again =
    failed === 0 ? '' : `${counted(failed, 'collector')} that failed ${failed === 1 ? 'is' : 'are'} tried again`;
  const paused = wayOn(resource, options);
  const also = paused === undefined ? '' : ` It is paused; to go on: ${paused}`;
  if (isStopped(resource)) return `rollout ${id} goes on${again === '' ? '' : `, and ${again}`}.${also}`;
  return `${again === '' ? 'what failed is tried again' : again} in rollout ${id}.${also}`;
}

const stopReasons: readonly (string | undefined)[] = [
  reasons.rolloutStopped,
  reasons.rollingBack,
  reasons.rolledBack,
  reasons.aborted,
];

/** By the failure policy or by a person. `Ready` may tell of something else first, as a pause. */
function isStopped(resource: CollectorVersionPolicy): boolean {
  const { rollout, stages = [] } = resource.status ?? {};
  if (rollout?.stopped !== undefined || stopReasons.includes(readyReason(resource))) return true;
  return stages.some(({ state }) => state === 'Stopped');
}

/** Also where who failed or died is in no list any more, and counted nowhere; and who was refused. */
function hasFailures(resource: CollectorVersionPolicy): boolean {
  const { status } = resource;
  const reason = readyReason(resource);
  if (reason === reasons.collectorsFailed || reason === reasons.collectorsRefused) return true;
  if (status?.skippedReasons?.some(({ reason: why }) => refusals.includes(why.split(':', 1)[0]))) return true;
  return (status?.collectors?.failed ?? 0) > 0 || (status?.stages?.some(({ failed }) => failed > 0) ?? false);
}

/** Reasons why some are left alone whom a retry tries again. The service's own words may follow one. */
const refusals: readonly (string | undefined)[] = ['RefusedByService', 'NotPermitted', 'Contested'];

/** What has ended the rollout, so that nothing is left to abort; undefined while something is. */
function overBy(resource: CollectorVersionPolicy): string | undefined {
  if (resource.status?.rollout?.stopped?.reason === 'Aborted') return 'was aborted already';
  switch (readyReason(resource)) {
    case reasons.aborted:
      return 'was aborted already';
    case reasons.rolledBack:
      return 'was rolled back already';
    default:
      return undefined;
  }
}

function readyReason({ status }: CollectorVersionPolicy): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
}
