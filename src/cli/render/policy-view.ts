/** Renders a policy: collectors, rates, stages, versions, upgrades in flight, failures, and previous rollouts. */
import { reasons } from '../../api/conditions.ts';
import type {
  CollectorVersionPolicyStatus,
  ReasonCount,
  TaskSample,
  VersionCount,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { renderDuration } from '../../base/duration.ts';
import { counted, wordFor } from '../../base/number-text.ts';
import { renderBar, renderLegend } from './bars.ts';
import { conditionOf, holds, isAtWork } from './condition-lines.ts';
import type { Paint } from './paint.ts';
import { isRolledBack, renderActions, renderStages, renderWait, renderWindow } from './rollout-figures.ts';
import { aligned } from './table.ts';
import { clip, widthOf, wrap } from './terminal-text.ts';
import { printable, renderAgeSince, renderEnd, renderExamples } from './text.ts';
import { type KindView, type Moment, renderView, type ViewOptions } from './view-layout.ts';

/** Maximum number of lines to show for each kind of detail, such as stages. */
interface Detail {
  readonly stages: number;
  readonly versions: number;
  readonly tasks: number;
  readonly reasons: number;
  readonly actions: number;
  readonly events: number;
}

const all = Number.POSITIVE_INFINITY;
/** Levels of detail in the live view, from the most to the least detailed. Small terminals get less detail. */
const details: readonly Detail[] = [
  { stages: 10, versions: 6, tasks: 5, reasons: 4, actions: 3, events: 5 },
  { stages: 10, versions: 6, tasks: 3, reasons: 3, actions: 2, events: 3 },
  { stages: 8, versions: 5, tasks: 2, reasons: 2, actions: 1, events: 2 },
  { stages: 6, versions: 4, tasks: 1, reasons: 2, actions: 1, events: 1 },
  { stages: 4, versions: 3, tasks: 1, reasons: 1, actions: 0, events: 0 },
  { stages: 4, versions: 3, tasks: 0, reasons: 1, actions: 0, events: 0 },
  { stages: 3, versions: 0, tasks: 0, reasons: 1, actions: 0, events: 0 },
];
const everything: Detail = { stages: all, versions: 10, tasks: 10, reasons: all, actions: all, events: 0 };
const widestBar = 100;

export const policyView: KindView<CollectorVersionPolicy> = {
  render: renderPolicy,
  figuresOf,
  waitOf: policyWait,
  reasonOf: policyWait,
  inFlight: ({ collectors: { inProgress = 0 } = {} }) => {
    if (inProgress === 0) return undefined;
    const verb = wordFor(inProgress, 'runs', 'run');
    return `${counted(inProgress, 'upgrade')} in flight ${verb} to completion`;
  },
};

export function renderPolicy(policy: CollectorVersionPolicy, moment: Moment, options: ViewOptions): readonly string[] {
  const status = withoutOldFigures(policy.status);
  const { nowMs, steps: { approve } = {} } = moment;
  const { width } = options;
  const { collectors, rollout, tasks = [], summary } = status;
  return renderView(policy, moment, options, { all: everything, fitting: details }, (detail, paint) => {
    const fleet = collectors
      ? [renderBar(collectors, Math.min(width, widestBar), paint), ...renderLegend(collectors, width, paint)]
      : [];
    const newest = detail.actions === 0 ? 1 : detail.actions;
    const stageLines = { max: detail.stages, width: width - 2, nowMs, approve, isRolledBack: isRolledBack(status) };
    return {
      detail: targetOf(policy.spec.target, status),
      figure: summary?.updated === undefined ? undefined : `${summary.updated} updated`,
      figures: [...fleet, ...pace(status, moment), ...rolloutAndWindow(status, nowMs, width)],
      wait: waiting(status, nowMs),
      blocks: [
        ['Stages', renderStages(status.stages ?? [], stageLines, paint)],
        ['Versions', versions(status, detail.versions, width - 2, paint)],
        ['Upgrading', tasksInFlight(status, detail.tasks, nowMs)],
        ['Failed', reasonLines(status.failureReasons, detail.reasons, paint)],
        ['Actions of people', renderActions(rollout?.actions?.slice(-newest) ?? [], nowMs)],
      ],
      further: [
        ['Skipped', reasonLines(status.skippedReasons, all, paint)],
        ['Ended last', taskLines(tasks.filter(({ endTime }) => endTime !== undefined).slice(0, detail.tasks), nowMs)],
        ['Former rollouts', history(status, nowMs)],
      ],
    };
  });
}

function targetOf(target: CollectorVersionPolicy['spec']['target'], status: CollectorVersionPolicyStatus): string {
  const version = status.targetVersion ?? target.version;
  if (target.channel === undefined) return version === undefined ? '' : ` → ${version}`;
  return version === undefined ? ` → ${target.channel}` : ` → ${version} (${target.channel})`;
}

function figuresOf(status: CollectorVersionPolicyStatus): string {
  const { targetVersion, summary, collectors, rollout } = withoutOldFigures(status);
  const parts = [
    targetVersion && `target ${targetVersion}`,
    rollout?.stage && `stage ${rollout.stage}`,
    summary?.updated && `updated ${summary.updated}`,
    collectors && `in progress ${collectors.inProgress}, pending ${collectors.pending}, failed ${collectors.failed}`,
  ];
  return parts.filter(Boolean).join(', ');
}

/**
 * Returns the reason why a policy makes no progress (H2): an outage, a stall, or what the rollout is waiting for while
 * no upgrade is in flight. Returns undefined if there is no such reason.
 */
function policyWait(status: CollectorVersionPolicyStatus): string | undefined {
  if (status.outageStartTime !== undefined || holds(status, 'Stalled')) return conditionOf(status, 'Ready')?.message;
  const { rollout, collectors } = status;
  const isWaiting = rollout?.waitingFor !== undefined && holds(status, 'Reconciling') && collectors?.inProgress === 0;
  return isWaiting ? `waiting for ${rollout.waitingFor}` : undefined;
}

/**
 * Removes the numbers of collectors from a status in the state `Progressing`. In this state, the process has not listed
 * the collectors yet, so the numbers are outdated.
 */
export function withoutOldFigures(status: CollectorVersionPolicyStatus = {}): CollectorVersionPolicyStatus {
  const { conditions, summary: { state } = {} } = status;
  if (state !== reasons.progressing) return status;
  return {
    ...(conditions === undefined ? {} : { conditions }),
    summary: { state },
  };
}

/** Renders the upgrade rate and the remaining time. Renders nothing if logfleet is not working on the policy. */
function pace(
  status: CollectorVersionPolicyStatus,
  { updatedPerMinute, requestsPerSecond, nowMs }: Moment,
): readonly string[] {
  if (!isAtWork(status)) return [];
  const parts = [
    updatedPerMinute === undefined ? undefined : `${updatedPerMinute} upgrades a minute`,
    requestsPerSecond === undefined ? undefined : `${requestsPerSecond.toFixed(1)} requests a second`,
    renderEnd(status.rollout?.estimatedCompletionTime, nowMs),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [parts.join(', ')];
}

/** Renders the maintenance window and the rollout id. */
function rolloutAndWindow(status: CollectorVersionPolicyStatus, nowMs: number, width: number): readonly string[] {
  const { rollout } = status;
  const window = renderWindow(status, nowMs);
  const stopped = rollout?.stopped ? `, stopped ${renderAgeSince(rollout.stopped.time, nowMs)} ago` : '';
  const parts = [
    ...(rollout ? [`rollout ${rollout.id}, started ${renderAgeSince(rollout.startTime, nowMs)} ago${stopped}`] : []),
    ...(window === undefined ? [] : [window]),
  ];
  const line = parts.join('; ');
  const lines = line !== '' && widthOf(line) <= width ? [line] : parts;
  return lines.flatMap((one) => wrap(printable(one), width));
}

/**
 * Returns the reason why a policy starts no upgrades although it is neither paused nor stopped. Returns undefined if
 * there is no such reason.
 */
function waiting(status: CollectorVersionPolicyStatus, nowMs: number): string | undefined {
  if (holds(status, 'Ready') || !holds(status, 'Reconciling')) return undefined;
  if (status.outageStartTime !== undefined) return conditionOf(status, 'Ready')?.message;
  const wait = renderWait(status, nowMs);
  return wait === undefined ? undefined : `waiting for ${wait}`;
}

function versions(
  { versions: counts = [], targetVersion }: CollectorVersionPolicyStatus,
  max: number,
  width: number,
  paint: Paint,
): readonly string[] {
  if (max === 0) return [];
  // Sorts the lines by version, not by number of collectors, so that no line moves during a rollout.
  const shown = counts.slice(0, max).sort(oldestFirst);
  const labels = aligned(shown.map(({ version }) => printable(version) || '(none)'));
  const largest = Math.max(1, ...shown.map(({ count }) => count));
  const columns = Math.max(1, Math.min(50, width - widthOf(labels[0] ?? '') - 12));
  const lines = shown.map(({ version, count }, index) => {
    const length = count === 0 ? 0 : Math.max(1, Math.round((count / largest) * columns));
    const bar = paint(version === targetVersion ? 'green' : 'dim', '■'.repeat(length));
    return `${labels[index]}  ${bar} ${count}`;
  });
  const rest = counts.slice(max);
  if (rest.length === 0) return lines;
  const collectors = rest.reduce((sum, { count }) => sum + count, 0);
  return [
    ...lines,
    `${counted(collectors, 'collector')} ${wordFor(collectors, 'runs', 'run')} ${counted(rest.length, 'other version')}`,
  ];
}

/** Sorts versions, oldest first. Strings that are not versions come last. */
function oldestFirst(left: VersionCount, right: VersionCount): number {
  const [leftVersion, rightVersion] = [parseBuildVersion(left.version), parseBuildVersion(right.version)];
  if (leftVersion && rightVersion) return compareBuildVersions(leftVersion, rightVersion);
  return Number(rightVersion !== undefined) - Number(leftVersion !== undefined);
}

function tasksInFlight(
  { tasks = [], collectors }: CollectorVersionPolicyStatus,
  max: number,
  nowMs: number,
): readonly string[] {
  const open = tasks.filter(({ endTime }) => endTime === undefined);
  const lines = taskLines(open.slice(0, max), nowMs);
  // The status lists only some of the upgrades in flight, but gives their total number.
  const more = Math.max(open.length, collectors?.inProgress ?? 0) - lines.length;
  return more > 0 && lines.length > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Renders upgrades, each on one line such as `web-1  19.1-1 → 19.2-1  Failed, 20s ago: disk full`. */
function taskLines(shown: readonly TaskSample[], nowMs: number): readonly string[] {
  const names = aligned(shown.map(({ collector }) => clip(printable(collector), 24)));
  return shown.map(({ from, to, state, startTime, endTime, message }, index) => {
    const age = endTime === undefined ? renderAgeSince(startTime, nowMs) : `${renderAgeSince(endTime, nowMs)} ago`;
    const why = message === undefined ? '' : `: ${message}`;
    return `${names[index]}  ${printable(`${from ?? '?'} → ${to}  ${state}, ${age}${why}`)}`;
  });
}

function reasonLines(all: readonly ReasonCount[] = [], max: number, paint: Paint): readonly string[] {
  return all.slice(0, max).map(({ reason, count, examples = [] }) => {
    return `${paint('red', `${count} × ${printable(reason)}`)}${printable(renderExamples(examples, count))}`;
  });
}

/** Renders the previous rollouts. Each is followed by the actions that users took during the rollout. */
function history({ history: records = [] }: CollectorVersionPolicyStatus, nowMs: number): readonly string[] {
  return records.flatMap(({ id, outcome, updated, failed, startTime, completionTime, actions = [] }) => {
    const took = renderDuration(Math.max(0, Date.parse(completionTime) - Date.parse(startTime)));
    const figures = `${updated} updated, ${failed} failed in ${took}`;
    const ended = `${outcome} ${renderAgeSince(completionTime, nowMs)} ago`;
    const line = `${id}  ${ended}: ${figures}`;
    return [line, ...renderActions(actions, nowMs).map((action) => `  ${action}`)];
  });
}
