/** Plans rollouts with stages, failure limits and maintenance windows, and collectors that go offline. */
import type { CollectorGroup, OutcomeScenario } from '../../simulator/scenario/scenario.ts';
import type { Chance } from './chance.ts';
import { type FleetPlan, newestVersion } from './planned-fleet.ts';
import type { PolicyAction, PolicySpec } from './planned-policies.ts';

/**
 * A collector that goes offline `afterMs` after its first upgrade. It returns after `againAfterMs`, or never if
 * `againAfterMs` is undefined.
 */
export interface DeathPlan {
  readonly name: string;
  readonly afterMs: number;
  readonly againAfterMs: number | undefined;
}

/** Wall-clock time in ms at which the virtual clock starts. */
export const epochMs = Date.UTC(2026, 10, 1);

/** Time zones whose offsets differ by fractions of an hour, so that short windows open at different times. */
const zones = ['Europe/Berlin', 'Asia/Kathmandu', 'Asia/Kolkata', 'America/New_York'] as const;

export function withZones(chance: Chance, fleet: FleetPlan): FleetPlan {
  const zoneOf = new Map(
    fleet.groups.map(({ name }) => [name, chance.happens(0.1) ? 'Nowhere/Land' : chance.one(zones)] as const),
  );
  const groups = Object.entries(fleet.scenario.groups ?? {}).map(([name, group]): [string, CollectorGroup] => [
    name,
    { ...group, timeZone: zoneOf.get(name) ?? zones[0] },
  ]);
  return {
    ...fleet,
    groups: fleet.groups.map((group) => ({ ...group, timeZone: zoneOf.get(group.name) ?? zones[0] })),
    scenario: { ...fleet.scenario, groups: Object.fromEntries(groups) },
  };
}

export function withBadBuild(chance: Chance, fleet: FleetPlan): FleetPlan {
  if (fleet.cannotFail || !chance.happens(0.6)) return fleet;
  const bad: OutcomeScenario = {
    toVersion: newestVersion,
    share: chance.one([0.05, 0.3, 0.3, 0.7]),
    end: chance.one(['fail', 'fail', 'fail', 'hang']),
    message: 'The collector does not start.',
    ...(chance.happens(0.3) ? { attempts: 1 } : {}),
  };
  return {
    ...fleet,
    scenario: { ...fleet.scenario, upgrade: { ...fleet.scenario.upgrade, outcomes: [bad] } },
  };
}

export function planDeaths(chance: Chance, { groups, cannotFail }: FleetPlan): DeathPlan[] {
  if (cannotFail || !chance.happens(0.3)) return [];
  const names = groups.flatMap(({ name, count }) =>
    Array.from({ length: count }, (_, index) => `${name}-${String(index + 1).padStart(2, '0')}`),
  );
  return chance.some(names, chance.one([0.05, 0.3])).map((name) => ({
    name,
    afterMs: chance.whole(0, 20_000),
    againAfterMs: chance.happens(0.5) ? chance.whole(5_000, 200_000) : undefined,
  }));
}

type PlannedStrategy = { readonly maxInProgress?: number | string; readonly stages?: readonly object[] };

/**
 * Raises `maxInProgress` to at least 5, because the maintenance windows would otherwise be too short for all upgrades.
 */
function widened({ stages, ...strategy }: PlannedStrategy): PlannedStrategy {
  const widen = <T extends PlannedStrategy>(one: T): T =>
    typeof one.maxInProgress === 'number' ? { ...one, maxInProgress: Math.max(5, one.maxInProgress) } : one;
  return { ...widen(strategy), ...(stages && { stages: stages.map(widen) }) };
}

export function withRollout(chance: Chance, fleet: FleetPlan, { name, spec }: PolicySpec): PolicySpec {
  const { strategy, ...rest } = spec as PolicySpec['spec'] & { readonly strategy: PlannedStrategy };
  const staged = { ...strategy, ...(chance.happens(0.75) ? { stages: planStages(chance, fleet) } : {}) };
  const failurePolicy = chance.happens(0.6) ? planFailurePolicy(chance) : undefined;
  const offlinePolicy = chance.one(['Skip', 'Skip', 'Skip', 'Wait']);
  const maintenance = chance.happens(0.3) ? planMaintenance(chance) : undefined;
  return {
    name,
    spec: {
      ...rest,
      strategy: maintenance ? widened(staged) : staged,
      ...(failurePolicy && { failurePolicy }),
      offlinePolicy,
      ...(maintenance && { maintenance }),
    },
  };
}

function planStages(chance: Chance, fleet: FleetPlan): object[] {
  const traits = () => ({
    soakDuration: chance.one(['0s', '0s', '20s', '45s', '90s']),
    ...(chance.happens(0.5) ? { maxFailures: chance.one([0, 0, 1, 3, '10%', '30%']) } : {}),
    ...(chance.happens(0.3) ? { maxInProgress: chance.one(fleet.cannotFail ? [1, 3, '50%'] : [5, '50%']) } : {}),
    ...(chance.happens(0.2) ? { approval: 'Required' } : {}),
  });
  const select = () =>
    chance.happens(0.5)
      ? { selector: { matchNames: [`${chance.one(fleet.groups).name}-*`] } }
      : { selector: { matchFields: { osName: chance.one(['Linux', 'Windows']) } } };
  const size = (sizes: readonly (number | string)[]) => ({ size: chance.one(sizes) });
  const stages: object[] = [];
  if (chance.happens(0.8)) stages.push({ name: 'canary', ...size([1, 2, '10%', '20%']), ...traits() });
  if (chance.happens(0.5))
    stages.push({ name: 'second', ...(chance.happens(0.6) ? select() : size([3, '50%'])), ...traits() });
  if (chance.happens(0.9) || stages.length === 0) stages.push({ name: 'rest', ...traits() });
  return stages;
}

function planFailurePolicy(chance: Chance): object {
  return {
    ...(chance.happens(0.85) ? { maxFailures: chance.one([0, 1, 2, '10%', '30%', '60%']) } : {}),
    minSamples: chance.one([1, 3, 10]),
    action: chance.one(['Pause', 'Rollback', 'Rollback', 'Continue']),
  };
}

function planMaintenance(chance: Chance): object {
  const window = () => ({
    schedule: chance.one(['*/4 * * * *', '1-59/6 * * * *', '0,10,20,30,40,50 * * * *', '*/3 * * * *']),
    duration: chance.one(['75s', '2m', '150s', '5m']),
    ...(chance.happens(0.4)
      ? { timeZoneSource: 'Collector' }
      : chance.happens(0.5)
        ? { timeZone: chance.one(zones) }
        : {}),
  });
  const windows = chance.happens(0.15) ? [] : Array.from({ length: chance.whole(1, 2) }, window);
  const exclusions = chance.happens(0.4) ? [planExclusion(chance)] : [];
  return { windows, exclusions, cutoff: chance.one(['0s', '10s', '30s', '60s']) };
}

function planExclusion(chance: Chance): object {
  const startMs = epochMs + chance.whole(-600, 300) * 1_000;
  // Some maintenance exclusions last longer than the simulated run.
  const lengthMs = chance.happens(0.1) ? 30 * 24 * 3_600_000 : chance.whole(20, 600) * 1_000;
  return {
    name: 'frozen',
    startTime: new Date(startMs).toISOString(),
    endTime: new Date(startMs + lengthMs).toISOString(),
  };
}

export function planReturns(
  chance: Chance,
  { builds }: FleetPlan,
  policies: readonly PolicySpec[],
  calmAtMs: number,
): PolicyAction[] {
  return policies.flatMap(({ name, spec: { target } }): PolicyAction[] => {
    if (!chance.happens(0.12)) return [];
    const atMs = chance.whole(1_000, calmAtMs - 1);
    const againAtMs = Math.min(calmAtMs, atMs + chance.one([20, 1_000, 10_000, 60_000]));
    const go = (to: object, when: number): PolicyAction => ({
      kind: 'patchPolicy',
      atMs: when,
      name,
      patch: { spec: { target: { version: null, channel: null, ...to } } },
    });
    return [go({ version: chance.one(builds.slice(0, -1)) }, atMs), go(target, againAtMs)];
  });
}

/** Plans changes to the spec during the rollout, many of which are reverted later. */
export function planRolloutChanges(
  chance: Chance,
  fleet: FleetPlan,
  policies: readonly PolicySpec[],
  calmAtMs: number,
): PolicyAction[] {
  const actions: PolicyAction[] = [];
  for (const policy of policies) {
    if (!chance.happens(0.3)) continue;
    const { spec } = withRollout(chance, fleet, policy);
    const member = chance.one(['strategy', 'failurePolicy', 'maintenance', 'offlinePolicy', 'target'] as const);
    const before = policy.spec[member];
    const other = member === 'strategy' ? widened(spec[member] as PlannedStrategy) : (spec[member] ?? null);
    const after = member === 'target' ? { version: chance.one(fleet.builds), channel: null } : other;
    const atMs = chance.whole(1_000, calmAtMs);
    actions.push({ kind: 'patchPolicy', atMs, name: policy.name, patch: { spec: { [member]: after } } });
    if (!chance.happens(0.6)) continue;
    const patch = { spec: { [member]: before ?? null } };
    actions.push({ kind: 'patchPolicy', atMs: chance.whole(atMs, calmAtMs), name: policy.name, patch });
  }
  return actions;
}
