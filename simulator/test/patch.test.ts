/** Tests how merge patches and events change the scenario. A change must affect only the members that it contains. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../scenario/scenario.ts';
import { ScenarioError } from '../scenario/scenario-error.ts';
import { builds, first, minute, oldVersion, SimulatedService, target, threeCollectors } from './simulated-service.ts';

describe('collectors', () => {
  test('are added by a larger count and removed by a smaller count, with unique ids', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ groups: { web: { count: 1 } } });
    expect(service.names()).toEqual(['web-0001']);
    service.patch({ groups: { web: { count: 2 } } });
    expect(service.names()).toEqual(['web-0001', 'web-0002']);
    expect(service.state().collectors.map(({ id }) => id)).toEqual([String(first), String(first + 3)]);
  });

  test('are added and removed by group and by name', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ groups: { db: { count: 1, version: oldVersion } }, collectors: { lone: { version: '19.300-7' } } });
    expect(service.names()).toEqual(['web-0001', 'web-0002', 'web-0003', 'db-0001', 'lone']);
    service.patch({ groups: { web: null }, collectors: { lone: null } });
    expect(service.names()).toEqual(['db-0001']);
    expect(service.create(first, target).json.code).toBe('collector.invalid');
  });

  test('in a group can be absent and return unchanged', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ collectors: { 'web-0002': { absent: true } } });
    expect(service.names()).toEqual(['web-0001', 'web-0003']);
    service.patch({ collectors: { 'web-0002': null } });
    expect(service.names()).toEqual(['web-0001', 'web-0002', 'web-0003']);
    expect(service.state().collectors[1]?.id).toBe(String(first + 1));
  });

  test('keep their version after an upgrade, until a patch changes it', () => {
    const service = new SimulatedService(threeCollectors);
    service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    expect(service.names()).toEqual(['web-0002', 'web-0003']);
    service.patch({ groups: { web: { timeZone: 'Asia/Tokyo' } } });
    expect(service.version('web-0001')).toBe(target);
    expect(service.call('GET', 'collectors?limit=1').json.collectors[0].timeZone).toBe('Asia/Tokyo');
    service.patch({ groups: { web: { version: '19.300-7' } } });
    expect(service.state().collectors.map(({ version }) => version)).toEqual(['19.300-7', '19.300-7', '19.300-7']);
  });
});

test('a patch can change builds, limits and errors', () => {
  const service = new SimulatedService(threeCollectors);
  service.patch({ builds: ['19.600-1'], limits: { requestsPerSecond: 1 } });
  expect(service.call('GET', 'targets').json.targets).toEqual([{ version: '19.600-1', latest: true }]);
  expect(service.call('GET', 'targets').status).toBe(429);
});

test('a patch can change which collectors are listed', () => {
  const service = new SimulatedService(threeCollectors);
  expect(service.names(`?toVersion=${oldVersion}`)).toEqual([]);
  service.patch({ list: { atTarget: true } });
  expect(service.names(`?toVersion=${oldVersion}`)).toHaveLength(3);
});

test('an invalid patch changes nothing', () => {
  const service = new SimulatedService(threeCollectors);
  expect(() => service.patch({ builds: ['19.600-1'], groups: { web: { count: -1 } } })).toThrow(ScenarioError);
  expect(service.model.scenario.builds).toEqual(builds);
  expect(service.names()).toHaveLength(3);
});

describe('events', () => {
  const at = (service: SimulatedService, elapsedMs: number) => {
    service.elapsedMs = elapsedMs;
    return service;
  };

  test('an upgrade by another tool locks the collector, and is counted as foreign', () => {
    const events: Scenario['events'] = {
      other: { at: '1m', collectors: ['web-0002'], upgrade: { toVersion: '19.300-7', duration: '2m' } },
    };
    const service = new SimulatedService({ ...threeCollectors, events });
    at(service, 2 * minute);
    expect(service.create(first + 1, target).json.code).toBe('collector.in.upgrading');
    expect(service.create(first, target).status).toBe(202);
    at(service, 3 * minute);
    expect(service.version('web-0002')).toBe('19.300-7');
    expect(service.state().counters.tasksAccepted).toBe(1);
    expect(service.state().tasks.map(({ foreign }) => foreign)).toEqual([true, false]);
  });

  test('an upgrade by another tool skips hosted collectors and upgrades in progress', () => {
    const service = new SimulatedService({
      builds,
      groups: { web: { count: 1, version: oldVersion }, cloud: { count: 1, collectorType: 'Hosted' } },
      events: { other: { at: '1m', collectors: ['*'], upgrade: { toVersion: '19.300-7' } } },
    });
    service.accepted(first, target);
    expect(at(service, 10 * minute).state().tasks).toHaveLength(1);
    expect(service.version('web-0001')).toBe(target);
  });

  test('a manual installation changes the version', () => {
    const events: Scenario['events'] = { hand: { at: '1m', collectors: [String(first)], setVersion: target } };
    const service = new SimulatedService({ ...threeCollectors, events });
    expect(at(service, minute - 1).version('web-0001')).toBe(oldVersion);
    expect(at(service, minute).version('web-0001')).toBe(target);
  });

  test('an event does not affect an absent collector', () => {
    const events: Scenario['events'] = { hand: { at: '1m', collectors: ['*'], setVersion: target } };
    const service = new SimulatedService({ ...threeCollectors, collectors: { 'web-0002': { absent: true } }, events });
    at(service, minute).patch({ collectors: { 'web-0002': null } });
    expect(service.state().collectors.map(({ version }) => version)).toEqual([target, oldVersion, target]);
  });

  test('a patch changes the scenario for a while', () => {
    const events: Scenario['events'] = {
      storm: { at: '1m', patch: { faults: { storm: { kind: 'status', status: 503 } } } },
      calm: { at: '2m', patch: { faults: { storm: null } } },
    };
    const service = new SimulatedService({ ...threeCollectors, events });
    const statuses = [0, minute, 2 * minute].map((elapsedMs) => at(service, elapsedMs).call('GET', 'targets').status);
    expect(statuses).toEqual([200, 503, 200]);
  });

  test('an event without a time happens immediately, and only once', () => {
    const service = at(new SimulatedService(threeCollectors), minute);
    service.patch({ events: { hand: { collectors: ['web-0001'], setVersion: target } } });
    expect(service.version('web-0001')).toBe(target);
    service.patch({ groups: { web: { version: '19.300-7' } } });
    service.patch({ timeScale: 2 });
    expect(service.version('web-0001')).toBe('19.300-7');
  });

  test('an event without a time has happened when the patch that adds it returns', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ events: { faster: { patch: { timeScale: 2 } } } });
    expect(service.model.scenario.timeScale).toBe(2);
  });

  test('an upgrade whose time is already over begins immediately', () => {
    const service = at(new SimulatedService(threeCollectors), 5 * minute);
    service.patch({ events: { other: { at: '1m', collectors: ['web-0001'], upgrade: { toVersion: target } } } });
    expect(service.version('web-0001')).toBe(oldVersion);
    expect(at(service, 8 * minute).version('web-0001')).toBe(target);
  });

  test('a removed event does not happen', () => {
    const events: Scenario['events'] = { hand: { at: '1m', collectors: ['*'], setVersion: target } };
    const service = new SimulatedService({ ...threeCollectors, events });
    service.patch({ events: { hand: null } });
    expect(at(service, minute).version('web-0001')).toBe(oldVersion);
  });
});

test('100,000 collectors have pages, and move after an upgrade', () => {
  const service = new SimulatedService({
    builds,
    groups: { web: { count: 100_000, name: 'web-######', version: oldVersion } },
  });
  expect(service.names('?limit=1000&offset=99999')).toEqual(['web-100000']);
  service.accepted(first, target);
  service.elapsedMs = 3 * minute;
  expect(service.names('?limit=1&offset=0')).toEqual(['web-000002']);
  expect(service.names('?limit=1000&offset=99999')).toEqual([]);
});
