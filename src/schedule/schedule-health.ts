/** Determines the health of a schedule with a series of checks. The first check that applies decides the result. */
import { reasons } from '../api/conditions.ts';
import type { LogfleetError } from '../base/errors.ts';
import { counted, wordFor } from '../base/number-text.ts';
import { isoSeconds } from '../base/time-text.ts';
import { atWork, type Health, resting, stalled } from '../controller/health.ts';
import { type Gap, isIncomplete, maxCounted, maxGaps, type Run, type ScheduleDecision } from './schedule-decision.ts';

export interface ScheduleHealthInput {
  readonly name: string;
  /** Flags to append to the commands that messages suggest, each preceded by a space, such as ` -n logging`. */
  readonly flags: string;
  /** Setting or annotation that pauses the schedule. Undefined if the schedule is not paused. */
  readonly pausedBy: string | undefined;
  /** Error that prevents all work on the schedule. */
  readonly problem: LogfleetError | undefined;
  /** Decision about the schedule. Undefined if an error prevented the decision. */
  readonly decision: ScheduleDecision | undefined;
  readonly runs: readonly Run[];
}

export function scheduleHealth(input: ScheduleHealthInput): Health {
  const { problem, decision, pausedBy, runs, name: schedule, flags } = input;
  if (problem) return healthOfProblem(problem);
  if (!decision)
    return {
      ...atWork,
      reason: reasons.progressing,
      message: 'logfleet is reading the destination for the first time.',
    };
  const { gaps, taken, pending, unfinished, create, lastTickMs, nextDueMs, isComplete } = decision;
  const retry = `logfleet retry sxs/${schedule}${flags}`;
  const incomplete = runs.filter(isIncomplete);
  const covered = `${coveredText(decision)}${incompleteText(incomplete)}`;
  if (pausedBy !== undefined) {
    const message = `${covered} Paused by ${pausedBy}: no runs are created.`;
    return { ...resting, ready: 'Unknown', reason: reasons.paused, message };
  }
  const [gap] = gaps;
  if (gap) return healthOfGaps(gap, gaps.length, retry);
  const waiting = unfinished.find(({ state }) => state === 'Stalled');
  if (waiting) {
    const message = `Run ${waiting.name} cannot continue: ${waiting.reason}. To see why: logfleet get sx/${waiting.name}${flags}. After changing spec.template, run: ${retry}`;
    return { ...stalled, reason: reasons.runStalled, message };
  }
  const [name] = taken;
  if (name !== undefined) {
    const message = `Run ${name} cannot be created, because another SearchExport has this name. Delete that SearchExport, or recreate the schedule with another name.`;
    return { ...stalled, reason: reasons.runNameTaken, message };
  }
  // Runs in `create` do not exist yet. They are counted as active, because they are created right after the status is
  // written.
  const atOnce = unfinished.length + create.length;
  const later = pending - create.length;
  const activeSpans = [...create, ...unfinished.filter(({ state }) => state === 'Active').map(({ span }) => span)];
  const activeText = `${counted(atOnce, 'run')} ${wordFor(atOnce, 'is', 'are')} active`;
  if (later > 0 || activeSpans.some(({ toMs }) => toMs < (lastTickMs ?? 0))) {
    const count = pending === maxCounted ? `at least ${later}` : `${later}`;
    const message = `${covered} ${activeText}, and ${count} more will be created.`;
    return { ...atWork, reason: reasons.backfilling, message };
  }
  const isActive = atOnce === 0 ? '' : ` ${activeText}.`;
  const rested = nextDueMs === undefined && atOnce === 0 && isComplete ? reasons.scheduleEnded : reasons.upToDate;
  const reason = incomplete.length > 0 ? reasons.exportedIncomplete : rested;
  const next =
    nextDueMs === undefined ? endText(atOnce, isComplete) : `The next run is due at ${isoSeconds(nextDueMs)}.`;
  return { ...resting, ready: 'True', reason, message: `${covered}${isActive} ${next}` };
}

/** Describes the end of a schedule for which no more runs will become due. */
function endText(activeRuns: number, isComplete: boolean): string {
  if (activeRuns > 0) return 'No more runs will be created.';
  // While a run is being deleted, no other run can export its time range.
  return isComplete
    ? 'The schedule has ended.'
    : 'The remaining time ranges will be exported after the deletion of their earlier runs has finished.';
}

/** Returns sentences about complete runs that kept incomplete intervals, preceded by a space, or an empty text. */
function incompleteText(runs: readonly Run[]): string {
  const [latest] = runs.toSorted((a, b) => b.span.fromMs - a.span.fromMs);
  if (!latest) return '';
  const are = `${counted(runs.length, 'run')} ${wordFor(runs.length, 'is', 'are')}`;
  return ` ${are} not proven complete, for example ${latest.name}. To look for missing rows, export the same time range with another SearchExport.`;
}

function coveredText(decision: ScheduleDecision): string {
  const { isOldestCovered, coveredUntilMs, lastTickMs = 0, pending, unfinished } = decision;
  if (isOldestCovered) return `Everything until ${isoSeconds(coveredUntilMs)} is exported.`;
  // A schedule that ends before its first cron time still has one run. Therefore, the cron time alone does not show
  // whether a run is due.
  if (lastTickMs <= coveredUntilMs && pending + unfinished.length === 0) return 'No run is due yet.';
  return `The oldest time range, which starts at ${isoSeconds(coveredUntilMs)}, is not exported yet.`;
}

/** Returns the health of a schedule with an error, for example in its spec or a Secret. */
function healthOfProblem({ handling, reason = reasons.internalError, message }: LogfleetError): Health {
  return handling.kind === 'stall'
    ? { ...stalled, reason, message }
    : { ...atWork, reason, message: `${message}. logfleet retries.`, outage: true };
}

/** Returns the health of a schedule with failed runs, whose time ranges are not exported. */
function healthOfGaps(first: Gap, count: number, retry: string): Health {
  const stop =
    count >= maxGaps ? ` No more runs are created until one of these ${maxGaps} failed runs is retried.` : '';
  const failed = count === 1 ? `Run ${first.run} failed` : `${count} runs failed, the first of which is ${first.run}`;
  const message = `${failed}: ${first.reason}. ${wordFor(count, 'The time range of the run is', 'The time ranges of the runs are')} not exported.${stop} Correct the cause, then run: ${retry}`;
  return { ...stalled, reason: reasons.runsFailed, message };
}
