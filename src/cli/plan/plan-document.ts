/** Converts plans to the JSON or YAML output of `logfleet plan` (docs/cli.md). */
import { renderDuration } from '../../base/duration.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import type { Forecast } from '../../policy/plan/forecast.ts';
import type { LeftOut, PlannedCollector } from '../../policy/plan/planned-members.ts';
import { countUpgrades, type PlannedStage, type RolloutPlan } from '../../policy/plan/rollout-plan.ts';
import { waitText } from '../../policy/status/wait-text.ts';
import { capitalised } from '../render/text.ts';
import type { ExportOutlook, PlannedSearches } from './export-planner.ts';
import type { Outlook } from './planner.ts';
import { schedulePlanDocument } from './schedule-plan-view.ts';
import { hasRunsLeft, type ScheduleOutlook } from './schedule-planner.ts';

/** Plans for all resources in the given manifests. */
export interface AllPlans {
  readonly outlooks: readonly Outlook[];
  readonly exports: readonly ExportOutlook[];
  readonly schedules: readonly ScheduleOutlook[];
}

/** Returns the plans as plain data. Undefined fields are omitted. */
export function planDocument(plans: AllPlans): object {
  const { outlooks, exports, schedules } = plans;
  return {
    changes: hasChanges(plans),
    policies: outlooks.map(describeOutlook),
    exports: exports.map(describeOutlook),
    schedules: schedules.map(schedulePlanDocument),
  };
}

/**
 * Returns true if there is something to do: a policy will upgrade collectors, an export will search, or a schedule will
 * create runs.
 */
export function hasChanges({ outlooks, exports, schedules }: AllPlans): boolean {
  const isSearching = exports.some(({ kind }) => kind === 'searches' || kind === 'tooNew');
  return outlooks.some(hasUpgrades) || isSearching || schedules.some(hasRunsLeft);
}

export function hasUpgrades(outlook: Outlook): boolean {
  return outlook.kind === 'plan' && countUpgrades(outlook.plan) > 0;
}

function describeOutlook(outlook: Outlook | ExportOutlook): object {
  const { namespace, name } = outlook.resource.metadata;
  return { namespace, name, ...describeResult(outlook) };
}

function describeResult(outlook: Outlook | ExportOutlook): object {
  switch (outlook.kind) {
    case 'plan':
      return describePlan(outlook.plan);
    case 'searches':
      return { complete: false, ...describeSearches(outlook.plan) };
    case 'complete':
      return { complete: true };
    case 'waiting':
      return { nextTarget: describeNextBuild(outlook.nextBuild), upgrades: 0, notes: [outlook.message] };
    case 'tooNew':
      return { complete: false, notBefore: isoSeconds(outlook.untilMs), notes: outlook.hindrances };
    case 'problem':
      return { problem: { reason: outlook.reason, message: outlook.message } };
  }
}

function describeSearches(plan: PlannedSearches): object {
  const { rows, rowsBasis, segments, settledMs, toMs, jobs, requests, requestsPerSecond, bytesToScan, digest } = plan;
  return {
    rows,
    rowsAreKnown: rowsBasis === 'Counted',
    intervals: segments.map((segment) => ({
      from: isoText(segment.fromMs),
      to: isoText(segment.toMs),
      rows: segment.rows,
    })),
    later: settledMs < toMs ? { from: isoText(settledMs), to: isoText(toMs) } : undefined,
    jobs,
    requests: { total: requests, perSecond: requestsPerSecond },
    bytesToScan,
    digest,
    duration: renderDuration(plan.durationMs),
    notes: plan.hindrances,
  };
}

function describePlan(plan: RolloutPlan): object {
  const { ms, source } = plan.upgrade;
  return {
    targetVersion: plan.target,
    ...(plan.nextBuild && { nextTarget: describeNextBuild(plan.nextBuild) }),
    rollout: { id: plan.rolloutId, begins: plan.begins },
    matched: plan.matched,
    upgrades: countUpgrades(plan),
    maxInProgress: plan.maxInProgress,
    stages: plan.stages.map(describeStage),
    leftOut: plan.leftOut.map(describeLeftOut),
    upgradeDuration: { value: renderDuration(ms), source: capitalised(source) },
    ...(plan.forecast && describeForecast(plan.forecast, plan.requestsPerSecond)),
    notes: plan.hindrances,
  };
}

function describeNextBuild({ version, atMs }: { readonly version: string; readonly atMs: number }): object {
  return { version, time: isoSeconds(atMs) };
}

function describeStage(stage: PlannedStage): object {
  const { name, state, counts, members, upgrades, maxInProgress, soakMs, analysis, approval, startMs, endMs } = stage;
  return {
    name,
    state: capitalised(state),
    members,
    updated: counts.updated,
    inProgress: counts.inProgress,
    upgrades: upgrades.length,
    maxInProgress,
    soakDuration: renderDuration(soakMs),
    analysis: analysis && {
      minRatio: `${analysis.minRatio}%`,
      duration: renderDuration(analysis.durationMs),
      baseline: analysis.baseline,
    },
    approval: capitalised(approval),
    startTime: startMs === undefined ? undefined : isoSeconds(startMs),
    endTime: endMs === undefined ? undefined : isoSeconds(endMs),
    afterApproval: stage.afterApproval,
    collectors: upgrades.map(describeCollector),
  };
}

function describeLeftOut({ reason, policy, collectors }: LeftOut): object {
  return { reason, policy, count: collectors.length, collectors: collectors.map(describeCollector) };
}

function describeCollector({ id, name, version, zone }: PlannedCollector): object {
  return { id, name, version, timeZone: zone };
}

function describeForecast({ requests, totalMs, startMs, waitsForEver, windows }: Forecast, perSecond: number): object {
  const { posts, reads, sweeps, counts } = requests;
  return {
    requests: { total: posts + reads + sweeps + counts, posts, reads, sweeps, counts, perSecond },
    startTime: isoSeconds(startMs),
    ...(totalMs === undefined
      ? { waitsFor: waitsForEver && waitText(waitsForEver) }
      : { duration: renderDuration(Math.round(totalMs / 1_000) * 1_000), endTime: isoSeconds(startMs + totalMs) }),
    windows: windows.map(({ fromMs, toMs }) => ({ startTime: isoSeconds(fromMs), endTime: isoSeconds(toMs) })),
  };
}
