/**
 * `logfleet retry` and `logfleet abort`: write a request into an annotation. The request contains the current time, so
 * that the operator recognizes a repeated request as new.
 */

import { annotations } from '../../api/annotations.ts';
import { reasons } from '../../api/conditions.ts';
import type { AnyResource, CollectorVersionPolicy, SearchExportSchedule } from '../../api/kinds.ts';
import type { Clock } from '../../base/clock.ts';
import { counted } from '../../base/number-text.ts';
import { contains } from '../../base/time-range.ts';
import { isoText } from '../../base/time-text.ts';
import { readCovered, readSpan } from '../../schedule/covered-time.ts';
import type { TargetOptions } from '../command/options.ts';
import { conditionOf } from '../render/condition-lines.ts';
import { commandLine } from '../render/next-steps.ts';
import {
  nothingToDo,
  type PersonAction,
  personCommand,
  renderInFlight,
  renderPaused,
  rolloutAction,
} from './person-action.ts';

export const retryCommand = personCommand((resource, options: TargetOptions, reader, clock) =>
  resource.kind === 'SearchExportSchedule'
    ? retryRuns(resource, options, clock)
    : retryRollout(resource, options, reader, clock),
);

const retryRollout = rolloutAction('retry', (policy, { id, stopped }, options, clock) => {
  if (!stopped && !hasFailures(policy)) throw nothingToDo(policy, `rollout ${id} is not stopped and has no failures`);
  return { annotation: request(annotations.retry, id, clock), report: renderRetry(policy, id, options) };
});

export const abortCommand = personCommand(
  rolloutAction('abort', (policy, { id }, options, clock) => {
    const retry = commandLine('retry', policy, options);
    const over = overBy(policy);
    if (over !== undefined) {
      throw nothingToDo(
        policy,
        `rollout ${id} cannot be aborted, because it ${over}: set another target, or continue the rollout with: ${retry}`,
      );
    }
    const running = renderInFlight(policy);
    const report = `aborted rollout ${id}${running}. Upgraded collectors stay upgraded. Set another target, or continue the rollout with: ${retry}`;
    return { annotation: request(annotations.abort, id, clock), report };
  }),
);

function retryRuns(schedule: SearchExportSchedule, options: TargetOptions, clock: Clock): PersonAction {
  const { failed, stalled } = runsToRetry(schedule);
  const noun = stalled === 0 ? 'failed run' : 'failed or stalled run';
  const count = failed + stalled;
  const again = count === 0 ? 'no run has failed.' : `the schedule exports ${counted(count, noun)} again.`;
  const records = 'If the record file of a complete run is missing, logfleet writes this file again.';
  return {
    annotation: { name: annotations.requestedAt, value: isoText(clock.now()) },
    report: `${again} ${records}${renderPaused(schedule, options)}`,
  };
}

/** Counts the failed and stalled runs of a schedule. `logfleet retry` starts these runs again (S5). */
function runsToRetry({ status }: SearchExportSchedule) {
  const { gaps = [], runs = [] } = status ?? {};
  const covered = readCovered(status);
  const stalled = runs.filter((run) => run.state === 'Stalled' && !contains(covered, readSpan(run)));
  return { failed: gaps.length, stalled: stalled.length };
}

/** Returns true if `logfleet retry` would have an effect on the resource. */
export function canRetry(resource: AnyResource): boolean {
  switch (resource.kind) {
    case 'CollectorVersionPolicy': {
      const rollout = resource.status?.rollout;
      return rollout !== undefined && (rollout.stopped !== undefined || hasFailures(resource));
    }
    case 'SearchExportSchedule': {
      const { failed, stalled } = runsToRetry(resource);
      return failed + stalled > 0;
    }
    case 'SearchExport':
      return false;
  }
}

/** Reports whether the resource has a rollout that can be aborted. */
export function canAbort(resource: AnyResource): boolean {
  return (
    resource.kind === 'CollectorVersionPolicy' &&
    resource.status?.rollout !== undefined &&
    overBy(resource) === undefined
  );
}

function request(name: string, rolloutId: string, clock: Clock) {
  return { name, value: `${rolloutId}/${isoText(clock.now())}` };
}

function renderRetry(resource: CollectorVersionPolicy, id: string, options: TargetOptions): string {
  const failed = resource.status?.collectors?.failed ?? 0;
  const upgrades = failed === 0 ? 'failed upgrades' : `the failed upgrades of ${counted(failed, 'collector')}`;
  const pauseNote = renderPaused(resource, options);
  if (!resource.status?.rollout?.stopped) return `rollout ${id} retries ${upgrades}.${pauseNote}`;
  const also = failed === 0 ? '' : `, and retries ${upgrades}`;
  return `rollout ${id} continues${also}.${pauseNote}`;
}

/**
 * Reports whether a retry would upgrade any collector. Uses the number of failed collectors, because the status may not
 * list all of them.
 */
function hasFailures(resource: CollectorVersionPolicy): boolean {
  const { status } = resource;
  const reason = conditionOf(resource.status, 'Ready')?.reason;
  if (reason === reasons.collectorsFailed || reason === reasons.collectorsRefused) return true;
  if (status?.skippedReasons?.some(({ reason: why }) => refusals.includes(why.split(':', 1)[0]))) return true;
  return (status?.collectors?.failed ?? 0) > 0 || (status?.stages?.some(({ failed }) => failed > 0) ?? false);
}

/**
 * Skip reasons that `logfleet retry` overrides. After a retry, the operator tries again to upgrade collectors that it
 * skipped for one of these reasons.
 */
const refusals: readonly (string | undefined)[] = ['RefusedByService', 'NotPermitted', 'Contested'];

/**
 * Returns why the rollout can no longer be aborted, such as `is already aborted`. Returns undefined if it can still be
 * aborted.
 */
function overBy({ status }: CollectorVersionPolicy): string | undefined {
  if (status?.rollout?.stopped?.reason === 'Aborted') return 'is already aborted';
  return conditionOf(status, 'Ready')?.reason === reasons.rolledBack ? 'is already rolled back' : undefined;
}
