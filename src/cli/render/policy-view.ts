/**
 * Details of a policy for `logfleet get cvp NAME`: target, fleet, stages, the reason of its state, failures, upgrades in flight, and
 * actions of people. Pure.
 */

import type {
  CollectorVersionPolicyStatus,
  PersonAction,
  ReasonCount,
  StageStatus,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { renderDuration } from '../../base/duration.ts';
import { counted } from '../../base/number-text.ts';
import { renderBar, renderCounts } from './bars.ts';
import { renderBehind, renderConditions } from './condition-lines.ts';
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

/** Maximum number of rows in a table. The status has more. */
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
  const moves = status.conditions?.some((condition) => condition.type === 'Reconciling' && condition.status === 'True');
  const end = moves ? renderEnd(rollout.estimatedCompletionTime, nowMs) : undefined;
  return end === undefined ? begun : `${begun}, ${end}`;
}

/** Time since the rollout stopped. The age of the condition can be older, since `Ready` was `False` before. */
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
  if (all.length === 0) return [];
  const { nowMs, steps: { approve } = {}, width } = options;
  const rows = all.map((stage) => [
    stage.name,
    renderStageState(stage, nowMs),
    `${stage.updated}/${stage.members}`,
    failedOf(stage),
    stage.startTime === undefined ? '' : `${renderAgeSince(stage.startTime, nowMs)} ago`,
  ]);
  const headings = ['stage', 'state', 'updated', 'failed', 'started'];
  const how = approve === undefined ? [] : wrap(`to approve: ${approve}`, Math.max(20, width - 2));
  return [...renderTable(headings, rows, width - 2).map((line) => clip(line, width - 2)), ...how];
}

/** `0 (3 attempts)`: collectors that failed and were retried or upgraded since count only as attempts. */
function failedOf({ failed, failedAttempts = 0 }: StageStatus): string {
  return failedAttempts > failed ? `${failed} (${counted(failedAttempts, 'attempt')})` : `${failed}`;
}

function versions(
  { versions: counts = [], targetVersion }: CollectorVersionPolicyStatus,
  options: ViewOptions,
): readonly string[] {
  if (counts.length === 0) return [];
  const rows = counts.map(({ version, count }) => [
    version || '(none)',
    String(count),
    version === targetVersion ? 'target' : '',
  ]);
  return shortened(['version', 'collectors', ''], rows, rows.length, options);
}

function reasons(all: readonly ReasonCount[], width: number): readonly string[] {
  return all.flatMap(({ reason, count, examples = [] }) =>
    wrap(printable(`${count} × ${reason}${renderExamples(examples, count)}`), Math.max(20, width - 6)).map(
      (line, index) => (index === 0 ? line : `    ${line}`),
    ),
  );
}

function inFlight({ tasks = [], collectors }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const open = tasks.filter(({ endTime }) => endTime === undefined);
  if (open.length === 0) return [];
  const rows = open.map((task) => [
    task.collector,
    task.from ?? '',
    task.to,
    task.state,
    renderAgeSince(task.startTime, options.nowMs),
    task.id ?? '',
  ]);
  const headings = ['collector', 'from', 'to', 'state', 'for', 'task'];
  return shortened(headings, rows, Math.max(open.length, collectors?.inProgress ?? 0), options);
}

function ended({ tasks = [] }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  const over = tasks.filter(({ endTime }) => endTime !== undefined);
  if (over.length === 0) return [];
  const rows = over.map((task) => [
    task.collector,
    task.from ?? '',
    task.to,
    task.state,
    `${renderAgeSince(task.endTime, options.nowMs)} ago`,
    task.message ?? '',
  ]);
  return shortened(['collector', 'from', 'to', 'state', 'ended', 'message'], rows, over.length, options);
}

/** Table of the first rows, cut to the width of the window, and the number of rows that are left out. */
function shortened(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  total: number,
  { width }: ViewOptions,
): readonly string[] {
  const lines = renderTable(headings, rows.slice(0, maxRows)).map((line) => clip(line, width - 2));
  const more = total - Math.min(rows.length, maxRows);
  return more > 0 ? [...lines, `and ${more} more; -o yaml shows up to 50`] : lines;
}

function actions(all: readonly PersonAction[], { nowMs, width }: ViewOptions): readonly string[] {
  return renderActions(all, nowMs).map((line) => clip(line, width - 2));
}

/** Former rollouts, each with the actions of people below it. */
function history({ history: records = [] }: CollectorVersionPolicyStatus, options: ViewOptions): readonly string[] {
  if (records.length === 0) return [];
  const rows = records.map((record) => [
    record.id,
    record.outcome,
    String(record.updated),
    String(record.failed),
    renderDuration(Math.max(0, Date.parse(record.completionTime) - Date.parse(record.startTime))),
    `${renderAgeSince(record.completionTime, options.nowMs)} ago`,
  ]);
  const [headings = '', ...lines] = renderTable(
    ['rollout', 'outcome', 'updated', 'failed', 'took', 'ended'],
    rows,
    options.width - 2,
  ).map((line) => clip(line, options.width - 2));
  const done = (index: number) => actions(records[index]?.actions ?? [], { ...options, width: options.width - 2 });
  return [headings, ...lines.flatMap((line, index) => [line, ...done(index).map((action) => `  ${action}`)])];
}
