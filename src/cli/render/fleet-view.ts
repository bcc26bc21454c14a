/**
 * Live view of a policy: states of the fleet, rate, the reason for waiting, stages, versions, upgrades in flight, failures, actions of
 * people, and the last Events. Pure.
 */

import { reasons } from '../../api/conditions.ts';
import type {
  CollectorVersionPolicyStatus,
  ReasonCount,
  TaskSample,
  VersionCount,
} from '../../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import { counted } from '../../base/number-text.ts';
import { renderBar, renderLegend } from './bars.ts';
import { conditionOf, holds, isAtWork } from './condition-lines.ts';
import {
  block,
  eventLines,
  type Headline,
  headline,
  type LiveEvent,
  type LiveViewOptions,
  renderEnd,
  standstill,
} from './live-parts.ts';
import type { NextSteps } from './next-steps.ts';
import { renderActions, renderStages, renderWait, renderWindow } from './rollout-figures.ts';
import {
  type Colour,
  clip,
  clipColoured,
  type Paint,
  paintWith,
  printable,
  renderAgeSince,
  renderExamples,
  widthOf,
  wrap,
} from './text.ts';

/** Data of the view. */
export interface FleetView {
  /** `namespace/name` */
  readonly name: string;
  readonly status: CollectorVersionPolicyStatus | undefined;
  readonly nowMs: number;
  /** Time since the start of the run, in ms. Undefined for `get --watch`. */
  readonly elapsedMs?: number;
  /** Collectors that reached the target in the last minute. Undefined until there is something to count. */
  readonly updatedPerMinute?: number;
  /** Requests to the service per second. Undefined until the first request. */
  readonly requestsPerSecond?: number;
  /** Oldest first. */
  readonly events: readonly LiveEvent[];
  readonly steps?: NextSteps;
  /** Sentence that the status is about an older generation of the spec. */
  readonly behind?: string | undefined;
}

/** Maximum number of lines of each kind. */
interface Detail {
  readonly stages: number;
  readonly versions: number;
  readonly tasks: number;
  readonly reasons: number;
  readonly actions: number;
  readonly events: number;
}

/** From a large window to a small one. */
const details: readonly [Detail, ...Detail[]] = [
  { stages: 10, versions: 6, tasks: 5, reasons: 4, actions: 3, events: 5 },
  { stages: 10, versions: 6, tasks: 3, reasons: 3, actions: 2, events: 3 },
  { stages: 8, versions: 5, tasks: 2, reasons: 2, actions: 1, events: 2 },
  { stages: 6, versions: 4, tasks: 1, reasons: 2, actions: 1, events: 1 },
  { stages: 4, versions: 3, tasks: 1, reasons: 1, actions: 0, events: 0 },
  { stages: 4, versions: 3, tasks: 0, reasons: 1, actions: 0, events: 0 },
  { stages: 3, versions: 0, tasks: 0, reasons: 1, actions: 0, events: 0 },
];
const widestBar = 100;

export function renderFleet(view: FleetView, options: LiveViewOptions): readonly string[] {
  const { height = Number.POSITIVE_INFINITY } = options;
  const shown = { ...view, status: view.status && withoutOldFigures(view.status) };
  let lines: readonly string[] = [];
  for (const detail of details) {
    lines = renderWith(detail, shown, options);
    if (lines.length <= height) break;
  }
  return lines;
}

function renderWith(detail: Detail, view: FleetView, { width, colour }: LiveViewOptions): readonly string[] {
  const paint = paintWith(colour);
  const { status } = view;
  const lines = [headline(headlineOf(view), width, paint)];
  if (view.behind !== undefined) lines.push(...wrap(view.behind, width).map((line) => paint('yellow', line)));
  if (status?.collectors) {
    lines.push(renderBar(status.collectors, Math.min(width, widestBar), paint));
    lines.push(...renderLegend(status.collectors, width, paint));
  }
  lines.push(...pace(view));
  lines.push(...course(view, width));
  lines.push(...standstill(status, view.steps, width, paint), ...waiting(view, width, paint));
  lines.push(...block('Stages', stages(view, detail.stages, width - 2, paint), paint));
  lines.push(...block('Versions', versions(status, detail.versions, width - 2, paint), paint));
  lines.push(...block('Upgrading', tasks(status, detail.tasks, view.nowMs), paint));
  lines.push(...block('Failed', failures(status?.failureReasons ?? [], detail.reasons, paint), paint));
  const newest = status?.rollout?.actions?.slice(-detail.actions || Number.POSITIVE_INFINITY) ?? [];
  lines.push(...block('Actions of people', renderActions(newest, view.nowMs), paint));
  lines.push(...block('Latest', eventLines(view.events, detail.events, width - 2, paint), paint));
  return lines.map((line) => clipColoured(line, width));
}

/** The state in one line, for outputs without a terminal. Changes only with the state or a count. */
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

/** Message about an outage (H2). Undefined without an outage. */
export function outageMessage(status: CollectorVersionPolicyStatus | undefined): string | undefined {
  return status?.outageStartTime === undefined ? undefined : conditionOf(status, 'Ready')?.message;
}

/** Status without its counts until this run has read the fleet: they are from a former run. */
function withoutOldFigures(status: CollectorVersionPolicyStatus): CollectorVersionPolicyStatus {
  const { targetVersion, conditions, summary: { state } = {} } = status;
  if (state !== reasons.progressing) return status;
  return {
    ...(targetVersion === undefined ? {} : { targetVersion }),
    ...(conditions === undefined ? {} : { conditions }),
    summary: { state },
  };
}

function headlineOf({ name, status, elapsedMs }: FleetView): Headline {
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

/** Yellow means that a person has to act. */
function stateColour(status: CollectorVersionPolicyStatus | undefined): Colour {
  if (holds(status, 'Stalled')) return 'red';
  if (holds(status, 'Ready')) return 'green';
  return isAtWork(status) && status?.summary?.state !== reasons.awaitingApproval ? 'cyan' : 'yellow';
}

/** Empty if the policy is not at work. */
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

/** Id of the rollout, for commands, and the maintenance window. */
function course({ status, nowMs }: FleetView, width: number): readonly string[] {
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

/** Reason for waiting while the policy is at work. */
function waiting({ status, nowMs }: FleetView, width: number, paint: Paint): readonly string[] {
  if (!conditionOf(status, 'Ready') || holds(status, 'Ready') || !holds(status, 'Reconciling')) return [];
  const wait = renderWait(status, nowMs);
  const told = outageMessage(status) ?? (wait === undefined ? undefined : `waiting for ${wait}`);
  return told === undefined ? [] : wrap(printable(told), width).map((line) => paint('yellow', line));
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
  // The most frequent versions, sorted by version: bars that change places are hard to follow.
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

/** Texts that are not versions come last. */
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
  // The status lists only some of the upgrades in flight, but counts all.
  const more = Math.max(open.length, status?.collectors?.inProgress ?? 0) - shown.length;
  return more > 0 && shown.length > 0 ? [...lines, `and ${more} more`] : lines;
}

function taskLines(shown: readonly TaskSample[], nowMs: number): readonly string[] {
  const names = shown.map(({ collector }) => clip(printable(collector), 24));
  const nameWidth = Math.max(0, ...names.map(widthOf));
  return shown.map(({ from, to, state, startTime }, index) => {
    const name = names[index] ?? '';
    const way = printable(`${from ?? '?'} → ${to}`);
    return `${name}${' '.repeat(nameWidth - widthOf(name))}  ${way}  ${printable(state)}, ${renderAgeSince(startTime, nowMs)}`;
  });
}

function failures(all: readonly ReasonCount[], most: number, paint: Paint): readonly string[] {
  return all.slice(0, most).map(({ reason: why, count, examples = [] }) => {
    return `${paint('red', `${count} × ${printable(why)}`)}${printable(renderExamples(examples, count))}`;
  });
}
