/**
 * A fleet while it moves, as lines for a terminal: the bar of its states, its versions, how fast it goes, whom it upgrades, and what
 * happened last. Pure: the time and everything else is passed in, so that the same moment gives the same lines.
 */
import { reasons } from '../../api/conditions.ts';
import type {
  CollectorVersionPolicyStatus,
  ReasonCount,
  TaskSample,
  VersionCount,
} from '../../api/generated/collector-version-policy.ts';
import { compareBuildVersions, parseBuildVersion } from '../../base/build-version.ts';
import type { EventType } from '../../host/host.ts';
import { renderAge, renderAgeSince } from './age.ts';
import { counted } from './counted.ts';
import { renderExamples } from './examples.ts';
import { renderBar, renderLegend } from './fleet-bar.ts';
import { clip, clipColoured, type Paint, paintWith, printable, widthOf, wrap } from './palette.ts';

/** What is shown of one policy. */
export interface FleetView {
  /** `namespace/name` */
  readonly name: string;
  readonly status: CollectorVersionPolicyStatus | undefined;
  readonly nowMs: number;
  /** Since the view began, or the run. */
  readonly elapsedMs: number;
  /** Collectors that reached the target in the last minute; undefined before there is anything to count. */
  readonly updatedPerMinute?: number;
  /** Requests to the service, over the last whole seconds; undefined before the first. */
  readonly requestsPerSecond?: number;
  /** Oldest first. */
  readonly events: readonly FleetEvent[];
}

export interface FleetEvent {
  readonly atMs: number;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

export interface FleetViewOptions {
  /** Columns of the longest line. */
  readonly width: number;
  /** Lines that there is room for; details are left out to keep within it, as far as that helps. */
  readonly height?: number;
  readonly colour: boolean;
}

/** How many of each are shown. */
interface Detail {
  readonly versions: number;
  readonly tasks: number;
  readonly reasons: number;
  readonly events: number;
}

/** From a window with room to a small one. */
const details: readonly [Detail, ...Detail[]] = [
  { versions: 6, tasks: 5, reasons: 4, events: 5 },
  { versions: 6, tasks: 3, reasons: 3, events: 3 },
  { versions: 5, tasks: 2, reasons: 2, events: 2 },
  { versions: 4, tasks: 1, reasons: 2, events: 1 },
  { versions: 3, tasks: 1, reasons: 1, events: 0 },
];
const widestBar = 100;

export function renderFleet(view: FleetView, options: FleetViewOptions): readonly string[] {
  const { height = Number.POSITIVE_INFINITY } = options;
  const shown = { ...view, status: view.status && withoutOldFigures(view.status) };
  let lines: readonly string[] = [];
  for (const detail of details) {
    lines = renderWith(detail, shown, options);
    if (lines.length <= height) break;
  }
  return lines;
}

function renderWith(detail: Detail, view: FleetView, { width, colour }: FleetViewOptions): readonly string[] {
  const paint = paintWith(colour);
  const { status } = view;
  const lines = [headline(view, width, paint)];
  if (status?.collectors) {
    lines.push(renderBar(status.collectors, Math.min(width, widestBar), paint));
    lines.push(...renderLegend(status.collectors, width, paint));
  }
  lines.push(...pace(view));
  lines.push(...reason(status, width, paint));
  lines.push(...block('Versions', versions(status, detail.versions, width - 2, paint), paint));
  lines.push(...block('Upgrading', tasks(status, detail.tasks, view.nowMs), paint));
  lines.push(...block('Failed', failures(status?.failureReasons ?? [], detail.reasons, paint), paint));
  lines.push(...block('Latest', events(view.events, detail.events, width - 2, paint), paint));
  return lines.map((line) => clipColoured(line, width));
}

/** The same in one line, for whoever is no terminal. Changes only when the state or a count does. */
export function renderSummaryLine(name: string, status: CollectorVersionPolicyStatus): string {
  const { targetVersion, summary, collectors } = withoutOldFigures(status);
  const parts = [
    targetVersion && `target ${targetVersion}`,
    summary?.updated && `updated ${summary.updated}`,
    ...(collectors
      ? [`in progress ${collectors.inProgress}`, `pending ${collectors.pending}`, `failed ${collectors.failed}`]
      : []),
  ].filter(Boolean);
  return printable(`${name}: ${summary?.state ?? 'Unknown'}${parts.length > 0 ? `; ${parts.join(', ')}` : ''}`);
}

/** As long as the fleet has not been read, what a status counts is what another run has found. */
function withoutOldFigures(status: CollectorVersionPolicyStatus): CollectorVersionPolicyStatus {
  const { targetVersion, conditions, summary: { state } = {} } = status;
  if (state !== reasons.progressing) return status;
  return {
    ...(targetVersion === undefined ? {} : { targetVersion }),
    ...(conditions === undefined ? {} : { conditions }),
    summary: { state },
  };
}

function headline({ name, status, elapsedMs }: FleetView, width: number, paint: Paint): string {
  const target = status?.targetVersion === undefined ? '' : ` → ${status.targetVersion}`;
  const left = `${paint('bold', printable(name))}${printable(target)}   ${paint(stateColour(status), printable(status?.summary?.state ?? 'starting'))}`;
  const updated = status?.summary?.updated;
  const right = [...(updated === undefined ? [] : [`${updated} updated`]), renderAge(elapsedMs)].join('   ');
  return left + ' '.repeat(Math.max(3, width - widthOf(left) - widthOf(right))) + right;
}

function stateColour(status: CollectorVersionPolicyStatus | undefined): 'green' | 'red' | 'cyan' {
  if (holds(status, 'Stalled')) return 'red';
  return holds(status, 'Ready') ? 'green' : 'cyan';
}

function holds(status: CollectorVersionPolicyStatus | undefined, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

/** Nothing once nothing moves. */
function pace({ updatedPerMinute, requestsPerSecond, status, nowMs }: FleetView): readonly string[] {
  if (status?.conditions?.length && !holds(status, 'Reconciling')) return [];
  const end = status?.rollout?.estimatedCompletionTime;
  const parts = [
    updatedPerMinute === undefined ? 'pace not known yet' : `${updatedPerMinute} upgrades a minute`,
    requestsPerSecond === undefined ? undefined : `${requestsPerSecond.toFixed(1)} requests a second`,
    end === undefined ? undefined : `done in about ${renderAge(Math.max(0, Date.parse(end) - nowMs))}`,
  ];
  return [parts.filter((part) => part !== undefined).join(', ')];
}

/** Why nothing is happening, where the policy says that it stands or waits. */
function reason(status: CollectorVersionPolicyStatus | undefined, width: number, paint: Paint): readonly string[] {
  const stalled = status?.conditions?.find(({ type, status: holds }) => type === 'Stalled' && holds === 'True');
  if (stalled) return wrap(printable(stalled.message), width).map((line) => paint('red', line));
  const wait = status?.rollout?.waitingFor;
  if (wait === undefined || !holds(status, 'Reconciling')) return [];
  return wrap(printable(`waiting for ${wait}`), width).map((line) => paint('yellow', line));
}

function block(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : [paint('dim', title), ...lines.map((line) => `  ${line}`)];
}

function versions(
  status: CollectorVersionPolicyStatus | undefined,
  most: number,
  width: number,
  paint: Paint,
): readonly string[] {
  const counts = status?.versions ?? [];
  // The most frequent ones, but in their own order: bars that change places cannot be followed.
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

/** What is no version stands last. */
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
  // The sample in the status is bounded; the count is not.
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

const timeWidth = 10;
const maxEventLines = 2;

function events(all: readonly FleetEvent[], most: number, width: number, paint: Paint): readonly string[] {
  return all.slice(Math.max(0, all.length - most)).flatMap(({ atMs, type, reason: name, message }) => {
    const at = new Date(atMs).toISOString().slice(11, 19);
    const [head, said] = [printable(name), printable(message)];
    const room = Math.max(20, width - timeWidth);
    const [first = '', ...rest] = wrap(`${head}  ${said}`, room);
    const colour = type === 'Warning' ? 'yellow' : 'bold';
    const lines = [`${at}  ${paint(colour, head)}${first.slice(head.length)}`];
    if (rest.length > 0) lines.push(' '.repeat(timeWidth) + clip(rest.join(' '), (maxEventLines - 1) * room));
    return lines;
  });
}
