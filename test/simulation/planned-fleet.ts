/** Plans the collectors in a simulated run: builds, upgrade outcomes, and events such as an outage. */
import type {
  CollectorGroup,
  EventScenario,
  ListScenario,
  OutcomeScenario,
  Scenario,
} from '../../simulator/scenario/scenario.ts';
import type { Chance } from './chance.ts';

/**
 * Builds that the service offers, oldest first. At the start of the simulation, the target of most policies is the
 * newest build.
 */
const versions = ['19.100-1', '19.200-5', '19.300-2', '19.404-12', '19.500-1'] as const;
export const newestVersion = '19.500-1';

export interface GroupPlan {
  readonly name: string;
  readonly count: number;
  readonly osName: string;
  readonly timeZone?: string;
}

export interface FleetPlan {
  readonly scenario: Scenario;
  readonly events: Readonly<Record<string, EventScenario>>;
  readonly groups: readonly GroupPlan[];
  readonly builds: readonly string[];
  /**
   * Builds that the service offers. `plain`: all builds, including one that no collector runs at the start.
   * `everyBuildRun`: only builds that collectors can be running. `single`: only the newest build.
   */
  readonly offer: 'plain' | 'everyBuildRun' | 'single';
  readonly cannotFail: boolean;
  /** Names of the collectors upgraded by another tool or a user. */
  readonly touched: ReadonlySet<string>;
}

export function planFleet(chance: Chance, calmAtMs: number): FleetPlan {
  const offer = chance.one(['plain', 'plain', 'plain', 'everyBuildRun', 'single'] as const);
  const cannotFail = chance.happens(0.4);
  const groups: GroupPlan[] = [];
  const scenarioGroups: Record<string, CollectorGroup> = {};
  const old = offer === 'plain' ? versions.slice(1, 4) : versions.slice(0, 4);
  for (const name of ['app', 'db', 'web'].slice(0, chance.whole(1, 3))) {
    const group = { name, count: chance.whole(2, 20), osName: chance.one(['Linux', 'Windows']) };
    groups.push(group);
    const own = chance.happens(0.5) ? [chance.one(old)] : chance.some(old, 0.7);
    scenarioGroups[name] = {
      count: group.count,
      name: `${name}-##`,
      osName: group.osName,
      versions: [...(own.length > 0 ? own : [old[0] as string]), ...chance.some([newestVersion], 0.2)],
      ...(cannotFail || chance.happens(0.5) ? {} : { upgrade: { outcomes: planOutcomes(chance) } }),
    };
  }
  if (!cannotFail && chance.happens(0.3)) {
    const silent = { name: 'edge', count: chance.whole(1, 4), osName: 'Linux' };
    groups.push(silent);
    scenarioGroups['edge'] = {
      count: silent.count,
      name: 'edge-##',
      osName: 'Linux',
      version: chance.one(old),
      running: false,
    };
  }
  if (chance.happens(0.2)) {
    groups.push({ name: 'cloud', count: 2, osName: 'Linux' });
    scenarioGroups['cloud'] = { count: 2, name: 'cloud-##', osName: 'Linux', collectorType: 'Hosted' };
  }
  const builds = offer === 'single' ? [newestVersion] : offer === 'plain' ? [...versions] : versions.slice(1);
  const { events, touched } = planEvents(chance, groups, builds, cannotFail, calmAtMs);
  return {
    scenario: {
      seed: chance.whole(1, 1_000_000),
      timeScale: 10,
      aliveFor: '60s',
      groups: scenarioGroups,
      builds,
      upgrade: {
        duration: chance.one(['3m', ['1m', '4m'], '8m'] as const),
        // Delay until lists show that an upgrade has started.
        lockDelay: chance.one(['0s', '0s', '2s', '4s']),
        toRunningVersion: chance.one(['accept', 'accept', 'refuse']),
      },
      list: planList(chance),
      task: { omit: chance.some(['requestTime', 'message'] as const, 0.1) },
      errors: {
        shape: chance.one(['object', 'object', 'object', 'object', 'list', 'empty'] as const),
        codePrefix: chance.one(['', 'upgrade.']),
      },
    },
    events,
    groups,
    builds,
    offer,
    cannotFail,
    touched,
  };
}

function planList(chance: Chance): ListScenario {
  return {
    atTarget: chance.happens(0.2),
    hosted: chance.happens(0.5),
    maxLimit: chance.one([1_000, 1_000, 100, 50]),
    aboveMaxLimit: chance.one(['cut', 'refuse'] as const),
    order: chance.one(['id', 'name', 'version', 'shuffled'] as const),
    lag: chance.one(['0s', '0s', '2s', '5s']),
  };
}

/** Chooses the outcomes of upgrades, with realistic durations. */
function planOutcomes(chance: Chance): readonly OutcomeScenario[] {
  const kinds: readonly OutcomeScenario[] = [
    { share: chance.between(0.1, 1), end: 'fail', message: 'Not enough disk space.' },
    { share: 1, end: 'fail', message: 'The download broke off.', attempts: 1 },
    { share: chance.between(0.1, 0.5), end: 'hang' },
    { share: chance.between(0.1, 0.5), end: 'succeed', duration: chance.one(['32m', '45m']) },
    { share: chance.between(0.1, 0.5), end: 'succeed', status: 5 },
    { share: chance.between(0.1, 0.5), end: 'fail', status: 4 },
  ];
  return [chance.one(kinds)];
}

function planEvents(
  chance: Chance,
  groups: readonly GroupPlan[],
  builds: readonly string[],
  cannotFail: boolean,
  calmAtMs: number,
): { events: Record<string, EventScenario>; touched: ReadonlySet<string> } {
  const events: Record<string, EventScenario> = {};
  const touched = new Set<string>();
  if (!chance.happens(0.4)) return { events, touched };
  const names = groups
    .filter(({ name }) => name !== 'cloud')
    .flatMap(({ name, count }) =>
      Array.from({ length: count }, (_, index) => `${name}-${String(index + 1).padStart(2, '0')}`),
    );
  const at = () => `${chance.whole(1, calmAtMs / 1_000)}s`;
  for (let event = 0; event < chance.whole(1, 3); event++) {
    const collector = chance.one(names);
    const kind = chance.one(['otherTool', 'byHand', 'silent', 'more'] as const);
    if (kind === 'otherTool') {
      events[`other-tool-${event}`] = {
        at: at(),
        collectors: [collector],
        upgrade: { toVersion: chance.one(builds), duration: '2m' },
      };
      touched.add(collector);
    } else if (kind === 'byHand') {
      events[`by-hand-${event}`] = { at: at(), collectors: [collector], setVersion: chance.one(versions) };
      touched.add(collector);
    } else if (kind === 'silent' && !cannotFail) {
      const atMs = chance.whole(1, calmAtMs);
      const patch = (running: boolean) => ({ collectors: { [collector]: { running } } });
      events[`silent-${event}`] = { at: `${atMs}ms`, patch: patch(false) };
      if (chance.happens(0.7))
        events[`talks-${event}`] = {
          at: `${Math.min(calmAtMs, atMs + chance.whole(5, 120) * 1_000)}ms`,
          patch: patch(true),
        };
    } else if (kind === 'more' && groups[0]) {
      const { name, count } = groups[0];
      events[`more-${event}`] = { at: at(), patch: { groups: { [name]: { count: count + chance.whole(1, 3) } } } };
    }
  }
  return { events, touched };
}
