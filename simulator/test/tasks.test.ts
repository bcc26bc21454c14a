/** Tests builds and upgrade tasks: a task's status over time, and the reasons why the service refuses a task. */
import { describe, expect, test } from 'vitest';
import type { Scenario, UpgradeScenario } from '../scenario/scenario.ts';
import {
  builds,
  first,
  minute,
  oldVersion,
  root,
  SimulatedService,
  startMs,
  target,
  threeCollectors,
} from './simulated-service.ts';

const withUpgrade = (upgrade: UpgradeScenario): Scenario => ({ ...threeCollectors, upgrade });

describe('the builds (4.7)', () => {
  const latest = (scenario: Scenario['builds']) =>
    new SimulatedService({ ...threeCollectors, ...(scenario ? { builds: scenario } : {}) }).call('GET', 'targets').json
      .targets;
  test('the newest build is the latest, whatever its position', () => {
    expect(latest(['19.1000-1', '19.999-5'])).toEqual([
      { version: '19.1000-1', latest: true },
      { version: '19.999-5', latest: false },
    ]);
  });

  test('an entry in the scenario can mark another build as the latest', () => {
    expect(latest([{ version: '19.300-7', latest: true }, '19.400-1'])[1]).toEqual({
      version: '19.400-1',
      latest: false,
    });
  });

  test('the scenario can say that no build is the latest', () => {
    expect(latest([{ version: '19.300-7', latest: false }])).toEqual([{ version: '19.300-7', latest: false }]);
  });
});

describe('the creation of a task (4.9)', () => {
  test('returns 202 with a string id and a relative link (2.10)', () => {
    const reply = new SimulatedService(threeCollectors).create(first, target);
    expect(reply.status).toBe(202);
    expect(reply.json).toEqual({ id: '200001', link: { rel: 'self', href: '/v1/collectors/upgrades/200001' } });
  });

  test('upgrades to the latest build without toVersion', () => {
    const service = new SimulatedService(threeCollectors);
    expect(service.task(service.accepted(first)).toVersion).toBe(target);
  });

  test('treats null as an absent member', () => {
    const service = new SimulatedService(threeCollectors);
    expect(service.task(service.accepted(first, null)).toVersion).toBe(target);
  });

  test('accepts a downgrade like an upgrade', () => {
    const service = new SimulatedService(threeCollectors);
    service.accepted(first, '19.300-7');
    service.elapsedMs = 3 * minute;
    expect(service.version('web-0001')).toBe('19.300-7');
  });

  test('keeps ids up to 2^63 exact', () => {
    const service = new SimulatedService({
      ...threeCollectors,
      ids: { firstCollector: '9223372036854775801', firstTask: '9223372036854775803' },
    });
    const body = `{"collectorId":9223372036854775803,"toVersion":"${target}"}`;
    expect(service.call('POST', root, { body }).json.id).toBe('9223372036854775803');
    const ids = { id: 9223372036854775803n, collectorId: 9223372036854775803n };
    expect(service.task('9223372036854775803')).toMatchObject(ids);
  });

  test('accepts an id as a string', () => {
    expect(new SimulatedService(threeCollectors).create(String(first), target).status).toBe(202);
  });
});

describe('a task is refused (7.5)', () => {
  const scenario: Scenario = {
    builds,
    groups: {
      web: { count: 2, version: oldVersion },
      cloud: { count: 1, collectorType: 'Hosted' },
      away: { count: 1, version: oldVersion, running: false },
      gone: { count: 1, version: oldVersion, absent: true },
    },
  };
  const [web, , cloud, away, gone] = [0, 1, 2, 3, 4].map((offset) => first + offset);
  const cases: readonly [string, unknown, unknown, string][] = [
    ['without a collector', undefined, target, 'collector.invalid'],
    ['with null as collector', null, target, 'collector.invalid'],
    ['with a name as collector', 'web-0001', target, 'collector.invalid'],
    ['with a fraction as collector', 1.5, target, 'collector.invalid'],
    ['with an unknown collector', 42, target, 'collector.invalid'],
    ['for a collector that was removed', gone, target, 'collector.invalid'],
    ['for a hosted collector', cloud, target, 'collector.type.invalid'],
    ['for a collector that does not run', away, target, 'collector.not.alive'],
    ['with an unknown version', web, '19.999-1', 'collector.version.invalid'],
    ['with an empty version', web, '', 'collector.version.invalid'],
    ['with a number as version', web, 19.5, 'collector.version.invalid'],
    ['with an object as version', web, { toString: 1 }, 'collector.version.invalid'],
    ['with the first of two reasons: the type before the version', cloud, '19.999-1', 'collector.type.invalid'],
    ['with the first of two reasons: not alive before the version', away, '19.999-1', 'collector.not.alive'],
  ];
  test.each(cases)('%s', (_, collectorId, toVersion, code) => {
    const service = new SimulatedService(scenario);
    expect(service.create(collectorId, toVersion).json).toMatchObject({ status: 400, code });
    expect(service.state().tasks).toEqual([]);
  });

  test('for a collector with an upgrade in progress', () => {
    const service = new SimulatedService(scenario);
    service.accepted(web, target);
    expect(service.create(web, '19.999-1').json).toMatchObject({ status: 400, code: 'collector.in.upgrading' });
    service.elapsedMs = 3 * minute;
    expect(service.create(web, target).status).toBe(202);
  });

  test('without a version if the scenario says so', () => {
    const service = new SimulatedService({ ...scenario, upgrade: { withoutVersion: 'refuse' } });
    expect(service.create(web).json.code).toBe('collector.version.invalid');
  });

  test('for the version that is already running if the scenario says so', () => {
    expect(new SimulatedService(scenario).create(web, oldVersion).status).toBe(202);
    const strict = new SimulatedService({ ...scenario, upgrade: { toRunningVersion: 'refuse' } });
    expect(strict.create(web, oldVersion).json.code).toBe('collector.version.invalid');
  });

  test('only after a while for a second task if the scenario says so', () => {
    const service = new SimulatedService({ ...scenario, upgrade: { lockDelay: '500ms' } });
    service.accepted(web, target);
    service.elapsedMs = 499;
    service.accepted(web, target);
    service.elapsedMs = 500;
    expect(service.create(web, target).json.code).toBe('collector.in.upgrading');
    expect(service.state().counters).toMatchObject({ tasksAccepted: 2, createTaskRequests: 3 });
    expect(service.state().collectors[0]).toMatchObject({ tasksAccepted: 2, createTaskRequests: 3 });
  });
});

describe('the status of a task (4.8)', () => {
  test('has the members of 2.9, with an integer id', () => {
    const service = new SimulatedService(threeCollectors);
    const id = service.accepted(first, target);
    expect(service.task(id)).toEqual({
      id: 200001,
      collectorId: first,
      toVersion: target,
      requestTime: startMs,
      status: 0,
      message: '',
    });
  });

  test.each(['1', 'x', '99999999999999999999'])('is 404 for the unknown task %s', (id) => {
    expect(new SimulatedService(threeCollectors).call('GET', id).json).toMatchObject({ status: 404, code: 'notfound' });
  });

  test('can have requestTime in seconds, or under its other name', () => {
    const task = { requestTimeUnit: 's', requestTimeMember: 'requestedTime' } as const;
    const service = new SimulatedService({ ...threeCollectors, task });
    service.elapsedMs = 1_500;
    const response = service.task(service.accepted(first, target));
    expect(response.requestedTime).toBe(startMs / 1000 + 1);
    expect(response).not.toHaveProperty('requestTime');
  });

  test('can lack members', () => {
    const service = new SimulatedService({ ...threeCollectors, task: { omit: ['message', 'requestTime'] } });
    expect(Object.keys(service.task(service.accepted(first, target)))).toEqual([
      'id',
      'collectorId',
      'toVersion',
      'status',
    ]);
  });
});

describe('the status codes of a task over time (3.2)', () => {
  /** Returns the task's status code at each of `timesMs`, and whether the collector has the new version by then. */
  const course = (upgrade: UpgradeScenario, timesMs: readonly number[], scenario: Scenario = {}) => {
    const service = new SimulatedService({ ...withUpgrade(upgrade), ...scenario });
    const id = service.accepted(first, target);
    return timesMs.map((elapsedMs) => {
      service.elapsedMs = elapsedMs;
      const { status } = service.task(id);
      return service.version('web-0001') === target ? `${status} upgraded` : `${status}`;
    });
  };
  const fail = [{ end: 'fail', message: 'no space' }] as const;
  const cases: readonly [string, UpgradeScenario, readonly number[], readonly string[]][] = [
    [
      'are 0, 1, 6 and 2 when it succeeds',
      {},
      [999, 1_000, 6_000, 179_999, 180_000],
      ['0', '1', '6', '6', '2 upgraded'],
    ],
    ['end with 3 when it fails', { outcomes: fail }, [6_000, 180_000], ['6', '3']],
    [
      'end with 3 at the timeout when it hangs',
      { outcomes: [{ end: 'hang' }] },
      [30 * minute - 1, 30 * minute],
      ['6', '3'],
    ],
    [
      'change later when the upgrade has several increments',
      { increments: 3 },
      [9 * minute - 1, 9 * minute],
      ['6', '2 upgraded'],
    ],
    [
      'do not depend on increments when the outcome has its own duration',
      { increments: 3, outcomes: [{ end: 'succeed', duration: '4m' }] },
      [4 * minute - 1, 4 * minute],
      ['6', '2 upgraded'],
    ],
    [
      'stay 3 when the collector succeeds after the timeout',
      { duration: '40m' },
      [30 * minute, 40 * minute - 1, 40 * minute],
      ['3', '3', '3 upgraded'],
    ],
    [
      'stay 3 when the collector fails after the timeout',
      { duration: '40m', outcomes: fail },
      [30 * minute, 40 * minute],
      ['3', '3'],
    ],
    [
      'follow the timeout of the scenario',
      { timeout: '1m' },
      [minute - 1, minute, 3 * minute],
      ['6', '3', '3 upgraded'],
    ],
    ['can be undocumented in progress', { progressingStatus: 4 }, [6_000, 180_000], ['4', '2 upgraded']],
    ['can be undocumented at the end', { outcomes: [{ end: 'succeed', status: 5 }] }, [180_000], ['5 upgraded']],
    ['are 2 immediately when the upgrade takes no time', { duration: '0s' }, [0], ['2 upgraded']],
    [
      'leave each state after at most a third of a short upgrade',
      { duration: '9s', notStartedFor: '4s' },
      [2_999, 3_000, 5_999, 6_000, 9_000],
      ['0', '1', '1', '6', '2 upgraded'],
    ],
  ];
  test.each(cases)('%s', (_, upgrade, times, statuses) => {
    expect(course(upgrade, times)).toEqual(statuses);
  });

  test('the time scale shortens all steps and the timeout', () => {
    expect(course({}, [100, 600, 18_000], { timeScale: 10 })).toEqual(['1', '6', '2 upgraded']);
    expect(course({ outcomes: [{ end: 'hang' }] }, [3 * minute - 1, 3 * minute], { timeScale: 10 })).toEqual([
      '6',
      '3',
    ]);
  });

  test('a failed task has the message of its failure', () => {
    const service = new SimulatedService(withUpgrade({ outcomes: fail }));
    const id = service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    expect(service.task(id)).toMatchObject({ status: 3, message: 'no space' });
  });

  test('a failed task without a message in the scenario has a general message', () => {
    const service = new SimulatedService(withUpgrade({ outcomes: [{ end: 'fail' }] }));
    const id = service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    expect(service.task(id).message).toBe('The upgrade failed.');
  });

  test('a task of a silent collector stays pending until the collector runs again', () => {
    const service = new SimulatedService(threeCollectors);
    const id = service.accepted(first, target);
    service.patch({ collectors: { 'web-0001': { running: false } } });
    service.elapsedMs = 10 * minute;
    expect(service.task(id).status).toBe(1);
    service.elapsedMs = 40 * minute;
    expect(service.task(id).status).toBe(3);
    service.patch({ collectors: { 'web-0001': { running: true } } });
    expect(service.version('web-0001')).toBe(target);
    expect(service.task(id).status).toBe(3);
  });

  test('a task stays progressing when its collector loses contact', () => {
    const service = new SimulatedService(threeCollectors);
    const id = service.accepted(first, target);
    service.elapsedMs = minute;
    service.patch({ collectors: { 'web-0001': { running: false } } });
    service.elapsedMs = 10 * minute;
    expect(service.task(id).status).toBe(6);
    service.patch({ collectors: { 'web-0001': { running: true } } });
    expect(service.task(id).status).toBe(2);
  });

  test('a collector that is removed during its upgrade is not upgraded', () => {
    const service = new SimulatedService(threeCollectors);
    const id = service.accepted(first, target);
    service.patch({ collectors: { 'web-0001': { absent: true } } });
    service.elapsedMs = 30 * minute;
    expect(service.task(id).status).toBe(3);
    service.patch({ collectors: { 'web-0001': null } });
    expect(service.version('web-0001')).toBe(oldVersion);
  });

  test('a collector that is absent only when its upgrade would end can be upgraded again', () => {
    const service = new SimulatedService(threeCollectors);
    const id = service.accepted(first, target);
    service.elapsedMs = 2 * minute;
    service.patch({ collectors: { 'web-0001': { absent: true } } });
    service.elapsedMs = 4 * minute;
    service.patch({ collectors: { 'web-0001': { absent: false } } });
    service.elapsedMs = 30 * minute;
    expect(service.task(id).status).toBe(3);
    service.accepted(first, target);
    service.elapsedMs = 33 * minute;
    expect(service.version('web-0001')).toBe(target);
  });

  test('after the timeout, the lock ends with the upgrade, or immediately if the scenario says so', () => {
    const retryAt = (upgrade: UpgradeScenario, elapsedMs: number) => {
      const service = new SimulatedService(withUpgrade(upgrade));
      service.accepted(first, target);
      service.elapsedMs = elapsedMs;
      return service.create(first, target).status;
    };
    expect(retryAt({ duration: '40m' }, 30 * minute)).toBe(400);
    expect(retryAt({ duration: '40m' }, 40 * minute)).toBe(202);
    expect(retryAt({ duration: '40m', lockUntil: 'timeout' }, 30 * minute)).toBe(202);
    expect(retryAt({ outcomes: [{ end: 'hang' }] }, 30 * minute)).toBe(202);
  });
});

test('the upgrade of a silent collector does not prevent a new task after its timeout', () => {
  const service = new SimulatedService(withUpgrade({ timeout: '5m' }));
  service.accepted(first, target);
  service.elapsedMs = minute;
  service.patch({ collectors: { 'web-0001': { running: false } } });
  service.elapsedMs = 5 * minute - 1;
  expect(service.create(first, target).json.code).toBe('collector.in.upgrading');
  service.elapsedMs = 5 * minute;
  expect(service.create(first, target).status).toBe(202);
});

describe('outcomes of upgrades', () => {
  const ends = (scenario: Scenario, order: 'up' | 'down' = 'up') => {
    const service = new SimulatedService({ builds, groups: { web: { count: 400, version: oldVersion } }, ...scenario });
    const ids = Array.from({ length: 400 }, (_, index) => first + (order === 'up' ? index : 399 - index));
    for (const id of ids) service.accepted(id, target);
    service.elapsedMs = 40 * minute;
    const failed = service.state().tasks.filter(({ status }) => status === 3);
    return failed.map(({ collectorId, message }) => `${collectorId} ${message}`).sort();
  };
  const outcomes = [
    { share: 0.1, end: 'fail', message: 'disk' },
    { share: 0.1, end: 'fail', message: 'permission' },
  ] as const;

  test('have shares and messages', () => {
    const failed = ends({ upgrade: { outcomes } });
    const disk = failed.filter((entry) => entry.endsWith('disk')).length;
    expect(disk).toBeGreaterThan(20);
    expect(disk).toBeLessThan(65);
    expect(failed.length - disk).toBeGreaterThan(20);
    expect(failed.length - disk).toBeLessThan(65);
  });

  test('can be limited to a build', () => {
    expect(ends({ upgrade: { outcomes: [{ end: 'fail', toVersion: oldVersion }] } })).toEqual([]);
    expect(ends({ upgrade: { outcomes: [{ end: 'fail', toVersion: target }] } })).toHaveLength(400);
  });

  test('do not depend on the order of requests', () => {
    expect(ends({ upgrade: { outcomes } }, 'down')).toEqual(ends({ upgrade: { outcomes } }));
  });

  test('depend on the seed', () => {
    expect(ends({ upgrade: { outcomes }, seed: 2 })).not.toEqual(ends({ upgrade: { outcomes } }));
  });

  test('can be set by group and by collector', () => {
    const service = new SimulatedService({
      ...threeCollectors,
      groups: { web: { count: 3, version: oldVersion, upgrade: { outcomes: [{ end: 'fail' }] } } },
      collectors: { 'web-0002': { upgrade: { outcomes: [] } } },
    });
    for (const offset of [0, 1, 2]) service.accepted(first + offset, target);
    service.elapsedMs = 3 * minute;
    expect(service.state().collectors.map(({ version }) => version)).toEqual([oldVersion, target, oldVersion]);
  });

  test('can be limited to the first attempts', () => {
    const service = new SimulatedService(withUpgrade({ outcomes: [{ end: 'fail', attempts: 2 }] }));
    const statuses = [1, 2, 3].map((attempt) => {
      const id = service.accepted(first, target);
      service.elapsedMs = attempt * 3 * minute;
      return service.task(id).status;
    });
    expect(statuses).toEqual([3, 3, 2]);
  });

  test('can have a range of durations', () => {
    const service = new SimulatedService({
      builds,
      upgrade: { duration: ['1m', '2m'] },
      groups: { web: { count: 50, version: oldVersion } },
    });
    for (let index = 0; index < 50; index++) service.accepted(first + index, target);
    service.elapsedMs = 2 * minute;
    const durations = service.state().tasks.map(({ requestTime, endTime }) => (endTime ?? 0) - requestTime);
    expect(Math.min(...durations)).toBeGreaterThanOrEqual(minute);
    expect(Math.max(...durations)).toBeLessThanOrEqual(2 * minute);
    expect(new Set(durations).size).toBeGreaterThan(40);
  });
});
