/** Renders the plans of policies and exports as text. */
import type { CollectorVersionPolicySpec } from '../../api/generated/collector-version-policy.ts';
import type { DestinationSpec, SearchExportSpec } from '../../api/generated/search-export.ts';
import { renderDuration } from '../../base/duration.ts';
import { keyText } from '../../base/key-text.ts';
import { counted, groupedText, wordFor } from '../../base/number-text.ts';
import { isoText } from '../../base/time-text.ts';
import { serviceAddress } from '../../destination/azure/azure-settings.ts';
import type { LeftOut, LeftOutReason, PlannedCollector } from '../../policy/plan/planned-members.ts';
import { countUpgrades, type PlannedStage, type RolloutPlan } from '../../policy/plan/rollout-plan.ts';
import { cutoffMs } from '../../policy/schedule/maintenance-calendar.ts';
import { waitText } from '../../policy/status/wait-text.ts';
import { renderHistogram } from '../render/bars.ts';
import { type Paint, paintWith } from '../render/paint.ts';
import { type Fact, renderFacts, renderTable } from '../render/table.ts';
import { wrap } from '../render/terminal-text.ts';
import { printable, renderAge, renderBytes, renderCount, renderMinute } from '../render/text.ts';
import type { ExportOutlook, PlannedSearches } from './export-planner.ts';
import type { Outlook } from './planner.ts';

interface PlanViewOptions {
  readonly width: number;
  readonly colour: boolean;
  readonly wide: boolean;
}

/** Headings and rows of a table. */
interface Cells {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const namedCollectors = 5;
const namedWindows = 3;
const widestHistogram = 60;
/** Maximum number of intervals to list without `-o wide`. */
const listedIntervals = 5;
const factsLayout = { margin: 2, nameWidth: 11 };

/** Plan of a resource that was planned successfully. */
export type Plan = Exclude<Outlook | ExportOutlook, { kind: 'problem' }>;

/** Renders plans, separated by empty lines. Omits resources that could not be planned. */
export function renderPlans(
  outlooks: readonly (Outlook | ExportOutlook)[],
  options: PlanViewOptions,
): readonly string[] {
  const paint = paintWith(options.colour);
  return outlooks
    .filter((outlook) => outlook.kind !== 'problem')
    .flatMap((outlook, index) => {
      const [title, lines] = renderPlan(outlook, options, paint);
      const name = keyText(outlook.resource.metadata);
      return [...(index === 0 ? [] : ['']), paint('bold', printable(`${name}${title}`)), ...lines];
    });
}

function renderPlan(outlook: Plan, options: PlanViewOptions, paint: Paint): readonly [string, readonly string[]] {
  const title = titleOf(outlook);
  if (outlook.kind === 'waiting') {
    const lines = wrap(printable(outlook.message), Math.max(20, options.width - 2));
    return [title, lines.map((line) => `  ${line}`)];
  }
  const facts = renderFacts(factsOf(outlook), { ...factsLayout, width: options.width, paint });
  if (outlook.kind === 'searches')
    return [title, [...facts, ...section('Intervals', whereRowsAre(outlook.plan, options), paint)]];
  if (outlook.kind !== 'plan') return [title, facts];
  const { plan } = outlook;
  const stages = stageCells(plan);
  const [upgrades, leftOut] = options.wide
    ? [allUpgrades(plan, options), allLeftOut(plan, options)]
    : [wrapped(upgradesByStage(plan), options), wrapped(leftOutByReason(plan), options)];
  const sections = [
    ...section('Stages', stages ? renderTable(stages.headings, stages.rows, options.width - 2) : [], paint),
    ...section('To upgrade', upgrades, paint),
    ...section('Left out', leftOut, paint),
  ];
  return [title, [...facts, ...sections]];
}

/** Returns the text that follows the resource's name in the title of a plan, such as `: nothing to do yet`. */
export function titleOf(outlook: Plan): string {
  switch (outlook.kind) {
    case 'complete':
      return ': nothing to do, because it is complete';
    case 'tooNew':
      return `: not enough of the data is older than settleDelay, so no search starts before ${renderMinute(outlook.untilMs)}`;
    case 'waiting':
      return ': nothing to do yet';
    case 'searches':
      return `: ${rowsText(outlook.plan)}`;
    case 'plan': {
      const { channel } = outlook.resource.spec.target;
      return ` to ${outlook.plan.target}${channel === undefined ? '' : ` (${channel})`}`;
    }
  }
}

/**
 * Returns the facts about a plan, such as the number of requests and the duration, each with its label. Returns an
 * empty list if there is nothing to do.
 */
export function factsOf(outlook: Plan): readonly Fact[] {
  if (outlook.kind === 'plan') return rolloutFacts(outlook.plan, outlook.resource.spec);
  if (outlook.kind === 'searches') return exportFacts(outlook.plan, outlook.resource.spec);
  return outlook.kind === 'tooNew' ? butFacts(outlook.hindrances) : [];
}

/** Returns a fact for each reason why a plan cannot be carried out as it is. */
export function butFacts(hindrances: readonly string[]): readonly Fact[] {
  return hindrances.map((hindrance) => ['But', hindrance]);
}

function rolloutFacts(plan: RolloutPlan, { maintenance }: CollectorVersionPolicySpec): readonly Fact[] {
  const { forecast, rolloutId, begins, isComplete, requestsPerSecond } = plan;
  const needed = plan.stages.filter(({ approval, upgrades }) => approval === 'needed' && upgrades.length > 0);
  const approvals = needed.map(({ name }) => name).join(', ');
  const { posts = 0, reads = 0, sweeps = 0, counts = 0 } = forecast?.requests ?? {};
  const uses = [
    ...[`${posts} to start upgrades`, `${reads} to follow upgrades`, `${sweeps} to list collectors`],
    ...(counts > 0 ? [`${counts} to count messages`] : []),
  ].join(', ');
  const total = posts + reads + sweeps + counts;
  const isIdle = countUpgrades(plan) === 0;
  const phase = begins ? 'starts' : isComplete && isIdle ? 'is complete' : 'continues';
  return [
    ['Upgrades', describeCounts(plan)],
    ['Rollout', `${rolloutId}, which ${phase}`],
    ...butFacts(plan.hindrances),
    ['Takes', isIdle && forecast?.waitsForEver === undefined ? undefined : describeTime(plan)],
    ['Requests', isIdle || !forecast ? undefined : `${total} requests at up to ${requestsPerSecond} a second: ${uses}`],
    ['Windows', describeWindows(plan, cutoffMs(maintenance))],
    [
      'Approvals',
      approvals === ''
        ? undefined
        : `${wordFor(needed.length, 'stage', 'stages')} ${approvals} ${wordFor(needed.length, 'needs', 'need')} an approval; the planned times assume immediate approval`,
    ],
    [
      'Later',
      plan.nextBuild && `build ${plan.nextBuild.version} becomes the target at ${renderMinute(plan.nextBuild.atMs)}`,
    ],
  ];
}

function describeCounts(plan: RolloutPlan): string {
  const { matched, target, stages, leftOut } = plan;
  const sum = (of: (stage: PlannedStage) => number) => stages.reduce((total, stage) => total + of(stage), 0);
  const updated = sum(({ counts }) => counts.updated);
  const upgrading = sum(({ counts }) => counts.inProgress);
  const left = leftOut.reduce((total, { collectors }) => total + collectors.length, 0);
  const rest = [
    updated > 0 ? `${updated} already ${wordFor(updated, 'runs', 'run')} ${target}` : '',
    upgrading > 0 ? `${upgrading} ${wordFor(upgrading, 'is', 'are')} being upgraded` : '',
    left > 0 ? `${left} ${wordFor(left, 'is', 'are')} left out` : '',
  ].filter((text) => text !== '');
  const others = rest.length > 0 ? `; ${rest.join(', ')}` : '';
  return `${countUpgrades(plan)} of ${counted(matched, 'collector')}${others}`;
}

function describeTime({ forecast, upgrade }: RolloutPlan): string | undefined {
  if (!forecast) return undefined;
  const { totalMs, startMs, waitsForEver } = forecast;
  if (totalMs === undefined) return `forever: the rollout waits for ${waitsForEver && waitText(waitsForEver)}`;
  const sources = {
    given: '',
    measured: ', as measured',
    assumed: ' (an assumption; change it with --assume-upgrade)',
  };
  const [duration, end] = [renderAge(totalMs), renderMinute(startMs + totalMs)];
  const upgradeTime = renderDuration(Math.round(upgrade.ms / 1_000) * 1_000);
  return `about ${duration}, until ${end}, if an upgrade takes ${upgradeTime}${sources[upgrade.source]}`;
}

/**
 * Renders the first few maintenance windows of a plan. In the last `lastMs` milliseconds of a window, no upgrade
 * starts.
 */
function describeWindows({ forecast }: RolloutPlan, lastMs: number): string | undefined {
  const windows = forecast?.windows ?? [];
  if (windows.length === 0) return undefined;
  const lastStart = (toMs: number) => (lastMs > 0 ? ` (last start ${renderMinute(toMs - lastMs)})` : '');
  const named = windows
    .slice(0, namedWindows)
    .map(({ fromMs, toMs }) => `${renderMinute(fromMs)} to ${renderMinute(toMs)}${lastStart(toMs)}`);
  const more = windows.length - named.length;
  return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** Returns the table of a rollout's stages. Returns undefined if the rollout has no stages. */
export function stageCells({ stages, forecast }: RolloutPlan): Cells | undefined {
  if (stages.every(({ name }) => name === undefined)) return undefined;
  const time = (ms: number | undefined) =>
    ms === undefined ? '' : ms === forecast?.startMs ? 'now' : renderMinute(ms);
  const columns: readonly (readonly [heading: string, cell: (stage: PlannedStage) => string])[] = [
    ['Stage', ({ name = '' }) => name],
    ['Members', ({ members }) => `${members}`],
    ['To upgrade', ({ upgrades }) => `${upgrades.length}`],
    ['Updated', ({ counts }) => `${counts.updated}`],
    ['At once', ({ maxInProgress }) => `${maxInProgress ?? ''}`],
    ['Soak', ({ soakMs }) => (soakMs === 0 ? '' : renderDuration(soakMs))],
    ['Analysis', ({ analysis }) => (analysis ? `messages of ${renderDuration(analysis.durationMs)}` : '')],
    ['Approval', ({ approval }) => (approval === 'none' ? '' : approval)],
    ['Starts', ({ state, startMs }) => (state === 'ended' ? 'has ended' : time(startMs))],
    ['Ends', ({ state, endMs }) => (state === 'ended' ? '' : time(endMs) || 'never')],
  ];
  const used = columns.filter(([, cell], index) => index < 4 || stages.some((stage) => cell(stage) !== ''));
  return {
    headings: used.map(([heading]) => heading),
    rows: stages.map((stage) => used.map(([, cell]) => cell(stage))),
  };
}

/** Returns one line for each stage that upgrades collectors. The line names the first few of these collectors. */
export function upgradesByStage({ stages }: RolloutPlan): readonly string[] {
  return stages
    .filter(({ upgrades }) => upgrades.length > 0)
    .map(({ name, upgrades }) => `${name === undefined ? '' : `${name}: `}${someOf(upgrades)}`);
}

/**
 * Returns one line for each reason why collectors are not upgraded. The line names the first few of these collectors.
 */
export function leftOutByReason({ leftOut }: RolloutPlan): readonly string[] {
  return leftOut.map((group) => `${group.collectors.length} ${because(group)}: ${someOf(group.collectors)}`);
}

function allUpgrades({ stages }: RolloutPlan, { width }: PlanViewOptions): readonly string[] {
  const rows = stages.flatMap(({ name, upgrades }) =>
    upgrades.map((one) => [...(name === undefined ? [] : [name]), ...cellsOf(one)]),
  );
  const staged = stages.some(({ name }) => name !== undefined);
  return rows.length === 0 ? [] : renderTable([...(staged ? ['Stage'] : []), ...cellHeadings], rows, width - 2);
}

function allLeftOut({ leftOut }: RolloutPlan, { width }: PlanViewOptions): readonly string[] {
  const rows = leftOut.flatMap((group) => group.collectors.map((one) => [because(group), ...cellsOf(one)]));
  return rows.length === 0 ? [] : renderTable(['Why', ...cellHeadings], rows, width - 2);
}

const cellHeadings = ['Collector', 'ID', 'Version', 'Time zone'];

function cellsOf({ name, id, version, zone }: PlannedCollector): readonly string[] {
  return [name, id, version ?? '', zone ?? ''];
}

function wrapped(texts: readonly string[], { width }: PlanViewOptions): readonly string[] {
  return texts.flatMap((text) =>
    wrap(printable(text), Math.max(20, width - 4)).map((line, index) => (index === 0 ? line : `  ${line}`)),
  );
}

function someOf(collectors: readonly PlannedCollector[]): string {
  const named = collectors.slice(0, namedCollectors).map(({ name }) => name);
  const more = collectors.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** Reasons why collectors are left out of a plan. */
const reasonTexts: { readonly [R in LeftOutReason]: string } = {
  Offline: 'offline',
  Newer: 'at a newer version, and allowDowngrade is not set',
  Failed: 'failed, retries exhausted',
  Foreign: 'of another policy',
  HostedCollector: 'hosted',
  VersionUnreadable: 'with an unreadable version',
  VersionNotObservable: 'with an unknown version',
  RefusedByService: 'refused by the service',
  NotPermitted: 'unknown to the service, or without permission to upgrade',
  Contested: 'that repeatedly leave the target version',
  NoStage: 'in no stage',
  TimeZoneUnreadable: 'without a valid time zone',
};

function because({ reason, policy }: LeftOut): string {
  return policy === undefined ? reasonTexts[reason] : `of policy ${policy}`;
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : [`  ${paint('bold', `${title}:`)}`, ...lines.map((line) => `    ${line}`)];
}

/** Returns a description of the export's destination: a volume, a PersistentVolumeClaim, a bucket or a container. */
function destinationText({ volume, s3, azureBlob, gcs, persistentVolumeClaim: claim }: DestinationSpec): string {
  if (claim) return `PersistentVolumeClaim ${claim.claimName}`;
  const { prefix } = s3 ?? azureBlob ?? gcs ?? {};
  const folder = prefix === undefined ? '' : `/${prefix}`;
  if (azureBlob) return `${serviceAddress(azureBlob)}/${azureBlob.container}${folder}`;
  if (gcs) return `gs://${gcs.bucket}${folder}`;
  return s3 ? `s3://${s3.bucket}${folder}` : `volume ${volume?.name}`;
}

function exportFacts(plan: PlannedSearches, { destination, output }: SearchExportSpec): readonly Fact[] {
  const { segments, intervals, jobs, parallelism, requests, requestsPerSecond, bytesToScan, durationMs } = plan;
  const from = segments[0]?.fromMs ?? 0;
  const rest =
    plan.settledMs < plan.toMs
      ? `; the remaining data, until ${renderMinute(plan.toMs)}, is too new and is searched later`
      : '';
  const sideBySide = Math.min(parallelism, jobs);
  const order = jobs === 1 ? '' : sideBySide === 1 ? ', one by one' : `, ${sideBySide} at once`;
  const basis = plan.rowsBasis === 'Estimated' ? ', estimated from the first search' : '';
  const where = destinationText(destination);
  const packed = output.compression === 'None' ? '' : ` with ${output.compression}`;
  return [
    ['Range', `${renderMinute(from)} to ${renderMinute(plan.settledMs)}${rest}`],
    ['Rows', `${rowsText(plan)} in ${renderCount(intervals, 'interval')}${basis}`],
    ['Searches', `${renderCount(jobs, 'search job')}${order}`],
    ['Requests', `about ${renderCount(requests, 'request')} at up to ${requestsPerSecond} a second`],
    ['Scans', bytesToScan === undefined ? undefined : `about ${renderBytes(bytesToScan)}`],
    ['Proof', proofText(plan)],
    ['Takes', `about ${renderAge(durationMs)}`],
    ['Writes', `${output.format}${packed} to ${where}`],
    ...butFacts(plan.hindrances),
  ];
}

function rowsText({ rows, rowsBasis }: PlannedSearches): string {
  const prefix = { Counted: '', Estimated: 'about ', Minimum: 'at least ' }[rowsBasis];
  return `${prefix}${renderCount(rows, 'row')}`;
}

function proofText({ digest }: PlannedSearches): string {
  if (!digest) return 'by the counts of its searches';
  const scans = digest.bytes === undefined ? '' : ` and scans about ${renderBytes(digest.bytes)}`;
  return `by a digest, an aggregation that takes ${renderCount(digest.requests, 'request')}${scans} (included above)`;
}

function whereRowsAre(
  { segments, rows }: PlannedSearches,
  { width, wide, colour }: PlanViewOptions,
): readonly string[] {
  const [first] = segments;
  const last = segments.at(-1);
  if (!first || !last || segments.length === 1 || rows === 0) return [];
  const paint = paintWith(colour);
  const range = { fromMs: first.fromMs, toMs: last.toMs };
  const blocks = renderHistogram(segments, range, Math.min(widestHistogram, width - 4));
  const shown = wide ? segments : segments.slice(0, listedIntervals);
  const cells = shown.map((segment) => [isoText(segment.fromMs), isoText(segment.toMs), groupedText(segment.rows)]);
  const more = segments.length - shown.length;
  return [
    paint('blue', blocks),
    ...renderTable(['From', 'To', 'Rows'], cells, width - 4),
    ...(more > 0 ? [`and ${groupedText(more)} more; -o wide lists them`] : []),
  ];
}
