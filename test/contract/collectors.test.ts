/** Tests the service's collector operations, on the simulator or on a real deployment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { minuteMs, secondMs } from '../../src/base/time-units.ts';
import { expectError, expectThere, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, onSimulator } from './deployment.ts';
import type { Received } from './https-client.ts';

const upgrades = '/v1/collectors/upgrades';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

const get = (where: Deployment, path: string, options = {}) => where.send('GET', `${upgrades}${path}`, options);
const create = (where: Deployment, body: string, options = {}) => where.send('POST', upgrades, { body, ...options });

/**
 * Returns the request body that starts an upgrade. The collector id is a string, because a JavaScript number cannot
 * represent a 64-bit integer.
 */
function order(collectorId: string, toVersion?: string): string {
  return `{"collectorId":${collectorId}${toVersion === undefined ? '' : `,"toVersion":${JSON.stringify(toVersion)}`}}`;
}

async function latestBuild(where: Deployment): Promise<string> {
  const { targets } = (await get(where, '/targets')).json;
  return targets.find(({ latest }: { latest: boolean }) => latest).version;
}

/** Requests an upgrade. Returns a function that reads the status of the upgrade task. */
async function startTask(where: Deployment, collectorId: string, toVersion = '19.500-1') {
  const { id } = (await create(where, order(collectorId, toVersion))).json;
  return async () => (await get(where, `/${id}`)).json.upgrade;
}

/** Reason to skip a test on a deployment where no collector may be upgraded. */
const unnamed = 'would upgrade a collector: name one in ALLOW_UPGRADES';
const whole = expect.toSatisfy((value) => Number.isInteger(value) && value >= 0, 'a whole number from 0 on');

describe('4.6 list upgradable collectors', () => {
  const members: readonly [member: string, type: string][] = [
    ['id', 'number'],
    ['name', 'string'],
    ['hostName', 'string'],
    ['timeZone', 'string'],
    ['links', 'object'],
    ['ephemeral', 'boolean'],
    ['sourceSyncMode', 'string'],
    ['collectorType', 'string'],
    ['collectorVersion', 'string'],
    ['osVersion', 'string'],
    ['osName', 'string'],
    ['osArch', 'string'],
    ['lastSeenAlive', 'number'],
    ['alive', 'boolean'],
  ];

  test('200 with collectors, in JSON', async ({ skip }) => {
    const { status, headers, json } = await get(service, '/collectors');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expectThere(skip, json.collectors.length > 0, 'collectors');
    for (const collector of json.collectors) {
      expect(collector).toMatchObject({ id: expect.any(Number), name: expect.any(String) });
    }
  });

  test.for(members)('%s is a %s (2.7)', async ([member, type], { skip }) => {
    const { collectors } = (await get(service, '/collectors')).json;
    // On a real deployment, some or all collectors may lack the tested member.
    const values = collectors.flatMap((collector: Record<string, unknown>) => collector[member] ?? []);
    expectThere(skip, values.length > 0, 'collectors with this member');
    if (member !== 'links') for (const value of values) expect(typeof value).toBe(type);
    else for (const link of values) expect(link).toMatchObject({ rel: expect.any(String), href: expect.any(String) });
  });

  test('lastSeenAlive is in ms since the epoch (2.7)', async ({ skip }) => {
    const { collectors } = (await get(service, '/collectors')).json;
    const seen = collectors.filter(({ alive, lastSeenAlive }: Record<string, unknown>) => alive && lastSeenAlive);
    expectThere(skip, seen.length > 0, 'collectors that are alive');
    for (const { lastSeenAlive } of seen) {
      expect(Math.abs(service.nowMs() - lastSeenAlive)).toBeLessThan(60 * minuteMs);
    }
  });

  test('limit is 50 by default (8)', async ({ skip }) => {
    const { collectors } = (await get(service, '/collectors')).json;
    const given = (await get(service, '/collectors?limit=50')).json.collectors;
    expect(collectors.map(({ id }: { id: number }) => id)).toEqual(given.map(({ id }: { id: number }) => id));
    expectThere(skip, collectors.length === 50, '50 collectors');
  });

  test('limit is the maximum number of collectors in a page', async ({ skip }) => {
    const { collectors } = (await get(service, '/collectors?limit=3')).json;
    expect(collectors.length).toBeLessThanOrEqual(3);
    expectThere(skip, collectors.length === 3, 'three collectors');
  });

  test('offset is the first collector of a page, and is 0 by default', async ({ skip }) => {
    const [first, second] = (await get(service, '/collectors?limit=2')).json.collectors;
    const one = async (offset: number) => (await get(service, `/collectors?offset=${offset}&limit=1`)).json.collectors;
    expect(await one(0)).toMatchObject(first ? [{ id: first.id }] : []);
    expect(await one(1)).toMatchObject(second ? [{ id: second.id }] : []);
    expectThere(skip, second !== undefined, 'two collectors');
  });

  test('an offset beyond the end returns an empty page', async () => {
    expect((await get(service, '/collectors?offset=100000000')).json.collectors).toEqual([]);
  });

  test('toVersion is the latest build by default (9.3)', async ({ skip }) => {
    const ids = (received: Received) => received.json.collectors.map(({ id }: { id: number }) => id);
    const given = await get(service, `/collectors?limit=5&toVersion=${await latestBuild(service)}`);
    expect(given.status).toBe(200);
    expect(ids(await get(service, '/collectors?limit=5'))).toEqual(ids(given));
    expectThere(skip, ids(given).length > 0, 'collectors');
  });

  testSimulated(
    'collectors that can be upgraded or downgraded to toVersion are listed',
    { why: 'would upgrade something' },
    async (simulator) => {
      const collectorId = await simulator.collectorNamed('web-0002');
      await startTask(simulator, collectorId);
      await simulator.pass(30 * minuteMs);
      const listed = async (toVersion: string) =>
        (await get(simulator, `/collectors?limit=200&toVersion=${toVersion}`)).json.collectors;
      const found = { id: Number(collectorId), collectorVersion: '19.500-1' };
      expect(await listed('19.300-7')).toContainEqual(expect.objectContaining(found));
      expect(await listed('19.500-1')).not.toContainEqual(expect.objectContaining({ id: found.id }));
    },
  );

  test.each(['offset=-1', 'offset=x', 'limit=-1', 'limit=x', 'toVersion=0.0-0'])('400 for %s', async (query) => {
    expect((await get(service, `/collectors?${query}`)).status).toBe(400);
  });
});

describe('4.7 list builds', () => {
  test('200 with version and latest (2.8), one of them the default target (9.3)', async () => {
    const { status, headers, json } = await get(service, '/targets');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    for (const build of json.targets) {
      expect(build).toMatchObject({ version: expect.stringMatching(/./), latest: expect.any(Boolean) });
    }
    expect(json.targets.filter(({ latest }: { latest: boolean }) => latest)).toHaveLength(1);
    if (onSimulator) expect(json.targets).toHaveLength(3);
  });
});

describe('4.8 status of a task', () => {
  test('404 for an unknown task (7.1)', async () => {
    expectError(await get(service, '/1'), 404, 'notfound');
  });

  testSimulated('200 with the members of 2.9', { why: 'would upgrade something' }, async (simulator) => {
    const collectorId = await simulator.collectorNamed('web-0001');
    const created = await create(simulator, order(collectorId, '19.500-1'));
    const { status, headers, json } = await get(simulator, `/${created.json.id}`);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toEqual({
      upgrade: {
        id: Number(created.json.id),
        collectorId: Number(collectorId),
        toVersion: '19.500-1',
        requestTime: simulator.nowMs(),
        status: 0,
        message: '',
      },
    });
  });
});

// The tests of rejected upgrade tasks must run before the tests that start upgrades, because a running upgrade might
// change the service's responses.
describe('7.5 rejected tasks', () => {
  test('400 collector.invalid without a collector', async () => {
    const body = JSON.stringify({ toVersion: await latestBuild(service) });
    expectError(await create(service, body), 400, 'collector.invalid');
  });

  test('400 collector.invalid for a collector that does not exist', async () => {
    expectError(await create(service, order('1', await latestBuild(service))), 400, 'collector.invalid');
  });

  testSimulated(
    '400 collector.invalid for a collector without permission',
    {
      why: 'needs a user without permission for some collectors',
      scenario: {
        groups: { web: { count: 1, version: '19.400-1' }, other: { count: 1, version: '19.400-1' } },
        users: { guest: { keys: { id: 'key' }, groups: ['web'] } },
      },
    },
    async (simulator) => {
      const refused = await create(simulator, order(await simulator.collectorNamed('other-0001'), '19.500-1'));
      expectError(refused, 400, 'collector.invalid');
      expect((await create(simulator, order(await simulator.collectorNamed('web-0001')))).status).toBe(202);
    },
  );

  test('400 for a body that is not JSON', async () => {
    expect((await create(service, '{')).status).toBe(400);
  });

  testSimulated(
    '400 collector.type.invalid for a hosted collector',
    { why: 'needs a hosted collector, and would upgrade it if it were not refused' },
    async (simulator) => {
      const collectorId = await simulator.collectorNamed('cloud-0001');
      expectError(await create(simulator, order(collectorId, '19.500-1')), 400, 'collector.type.invalid');
    },
  );

  testSimulated(
    '400 collector.not.alive for an offline collector',
    { why: 'needs a collector that does not run, and would upgrade it if it were not refused' },
    async (simulator) => {
      const collectorId = await simulator.collectorNamed('away-0001');
      expectError(await create(simulator, order(collectorId, '19.500-1')), 400, 'collector.not.alive');
    },
  );

  testSimulated(
    '400 collector.in.upgrading while an upgrade is in flight',
    { why: 'would upgrade something' },
    async (simulator) => {
      const collectorId = await simulator.collectorNamed('web-0001');
      const task = await startTask(simulator, collectorId);
      for (let passedMs = 0; (await task()).status !== 2 && passedMs < 30 * minuteMs; passedMs += secondMs) {
        expectError(await create(simulator, order(collectorId, '19.300-7')), 400, 'collector.in.upgrading');
        await simulator.pass(secondMs);
      }
      expect((await create(simulator, order(collectorId, '19.300-7'))).status).toBe(202);
    },
  );

  test.for(['0.0-0', ''])('400 collector.version.invalid for the version "%s"', async (toVersion, { skip }) => {
    const collectorId = service.upgradableCollector;
    if (collectorId === undefined) return skip(unnamed);
    expectError(await create(service, order(collectorId, toVersion)), 400, 'collector.version.invalid');
  });

  testSimulated(
    '400 collector.version.invalid without a version and without a default',
    { why: 'would upgrade something, or be refused', scenario: { upgrade: { withoutVersion: 'refuse' } } },
    async (simulator) => {
      const refused = await create(simulator, order(await simulator.collectorNamed('web-0001')));
      expectError(refused, 400, 'collector.version.invalid');
    },
  );
});

describe('4.9 create a task', () => {
  test('202 with a string id and a link (2.10), and the task as in 2.9', async ({ skip }) => {
    const collectorId = service.upgradableCollector;
    if (collectorId === undefined) return skip(unnamed);
    const toVersion = await latestBuild(service);
    const created = await create(service, order(collectorId, toVersion));
    expect(created.status).toBe(202);
    const { id, link } = created.json;
    expect(id).toEqual(expect.any(String));
    expect(link).toEqual({ rel: 'self', href: `${upgrades}/${id}` });
    const { upgrade } = (await get(service, `/${id}`)).json;
    expect(upgrade).toMatchObject({ id: Number(id), collectorId: Number(collectorId), toVersion });
    expect(upgrade.status).toBeOneOf([0, 1, 2, 3, 6]);
    // The service returns the request time in `requestTime` or `requestedTime`, and in seconds or milliseconds.
    const requestTime = upgrade.requestTime ?? upgrade.requestedTime;
    expect(requestTime).toEqual(whole);
    const requestedMs = requestTime < 1e11 ? requestTime * secondMs : requestTime;
    expect(Math.abs(service.nowMs() - requestedMs)).toBeLessThan(60 * minuteMs);
  });

  const changes = { why: 'would upgrade something' };

  testSimulated('toVersion defaults to the latest build (9.3)', changes, async (simulator) => {
    const { status, json } = await create(simulator, order(await simulator.collectorNamed('web-0001')));
    expect(status).toBe(202);
    expect((await get(simulator, `/${json.id}`)).json.upgrade.toVersion).toBe('19.500-1');
  });

  testSimulated('a downgrade is a task like an upgrade', changes, async (simulator) => {
    const task = await startTask(simulator, await simulator.collectorNamed('web-0001'), '19.300-7');
    await simulator.pass(30 * minuteMs);
    expect(await task()).toMatchObject({ status: 2, toVersion: '19.300-7' });
  });
});

describe('3.2 states of a task', () => {
  const changes = { why: 'would upgrade something' };
  const failing: Scenario = { upgrade: { outcomes: [{ end: 'fail', message: 'Not enough disk space.' }] } };

  testSimulated('0 not started, 1 pending, 6 progressing, 2 succeeded', changes, async (simulator) => {
    const task = await startTask(simulator, await simulator.collectorNamed('web-0001'));
    const seen = new Set<number>();
    for (let passedMs = 0; passedMs < 10 * minuteMs; passedMs += secondMs) {
      seen.add((await task()).status);
      await simulator.pass(secondMs);
    }
    expect([...seen]).toEqual([0, 1, 6, 2]);
  });

  testSimulated('3 failed, with the reason in message (2.9)', { ...changes, scenario: failing }, async (simulator) => {
    const task = await startTask(simulator, await simulator.collectorNamed('web-0001'));
    await simulator.pass(10 * minuteMs);
    expect(await task()).toMatchObject({ status: 3, message: 'Not enough disk space.' });
  });

  /** Statuses of unfinished upgrade tasks, each with the simulator setting that produces it. */
  const unfinished: readonly [status: number, upgrade: Scenario['upgrade']][] = [
    [0, { duration: '10h', notStartedFor: '1h' }],
    [1, { duration: '10h', pendingFor: '1h' }],
    [6, { duration: '10h' }],
  ];
  for (const [status, upgrade] of unfinished) {
    testSimulated(
      `a task that has not succeeded after 30 minutes has failed, from ${status}`,
      { ...changes, scenario: { upgrade: { ...upgrade } } },
      async (simulator) => {
        const task = await startTask(simulator, await simulator.collectorNamed('web-0001'));
        await simulator.pass(30 * minuteMs - 1);
        expect((await task()).status).toBe(status);
        await simulator.pass(1);
        expect(await task()).toMatchObject({ status: 3, message: expect.stringMatching(/./) });
      },
    );
  }

  testSimulated(
    'each increment lengthens an upgrade',
    { ...changes, scenario: { upgrade: { duration: '2m', increments: 3 } } },
    async (simulator) => {
      const task = await startTask(simulator, await simulator.collectorNamed('web-0001'));
      await simulator.pass(5 * minuteMs);
      expect((await task()).status).toBe(6);
      await simulator.pass(minuteMs);
      expect((await task()).status).toBe(2);
    },
  );
});
