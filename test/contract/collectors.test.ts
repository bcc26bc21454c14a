/**
 * The contract of the collectors' half, line by line as a client can see it; each test is named by its section. It looks at the
 * wire alone, so it holds for the simulator and for a deployment (see `deployment.ts`).
 */
import { request as plainRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, onSimulator, openDeployment, upgradeCollector } from './deployment.ts';
import type { Received } from './https-client.ts';

const upgrades = '/v1/collectors/upgrades';
const json = { 'content-type': 'application/json' } as const;

let deployment: Deployment;
beforeAll(async () => {
  deployment = await openDeployment();
});
afterAll(async () => {
  await deployment.close();
  if (untried.length > 0)
    process.stderr.write(`not tried on this deployment:\n${untried.map((name) => `- ${name}\n`).join('')}`);
});

/** What could not be tried for want of a certain fleet, or of leave to change one. */
const untried: string[] = [];

function testWhere(possible: boolean, name: string, run: () => Promise<void>): void {
  if (possible) test(name, run);
  else untried.push(name);
}

const get = (path: string, options = {}) => deployment.send('GET', `${upgrades}${path}`, options);
const create = (body: unknown, options = {}) =>
  deployment.send('POST', upgrades, { body: typeof body === 'string' ? body : JSON.stringify(body), ...options });

/** Where the identifier of an error stands is not specified: matched by its last parts, wherever it is. */
function expectError(received: Received, status: number, code: string): void {
  expect(received.status).toBe(status);
  const codes = [received.json?.code, ...(received.json?.errors ?? []).map((error: { code: string }) => error.code)];
  expect(codes.filter((found) => found === code || found?.endsWith(`.${code}`))).toHaveLength(1);
}

async function latestBuild(): Promise<string> {
  const { targets } = (await get('/targets')).json;
  return targets.find(({ latest }: { latest: boolean }) => latest).version;
}

/** A body with an id that may have 64 bits. */
function order(collectorId: string, toVersion?: string): string {
  return `{"collectorId":${collectorId}${toVersion === undefined ? '' : `,"toVersion":${JSON.stringify(toVersion)}`}}`;
}

/** The id of a collector of the simulator by its name. */
async function collectorNamed(name: string): Promise<string> {
  const control = deployment.baseURL.replace(/\/api$/, '/simulator');
  const { collectors } = (await deployment.send('GET', '/state', { baseURL: control })).json;
  return collectors.find((collector: { name: string }) => collector.name === name).id;
}

describe('4.6 list upgradable collectors', () => {
  const types: Readonly<Record<string, string>> = {
    id: 'number',
    name: 'string',
    hostName: 'string',
    timeZone: 'string',
    ephemeral: 'boolean',
    sourceSyncMode: 'string',
    collectorType: 'string',
    collectorVersion: 'string',
    osVersion: 'string',
    osName: 'string',
    osArch: 'string',
    lastSeenAlive: 'number',
    alive: 'boolean',
  };

  test('200, JSON, and members of the types of 2.7', async () => {
    const { status, headers, json: body } = await get('/collectors');
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json/);
    for (const collector of body.collectors) {
      for (const [member, type] of Object.entries(types)) {
        if (member in collector) expect(typeof collector[member]).toBe(type);
      }
      for (const link of collector.links ?? [])
        expect(link).toEqual({ rel: expect.any(String), href: expect.any(String) });
      expect(collector).toMatchObject({ id: expect.any(Number), name: expect.any(String) });
    }
  });

  test('50 at most where no limit is given', async () => {
    const { collectors } = (await get('/collectors')).json;
    if (onSimulator) expect(collectors).toHaveLength(50);
    expect(collectors.length).toBeLessThanOrEqual(50);
  });

  test('limit is the most that is returned', async () => {
    expect((await get('/collectors?limit=3')).json.collectors.length).toBeLessThanOrEqual(3);
  });

  test('offset moves into the list, and is 0 where none is given', async () => {
    const [first, second] = (await get('/collectors?limit=2')).json.collectors;
    expect((await get('/collectors?offset=0&limit=1')).json.collectors).toMatchObject(first ? [{ id: first.id }] : []);
    expect((await get('/collectors?offset=1&limit=1')).json.collectors).toMatchObject(
      second ? [{ id: second.id }] : [],
    );
  });

  test('an offset beyond the end is an empty page', async () => {
    expect((await get('/collectors?offset=100000000')).json.collectors).toEqual([]);
  });

  test('toVersion is the latest build where none is given', async () => {
    const ids = (received: Received) => received.json.collectors.map(({ id }: { id: number }) => id);
    const given = await get(`/collectors?limit=5&toVersion=${await latestBuild()}`);
    expect(given.status).toBe(200);
    expect(ids(await get('/collectors?limit=5'))).toEqual(ids(given));
  });

  test.each(['offset=-1', 'offset=x', 'limit=-1', 'limit=x', 'toVersion=0.0-0'])('400 for %s', async (query) => {
    expect((await get(`/collectors?${query}`)).status).toBe(400);
  });
});

describe('4.7 list builds', () => {
  test('200 with version and latest (2.8), one of them the default (9.3)', async () => {
    const { status, json: body } = await get('/targets');
    expect(status).toBe(200);
    for (const build of body.targets)
      expect(build).toMatchObject({ version: expect.any(String), latest: expect.any(Boolean) });
    expect(body.targets.filter(({ latest }: { latest: boolean }) => latest)).toHaveLength(1);
  });
});

describe('4.8 status of a task', () => {
  test('404 for an unknown one', async () => {
    expect((await get('/1')).status).toBe(404);
  });
});

describe('4.9 create a task', () => {
  test('400 collector.invalid without a collector (7.5)', async () => {
    expectError(await create({ toVersion: await latestBuild() }), 400, 'collector.invalid');
  });

  test('400 collector.invalid for a collector that does not exist (7.5)', async () => {
    expectError(await create({ collectorId: 1, toVersion: await latestBuild() }), 400, 'collector.invalid');
  });

  test('400 for a body that is no JSON', async () => {
    expect((await create('{')).status).toBe(400);
  });

  testWhere(onSimulator, '400 collector.type.invalid for a hosted collector (7.5)', async () => {
    expectError(await create(order(await collectorNamed('cloud-0001'))), 400, 'collector.type.invalid');
  });

  testWhere(onSimulator, '400 collector.not.alive for one that does not run (7.5)', async () => {
    expectError(await create(order(await collectorNamed('away-0001'))), 400, 'collector.not.alive');
  });

  testWhere(onSimulator, '400 collector.version.invalid for an unknown version (7.5)', async () => {
    const collectorId = await collectorNamed('web-0001');
    expectError(await create(order(collectorId, '0.0-0')), 400, 'collector.version.invalid');
  });

  testWhere(
    onSimulator || upgradeCollector !== undefined,
    '202 with a string id and a link (2.10), in.upgrading meanwhile (7.5), and the task as in 2.9 and 3.2',
    async () => {
      const collectorId = upgradeCollector ?? (await collectorNamed('web-0002'));
      const toVersion = await latestBuild();
      const created = await create(order(collectorId, toVersion));
      expect(created.status).toBe(202);
      const { id, link } = created.json;
      expect(id).toEqual(expect.any(String));
      expect(link).toEqual({ rel: 'self', href: `${upgrades}/${id}` });
      expectError(await create(order(collectorId, toVersion)), 400, 'collector.in.upgrading');
      const { upgrade } = (await get(`/${id}`)).json;
      expect(upgrade).toMatchObject({ id: Number(id), collectorId: Number(collectorId), toVersion });
      expect([0, 1, 6]).toContain(upgrade.status);
    },
  );

  testWhere(onSimulator, 'the latest build where toVersion is left out', async () => {
    const { id } = (await create(order(await collectorNamed('instant-0001')))).json;
    expect((await get(`/${id}`)).json.upgrade.toVersion).toBe(await latestBuild());
  });

  testWhere(onSimulator, 'an upgrade that succeeds: status 2, and the collector leaves the list (3.2)', async () => {
    const collectorId = await collectorNamed('instant-0002');
    const { id } = (await create(order(collectorId, '19.500-1'))).json;
    expect((await get(`/${id}`)).json.upgrade).toMatchObject({ status: 2 });
    const { collectors } = (await get('/collectors?limit=200')).json;
    expect(collectors.map((collector: { id: number }) => collector.id)).not.toContain(Number(collectorId));
    const downwards = (await get('/collectors?limit=200&toVersion=19.300-7')).json.collectors;
    expect(downwards).toContainEqual(
      expect.objectContaining({ id: Number(collectorId), collectorVersion: '19.500-1' }),
    );
  });

  testWhere(onSimulator, 'an upgrade that fails: status 3 with its reason (2.9, 3.2)', async () => {
    const { id } = (await create(order(await collectorNamed('failing-0001'), '19.500-1'))).json;
    expect((await get(`/${id}`)).json.upgrade).toMatchObject({ status: 3, message: 'Not enough disk space.' });
  });

  testWhere(onSimulator, 'a downgrade is a task, too', async () => {
    const collectorId = await collectorNamed('instant-0003');
    const { id } = (await create(order(collectorId, '19.300-7'))).json;
    expect((await get(`/${id}`)).json.upgrade).toMatchObject({ status: 2, toVersion: '19.300-7' });
  });
});

describe('5 authentication', () => {
  test.each([
    ['no credentials', null],
    ['unknown credentials', 'nobody:nothing'],
  ])('401 for %s (5.1, 5.4)', async (_, credentials) => {
    expect((await get('/targets', { credentials })).status).toBe(401);
  });

  test('only HTTPS is accepted (5.2)', async () => {
    const answered = await new Promise<number | undefined>((resolve) => {
      plainRequest(deployment.baseURL.replace('https:', 'http:'), (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', () => resolve(undefined))
        .end();
    });
    if (answered !== undefined) expect(answered).toBeGreaterThanOrEqual(300);
  });
});

describe('7.1 generic errors', () => {
  test('404 for an unknown path', async () => {
    expect((await deployment.send('GET', '/v1/no/such/thing')).status).toBe(404);
  });

  test.each(['/collectors', '/targets'])('405 for deleting %s', async (path) => {
    expect((await deployment.send('DELETE', upgrades + path)).status).toBe(405);
  });

  test.each(['text/plain', 'application/xml'])('415 for a body of type %s', async (type) => {
    const received = await create({ collectorId: 1 }, { headers: { ...json, 'content-type': type } });
    expectError(received, 415, 'contenttype.invalid');
  });

  test('errors are JSON with an identifier', async () => {
    expectError(await get('/1'), 404, 'notfound');
  });
});

describe('8 limits', () => {
  test('four requests are within the rate', async () => {
    const sent = await Promise.all(Array.from({ length: 4 }, () => get('/targets', { user: 'patient' })));
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  testWhere(onSimulator, '429 rate.limit.exceeded for the fifth request of a user in a second', async () => {
    const eight = Array.from({ length: 8 });
    // Connections stand before it counts.
    await Promise.all(eight.map(() => get('/targets')));
    const sent = await Promise.all(eight.map(() => get('/targets', { user: 'hasty' })));
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(4);
    for (const received of sent.filter(({ status }) => status !== 200))
      expectError(received, 429, 'rate.limit.exceeded');
  });
});

describe('9 versioning', () => {
  test('the version is part of the path: 404 for another (9.1)', async () => {
    expect((await deployment.send('GET', `${upgrades.replace('/v1/', '/v9/')}/targets`)).status).toBe(404);
  });
});
