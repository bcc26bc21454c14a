/** The scenario in motion: merge patches and events. What a patch says differently happens; what it leaves stays as it became. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../../src/simulator/scenario.ts';
import { ScenarioError } from '../../../src/simulator/scenario-error.ts';
import { builds, first, minute, oldVersion, SimulatedService, target, threeCollectors } from './simulated-service.ts';

describe('collectors', () => {
  test('come with a larger count and go with a smaller one, and never share an id', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ groups: { web: { count: 1 } } });
    expect(service.names()).toEqual(['web-0001']);
    service.patch({ groups: { web: { count: 2 } } });
    expect(service.names()).toEqual(['web-0001', 'web-0002']);
    expect(service.state().collectors.map(({ id }) => id)).toEqual([String(first), String(first + 3)]);
  });

  test('come and go by group and by name', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ groups: { db: { count: 1, version: oldVersion } }, collectors: { lone: { version: '19.300-7' } } });
    expect(service.names()).toEqual(['web-0001', 'web-0002', 'web-0003', 'db-0001', 'lone']);
    service.patch({ groups: { web: null }, collectors: { lone: null } });
    expect(service.names()).toEqual(['db-0001']);
    expect(service.create(first, target).json.code).toBe('collector.invalid');
  });

  test('of a group can be away and come back as they were', () => {
    const service = new SimulatedService(threeCollectors);
    service.patch({ collectors: { 'web-0002': { absent: true } } });
    expect(service.names()).toEqual(['web-0001', 'web-0003']);
    service.patch({ collectors: { 'web-0002': null } });
    expect(service.names()).toEqual(['web-0001', 'web-0002', 'web-0003']);
    expect(service.state().collectors[1]?.id).toBe(String(first + 1));
  });

  test('keep the version that an upgrade gave them, until a patch names another', () => {
    const service = new SimulatedService(threeCollectors);
    service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    service.patch({ groups: { web: { timeZone: 'Asia/Tokyo' } } });
    expect(service.version('web-0001')).toBe(target);
    expect(service.call('GET', 'collectors?limit=1').json.collectors[0].timeZone).toBe('Asia/Tokyo');
    service.patch({ groups: { web: { version: '19.300-7' } } });
    expect(service.state().collectors.map(({ version }) => version)).toEqual(['19.300-7', '19.300-7', '19.300-7']);
  });
});

test('builds, limits and errors change', () => {
  const service = new SimulatedService(threeCollectors);
  service.patch({ builds: ['19.600-1'], limits: { requestsPerSecond: 1 } });
  expect(service.call('GET', 'targets').json.targets).toEqual([{ version: '19.600-1', latest: true }]);
  expect(service.call('GET', 'targets').status).toBe(429);
});

test('a patch that makes no scenario changes nothing', () => {
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

  test('somebody else upgrades: locked meanwhile, counted as foreign', () => {
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

  test('somebody else leaves alone what is being upgraded, and hosted ones', () => {
    const service = new SimulatedService({
      builds,
      groups: { web: { count: 1, version: oldVersion }, cloud: { count: 1, collectorType: 'Hosted' } },
      events: { other: { at: '1m', collectors: ['*'], upgrade: { toVersion: '19.300-7' } } },
    });
    service.accepted(first, target);
    expect(at(service, 10 * minute).state().tasks).toHaveLength(1);
    expect(service.version('web-0001')).toBe(target);
  });

  test('somebody installs by hand', () => {
    const events: Scenario['events'] = { hand: { at: '1m', collectors: [String(first)], setVersion: target } };
    const service = new SimulatedService({ ...threeCollectors, events });
    expect(at(service, minute - 1).version('web-0001')).toBe(oldVersion);
    expect(at(service, minute).version('web-0001')).toBe(target);
  });

  test('the scenario changes itself, for a while', () => {
    const events: Scenario['events'] = {
      storm: { at: '1m', patch: { faults: { storm: { kind: 'status', status: 503 } } } },
      calm: { at: '2m', patch: { faults: { storm: null } } },
    };
    const service = new SimulatedService({ ...threeCollectors, events });
    const statuses = [0, minute, 2 * minute].map((elapsedMs) => at(service, elapsedMs).call('GET', 'targets').status);
    expect(statuses).toEqual([200, 503, 200]);
  });

  test('without a time they happen at once, by patch; and only once', () => {
    const service = at(new SimulatedService(threeCollectors), minute);
    service.patch({ events: { hand: { collectors: ['web-0001'], setVersion: target } } });
    expect(service.version('web-0001')).toBe(target);
    service.patch({ groups: { web: { version: '19.300-7' } } });
    service.patch({ timeScale: 2 });
    expect(service.version('web-0001')).toBe('19.300-7');
  });

  test('that are taken back do not happen', () => {
    const events: Scenario['events'] = { hand: { at: '1m', collectors: ['*'], setVersion: target } };
    const service = new SimulatedService({ ...threeCollectors, events });
    service.patch({ events: { hand: null } });
    expect(at(service, minute).version('web-0001')).toBe(oldVersion);
  });
});

test('100,000 collectors: pages, an upgrade and the next page', () => {
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
