/**
 * Renders the details of a policy for `logfleet get cvp NAME`: target version, collectors, stages, the reason of its
 * state, failures, upgrades in flight, and actions of people. Pure functions.
 */

import type {
  CollectorVersionPolicyStatus,
  PersonAction,
  ReasonCount,
  StageStatus,
  TaskSample,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { renderDuration } from '../../base/duration.ts';
import { counted } from '../../base/number-text.ts';
import { renderBar, renderCounts } from './bars.ts';
import { holds, renderBehind, renderConditions } from './condition-lines.ts';
import { renderEnd } from './live-parts.ts';
import type { NextSteps } from './next-steps.ts';
import { explainUpdated, renderActions, renderStageState, renderWait, renderWindow } from './rollout-figures.ts';
import { type Fact, renderFacts, renderTable, section } from './table.ts';
import { clip, type Paint, paintWith, printable, renderAgeSince, renderExamples, wrap } from './text.ts';

export interface ViewOptions {
  readonly width: number;
  readonly colour: boolean;
  readonly nowMs: number;
  readonly steps?: NextSteps;
}

type RolloutRecord = NonNullable<CollectorVersionPolicyStatus['history']>[number];

/** Maximum number of rows in a table of this view. The status of the policy contains more. */
const maxRows = 10;

export function renderPolicy(policy: CollectorVersionPolicy, options: ViewOptions): readonly string[] {
  const paint = paintWith(options.colour);
  const status = policy.status;
  const lines = renderFacts(facts(policy, options), { width: options.width, paint });
  if (!status) return lines;
  return [
    ...lines,
    ...section('Fleet', fleet(status, options.width, paint), paint),
    ...section('Stages', stages(status, options), paint),
    ...section('Versions', versions(status, options), paint),
    ...section('Conditions', renderConditions(status, options), paint),
    ...section('Failed', reasons(status.failureReasons ?? [], options.width), paint),
    ...section('Skipped', reasons(status.skippedReasons ?? [], options.width), paint),
    ...section('In flight', inFlight(status, options), paint),
    ...section('Ended last', ended(status, options), paint),
    ...section('Actions of people', actions(status.rollout?.actions ?? [], options), paint),
    ...section('Former rollouts', history(status, options), paint),
  ];
}

function facts(policy: CollectorVersionPolicy, { nowMs, steps: { resume, retry } = {} }: ViewOptions): readonly Fact[] {
  const { metadata, spec, status } = policy;
  return [
    ['Name', `${metadata.namespace}/${metadata.name}`],
    ['Target', targetOf(policy)],
    [
      'State',
      status?.summary?.state ??
        'Unknown: no operator has looked at this policy yet. Check that an operator is running.',
    ],
    ['Updated', status && updatedOf(status)],
    ['Mode', spec.mode === 'Observe' ? 'Observe: nothing is upgraded' : undefined],
    ['Paused', resume && `no upgrade starts; to resume: ${resume}`],
    ['Waiting for', resume ? undefined : renderWait(status, nowMs)],
    ['Rollout', rolloutOf(status, nowMs)],
    ['Stopped', stopOf(status, nowMs)],
    ['To retry', retry],
    ['Window', status && renderWindow(status, nowMs)],
    ['Behind', renderBehind(policy)],
    ['Age', renderAgeSince(metadata.creationTimestamp, nowMs)],
  ];
}

function updatedOf(status: CollectorVersionPolicyStatus): string | undefined {
  const updated = status.summary?.updated;
  const note = explainUpdated(status);
  return updated === undefined || note === undefined ? updated : `${updated}; ${note}`;
}

function targetOf({ spec, status }: CollectorVersionPolicy): string {
  const version = status?.targetVersion;
  if (spec.target.channel === undefined) return version ?? spec.target.version ?? '';
  return version === undefined ? spec.target.channel : `${version} (${spec.target.channel})`;
}

function rolloutOf(status: CollectorVersionPolicyStatus | undefined, nowMs: number): string | undefined {
  const rollout = status?.rollout;
  if (!rollout) return undefined;
  const begun = `${rollout.id}, started ${renderAgeSince(rollout.startTime, nowMs)} ago`;
  const end = holds(status, 'Reconciling') ? renderEnd(rollout.estimatedCompletionTime, nowMs) : undefined;
  return end === undefined ? begun : `${begun}, ${end}`;
}

/**
 * Time since the rollout stopped. It comes from the stop itself, because the `Ready` condition can have been `False`
 * for longer.
 */
function stopOf(status: CollectorVersionPolicyStatus | undefined, nowMs: number): string | undefined {
  const stopped = status?.rollout?.stopped;
  if (!stopped) return undefined;
  const where = stopped.stage === undefined ? '' : ` in stage ${stopped.stage}`;
  return `${renderAgeSince(stopped.time, nowMs)} ago${where}`;
}

function fleet(status: CollectorVersionPolicyStatus, width: number, paint: Paint): readonly string[] {
  const counts = status.collectors;
  if (!counts) return [];
  const words = wrap(`${counts.matched} matched: ${renderCounts(counts)}`, Math.max(20, width - 2));
  return [renderBar(counts, Math.min(62, width - 2), paint), ...words];
}

function stages({ stages: all = [] }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const { nowMs, steps: { approve } = {}, width } = options;
  const lines = tableOf(all, options, {
    stage: ({ name }) => name,
    state: (stage) => renderStageState(stage, nowMs),
    updated: ({ updated, members }) => `${updated}/${members}`,
    failed: failedOf,
    started: ({ startTime }) => (startTime === undefined ? '' : `${renderAgeSince(startTime, nowMs)} ago`),
  });
  return approve === undefined ? lines : [...lines, ...wrap(`to approve: ${approve}`, Math.max(20, width - 2))];
}

/**
 * Number of failed collectors of a stage, such as `0 (3 attempts)`. Collectors that were retried or upgraded after a
 * failure count only as attempts.
 */
function failedOf({ failed, failedAttempts = 0 }: StageStatus): string {
  return failedAttempts > failed ? `${failed} (${counted(failedAttempts, 'attempt')})` : `${failed}`;
}

function versions({ versions: counts = [], targetVersion }: CollectorVersionPolicyStatus, options: ViewOptions) {
  return shortened(counts, counts.length, options, {
    version: ({ version }) => version || '(none)',
    collectors: ({ count }) => String(count),
    '': ({ version }) => (version === targetVersion ? 'target' : ''),
  });
}

function reasons(all: readonly ReasonCount[], width: number): readonly string[] {
  return all.flatMap(({ reason, count, examples = [] }) =>
    wrap(printable(`${count} × ${reason}${renderExamples(examples, count)}`), Math.max(20, width - 6)).map(
      (line, index) => (index === 0 ? line : `    ${line}`),
    ),
  );
}

/** Columns that every table of upgrade attempts has. */
const ofTask = {
  collector: ({ collector }: TaskSample) => collector,
  from: ({ from = '' }: TaskSample) => from,
  to: ({ to }: TaskSample) => to,
  state: ({ state }: TaskSample) => state,
};

function inFlight({ tasks = [], collectors }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const open = tasks.filter(({ endTime }) => endTime === undefined);
  return shortened(open, Math.max(open.length, collectors?.inProgress ?? 0), options, {
    ...ofTask,
    for: ({ startTime }) => renderAgeSince(startTime, options.nowMs),
    task: ({ id = '' }) => id,
  });
}

function ended({ tasks = [] }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const over = tasks.filter(({ endTime }) => endTime !== undefined);
  return shortened(over, over.length, options, {
    ...ofTask,
    ended: ({ endTime }) => `${renderAgeSince(endTime, options.nowMs)} ago`,
    message: ({ message = '' }) => message,
  });
}

/** Columns of a table. Each entry maps a column's heading to the function that renders its cells. */
type Columns<T> = Readonly<Record<string, (item: T) => string>>;

/** Table of `items` that fits the window. The table is empty if there are no items. */
function tableOf<T>(items: readonly T[], { width }: ViewOptions, columns: Columns<T>): readonly string[] {
  if (items.length === 0) return [];
  const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)));
  return renderTable(Object.keys(columns), rows, width - 2).map((line) => clip(line, width - 2));
}

/** Table of the first items, followed by the number of items that are left out. */
function shortened<T>(items: readonly T[], total: number, options: ViewOptions, columns: Columns<T>) {
  const lines = tableOf(items.slice(0, maxRows), options, columns);
  const more = total - Math.min(items.length, maxRows);
  return more > 0 && lines.length > 0 ? [...lines, `and ${more} more; -o yaml shows up to 50`] : lines;
}

function actions(all: readonly PersonAction[], { nowMs, width }: ViewOptions): readonly string[] {
  return renderActions(all, nowMs).map((line) => clip(line, width - 2));
}

/** Lines about former rollouts, each with the actions of people below it. */
function history({ history: records = [] }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const took = ({ startTime, completionTime }: RolloutRecord) =>
    renderDuration(Math.max(0, Date.parse(completionTime) - Date.parse(startTime)));
  const lines = tableOf(records, options, {
    rollout: ({ id }) => id,
    outcome: ({ outcome }) => outcome,
    updated: ({ updated }) => String(updated),
    failed: ({ failed }) => String(failed),
    took,
    ended: ({ completionTime }) => `${renderAgeSince(completionTime, options.nowMs)} ago`,
  });
  return lines.flatMap((line, index) => {
    const done = actions(records[index - 1]?.actions ?? [], { ...options, width: options.width - 2 });
    return [line, ...done.map((action) => `  ${action}`)];
  });
}
