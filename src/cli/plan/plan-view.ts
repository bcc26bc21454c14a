/**
 * Renders plans of policies as text: figures, stages with their collectors, and collectors that are left out, with the
 * reason.
 */

import { renderDuration } from '../../base/duration.ts';
import { counted } from '../../base/number-text.ts';
import type { LeftOut, LeftOutReason, PlannedCollector } from '../../policy/plan/planned-members.ts';
import { countUpgrades, type PlannedStage, type RolloutPlan } from '../../policy/plan/rollout-plan.ts';
import { type Fact, renderFacts, renderTable } from '../render/table.ts';
import { type Paint, paintWith, printable, renderAge, renderMinute, wrap } from '../render/text.ts';
import type { Outlook } from './planner.ts';

export interface PlanViewOptions {
  readonly width: number;
  readonly colour: boolean;
  /** True to list all collectors of a stage, not only the first few. */
  readonly wide: boolean;
}

const namedCollectors = 5;
const namedWindows = 3;
const factsLayout = { margin: 2, nameWidth: 11 };

/** Plan of a policy, or the reason why the policy has to wait. */
export type KnownOutlook = Exclude<Outlook, { kind: 'problem' }>;

/** Lines of the plans of all policies. */
export function renderPlans(outlooks: readonly KnownOutlook[], options: PlanViewOptions): readonly string[] {
  return outlooks.flatMap((outlook, index) => [...(index === 0 ? [] : ['']), ...renderOutlook(outlook, options)]);
}

function renderOutlook(outlook: KnownOutlook, options: PlanViewOptions): readonly string[] {
  const { namespace, name } = outlook.policy.metadata;
  const paint = paintWith(options.colour);
  const title = (rest: string) => paint('bold', `${namespace}/${name}${rest}`);
  switch (outlook.kind) {
    case 'plan': {
      const { channel } = outlook.policy.spec.target;
      const by = channel === undefined ? '' : ` (${channel})`;
      return [title(printable(` to ${outlook.plan.target}${by}`)), ...renderPlan(outlook.plan, options, paint)];
    }
    case 'waiting':
      return [title(': nothing to do yet'), ...paragraph(outlook.message, options)];
  }
}

function paragraph(text: string, { width }: PlanViewOptions): readonly string[] {
  return wrap(printable(text), Math.max(20, width - 2)).map((line) => `  ${line}`);
}

function renderPlan(plan: RolloutPlan, options: PlanViewOptions, paint: Paint): readonly string[] {
  return [
    ...renderFacts(factsOf(plan), { ...factsLayout, width: options.width, paint }),
    ...section('Stages', stageTable(plan, options), paint),
    ...section('To upgrade', options.wide ? allUpgrades(plan, options) : firstUpgrades(plan, options), paint),
    ...section('Left out', options.wide ? allLeftOut(plan, options) : firstLeftOut(plan, options), paint),
  ];
}

function factsOf(plan: RolloutPlan): readonly Fact[] {
  const { forecast, rolloutId, begins, isComplete, requestsPerSecond } = plan;
  const needed = plan.stages.filter(({ approval, upgrades }) => approval === 'needed' && upgrades.length > 0);
  const approvals = needed.map(({ name }) => name).join(', ');
  const { posts = 0, looks = 0, sweeps = 0 } = forecast?.requests ?? {};
  const each = `${posts} to start upgrades, ${looks} to see them end, ${sweeps} to look at the fleet`;
  const isIdle = countUpgrades(plan) === 0;
  return [
    ['Upgrades', describeCounts(plan)],
    ['Rollout', `${rolloutId}, which ${begins ? 'starts' : isComplete && isIdle ? 'is complete' : 'continues'}`],
    ...plan.hindrances.map((hindrance): Fact => ['But', hindrance]),
    ['Takes', isIdle && forecast?.waitsForEver === undefined ? undefined : describeTime(plan)],
    [
      'Requests',
      isIdle || !forecast ? undefined : `${posts + looks + sweeps} at up to ${requestsPerSecond} a second: ${each}`,
    ],
    ['Windows', describeWindows(plan)],
    ['Approvals', approvals === '' ? undefined : `of ${approvals}; times assume that they are given at once`],
    ['Later', plan.nextBuild && `${plan.nextBuild.version} becomes the target at ${renderMinute(plan.nextBuild.atMs)}`],
  ];
}

function describeCounts(plan: RolloutPlan): string {
  const { matched, target, stages, leftOut } = plan;
  const sum = (of: (stage: PlannedStage) => number) => stages.reduce((total, stage) => total + of(stage), 0);
  const there = sum(({ counts }) => counts.updated);
  const busy = sum(({ counts }) => counts.inProgress);
  const left = leftOut.reduce((total, { collectors }) => total + collectors.length, 0);
  const rest = [
    there > 0 ? `${there} already ${there === 1 ? 'runs' : 'run'} ${target}` : '',
    busy > 0 ? `${busy} ${busy === 1 ? 'is' : 'are'} being upgraded` : '',
    left > 0 ? `${left} ${left === 1 ? 'is' : 'are'} left out` : '',
  ].filter((text) => text !== '');
  return `${countUpgrades(plan)} of ${counted(matched, 'collector')}${rest.length > 0 ? `; ${rest.join(', ')}` : ''}`;
}

function describeTime({ forecast, upgrade }: RolloutPlan): string | undefined {
  if (!forecast) return undefined;
  const { totalMs, startMs, waitsForEver } = forecast;
  if (totalMs === undefined) return `forever: the rollout waits for ${waitsForEver}`;
  const sources = {
    given: '',
    measured: ', as measured',
    assumed: ' (an assumption, set it with --assume-upgrade)',
  };
  const one = `if an upgrade takes ${renderDuration(Math.round(upgrade.ms / 1_000) * 1_000)}${sources[upgrade.source]}`;
  return `about ${renderAge(totalMs)}, until ${renderMinute(startMs + totalMs)}, ${one}`;
}

function describeWindows({ forecast }: RolloutPlan): string | undefined {
  const windows = forecast?.windows ?? [];
  if (windows.length === 0) return undefined;
  const named = windows
    .slice(0, namedWindows)
    .map(({ startMs, endMs }) => `${renderMinute(startMs)} to ${renderMinute(endMs)}`);
  const more = windows.length - named.length;
  return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function stageTable({ stages, forecast }: RolloutPlan, { width }: PlanViewOptions): readonly string[] {
  if (stages.every(({ name }) => name === undefined)) return [];
  const time = (ms: number | undefined) =>
    ms === undefined ? '' : ms === forecast?.startMs ? 'now' : renderMinute(ms);
  const rows = stages.map((stage) => [
    stage.name ?? '',
    `${stage.members}`,
    `${stage.upgrades.length}`,
    `${stage.counts.updated}`,
    stage.maxInProgress === undefined ? '' : `${stage.maxInProgress}`,
    stage.soakMs === 0 ? '' : renderDuration(stage.soakMs),
    { none: '', needed: 'needed', given: 'given' }[stage.approval],
    stage.state === 'ended' ? 'has ended' : time(stage.startMs),
    stage.state === 'ended' ? '' : time(stage.endMs) || 'never',
  ]);
  const headings = ['Stage', 'Members', 'To upgrade', 'Updated', 'At once', 'Soak', 'Approval', 'Starts', 'Ends'];
  const used = headings.map((_, column) => column < 4 || rows.some((row) => row[column] !== ''));
  const shown = (cells: readonly string[]) => cells.filter((_, column) => used[column]);
  return renderTable(shown(headings), rows.map(shown), width - 2);
}

function firstUpgrades({ stages }: RolloutPlan, options: PlanViewOptions): readonly string[] {
  return stages
    .filter(({ upgrades }) => upgrades.length > 0)
    .flatMap(({ name, upgrades }) => wrapped(`${name === undefined ? '' : `${name}: `}${someOf(upgrades)}`, options));
}

function firstLeftOut({ leftOut }: RolloutPlan, options: PlanViewOptions): readonly string[] {
  return leftOut.flatMap((group) =>
    wrapped(
      `${group.collectors.length} ${because(group, group.collectors.length)}: ${someOf(group.collectors)}`,
      options,
    ),
  );
}

function allUpgrades({ stages }: RolloutPlan, { width }: PlanViewOptions): readonly string[] {
  const rows = stages.flatMap(({ name, upgrades }) =>
    upgrades.map((one) => [...(name === undefined ? [] : [name]), ...cellsOf(one)]),
  );
  const staged = stages.some(({ name }) => name !== undefined);
  return rows.length === 0 ? [] : renderTable([...(staged ? ['Stage'] : []), ...cellHeadings], rows, width - 2);
}

function allLeftOut({ leftOut }: RolloutPlan, { width }: PlanViewOptions): readonly string[] {
  const rows = leftOut.flatMap((group) => group.collectors.map((one) => [because(group, 1), ...cellsOf(one)]));
  return rows.length === 0 ? [] : renderTable(['Why', ...cellHeadings], rows, width - 2);
}

const cellHeadings = ['Collector', 'ID', 'Version', 'Time zone'];

function cellsOf({ name, id, version, zone }: PlannedCollector): readonly string[] {
  return [name, id, version ?? '', zone ?? ''];
}

function wrapped(text: string, { width }: PlanViewOptions): readonly string[] {
  return wrap(printable(text), Math.max(20, width - 4)).map((line, index) => (index === 0 ? line : `  ${line}`));
}

function someOf(collectors: readonly PlannedCollector[]): string {
  const named = collectors.slice(0, namedCollectors).map(({ name }) => name);
  const more = collectors.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** Reasons why collectors are left out of a plan: the text for one collector, and for several. */
const reasonTexts: { readonly [R in LeftOutReason]: readonly [one: string, several: string] } = {
  Offline: ['is offline', 'are offline'],
  Newer: ['runs a newer version, and allowDowngrade is not set', 'run a newer version, and allowDowngrade is not set'],
  Failed: ['has failed, retries exhausted', 'have failed, retries exhausted'],
  Foreign: ['belongs to another policy', 'belong to another policy'],
  HostedCollector: ['is hosted', 'are hosted'],
  VersionUnreadable: ['has a version that cannot be read', 'have a version that cannot be read'],
  VersionNotObservable: ['has a version that cannot be seen', 'have a version that cannot be seen'],
  RefusedByService: ['is refused by the service', 'are refused by the service'],
  NotPermitted: [
    'is unknown to the service, or not ours to upgrade',
    'are unknown to the service, or not ours to upgrade',
  ],
  Contested: ['keeps leaving the target', 'keep leaving the target'],
  NoStage: ['is in no stage', 'are in no stage'],
  TimeZoneUnreadable: ['has no time zone that can be read', 'have no time zone that can be read'],
};

function because({ reason, policy }: LeftOut, collectors: number): string {
  const [one, several] =
    policy === undefined ? reasonTexts[reason] : [`belongs to policy ${policy}`, `belong to policy ${policy}`];
  return collectors === 1 ? one : several;
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : [`  ${paint('bold', `${title}:`)}`, ...lines.map((line) => `    ${line}`)];
}
