/** Tests pairs of rollout rules whose effect depends on the order of events. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import { annotations } from '../../../src/api/annotations.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import { policiesPath, settingsPath, World } from '../../support/world.ts';

const [before, middle, target, newest] = ['19.100-1', '19.120-1', '19.200-1', '19.300-1'] as const;
const fails = { upgrade: { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full' }] } } as const;
const rollsBack = { maxFailures: 0, minSamples: 1, action: 'Rollback' } as const;

const backOff = waitText({ kind: 'backOff' });

interface RuleSetting {
  readonly scenario?: Partial<Scenario>;
  readonly strategy?: object;
  readonly spec?: object;
}

function rollout({ scenario = {}, strategy = {}, spec = {} }: RuleSetting = {}) {
  const world = new World({
    scenario: {
      builds: [before, middle, target, newest],
      groups: { web: { count: 10, version: before } },
      upgrade: { duration: '2m' },
      ...scenario,
    },
  });
  world.addSecret();
  world.addPolicy('production', {
    target: { version: target },
    offlinePolicy: 'Skip',
    strategy: { maxInProgress: 2, order: 'Name', ...strategy },
    retryPolicy: { limit: 0, backoff: { duration: '1m', factor: 1, cap: '1m' } },
    ...spec,
  });
  const snapshot = () => world.snapshot();
  const status = () => world.policy('production')?.status;
  const tasks = () => snapshot().tasks;
  const patch = (change: object) => world.api.patch(`${policiesPath}/production`, change);
  return {
    world,
    status,
    tasks,
    patch,
    to: (version: string) => tasks().filter(({ toVersion }) => toVersion === version),
    at: (version: string) => snapshot().collectors.filter((one) => one.version === version).length,
    change: (scenario: object) => world.model.patch(scenario, world.service.nowMs()),
    annotate: (name: string, value: string | null) => patch({ metadata: { annotations: { [name]: value } } }),
    pauseAll: (paused: boolean) => {
      const data = { paused: String(paused) };
      const path = `${settingsPath}/logfleet-settings`;
      if (world.api.get(path)) world.api.patch(path, { data });
      else
        world.api.create(settingsPath, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'logfleet-settings' },
          data,
        });
    },
    untilReason: (reason: string, atMostMs = 6 * hourMs) =>
      world.until(() => world.ready('production')?.reason === reason, atMostMs),
    untilTasks: (count: number) => world.until(() => tasks().length >= count, 12 * hourMs),
  };
}

const canary = { name: 'canary', size: 2, soakDuration: '0s' };
const rest = { name: 'rest', soakDuration: '0s' };
/** Six collectors, two of them offline. */
const away = { web: { count: 4, version: before }, away: { count: 2, version: before, running: false } };
/** Simulated time starts at midnight UTC. */
const hourOf = (ms: number) => new Date(ms).getUTCHours() + new Date(ms).getUTCMinutes() / 60;
const daily = (hour: number, duration: string) => ({
  cutoff: '30m',
  windows: [{ schedule: `0 ${hour} * * *`, duration, timeZone: 'UTC' }],
});

describe('window', () => {
  test('× soak: the soak continues while the window is closed, and the next stage waits for it to open', async () => {
    const one = rollout({
      strategy: { stages: [{ ...canary, soakDuration: '3h' }, rest] },
      spec: { resyncInterval: '2h', maintenance: daily(22, '2h') },
    });
    one.world.start();
    await one.untilTasks(2);
    expect(await one.untilReason('Soaking', 24 * hourMs)).toBe(true);
    expect(await one.untilReason('WaitingForWindow', 24 * hourMs)).toBe(true);
    expect(one.tasks()).toHaveLength(2);
    expect(await one.untilReason('AllUpdated', 4 * 24 * hourMs)).toBe(true);
    for (const { requestTime } of one.tasks()) {
      expect(hourOf(requestTime)).toBeGreaterThanOrEqual(22);
      expect(hourOf(requestTime)).toBeLessThan(23.5);
    }
  });

  test('× rollback: a rollback waits for the next window and reports that', async () => {
    const groups = { web: { count: 10, version: before }, zbad: { count: 1, version: before, ...fails } };
    const maintenance = daily(22, '40m');
    const one = rollout({
      scenario: { groups },
      spec: { resyncInterval: '2h', failurePolicy: rollsBack, maintenance },
    });
    one.world.start();
    expect(await one.untilReason('RollingBack', 14 * 24 * hourMs)).toBe(true);
    expect(one.to(before)).toEqual([]);
    expect(one.world.ready('production')?.message).toContain('waiting for ');
    expect(await one.world.until(() => one.to(before).length > 0, 14 * 24 * hourMs)).toBe(true);
    expect(await one.untilReason('RolledBack', 14 * 24 * hourMs)).toBe(true);
    expect(one.at(before)).toBe(11);
    for (const { requestTime } of one.tasks()) {
      expect(hourOf(requestTime)).toBeGreaterThanOrEqual(22);
      expect(hourOf(requestTime)).toBeLessThan(22 + 10 / 60);
    }
  });

  test('× maxInProgress: the remaining upgrades run in later windows, within the same limit', async () => {
    const one = rollout({ spec: { resyncInterval: '2h', maintenance: daily(22, '34m') } });
    one.world.start();
    expect(await one.untilReason('AllUpdated', 10 * 24 * hourMs)).toBe(true);
    const days = new Set(one.tasks().map(({ requestTime }) => Math.floor(requestTime / (24 * hourMs))));
    expect(days.size).toBeGreaterThan(1);
    expect(one.tasks()).toHaveLength(10);
  });

  test("by each collector's own zone × status: the status reports the wait for a window", async () => {
    const windows = [{ schedule: '0 12 * * *', duration: '2h', timeZoneSource: 'Collector' }];
    const groups = { web: { count: 4, version: before, timeZone: 'Europe/Berlin' } };
    const one = rollout({ scenario: { groups }, spec: { maintenance: { cutoff: '30m', windows } } });
    one.world.start();
    expect(await one.untilReason('WaitingForWindow', hourMs)).toBe(true);
    expect(await one.untilReason('AllUpdated', 24 * hourMs)).toBe(true);
  });

  test("by each collector's own zone × stages: a stage starts when the window of one of its collectors opens", async () => {
    const windows = [{ schedule: '0 22 * * *', duration: '2h', timeZoneSource: 'Collector' }];
    const groups = {
      berlin: { count: 4, version: before, timeZone: 'Europe/Berlin' },
      lisbon: { count: 4, version: before, timeZone: 'Europe/Lisbon' },
    };
    const one = rollout({
      scenario: { groups },
      strategy: { stages: [{ name: 'all', size: 8, soakDuration: '0s' }] },
      spec: { maintenance: { cutoff: '30m', windows } },
    });
    one.world.start();
    expect(await one.untilReason('WaitingForWindow', hourMs)).toBe(true);
    expect(one.status()?.stages).toMatchObject([{ name: 'all', state: 'Pending', members: 8 }]);
    expect(await one.untilReason('AllUpdated', 48 * hourMs)).toBe(true);
    const startMs = Date.parse(one.status()?.stages?.[0]?.startTime ?? '');
    const [first] = one.tasks();
    // The status shows times in whole seconds.
    expect(startMs).toBeGreaterThan((first?.requestTime ?? Number.NaN) - 10_000);
    expect(startMs).toBeLessThanOrEqual(first?.requestTime ?? Number.NaN);
  });

  test('× exclusion: no upgrade starts during an exclusion, and upgrades continue when it ends within a window', async () => {
    const one = rollout();
    const day = new Date(one.world.clock.now()).toISOString().slice(0, 10);
    const exclusions = [{ name: 'freeze', startTime: `${day}T00:00:00Z`, endTime: `${day}T23:00:00Z` }];
    one.patch({ spec: { maintenance: { ...daily(22, '2h'), exclusions } } });
    one.world.start();
    expect(await one.world.until(() => one.tasks().length > 0, 24 * hourMs)).toBe(true);
    expect(hourOf(one.tasks()[0]?.requestTime ?? 0)).toBeGreaterThanOrEqual(23);
  });
});

describe('pause', () => {
  const groups = { web: { count: 10, version: before }, zbad: { count: 1, version: before, ...fails } };

  test.each(['annotation', 'spec', 'all'] as const)(
    '(%s) × rollback: no collector is rolled back during the pause, and the rollback continues afterwards',
    async (how) => {
      const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
      const pause = (paused: boolean) => {
        if (how === 'annotation') one.annotate(annotations.paused, paused ? 'true' : null);
        else if (how === 'spec') one.patch({ spec: { paused } });
        else one.pauseAll(paused);
      };
      one.world.start();
      await one.world.until(() => one.to(before).length >= 3, 6 * hourMs);
      pause(true);
      expect(await one.untilReason('Paused', minuteMs)).toBe(true);
      const count = one.tasks().length;
      await one.world.clock.advance(2 * hourMs);
      expect(one.tasks()).toHaveLength(count);
      expect(one.status()?.rollout?.stopped?.reason).toBe('RollingBack');
      pause(false);
      expect(await one.untilReason('RolledBack')).toBe(true);
      expect(one.at(before)).toBe(11);
    },
  );

  test('× approval: an approval during the pause acts when the pause ends', async () => {
    const one = rollout({ strategy: { stages: [canary, { ...rest, approval: 'Required' }] } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    one.annotate(annotations.paused, 'true');
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/rest`);
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(2);
    one.annotate(annotations.paused, null);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.status()?.history?.[0]?.actions?.map(({ action }) => action)).toEqual(['Pause', 'Approve', 'Resume']);
  });

  test('× soak: a soak continues during the pause', async () => {
    const one = rollout({ strategy: { stages: [{ ...canary, soakDuration: '1h' }, rest] } });
    one.world.start();
    expect(await one.untilReason('Soaking')).toBe(true);
    one.annotate(annotations.paused, 'true');
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(2);
    one.annotate(annotations.paused, null);
    expect(await one.world.until(() => one.tasks().length > 2, minuteMs)).toBe(true);
  });

  test('× failure stop: failures during the pause stop the rollout, and its end starts nothing', async () => {
    const one = rollout({
      scenario: fails,
      spec: { failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } },
    });
    one.world.start();
    await one.untilTasks(2);
    one.annotate(annotations.paused, 'true');
    await one.world.clock.advance(hourMs);
    expect(one.status()?.rollout?.stopped?.reason).toBe('RolloutStopped');
    one.annotate(annotations.paused, null);
    expect(await one.untilReason('RolloutStopped', minuteMs)).toBe(true);
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(2);
  });

  test('× target change: the new rollout begins when the pause ends', async () => {
    const one = rollout();
    one.world.start();
    await one.untilTasks(2);
    one.annotate(annotations.paused, 'true');
    await one.world.clock.advance(minuteMs);
    one.patch({ spec: { target: { version: newest } } });
    await one.world.clock.advance(hourMs);
    expect(one.to(newest)).toHaveLength(0);
    expect(one.status()?.targetVersion).toBe(newest);
    one.annotate(annotations.paused, null);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.at(newest)).toBe(10);
  });
});

describe('target change', () => {
  const groups = { web: { count: 4, version: before }, zbad: { count: 2, version: before, ...fails } };
  const retryPolicy = { limit: 3, backoff: { duration: '6h', factor: 1, cap: '6h' } };

  test('× retry: a failed collector is tried immediately in the new rollout, with all attempts', async () => {
    const one = rollout({ scenario: { groups }, spec: { retryPolicy } });
    one.world.start();
    await one.world.until(() => one.status()?.collectors?.updated === 4 && one.tasks().length === 6, hourMs);
    await one.world.clock.advance(5 * minuteMs);
    expect(one.world.ready('production')?.message).toContain(`${backOff} (2 collectors)`);
    one.change({ groups: { zbad: { upgrade: null } } });
    one.patch({ spec: { target: { version: newest } } });
    expect(await one.world.until(() => one.at(newest) === 6, hourMs)).toBe(true);
    expect(one.to(newest)).toHaveLength(6);
  });

  test('× failure stop: another target starts upgrades again', async () => {
    const failurePolicy = { maxFailures: 0, minSamples: 1, action: 'Pause' };
    const one = rollout({ scenario: { groups }, spec: { failurePolicy } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    one.change({ groups: { zbad: { upgrade: null } } });
    one.patch({ spec: { target: { version: newest } } });
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.status()?.history?.map(({ outcome }) => outcome)).toEqual(['Completed', 'Stopped']);
  });

  test.each([
    ['a newer one', newest, {}],
    ['what had run before', before, { allowDowngrade: true }],
  ])('× rollback: %s as the new target ends the rollback after the attempts in flight', async (_, version, more) => {
    const one = rollout({
      scenario: { groups: { ...groups, web: { count: 10, version: before } } },
      spec: { failurePolicy: rollsBack },
    });
    one.world.start();
    await one.world.until(() => one.to(before).length >= 2, 6 * hourMs);
    one.change({ groups: { zbad: { upgrade: null } } });
    one.patch({ spec: { target: { version }, ...more } });
    expect(await one.world.until(() => one.at(version) === 12, 6 * hourMs)).toBe(true);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.status()?.rollout).toBeUndefined();
    expect(one.status()?.history?.map(({ outcome }) => outcome)).toEqual(['Completed', 'RolledBack']);
  });

  test('× approval: an approval holds only for its own rollout', async () => {
    const one = rollout({ strategy: { stages: [canary, { ...rest, approval: 'Required' }] } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/rest`);
    await one.untilTasks(4);
    one.patch({ spec: { target: { version: newest } } });
    await one.world.clock.advance(minuteMs);
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    expect(one.to(newest)).toHaveLength(2);
    await one.world.clock.advance(2 * hourMs);
    expect(one.to(newest)).toHaveLength(2);
  });

  test('and back × rollback: a collector whose upgrade runs all the time is rolled back with the others', async () => {
    const one = rollout({
      scenario: { groups: { web: { count: 4, version: before }, zbad: { count: 1, version: before, ...fails } } },
      strategy: { maxInProgress: 4 },
      spec: { failurePolicy: rollsBack },
    });
    one.world.start();
    await one.untilTasks(4);
    one.patch({ spec: { target: { version: newest } } });
    await one.world.until(() => one.status()?.targetVersion === newest, minuteMs);
    one.patch({ spec: { target: { version: target } } });
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect(one.at(before)).toBe(5);
  });

  test('× selection change: when both change at the same time, only the newly selected collectors are upgraded', async () => {
    const some = { web: { count: 6, version: before }, db: { count: 4, version: before } };
    const one = rollout({ scenario: { groups: some }, spec: { selector: { matchNames: ['web-*'] } } });
    one.world.start();
    await one.untilTasks(2);
    one.patch({ spec: { target: { version: newest }, selector: { matchNames: ['db-*'] } } });
    expect(await one.untilReason('AllUpdated')).toBe(true);
    await one.world.clock.advance(hourMs);
    expect([one.at(newest), one.at(target), one.at(before)]).toEqual([4, 2, 4]);
  });

  test("× a person's retry: a retry that names the former rollout does nothing", async () => {
    const failurePolicy = { maxFailures: 0, minSamples: 1, action: 'Pause' };
    const one = rollout({ scenario: fails, spec: { failurePolicy } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const former = one.status()?.rollout?.id;
    one.patch({ spec: { target: { version: newest } } });
    expect(await one.world.until(() => one.to(newest).length > 0, hourMs)).toBe(true);
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const count = one.tasks().length;
    one.annotate(annotations.retry, `${former}/1`);
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(count);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}/1`);
    expect(await one.world.until(() => one.tasks().length > count, 5 * minuteMs)).toBe(true);
  });

  test('× offline: a collector that was offline all the time is upgraded only to the last target', async () => {
    const one = rollout({ scenario: { groups: away } });
    one.world.start();
    expect(await one.untilReason('AllUpdated')).toBe(true);
    one.patch({ spec: { target: { version: newest } } });
    await one.world.clock.advance(minuteMs);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    one.change({ groups: { away: { running: true } } });
    expect(await one.world.until(() => one.at(newest) === 6, 2 * hourMs)).toBe(true);
    expect(one.to(target)).toHaveLength(4);
  });

  test('× age of the build: a newer build becomes the target at minAge, and its rollout follows the rules', async () => {
    const one = rollout({
      scenario: { builds: [before, { version: target, latest: true }] },
      spec: { target: { channel: 'Latest', versionPattern: '19.*', minAge: '2h' } },
    });
    one.world.start();
    expect(await one.untilReason('AllUpdated')).toBe(true);
    const firstMs = one.tasks()[0]?.requestTime ?? 0;
    one.change({ builds: [before, target, { version: newest, latest: true }] });
    one.annotate(annotations.paused, 'true');
    await one.world.clock.advance(5 * hourMs);
    expect(one.status()?.targetVersion).toBe(newest);
    expect(one.to(newest)).toHaveLength(0);
    one.annotate(annotations.paused, null);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect((one.to(newest)[0]?.requestTime ?? 0) - firstMs).toBeGreaterThan(2 * hourMs);
  });
});

describe('rollback', () => {
  const groups = {
    web: { count: 6, version: before },
    xlate: { count: 1, version: before },
    zbad: { count: 1, version: before, ...fails },
  };

  test('× offline: an offline collector is rolled back when it returns', async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    await one.world.until(() => one.at(target) === 7, 6 * hourMs);
    one.change({ groups: { xlate: { running: false } } });
    await one.world.clock.advance(40 * minuteMs);
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect([one.at(before), one.at(target)].toString()).toMatch(/^(?:7,1|8,0)$/);
    one.change({ groups: { xlate: { running: true } } });
    expect(await one.world.until(() => one.at(before) === 8, 2 * hourMs)).toBe(true);
    expect(await one.untilReason('RolledBack')).toBe(true);
  });

  test('× build not offered: a collector whose former build is withdrawn is not rolled back, and is reported', async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    await one.world.until(() => one.at(target) >= 5, 6 * hourMs);
    one.change({ builds: [middle, target, newest] });
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect(one.at(before)).toBeLessThanOrEqual(3);
    expect(one.status()?.failureReasons?.[0]).toMatchObject({
      reason: expect.stringMatching(/^not rolled back: /),
      count: one.at(target),
    });
  });

  test('× build not offered: a withdrawn target does not prevent the rollback', async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    await one.world.until(() => one.to(before).length > 0, 6 * hourMs);
    one.change({ builds: [before, middle, newest] });
    const reported = new Set<string | undefined>();
    const isBack = () => {
      reported.add(one.world.ready('production')?.reason);
      return one.at(before) === 8;
    };
    expect(await one.world.until(isBack, 6 * hourMs)).toBe(true);
    expect([...reported]).toEqual(['RollingBack']);
    expect(await one.untilReason('RolledBack', hourMs)).toBe(true);
    await one.world.clock.advance(2 * hourMs);
    expect(one.world.ready('production')?.reason).toBe('RolledBack');
  });

  test('× selection change: an excluded collector is not rolled back', async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    await one.world.until(() => one.to(before).length > 0, 6 * hourMs);
    one.patch({ spec: { exclude: [{ matchNames: ['xlate*'] }] } });
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect([one.at(before), one.at(target)]).toEqual([7, 1]);
  });

  test("× a person's retry: upgrades start again, and another failure starts another rollback", async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    expect(await one.untilReason('RolledBack')).toBe(true);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}/1`);
    expect(await one.untilReason('RollingOut', minuteMs)).toBe(true);
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect(one.at(before)).toBe(8);
    one.change({ groups: { zbad: { upgrade: null } } });
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}/2`);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.at(target)).toBe(8);
  });

  test('× back-off: a failed rollback attempt is repeated after the back-off, not before', async () => {
    const retryPolicy = { limit: 3, backoff: { duration: '1h', factor: 1, cap: '1h' } };
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack, retryPolicy } });
    one.world.start();
    await one.world.until(() => one.at(target) === 7, 6 * hourMs);
    one.change({ groups: { web: fails } });
    expect(await one.untilReason('RollingBack')).toBe(true);
    expect(await one.world.until(() => one.to(before).length === 7, hourMs)).toBe(true);
    await one.world.clock.advance(20 * minuteMs);
    expect(one.to(before)).toHaveLength(7);
    expect(one.world.ready('production')?.message).toContain(`${backOff} (6 collectors)`);
    one.change({ groups: { web: { upgrade: null } } });
    expect(await one.untilReason('RolledBack')).toBe(true);
    expect(one.at(before)).toBe(8);
  });

  test("× abort and a person's retry: collectors that were rolled back go through all stages and approvals again", async () => {
    const stages = [{ name: 'canary', size: 3, approval: 'Required', soakDuration: '0s' }, rest];
    const one = rollout({ scenario: { groups }, strategy: { stages }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/canary`);
    await one.world.until(() => one.to(before).length > 0, 6 * hourMs);
    one.annotate(annotations.abort, `${one.status()?.rollout?.id}`);
    expect(await one.untilReason('Aborted', minuteMs)).toBe(true);
    await one.world.clock.advance(hourMs);
    const begun = one.to(target).length;
    one.change({ groups: { zbad: { upgrade: null } } });
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}/1`);
    expect(await one.untilReason('AwaitingApproval', hourMs)).toBe(true);
    expect(one.to(target)).toHaveLength(begun);
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/canary/again`);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.at(target)).toBe(8);
  });

  test('× abort: attempts in flight end, and no more rollback attempts start', async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: rollsBack } });
    one.world.start();
    await one.world.until(() => one.to(before).length > 0, 6 * hourMs);
    one.annotate(annotations.abort, `${one.status()?.rollout?.id}`);
    expect(await one.untilReason('Aborted', minuteMs)).toBe(true);
    const count = one.tasks().length;
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(count);
    expect(one.at(target)).toBeGreaterThan(0);
  });
});

describe('soak', () => {
  const stages = [{ ...canary, soakDuration: '1h', maxFailures: 0 }, rest];

  test.each(['Pause', 'Rollback'] as const)(
    '× drift: a collector that leaves the target during the soak counts as a failure (%s)',
    async (action) => {
      const one = rollout({ strategy: { stages }, spec: { failurePolicy: { minSamples: 1, action } } });
      one.world.start();
      expect(await one.untilReason('Soaking')).toBe(true);
      const [victim] = one.tasks();
      const { collectors } = one.world.snapshot();
      const name = collectors.find(({ id }) => id === victim?.collectorId)?.name as string;
      one.change({ collectors: { [name]: { version: middle } } });
      expect(await one.untilReason(action === 'Pause' ? 'RolloutStopped' : 'RolledBack')).toBe(true);
      await one.world.clock.advance(3 * hourMs);
      expect(one.to(target)).toHaveLength(2);
      expect(one.world.ready('production')?.message).toContain('in stage canary, maxFailures is');
    },
  );

  test('× death before the soak: a collector that stops running while others are upgraded also stops the rollout', async () => {
    const slow = { ...canary, size: 6, soakDuration: '40m', maxFailures: 0, maxInProgress: 1 };
    const one = rollout({ scenario: { upgrade: { duration: '20m' } }, strategy: { stages: [slow, rest] } });
    one.world.start();
    await one.world.until(() => one.at(target) === 1, hourMs);
    const { collectors } = one.world.snapshot();
    const { name } = collectors.find(({ version }) => version === target) as { readonly name: string };
    one.change({ collectors: { [name]: { running: false } } });
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    expect(one.tasks().length).toBeLessThan(6);
  });
});

describe('a soak that follows', () => {
  const stages = [{ ...canary, soakDuration: '1h' }, rest];

  test('× back-off: the soak begins when the last retry of its stage has ended', async () => {
    const once = { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full', attempts: 1 }] };
    const one = rollout({
      scenario: { upgrade: once as Scenario['upgrade'] & object },
      strategy: { stages },
      spec: { retryPolicy: { limit: 1, backoff: { duration: '30m', factor: 1, cap: '30m' } } },
    });
    one.world.start();
    await one.untilTasks(5);
    const times = one.tasks().map(({ requestTime }) => requestTime);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(30 * minuteMs);
    expect((times[4] ?? 0) - (times[3] ?? 0)).toBeGreaterThanOrEqual(hourMs);
    expect(await one.untilReason('AllUpdated')).toBe(true);
  });

  test('× target change: another target during the soak begins with the canary and a soak of its own', async () => {
    const one = rollout({ strategy: { stages } });
    one.world.start();
    expect(await one.untilReason('Soaking')).toBe(true);
    await one.world.clock.advance(50 * minuteMs);
    one.patch({ spec: { target: { version: newest } } });
    expect(await one.world.until(() => one.at(newest) === 2, hourMs)).toBe(true);
    await one.world.clock.advance(55 * minuteMs);
    expect(one.to(newest)).toHaveLength(2);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect([one.at(newest), one.to(target).length]).toEqual([10, 2]);
  });

  test("× a person's retry: a death in the soak stops the rollout, and a retry continues with the next stage", async () => {
    const one = rollout({ strategy: { stages: [{ ...canary, soakDuration: '1h', maxFailures: 0 }, rest] } });
    one.world.start();
    expect(await one.untilReason('Soaking')).toBe(true);
    const { collectors } = one.world.snapshot();
    const { name } = collectors.find(({ version }) => version === target) as { readonly name: string };
    one.change({ collectors: { [name]: { running: false } } });
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(2);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.untilTasks(10)).toBe(true);
    expect(one.to(target)).toHaveLength(10);
  });

  test('× offline: a collector that returns during the soak waits for the last stage, and the soak continues', async () => {
    const first = { name: 'first', selector: { matchNames: ['web-*', 'away-*'] }, soakDuration: '1h' };
    const groups = { ...away, zlast: { count: 3, version: before } };
    const one = rollout({ scenario: { groups }, strategy: { stages: [first, rest] } });
    one.world.start();
    expect(await one.untilReason('Soaking')).toBe(true);
    const soaksMs = one.world.clock.now();
    await one.world.clock.advance(20 * minuteMs);
    one.change({ groups: { away: { running: true } } });
    const begun = one.tasks().length;
    await one.untilTasks(begun + 1);
    const soakedMs = one.world.clock.now() - soaksMs;
    expect(soakedMs).toBeGreaterThan(50 * minuteMs);
    expect(soakedMs).toBeLessThan(70 * minuteMs);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.at(target)).toBe(9);
  });
});

describe('back-off', () => {
  const groups = { web: { count: 4, version: before }, zbad: { count: 1, version: before, ...fails } };
  const retryPolicy = { limit: 3, backoff: { duration: '6h', factor: 1, cap: '6h' } };

  async function backingOff(spec: object = {}) {
    const one = rollout({ scenario: { groups }, spec: { retryPolicy, ...spec } });
    one.world.start();
    await one.world.until(() => one.at(target) === 4 && one.tasks().length === 5, hourMs);
    await one.world.clock.advance(10 * minuteMs);
    expect(one.tasks()).toHaveLength(5);
    return one;
  }

  test('× failure stop: the end of a back-off starts nothing while the rollout is stopped', async () => {
    const one = await backingOff({ failurePolicy: { maxFailures: 0, minSamples: 1, action: 'Pause' } });
    expect(one.world.ready('production')?.reason).toBe('RolloutStopped');
    await one.world.clock.advance(8 * hourMs);
    expect(one.tasks()).toHaveLength(5);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.untilTasks(6)).toBe(true);
  });

  test("× a person's retry: a retry ends the back-off immediately", async () => {
    const one = await backingOff();
    expect(one.world.ready('production')?.message).toContain(backOff);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.world.until(() => one.tasks().length === 6, 10 * minuteMs)).toBe(true);
  });

  test('× selection change: a collector excluded during its back-off is tried again only when it is selected again', async () => {
    const one = await backingOff();
    one.patch({ spec: { exclude: [{ matchNames: ['zbad-*'] }] } });
    expect(await one.untilReason('AllUpdated', hourMs)).toBe(true);
    one.change({ groups: { zbad: { upgrade: null } } });
    await one.world.clock.advance(8 * hourMs);
    expect(one.tasks()).toHaveLength(5);
    one.patch({ spec: { exclude: null } });
    expect(await one.world.until(() => one.at(target) === 5, 20 * minuteMs)).toBe(true);
  });

  test('× offline: a failed collector that goes offline is retried when it returns, and not before', async () => {
    const one = await backingOff();
    one.change({ groups: { zbad: { running: false, upgrade: null } } });
    await one.world.clock.advance(8 * hourMs);
    expect(one.tasks()).toHaveLength(5);
    one.change({ groups: { zbad: { running: true } } });
    expect(await one.world.until(() => one.at(target) === 5, 2 * hourMs)).toBe(true);
  });
});

describe('selection change', () => {
  const groups = { dev: { count: 10, version: before }, prod: { count: 30, version: before } };
  const stages = [
    { ...canary, size: '20%', soakDuration: '1h' },
    { ...rest, approval: 'Required' },
  ];

  test('× stages: a collector that an edit selects later belongs to the last stage', async () => {
    const one = rollout({ scenario: { groups }, strategy: { stages }, spec: { selector: { matchNames: ['dev-*'] } } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    const begun = one.tasks().length;
    one.patch({ spec: { selector: { matchNames: ['*'] } } });
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(begun);
    expect(one.status()?.stages?.[0]).toMatchObject({ members: begun, state: 'Completed' });
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/rest`);
    expect(await one.untilReason('AllUpdated', 12 * hourMs)).toBe(true);
    expect(one.tasks()).toHaveLength(40);
  });

  test('× failure stop: after a failing collector is excluded, a retry continues without another soak', async () => {
    const failing = { web: { count: 10, version: before }, zbad: { count: 1, version: before, ...fails } };
    const soaks = [{ ...canary, soakDuration: '1h' }, rest];
    const failurePolicy = { maxFailures: 0, minSamples: 1, action: 'Pause' };
    const one = rollout({ scenario: { groups: failing }, strategy: { stages: soaks }, spec: { failurePolicy } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const hasSoaked = one.tasks().length > 2;
    one.patch({ spec: { exclude: [{ matchNames: ['zbad*'] }] } });
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.untilReason('AllUpdated', hasSoaked ? 30 * minuteMs : 3 * hourMs)).toBe(true);
    expect(one.at(target)).toBe(10);
  });
});

describe('offline', () => {
  const stopsAtOnce = { maxFailures: 0, minSamples: 1, action: 'Pause' } as const;
  const groups = { ...away, zbad: { count: 1, version: before, ...fails } };

  test('× selection change: a collector excluded while offline is not upgraded when it returns', async () => {
    const one = rollout({ scenario: { groups: away } });
    one.world.start();
    expect(await one.untilReason('AllUpdated')).toBe(true);
    one.patch({ spec: { exclude: [{ matchNames: ['away-*'] }] } });
    one.change({ groups: { away: { running: true } } });
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(4);
    one.patch({ spec: { exclude: null } });
    expect(await one.world.until(() => one.at(target) === 6, hourMs)).toBe(true);
  });

  test("× failure stop × a person's retry: a collector that returns to a stopped rollout waits for the retry", async () => {
    const one = rollout({ scenario: { groups }, spec: { failurePolicy: stopsAtOnce } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const count = one.tasks().length;
    one.change({ groups: { away: { running: true }, zbad: { upgrade: null } } });
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(count);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.world.until(() => one.at(target) === 7, 2 * hourMs)).toBe(true);
  });

  test("× a person's retry: a failed collector that is offline is retried when it returns", async () => {
    const one = rollout({ scenario: { groups } });
    one.world.start();
    expect(await one.untilReason('CollectorsFailed')).toBe(true);
    one.change({ groups: { zbad: { running: false, upgrade: null } } });
    await one.world.clock.advance(hourMs);
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(5);
    one.change({ groups: { zbad: { running: true } } });
    expect(await one.world.until(() => one.at(target) === 5, hourMs)).toBe(true);
  });
});

describe('stage gate', () => {
  const stages = [
    { ...canary, soakDuration: '1h' },
    { ...rest, approval: 'Required' },
  ];

  test.each([
    ['no collector matches', { groups: {} }],
    ['all collectors are offline', { groups: { web: { count: 10, version: before, running: false } } }],
  ])('× late joiners: a rollout that begins while %s runs its stages when collectors appear', async (_, scenario) => {
    const one = rollout({ scenario, strategy: { stages } });
    one.world.start();
    await one.world.clock.advance(2 * hourMs);
    expect(one.status()?.stages?.map(({ state }) => state) ?? ['Pending', 'Pending']).toEqual(['Pending', 'Pending']);
    one.change({ groups: { web: { count: 10, version: before, running: true } } });
    expect(await one.untilReason('Soaking')).toBe(true);
    expect(one.tasks()).toHaveLength(2);
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    await one.world.clock.advance(3 * hourMs);
    expect(one.tasks()).toHaveLength(2);
  });

  test('× approval: an approval skips a stage without collectors, and its late joiners are upgraded later', async () => {
    const passed = { name: 'prod', selector: { matchNames: ['prod-*'] }, approval: 'Required', soakDuration: '0s' };
    const groups = { web: { count: 4, version: before }, prod: { count: 5, version: before, running: false } };
    const one = rollout({ scenario: { groups }, strategy: { stages: [passed, rest] } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    await one.world.clock.advance(2 * hourMs);
    expect(one.tasks()).toHaveLength(0);
    one.annotate(annotations.approve, `${one.status()?.rollout?.id}/prod`);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.tasks()).toHaveLength(4);
    one.change({ groups: { prod: { running: true } } });
    expect(await one.world.until(() => one.at(target) === 9, 2 * hourMs)).toBe(true);
  });

  test('× back-off: a stage ends only after its retries', async () => {
    const once = { duration: '2m', outcomes: [{ share: 1, end: 'fail', message: 'disk full', attempts: 1 }] };
    const one = rollout({
      scenario: { upgrade: once as Scenario['upgrade'] & object },
      strategy: { stages: [canary, rest] },
      spec: { retryPolicy: { limit: 1, backoff: { duration: '30m', factor: 1, cap: '30m' } } },
    });
    one.world.start();
    await one.untilTasks(2);
    await one.world.clock.advance(25 * minuteMs);
    expect(one.tasks()).toHaveLength(2);
    expect(one.world.ready('production')?.message).toContain(`${backOff} (2 collectors)`);
    await one.untilTasks(4);
    expect(new Set(one.tasks().map(({ collectorId }) => collectorId)).size).toBe(2);
    expect(await one.untilReason('AllUpdated')).toBe(true);
    expect(one.tasks()).toHaveLength(20);
  });

  test('× failure stop: a percentage is checked at the end of the stage, below minSamples too', async () => {
    const groups = { web: { count: 9, version: before }, zbad: { count: 1, version: before, ...fails } };
    const first = { name: 'first', selector: { matchNames: ['web-1', 'web-2', 'zbad*'] }, soakDuration: '0s' };
    const failurePolicy = { maxFailures: '10%', minSamples: 50, action: 'Pause' };
    const one = rollout({ scenario: { groups }, strategy: { stages: [first, rest] }, spec: { failurePolicy } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    expect(one.tasks().length).toBeLessThanOrEqual(3);
  });
});

describe('failure stop', () => {
  test('× a higher tolerance afterwards: the rollout stays stopped until a retry', async () => {
    const failurePolicy = { maxFailures: 0, minSamples: 1, action: 'Pause' };
    const groups = { web: { count: 9, version: before }, bad: { count: 1, version: before, ...fails } };
    const one = rollout({ scenario: { groups }, spec: { failurePolicy } });
    one.world.start();
    expect(await one.untilReason('RolloutStopped')).toBe(true);
    const count = one.tasks().length;
    one.patch({ spec: { failurePolicy: { maxFailures: 5 } } });
    await one.world.clock.advance(hourMs);
    one.patch({ spec: { failurePolicy: null } });
    await one.world.clock.advance(hourMs);
    expect(one.tasks()).toHaveLength(count);
    expect(one.world.ready('production')?.reason).toBe('RolloutStopped');
    one.annotate(annotations.retry, `${one.status()?.rollout?.id}`);
    expect(await one.untilReason('CollectorsFailed')).toBe(true);
    expect(one.at(target)).toBe(9);
  });
});

describe('overlap', () => {
  test('× stages: no stage chooses a collector of another policy, until that policy is deleted', async () => {
    const one = rollout({
      strategy: { stages: [{ name: 'web', selector: { matchNames: ['web-*'] }, soakDuration: '0s' }, rest] },
    });
    one.world.addPolicy('first', {
      target: { version: newest },
      priority: 1,
      selector: { matchNames: ['web-*'] },
      paused: true,
    });
    one.change({ groups: { db: { count: 3, version: before } } });
    one.world.start();
    expect(await one.untilReason('AwaitingApproval')).toBe(true);
    expect(one.tasks()).toHaveLength(0);
    expect(one.status()?.collectors).toMatchObject({ foreign: 10, pending: 3 });
    one.world.api.remove(`${policiesPath}/first`);
    expect(await one.world.until(() => one.at(target) === 13, 6 * hourMs)).toBe(true);
  });
});
