/**
 * One policy in full, for `logfleet get cvp NAME`: what it wants, where the fleet stands, why nothing is happening, what failed
 * and what is in flight. Everything comes from the resource; the time is passed in.
 */

import type {
  CollectorVersionPolicyStatus,
  Condition,
  ReasonCount,
  TaskSample,
} from '../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { renderDuration } from '../../base/duration.ts';
import { renderAge, renderAgeSince } from './age.ts';
import { renderExamples } from './examples.ts';
import { renderBar, renderCounts } from './fleet-bar.ts';
import { type Paint, paintWith, printable, wrap } from './palette.ts';
import { renderTable } from './table.ts';

export interface ViewOptions {
  readonly width: number;
  readonly colour: boolean;
  readonly nowMs: number;
  /** How a person lets it go on, where it is paused. */
  readonly wayOn?: string | undefined;
}

/** The lines of the view. Lists are as long as the status is: it is bounded itself. */
export function renderPolicy(policy: CollectorVersionPolicy, options: ViewOptions): readonly string[] {
  const paint = paintWith(options.colour);
  const status = policy.status;
  const lines = renderFacts(facts(policy, options), options.width, paint);
  if (!status) return lines;
  return [
    ...lines,
    ...section('Fleet', fleet(status, options.width, paint), paint),
    ...section('Versions', versions(status), paint),
    ...section('Conditions', conditions(status.conditions ?? [], options), paint),
    ...section('Failed', reasons(status.failureReasons ?? []), paint),
    ...section('Left alone', reasons(status.skippedReasons ?? []), paint),
    ...section(
      'In flight',
      inFlight(
        (status.tasks ?? []).filter((task) => task.endTime === undefined),
        options.nowMs,
      ),
      paint,
    ),
    ...section(
      'Ended last',
      ended(
        (status.tasks ?? []).filter((task) => task.endTime !== undefined),
        options.nowMs,
      ),
      paint,
    ),
    ...section('Former rollouts', history(status, options.nowMs), paint),
  ];
}

type Fact = readonly [name: string, value: string | undefined];

function facts(policy: CollectorVersionPolicy, { nowMs, wayOn }: ViewOptions): readonly Fact[] {
  const { metadata, spec, status } = policy;
  return [
    ['Name', `${metadata.namespace}/${metadata.name}`],
    ['Target', targetOf(policy)],
    ['State', status?.summary?.state ?? 'Unknown: nothing has looked at this policy yet; is an operator running?'],
    ['Updated', status?.summary?.updated],
    ['Mode', spec.mode === 'Observe' ? 'Observe: nothing is upgraded' : undefined],
    ['Paused', wayOn && `nothing new is started; to go on: ${wayOn}`],
    ['Waiting for', wayOn ? undefined : status?.rollout?.waitingFor],
    ['Rollout', rolloutOf(status, nowMs)],
    ['Behind', behindOf(policy)],
    ['Age', renderAgeSince(metadata.creationTimestamp, nowMs)],
  ];
}

function targetOf({ spec, status }: CollectorVersionPolicy): string {
  const version = status?.targetVersion;
  if (spec.target.channel === undefined) return version ?? spec.target.version ?? '';
  return version === undefined ? spec.target.channel : `${version} (${spec.target.channel})`;
}

function rolloutOf(status: CollectorVersionPolicyStatus | undefined, nowMs: number): string | undefined {
  const rollout = status?.rollout;
  if (!rollout) return undefined;
  const begun = `${rollout.id}, begun ${renderAgeSince(rollout.startTime, nowMs)} ago`;
  const moves = status.conditions?.some((condition) => condition.type === 'Reconciling' && condition.status === 'True');
  if (!moves || rollout.estimatedCompletionTime === undefined) return begun;
  return `${begun}, done in about ${renderAge(Math.max(0, Date.parse(rollout.estimatedCompletionTime) - nowMs))}`;
}

function behindOf({ metadata, status }: CollectorVersionPolicy): string | undefined {
  const observed = status?.observedGeneration;
  if (observed === undefined || observed >= metadata.generation) return undefined;
  return `what follows is about generation ${observed} of the spec; generation ${metadata.generation} has not been looked at yet`;
}

function renderFacts(all: readonly Fact[], width: number, paint: Paint): readonly string[] {
  const present = all.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
  const indent = Math.max(...present.map(([name]) => name.length)) + 4;
  return present.flatMap(([name, value]) =>
    wrap(printable(value), Math.max(20, width - indent)).map(
      (line, index) => (index === 0 ? paint('bold', `${name}:`.padEnd(indent)) : ' '.repeat(indent)) + line,
    ),
  );
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : ['', paint('bold', title), ...lines.map((line) => `  ${line}`)];
}

function fleet(status: CollectorVersionPolicyStatus, width: number, paint: Paint): readonly string[] {
  const counts = status.collectors;
  if (!counts) return [];
  return [renderBar(counts, Math.min(62, width - 2), paint), `${counts.matched} matched: ${renderCounts(counts)}`];
}

function versions({ versions: counts = [], targetVersion }: CollectorVersionPolicyStatus): readonly string[] {
  if (counts.length === 0) return [];
  const rows = counts.map(({ version, count }) => [
    version || '(none)',
    String(count),
    version === targetVersion ? 'target' : '',
  ]);
  return renderTable(['version', 'collectors', ''], rows);
}

function conditions(all: readonly Condition[], { width, nowMs }: ViewOptions): readonly string[] {
  return all.flatMap((condition) => [
    `${condition.type}=${condition.status} ${printable(condition.reason)}, for ${renderAgeSince(condition.lastTransitionTime, nowMs)}`,
    ...wrap(printable(condition.message), Math.max(20, width - 4)).map((line) => `  ${line}`),
  ]);
}

function reasons(all: readonly ReasonCount[]): readonly string[] {
  return all.map(({ reason, count, examples = [] }) => {
    return printable(`${count} × ${reason}${renderExamples(examples, count)}`);
  });
}

function inFlight(tasks: readonly TaskSample[], nowMs: number): readonly string[] {
  if (tasks.length === 0) return [];
  const rows = tasks.map((task) => [
    task.collector,
    task.from ?? '',
    task.to,
    task.state,
    renderAgeSince(task.startTime, nowMs),
    task.id ?? '',
  ]);
  return renderTable(['collector', 'from', 'to', 'state', 'for', 'task'], rows);
}

function ended(tasks: readonly TaskSample[], nowMs: number): readonly string[] {
  if (tasks.length === 0) return [];
  const rows = tasks.map((task) => [
    task.collector,
    task.from ?? '',
    task.to,
    task.state,
    `${renderAgeSince(task.endTime, nowMs)} ago`,
    task.message ?? '',
  ]);
  return renderTable(['collector', 'from', 'to', 'state', 'ended', 'message'], rows);
}

function history({ history: records = [] }: CollectorVersionPolicyStatus, nowMs: number): readonly string[] {
  if (records.length === 0) return [];
  const rows = records.map((record) => [
    record.targetVersion,
    record.outcome,
    String(record.updated),
    String(record.failed),
    renderDuration(Math.max(0, Date.parse(record.completionTime) - Date.parse(record.startTime))),
    `${renderAgeSince(record.completionTime, nowMs)} ago`,
  ]);
  return renderTable(['target', 'outcome', 'updated', 'failed', 'took', 'ended'], rows);
}
