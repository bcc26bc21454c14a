/** Tests the list of upgradable collectors. */
import { describe, expect, test } from 'vitest';
import type { ListScenario, Scenario } from '../scenario/scenario.ts';
import {
  builds,
  first,
  minute,
  oldVersion,
  SimulatedService,
  startMs,
  target,
  threeCollectors,
} from './simulated-service.ts';

const fleet = (count: number, list: ListScenario = {}): Scenario => ({
  builds,
  list,
  groups: { web: { count, version: oldVersion } },
});

test('a collector has all members of 2.7', () => {
  const service = new SimulatedService(threeCollectors);
  const [collector] = service.call('GET', 'collectors').json.collectors;
  expect(collector).toEqual({
    id: first,
    name: 'web-0001',
    hostName: 'web-0001.example.internal',
    timeZone: 'Etc/UTC',
    links: [{ rel: 'sources', href: `/v1/collectors/${first}/sources` }],
    ephemeral: false,
    sourceSyncMode: 'UI',
    collectorType: 'Installable',
    collectorVersion: oldVersion,
    osVersion: '6.1.0',
    osName: 'Linux',
    osArch: 'amd64',
    lastSeenAlive: expect.any(Number),
    alive: true,
  });
  expect(collector.lastSeenAlive).toBeLessThanOrEqual(startMs);
  expect(collector.lastSeenAlive).toBeGreaterThan(startMs - 15_000);
});

test('members of a collector can be missing if the scenario says so', () => {
  const omit = ['osName', 'alive', 'lastSeenAlive', 'links'] as const;
  const service = new SimulatedService({ builds, groups: { web: { count: 1, version: oldVersion, omit } } });
  const [collector] = service.call('GET', 'collectors').json.collectors;
  for (const member of omit) expect(collector).not.toHaveProperty(member);
  expect(collector).toHaveProperty('osArch');
});

test('ids above 2^53 are exact', () => {
  const service = new SimulatedService({ ...threeCollectors, ids: { firstCollector: '9007199254740993' } });
  expect(service.call('GET', 'collectors').text).toContain('{"id":9007199254740993,');
});

describe('the pages of the list', () => {
  test('have 50 collectors by default', () => {
    const names = new SimulatedService(fleet(120)).names();
    expect(names).toHaveLength(50);
    expect(names[0]).toBe('web-0001');
  });

  const cases: readonly [string, string, readonly string[]][] = [
    ['begin at the offset', '?offset=118', ['web-0119', 'web-0120']],
    ['end at the limit', '?offset=2&limit=2', ['web-0003', 'web-0004']],
    ['are empty at the end of the list', '?offset=120', []],
    ['are empty beyond the end of the list', '?offset=99999', []],
  ];
  test.each(cases)('%s', (_, query, names) => {
    expect(new SimulatedService(fleet(120)).names(query)).toEqual(names);
  });

  test('move when the list before them changes', () => {
    const service = new SimulatedService(fleet(4));
    service.accepted(first, target);
    service.elapsedMs = 3 * minute;
    expect(service.names('?offset=1&limit=1')).toEqual(['web-0003']);
  });
});

describe('a request with invalid parameters', () => {
  const cases = [
    'offset=-1',
    'offset=x',
    'offset=',
    'offset=1.5',
    'offset=99999999999999999999',
    'limit=-1',
    'limit=0',
    'limit=ten',
  ];
  test.each(cases)('is 400: %s', (query) => {
    const reply = new SimulatedService(fleet(3)).call('GET', `collectors?${query}`);
    expect(reply.json).toMatchObject({ status: 400, code: 'parameter.invalid' });
  });

  test.each(['19.501-1', '', 'latest'])('toVersion=%s', (version) => {
    const reply = new SimulatedService(fleet(3)).call('GET', `collectors?toVersion=${version}`);
    expect(reply.json).toMatchObject({ status: 400, code: 'collector.version.invalid' });
  });

  test('is 400 without any build', () => {
    expect(new SimulatedService({ groups: {} }).call('GET', 'collectors').status).toBe(400);
  });
});

describe('the listed collectors', () => {
  const mixed: Scenario = {
    builds,
    groups: {
      old: { count: 1, version: oldVersion },
      new: { count: 1, version: target },
      cloud: { count: 1, collectorType: 'Hosted' },
      away: { count: 1, version: oldVersion, running: false },
    },
  };
  test('do not run the latest build', () => {
    expect(new SimulatedService(mixed).names()).toEqual(['old-0001', 'away-0001']);
  });

  test('do not run the requested build', () => {
    expect(new SimulatedService(mixed).names(`?toVersion=${oldVersion}`)).toEqual(['new-0001']);
  });

  test('include those that run the build if the scenario says so', () => {
    const service = new SimulatedService({ ...mixed, list: { atTarget: true } });
    expect(service.names()).toEqual(['old-0001', 'new-0001', 'away-0001']);
  });

  test('include hosted collectors with an empty version if the scenario says so', () => {
    const service = new SimulatedService({ ...mixed, list: { hosted: true } });
    const { collectors } = service.call('GET', 'collectors').json;
    expect(collectors).toContainEqual(
      expect.objectContaining({ name: 'cloud-0001', collectorType: 'Hosted', collectorVersion: '' }),
    );
  });
});

describe('options of the scenario', () => {
  test('a limit above the maximum is reduced', () => {
    expect(new SimulatedService(fleet(120, { maxLimit: 100 })).names('?limit=110')).toHaveLength(100);
  });

  test('a limit above the maximum is refused', () => {
    const service = new SimulatedService(fleet(120, { maxLimit: 100, aboveMaxLimit: 'refuse' }));
    expect(service.call('GET', 'collectors?limit=101').status).toBe(400);
    expect(service.names('?limit=100')).toHaveLength(100);
  });

  const groups = {
    b: { count: 1, version: '19.300-7' },
    c: { count: 1, version: '19.1000-1' },
    a: { count: 1, version: oldVersion },
  };
  const orders: readonly [ListScenario['order'], readonly string[]][] = [
    ['id', ['b-0001', 'c-0001', 'a-0001']],
    ['name', ['a-0001', 'b-0001', 'c-0001']],
    ['version', ['b-0001', 'a-0001', 'c-0001']],
  ];
  test.each(orders)('the order is by %s', (order, names) => {
    expect(new SimulatedService({ builds, groups, list: { order: order as 'id' } }).names()).toEqual(names);
  });

  test('the order is shuffled, but always the same', () => {
    const service = new SimulatedService(fleet(40, { order: 'shuffled' }));
    const names = service.names();
    expect(names).not.toEqual([...names].sort());
    expect(service.names()).toEqual(names);
    expect(new Set(names).size).toBe(40);
  });

  test('an outdated list shows an earlier state', () => {
    const service = new SimulatedService({ ...fleet(2, { lag: '20s' }), upgrade: { duration: '1m' } });
    service.accepted(first, target);
    service.elapsedMs = minute + 19_999;
    expect(service.names()).toEqual(['web-0001', 'web-0002']);
    expect(service.version('web-0001')).toBe(target);
    service.elapsedMs = minute + 20_000;
    expect(service.names()).toEqual(['web-0002']);
  });
});

test('a fault with a shorter lag does not make an outdated list newer', () => {
  const faults = { stale: { kind: 'lag', lag: '1s' } } as const;
  const service = new SimulatedService({ ...fleet(2, { lag: '20s' }), upgrade: { duration: '1m' }, faults });
  service.accepted(first, target);
  service.elapsedMs = minute + 10_000;
  expect(service.names()).toEqual(['web-0001', 'web-0002']);
});

test('an outdated list does not show a new collector yet', () => {
  const service = new SimulatedService(fleet(1, { lag: '20s' }));
  service.elapsedMs = 1_000;
  service.patch({ groups: { web: { count: 2 } } });
  service.elapsedMs = 20_999;
  expect(service.names()).toEqual(['web-0001']);
  service.elapsedMs = 21_000;
  expect(service.names()).toEqual(['web-0001', 'web-0002']);
});

test('an outdated list shows an earlier state even after many changes', () => {
  const service = new SimulatedService(fleet(1, { lag: '20s' }));
  for (let change = 1; change <= 7; change++) {
    service.elapsedMs = change * 1_000;
    service.patch({ groups: { web: { version: `19.300-${change}` } } });
  }
  const [collector] = service.call('GET', 'collectors').json.collectors;
  expect(collector.collectorVersion).toBe(oldVersion);
});

describe('a silent collector', () => {
  const alive = (service: SimulatedService) => service.call('GET', 'collectors').json.collectors[0].alive;
  test('is reported as alive for 30 minutes', () => {
    const service = new SimulatedService(fleet(1));
    service.elapsedMs = minute;
    service.patch({ groups: { web: { running: false } } });
    const lastSeen = service.call('GET', 'collectors').json.collectors[0].lastSeenAlive;
    service.elapsedMs = lastSeen - startMs + 30 * minute - 1;
    expect(alive(service)).toBe(true);
    service.elapsedMs++;
    expect(alive(service)).toBe(false);
    expect(service.call('GET', 'collectors').json.collectors[0].lastSeenAlive).toBe(lastSeen);
    service.patch({ groups: { web: { running: true } } });
    expect(alive(service)).toBe(true);
  });

  test('is reported as alive for the time set in the scenario', () => {
    const service = new SimulatedService({
      ...fleet(1),
      aliveFor: '1m',
      collectors: { 'web-0001': { running: false, silentFor: '50s' } },
    });
    expect(alive(service)).toBe(true);
    service.elapsedMs = 10_000;
    expect(alive(service)).toBe(false);
  });
});
