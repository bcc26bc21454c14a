/**
 * Renders the live view of a policy: states of its collectors, upgrade rate, the reason for waiting, stages, versions,
 * upgrades in flight, failures, actions of people, and the last Events. Pure functions.
 */

import { reasons } from '../../api/conditions.ts';
import type {
  CollectorCounts,
  CollectorVersionPolicyStatus,
  ReasonCount,
  TaskSample,
  VersionCount,
} from '../../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { counted } from '../../base/number-text.ts';
import { renderBar, renderLegend } from './bars.ts';
import { conditionOf, holds, isAtWork } from './condition-lines.ts';
import { type LiveInput, type LiveViewOptions, renderEnd, renderLiveView } from './live-parts.ts';
import { renderActions, renderStages, renderWait, renderWindow } from './rollout-figures.ts';
import { type Colour, clip, type Paint, printable, renderAgeSince, renderExamples, widthOf, wrap } from './text.ts';

export type FleetView = LiveInput<CollectorVersionPolicyStatus>;

/** Maximum number of lines for each kind of detail in the live view of a policy. */
interface Detail {
  readonly stages: number;
  readonly versions: number;
  readonly tasks: number;
  readonly reasons: number;
  readonly actions: number;
  readonly events: number;
}

/** Amounts of detail in the live view, from a large window to a small one. */
const details: readonly Detail[] = [
  { stages: 10, versions: 6, tasks: 5, reasons: 4, actions: 3, events: 5 },
  { stages: 10, versions: 6, tasks: 3, reasons: 3, actions: 2, events: 3 },
  { stages: 8, versions: 5, tasks: 2, reasons: 2, actions: 1, events: 2 },
  { stages: 6, versions: 4, tasks: 1, reasons: 2, actions: 1, events: 1 },
  { stages: 4, versions: 3, tasks: 1, reasons: 1, actions: 0, events: 0 },
  { stages: 4, versions: 3, tasks: 0, reasons: 1, actions: 0, events: 0 },
  { stages: 3, versions: 0, tasks: 0, reasons: 1, actions: 0, events: 0 },
];
const widestBar = 100;

export function renderFleet(live: FleetView, options: LiveViewOptions): readonly string[] {
  const view = { ...live, status: live.status && withoutOldFigures(live.status) };
  const { status, nowMs } = view;
  const { width } = options;
  return renderLiveView(view, options, details, (detail, paint) => {
    const newest = status?.rollout?.actions?.slice(-detail.actions || Number.POSITIVE_INFINITY) ?? [];
    return {
      headline: headlineOf(view),
      figures: [...fleet(status?.collectors, width, paint), ...pace(view), ...rolloutAndWindow(view, width)],
      wait: waiting(view),
      blocks: [
        ['Stages', stages(view, detail.stages, width - 2, paint)],
        ['Versions', versions(status, detail.versions, width - 2, paint)],
        ['Upgrading', tasks(status, detail.tasks, nowMs)],
        ['Failed', failures(status?.failureReasons ?? [], detail.reasons, paint)],
        ['Actions of people', renderActions(newest, nowMs)],
      ],
    };
  });
}

function fleet(counts: CollectorCounts | undefined, width: number, paint: Paint): readonly string[] {
  if (!counts) return [];
  return [renderBar(counts, Math.min(width, widestBar), paint), ...renderLegend(counts, width, paint)];
}

/**
 * State of a policy in one line, for outputs without a terminal. The line changes only with the state or with a number
 * of collectors.
 */
export function renderSummaryLine(name: string, status: CollectorVersionPolicyStatus): string {
  const { targetVersion, summary, collectors, rollout } = withoutOldFigures(status);
  const parts = [
    targetVersion && `target ${targetVersion}`,
    rollout?.stage && `stage ${rollout.stage}`,
    summary?.updated && `updated ${summary.updated}`,
    ...(collectors
      ? [`in progress ${collectors.inProgress}`, `pending ${collectors.pending}`, `failed ${collectors.failed}`]
      : []),
  ].filter(Boolean);
  const line = `${name}: ${summary?.state ?? 'Unknown'}${parts.length > 0 ? `; ${parts.join(', ')}` : ''}`;
  const outage = outageMessage(status);
  return printable(outage === undefined ? line : `${line}: ${outage}`);
}

/** Message about an outage of the log service (H2). Undefined without an outage. */
export function outageMessage(status: CollectorVersionPolicyStatus | undefined): string | undefined {
  return status?.outageStartTime === undefined ? undefined : conditionOf(status, 'Ready')?.message;
}

/**
 * Returns the status without its numbers of collectors, as long as they come from an earlier run because this run has
 * not listed the collectors yet.
 */
function withoutOldFigures(status: CollectorVersionPolicyStatus): CollectorVersionPolicyStatus {
  const { targetVersion, conditions, summary: { state } = {} } = status;
  if (state !== reasons.progressing) return status;
  return {
    ...(targetVersion === undefined ? {} : { targetVersion }),
    ...(conditions === undefined ? {} : { conditions }),
    summary: { state },
  };
}

function headlineOf({ name, status, elapsedMs }: FleetView) {
  const updated = status?.summary?.updated;
  return {
    name,
    detail: status?.targetVersion === undefined ? '' : ` → ${status.targetVersion}`,
    state: status?.summary?.state,
    colour: stateColour(status),
    figure: updated === undefined ? undefined : `${updated} updated`,
    elapsedMs,
  };
}

/** Colour of a policy's state. Yellow means that a person must act. */
function stateColour(status: CollectorVersionPolicyStatus | undefined): Colour {
  if (holds(status, 'Stalled')) return 'red';
  if (holds(status, 'Ready')) return 'green';
  return isAtWork(status) && status?.summary?.state !== reasons.awaitingApproval ? 'cyan' : 'yellow';
}

/** Text with the upgrade rate and the remaining time of a rollout. Empty if logfleet is not working on the policy. */
function pace({ updatedPerMinute, requestsPerSecond, status, nowMs }: FleetView): readonly string[] {
  if (!isAtWork(status)) return [];
  const end = status?.rollout?.estimatedCompletionTime;
  const parts = [
    updatedPerMinute === undefined ? 'rate not known yet' : `${updatedPerMinute} upgrades a minute`,
    requestsPerSecond === undefined ? undefined : `${requestsPerSecond.toFixed(1)} requests a second`,
    renderEnd(end, nowMs),
  ];
  return [parts.filter((part) => part !== undefined).join(', ')];
}

/** Line with the id of the rollout, which commands need, and the maintenance window. */
function rolloutAndWindow({ status, nowMs }: FleetView, width: number): readonly string[] {
  if (!status) return [];
  const { rollout } = status;
  const window = renderWindow(status, nowMs);
  const parts = [
    ...(rollout ? [`rollout ${rollout.id}, started ${renderAgeSince(rollout.startTime, nowMs)} ago`] : []),
    ...(window === undefined ? [] : [`maintenance window ${window}`]),
  ];
  const line = parts.join('; ');
  const lines = line !== '' && widthOf(line) <= width ? [line] : parts;
  return lines.flatMap((one) => wrap(printable(one), width));
}

/** Reason why a working policy starts no upgrade at the moment. Undefined if there is none. */
function waiting({ status, nowMs }: FleetView): string | undefined {
  if (!conditionOf(status, 'Ready') || holds(status, 'Ready') || !holds(status, 'Reconciling')) return undefined;
  const wait = renderWait(status, nowMs);
  return outageMessage(status) ?? (wait === undefined ? undefined : `waiting for ${wait}`);
}

function stages(
  { status, nowMs, steps: { approve } = {} }: FleetView,
  most: number,
  width: number,
  paint: Paint,
): readonly string[] {
  return renderStages(status?.stages ?? [], { most, width, nowMs, approve }, paint);
}

function versions(
  status: CollectorVersionPolicyStatus | undefined,
  most: number,
  width: number,
  paint: Paint,
): readonly string[] {
  const counts = most === 0 ? [] : (status?.versions ?? []);
  // The most frequent versions, sorted by version. Sorted by number of collectors, the bars would change places and be
  // hard to follow.
  const shown = counts.slice(0, most).sort(oldestFirst);
  const labels = shown.map(({ version }) => printable(version) || '(none)');
  const labelWidth = Math.max(0, ...labels.map(widthOf));
  const largest = Math.max(1, ...shown.map(({ count }) => count));
  const room = Math.max(1, Math.min(50, width - labelWidth - 12));
  const lines = shown.map(({ version, count }, index) => {
    const length = count === 0 ? 0 : Math.max(1, Math.round((count / largest) * room));
    const bar = paint(version === status?.targetVersion ? 'green' : 'dim', '■'.repeat(length));
    return `${(labels[index] ?? '').padEnd(labelWidth)}  ${bar} ${count}`;
  });
  const rest = counts.slice(most);
  return rest.length === 0
    ? lines
    : [...lines, `and ${counted(rest.length, 'more version')} with ${counted(total(rest), 'collector')}`];
}

/** Order of versions, oldest first. Texts that are not versions come last. */
function oldestFirst(left: VersionCount, right: VersionCount): number {
  const [leftVersion, rightVersion] = [parseBuildVersion(left.version), parseBuildVersion(right.version)];
  if (leftVersion && rightVersion) return compareBuildVersions(leftVersion, rightVersion);
  return Number(rightVersion !== undefined) - Number(leftVersion !== undefined);
}

function total(counts: readonly VersionCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

function tasks(status: CollectorVersionPolicyStatus | undefined, most: number, nowMs: number): readonly string[] {
  const open = (status?.tasks ?? []).filter(({ endTime }) => endTime === undefined);
  const shown = open.slice(0, most);
  const lines = taskLines(shown, nowMs);
  // The status contains the number of all upgrades in flight, but lists only some of them.
  const more = Math.max(open.length, status?.collectors?.inProgress ?? 0) - shown.length;
  return more > 0 && shown.length > 0 ? [...lines, `and ${more} more`] : lines;
}

function taskLines(shown: readonly TaskSample[], nowMs: number): readonly string[] {
  const names = shown.map(({ collector }) => clip(printable(collector), 24));
  const nameWidth = Math.max(0, ...names.map(widthOf));
  return shown.map(({ from, to, state, startTime }, index) => {
    const name = names[index] ?? '';
    const versions = printable(`${from ?? '?'} → ${to}`);
    return `${name}${' '.repeat(nameWidth - widthOf(name))}  ${versions}  ${printable(state)}, ${renderAgeSince(startTime, nowMs)}`;
  });
}

function failures(all: readonly ReasonCount[], most: number, paint: Paint): readonly string[] {
  return all.slice(0, most).map(({ reason: why, count, examples = [] }) => {
    return `${paint('red', `${count} × ${printable(why)}`)}${printable(renderExamples(examples, count))}`;
  });
}
