/**
 * When a rollout under way will be done, for its status: the forecast of what is left, by what was measured
 * of upgrades. Large fleets are forecast on a smaller scale, fewer collectors at a lower rate with fewer places, and nobody walks over
 * all of them: it costs some milliseconds, however many there are.
 */
import type { CollectorVersionPolicySpec } from '../api/generated/collector-version-policy.ts';
import { parseDuration } from '../base/duration.ts';
import type { Draft } from './draft.ts';
import { type ForecastInput, type ForecastStage, forecast } from './forecast.ts';
import type { ForecastMembers } from './forecast-line.ts';
import type { MaintenanceCalendar } from './maintenance-calendar.ts';
import { stagesAhead } from './rollout-ahead.ts';
import type { Course } from './rollout-course.ts';
import type { Roster } from './roster.ts';
import { policySettings } from './settings.ts';
import { noStage } from './stages.ts';
import { type Counts, outstanding } from './standing-counts.ts';
import { maxInProgressOf } from './start-rules.ts';

/** What the service lets a policy do, as far as it is known. */
export interface ServiceLimits {
  /** Of the account. */
  readonly requestsPerSecond: number;
  /** Collectors in the service's list. */
  readonly listed: number;
  /** How many of them one page has at most. */
  readonly pageRows: number;
}

export interface EstimateInput {
  readonly spec: CollectorVersionPolicySpec;
  readonly course: Course;
  readonly roster: Roster;
  readonly draft: Draft;
  readonly calendar: MaintenanceCalendar;
  readonly limits: ServiceLimits;
  /** How long upgrades take, as was measured; undefined before the first one has ended. */
  readonly typicalMs: number | undefined;
  readonly wallMs: number;
}

/** Collectors of a forecast that costs no more than a few milliseconds. */
const usualScale = 5_000;

/** In wall ms; undefined where nothing is left, nothing is known to go by, or a person has to do something first. */
export function estimateCompletionMs(input: EstimateInput): number | undefined {
  const { spec, course, draft, roster, typicalMs, limits, calendar, wallMs } = input;
  const { header, stages: progress } = course;
  if (typicalMs === undefined || header.stop || header.completedAtMs !== undefined) return undefined;
  if (outstanding(draft.counts()) === 0 && progress.gate?.untilMs === undefined) return undefined;
  const shares = sharesOf(input);
  const begun = startsUnderWay(input);
  const ahead = stagesAhead({
    spec,
    header,
    progress,
    wallMs,
    leftIn: (stage) => {
      const counts = stage === noStage ? draft.counts() : draft.stageCounts(stage);
      return { counts, groups: groupsOf(counts, shares), underWay: begun.get(stage) ?? [] };
    },
  });
  if (ahead.some(({ stage }) => stage.needsApproval)) return undefined;
  const { totalMs } = forecast(
    scaledDown({
      ...limits,
      stages: ahead.map(({ stage }) => stage),
      maxInProgress: Math.min(maxInProgressOf(spec, roster.matched), policySettings.maxOpen),
      upgradeMs: typicalMs,
      isMeasured: true,
      calendar,
      startMs: wallMs,
      resyncMs: parseDuration(spec.resyncInterval) ?? 0,
    }),
  );
  return totalMs === undefined ? undefined : wallMs + totalMs;
}

/** So many collectors are looked at to find out how many there are of each time zone. */
const sampleSize = 5_000;

/**
 * So many of a stage as are left, divided as the fleet is: by time zone where windows open by them, else by version, which decides how
 * they lie in the list.
 */
function groupsOf({ pending, retrying, drifting }: Counts, shares: readonly Share[]): readonly ForecastMembers[] {
  const left = pending + retrying + drifting;
  const whole = shares.reduce((sum, { weight }) => sum + weight, 0);
  if (whole === 0) return left === 0 ? [] : [{ zone: undefined, count: left }];
  let before = 0;
  return shares.map(({ weight, ...group }) => {
    const [from, to] = [before, before + weight];
    before = to;
    return { ...group, count: Math.round((to * left) / whole) - Math.round((from * left) / whole) };
  });
}

interface Share {
  readonly version?: string;
  readonly zone: string | undefined;
  readonly weight: number;
}

function sharesOf({ calendar, roster, course }: EstimateInput): readonly Share[] {
  if (calendar.byCollector) return zonesOf(roster);
  const { target } = course.header;
  return [...roster.versions].flatMap(([version, weight]) =>
    version === target ? [] : [{ version, zone: undefined, weight }],
  );
}

/** Of those who are pending, as a sample of the members shows them. */
function zonesOf(roster: Roster): readonly Share[] {
  const step = Math.ceil(roster.matched / sampleSize);
  const zones = new Map<string | undefined, number>();
  let index = 0;
  for (const id of roster.ids()) {
    if (index++ % step !== 0 || roster.standingNow(id) !== 'pending') continue;
    const zone = roster.row(id)?.collector.timeZone;
    zones.set(zone, (zones.get(zone) ?? 0) + 1);
  }
  return [...zones].map(([zone, weight]) => ({ zone, weight }));
}

function startsUnderWay({ draft, roster }: EstimateInput): ReadonlyMap<number, readonly number[]> {
  const stages = new Map<number, number[]>();
  for (const { collectorId, open } of draft.open()) {
    const stage = roster.stageOf(collectorId);
    const starts = stages.get(stage) ?? [];
    stages.set(stage, starts);
    if (open) starts.push(open.startedAtMs);
  }
  return stages;
}

/** With so many times fewer collectors, places and requests a second; pages keep their size, so that there are fewer. */
export function scaledDown(input: ForecastInput, atMost = usualScale): ForecastInput {
  const { stages, maxInProgress, requestsPerSecond, listed } = input;
  const left = stages.reduce((sum, { members }) => sum + countOf(members), 0);
  const places = Math.min(maxInProgress, ...stages.map((stage) => stage.maxInProgress ?? Number.POSITIVE_INFINITY));
  if (left <= atMost) return input;
  // So that the places come out whole.
  const by = places / Math.ceil((places * atMost) / left);
  return {
    ...input,
    stages: stages.map((stage) => scaledStage(stage, by)),
    maxInProgress: Math.round(maxInProgress / by),
    requestsPerSecond: requestsPerSecond / by,
    listed: Math.ceil(listed / by),
  };
}

function scaledStage(stage: ForecastStage, by: number): ForecastStage {
  const { members, underWay = [], maxInProgress } = stage;
  let before = 0;
  return {
    ...stage,
    // What is cut off of one group is in the next.
    members: members.map((group) => {
      const [from, to] = [before, before + group.count];
      before = to;
      return { ...group, count: Math.round(to / by) - Math.round(from / by) };
    }),
    underWay: underWay.filter((_, index) => Math.floor((index + 1) / by) > Math.floor(index / by)),
    maxInProgress: maxInProgress === undefined ? undefined : Math.max(1, Math.round(maxInProgress / by)),
  };
}

function countOf(members: readonly ForecastMembers[]): number {
  return members.reduce((sum, { count }) => sum + count, 0);
}
