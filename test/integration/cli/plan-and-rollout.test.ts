/** Compares the output of `logfleet plan` with the subsequent rollout. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { renderPlans } from '../../../src/cli/plan/plan-view.ts';
import type { Outlook } from '../../../src/cli/plan/planner.ts';
import type { RolloutPlan } from '../../../src/policy/plan/rollout-plan.ts';
import { planInWorld } from '../../support/planned-world.ts';
import { shareOf } from '../../support/random-runs.ts';
import { World } from '../../support/world.ts';

const [old, older, target] = ['19.120-1', '19.100-1', '19.200-1'] as const;

interface PlannedRolloutCase {
  readonly groups: Scenario['groups'];
  readonly spec: object;
  readonly upgradeSeconds: number;
  readonly pageRows?: number;
}

const web = { count: 200, name: 'web-####', versions: [old, older], timeZone: 'Europe/Berlin' };
const zones = Object.fromEntries(
  ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Australia/Sydney'].map((timeZone, index) => [
    `zone${index}`,
    { count: 40, name: `zone${index}-###`, version: old, timeZone },
  ]),
);

const cases: Readonly<Record<string, PlannedRolloutCase>> = {
  'no stages': {
    groups: { web },
    spec: { strategy: { maxInProgress: 40, order: 'OldestVersionFirst' } },
    upgradeSeconds: 180,
  },
  'no stages, by name, in small pages': {
    groups: { web },
    spec: { strategy: { maxInProgress: '10%', order: 'Name' } },
    upgradeSeconds: 100,
    pageRows: 50,
  },
  'a canary that soaks, and the rest': {
    groups: { web },
    spec: {
      strategy: {
        maxInProgress: 50,
        order: 'OldestVersionFirst',
        stages: [
          { name: 'canary', size: '2%', soakDuration: '1h', maxFailures: 0 },
          { name: 'rest', soakDuration: '0s' },
        ],
      },
    },
    upgradeSeconds: 240,
  },
  'a canary with a message analysis, and the rest': {
    groups: { web: { ...web, messagesPerMinute: 20 } },
    spec: {
      strategy: {
        maxInProgress: 50,
        order: 'OldestVersionFirst',
        stages: [
          {
            name: 'canary',
            size: 10,
            soakDuration: '35m',
            maxFailures: 0,
            analysis: { messages: { minRatio: '50%', duration: '30m', baseline: 'BeforeUpgrade', minMessages: 100 } },
          },
          { name: 'rest', soakDuration: '0s' },
        ],
      },
    },
    upgradeSeconds: 240,
  },
  'stages by selector, of which one has a limit of its own': {
    groups: {
      linux: { count: 60, name: 'linux-##', version: old, osName: 'Linux' },
      windows: { count: 90, name: 'windows-##', version: older, osName: 'Windows' },
      off: { count: 5, name: 'off-#', version: old, osName: 'Linux', running: false },
      there: { count: 10, name: 'there-##', version: target, osName: 'Linux' },
    },
    spec: {
      strategy: {
        maxInProgress: 30,
        order: 'Name',
        stages: [
          { name: 'canary', size: 5, soakDuration: '40m' },
          { name: 'linux', selector: { matchFields: { osName: 'Linux' } }, maxInProgress: '10%', soakDuration: '0s' },
          { name: 'rest', soakDuration: '35m' },
        ],
      },
    },
    upgradeSeconds: 120,
  },
  windows: {
    groups: { web },
    spec: {
      strategy: {
        maxInProgress: 5,
        order: 'OldestVersionFirst',
        stages: [
          { name: 'canary', size: 4, soakDuration: '2h' },
          { name: 'rest', soakDuration: '0s' },
        ],
      },
      maintenance: { cutoff: '30m', windows: [{ schedule: '0 22 * * *', duration: '90m', timeZone: 'Europe/Berlin' }] },
    },
    upgradeSeconds: 180,
  },
  'windows in the time zone of each collector': {
    groups: zones,
    spec: {
      strategy: { maxInProgress: 8, order: 'OldestVersionFirst' },
      maintenance: { cutoff: '30m', windows: [{ schedule: '0 1 * * *', duration: '2h', timeZoneSource: 'Collector' }] },
    },
    upgradeSeconds: 300,
  },
};

function worldOf({ groups, spec, upgradeSeconds, pageRows = 1_000 }: PlannedRolloutCase): World {
  const world = new World({
    scenario: {
      builds: ['19.50-1', older, old, target],
      list: { maxLimit: pageRows },
      upgrade: { duration: `${upgradeSeconds}s` },
      groups: groups as NonNullable<Scenario['groups']>,
    },
  });
  world.addSecret();
  world.addPolicy('fleet', { target: { version: target }, offlinePolicy: 'Skip', ...spec });
  return world;
}

async function planOf(world: World, upgradeMs?: number): Promise<RolloutPlan> {
  return (await outlookOf(world, upgradeMs)).plan;
}

async function outlookOf(world: World, upgradeMs?: number): Promise<Extract<Outlook, { kind: 'plan' }>> {
  const { outlooks } = await planInWorld(world, {
    wanted: ['fleet'],
    ...(upgradeMs === undefined ? {} : { upgradeMs }),
  });
  const [outlook] = outlooks;
  if (outlook?.kind !== 'plan') throw new Error(`no plan: ${JSON.stringify(outlook)}`);
  return outlook;
}

interface RollOut {
  readonly totalMs: number;
  readonly tasks: readonly { readonly collectorId: string; readonly requestTime: number }[];
}

async function rollOut(world: World): Promise<RollOut> {
  const begunMs = world.clock.monotonic();
  const known = world.snapshot().tasks.length;
  world.start();
  const isDone = () => world.ready('fleet')?.status === 'True';
  expect(await world.until(isDone, 30 * 24 * hourMs)).toBe(true);
  const { tasks } = world.snapshot();
  return { totalMs: world.clock.monotonic() - begunMs, tasks: tasks.slice(known) };
}

function isWithinATenth(said: number | undefined, found: number): boolean {
  return Math.abs((said ?? Number.NaN) / found - 1) < 0.1;
}

function expectSameStages({ stages, forecast }: RolloutPlan, { tasks, totalMs }: RollOut, byWindow: boolean): void {
  const startMs = forecast?.startMs ?? Number.NaN;
  let from = 0;
  for (const stage of stages) {
    const own = tasks.slice(from, from + stage.upgrades.length);
    expect(new Set(own.map(({ collectorId }) => collectorId))).toEqual(new Set(stage.upgrades.map(({ id }) => id)));
    const begunMs = own[0]?.requestTime;
    if (from > 0 && begunMs !== undefined && !byWindow) {
      expect(isWithinATenth((stage.startMs ?? Number.NaN) - startMs, begunMs - startMs)).toBe(true);
    }
    from += own.length;
  }
  expect(tasks).toHaveLength(from);
  expect(forecast?.requests.posts).toBe(from);
  expect(isWithinATenth(forecast?.totalMs, totalMs)).toBe(true);
}

function days({ tasks }: RollOut): readonly string[] {
  return [...new Set(tasks.map(({ requestTime }) => dayOf(requestTime)))];
}

function dayOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

describe('a plan and its rollout', () => {
  test.each(shareOf(Object.entries(cases), 2, 0))(
    '%s: each stage has the planned members, times differ by at most a tenth, and the windows are the planned ones',
    async (_, one) => {
      const world = worldOf(one);
      const plan = await planOf(world, one.upgradeSeconds * 1_000);
      expect(world.snapshot().tasks).toEqual([]);
      const found = await rollOut(world);
      expectSameStages(plan, found, plan.forecast?.windows.length !== 0);
      if (one === cases.windows) expect(plan.forecast?.windows.map(({ fromMs }) => dayOf(fromMs))).toEqual(days(found));
    },
  );

  test('counts the requests and the time of a message analysis', async () => {
    const one = cases['a canary with a message analysis, and the rest'] as PlannedRolloutCase;
    const world = worldOf(one);
    const outlook = await outlookOf(world, one.upgradeSeconds * 1_000);
    const { plan } = outlook;
    const lines = renderPlans([outlook], { width: 200, colour: false, wide: false });
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}Requests: .*, 10 to count messages$/));
    expect(lines).toContainEqual(expect.stringMatching(/^ {4}canary .* 35m +messages of 30m /));
    const planned = world.journal.length;
    await rollOut(world);
    const journal = world.journal.slice(planned);
    const isSearch = ({ path }: { readonly path: string }) => path.includes('/search/jobs');
    const { posts, reads, sweeps, counts } = plan.forecast?.requests ?? { posts: 0, reads: 0, sweeps: 0, counts: 0 };
    expect(Math.abs(counts - journal.filter(isSearch).length)).toBeLessThanOrEqual(2);
    expect(isWithinATenth(posts + reads + sweeps + counts, journal.length)).toBe(true);
    const [canary, rest] = plan.stages;
    expect(canary?.analysis).toMatchObject({ minRatio: 50, durationMs: 30 * minuteMs });
    const firstOfRest = world.snapshot().tasks[10]?.requestTime ?? Number.NaN;
    expect(Math.abs((rest?.startMs ?? Number.NaN) - firstOfRest)).toBeLessThan(minuteMs);
  });

  const moments = [
    ['before any upgrade has ended', 'a canary that soaks, and the rest', 3 * minuteMs, 'given'],
    ['in the soak of its canary', 'a canary that soaks, and the rest', 30 * minuteMs, 'measured'],
    ['in the analysis of its canary', 'a canary with a message analysis, and the rest', 41 * minuteMs, 'measured'],
    ['during the last stage', 'a canary that soaks, and the rest', 75 * minuteMs, 'measured'],
    ['without stages', 'no stages', 7 * minuteMs, 'measured'],
    ['in small pages', 'no stages, by name, in small pages', 9 * minuteMs, 'measured'],
  ] as const;
  test.each(shareOf(moments, 2, 1))('plans the rest of a rollout: %s', async (_, name, atMs, source) => {
    const one = cases[name] as PlannedRolloutCase;
    const world = worldOf(one);
    const first = world.start();
    await world.clock.advance(atMs);
    first.kill();
    const begun = world.snapshot().tasks.length;
    const plan = await planOf(world, source === 'given' ? one.upgradeSeconds * 1_000 : undefined);
    expect(plan).toMatchObject({ begins: false, upgrade: { source } });
    const { tasks, totalMs } = await rollOut(world);
    const planned = plan.stages.flatMap(({ upgrades }) => upgrades.map(({ id }) => id));
    expect(tasks.map(({ collectorId }) => collectorId).sort()).toEqual(planned.sort());
    expect(begun + planned.length).toBe(200);
    expect(isWithinATenth(plan.forecast?.totalMs, totalMs)).toBe(true);
  });
});
