/** Tests the server over a TLS connection: responses, journal and control address. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { HttpsClient } from '../../test/contract/https-client.ts';
import { VirtualClock } from '../../test/support/virtual-clock.ts';
import { certificatesIn } from '../certificates.ts';
import { openJournal } from '../journal-file.ts';
import { ServiceModel } from '../model.ts';
import type { FaultScenario, Scenario } from '../scenario/scenario.ts';
import { type SimulatorServer, startServer } from '../server.ts';
import { first, noRequestLimits, target, threeCollectors } from './simulated-service.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'logfleet-simulator-test-'));
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const upgrades = '/v1/collectors/upgrades';

interface RunningServer {
  readonly server: SimulatorServer;
  readonly client: HttpsClient;
  readonly model: ServiceModel;
  readonly journalFile: string;
}

async function start(scenario: Scenario = {}, clock: Clock = systemClock): Promise<RunningServer> {
  const { caFile, cert, key } = await certificatesIn(path.join(folder, 'tls'), systemClock.now());
  const journalFile = path.join(folder, 'journal.ndjson');
  const journal = openJournal(journalFile, (error) => {
    throw error;
  });
  closers.push(() => journal.close());
  const model = new ServiceModel(
    { ...threeCollectors, limits: noRequestLimits, ...scenario },
    { startMs: systemClock.now(), journal: (entry) => journal.write(entry) },
  );
  const server = await startServer({ model, clock, host: '127.0.0.1', port: 0, cert, key });
  closers.push(() => server.close());
  const client = new HttpsClient({
    baseURL: server.baseURL,
    ca: readFileSync(caFile, 'utf8'),
    credentials: 'simulator:simulator-key',
  });
  closers.push(() => client.close());
  return { server, client, model, journalFile };
}

const journalOf = ({ journalFile }: RunningServer) =>
  readFileSync(journalFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('a long search', () => {
  const year = { from: Date.UTC(2026, 0), to: Date.UTC(2027, 0) };

  test('lets other requests pass, continues, and does not delay the shutdown of the server', async () => {
    const running = await start({
      search: { notStartedFor: '0s', duration: '0s', cookies: { names: [] } },
      logs: { ...year, perSecond: 1_000 },
    });
    const { client, server } = running;
    const body = JSON.stringify({ query: '_messageid=none', ...year, timeZone: 'UTC' });
    const { json } = await client.send('POST', '/v1/search/jobs', { body });
    for (let asked = 0; asked < 5; asked++) {
      expect((await client.send('GET', `${upgrades}/targets`)).status).toBe(200);
      const { json: status } = await client.send('GET', `/v1/search/jobs/${json.id}`);
      expect([status.state, status.pendingErrors]).toEqual(['GATHERING RESULTS', []]);
    }
    await server.close();
    expect(journalOf(running)).toHaveLength(11);
  });
});

describe('delivery', () => {
  const trouble = (fault: FaultScenario) => start({ faults: { trouble: fault } });

  test('a response arrives completely, even a large one', async () => {
    const { client } = await start({ groups: { web: { count: 1_000, version: '19.400-1' } } });
    const { status, json } = await client.send('GET', `${upgrades}/collectors?limit=1000`);
    expect(status).toBe(200);
    expect(json.collectors).toHaveLength(1_000);
  });

  test('a body that is not UTF-8 is not JSON, whatever its Content-Type', async () => {
    const { client, model, server } = await start();
    const bytes = (body: unknown) => Buffer.from(JSON.stringify(body), 'latin1');
    const code = async (body: Uint8Array, headers = {}) =>
      (await client.send('POST', upgrades, { body, headers })).json.code;
    const task = { collectorId: first, toVersion: target, note: 'caf\u00e9' };
    expect(await code(bytes(task))).toBe('body.invalid');
    expect(await code(bytes(task), { 'content-type': 'application/json; charset=iso-8859-1' })).toBe('body.invalid');
    const patch = bytes({ groups: { caf\u00e9: { count: 1, version: '19.400-1' } } });
    const patched = await client.send('PATCH', '/state', { baseURL: server.controlURL, body: patch });
    expect([patched.status, patched.json.message]).toEqual([400, expect.stringContaining('UTF-8')]);
    expect(model.scenario.groups).toEqual(threeCollectors.groups);
    expect((await client.send('POST', upgrades, { body: JSON.stringify(task) })).status).toBe(202);
  });

  test('a body above the maximum size is read, and gets an error response (7.1)', async () => {
    const { client, model, server } = await start();
    const body = JSON.stringify({ query: 'x'.repeat(3_000_000), from: 0, to: 1, timeZone: 'UTC' });
    const { status, json } = await client.send('POST', '/v1/search/jobs', { body });
    expect([status, json.code]).toEqual([413, 'request.too.large']);
    expect((await client.send('POST', '/v1/search/none', { body })).status).toBe(404);
    const patch = JSON.stringify({ faults: { long: { kind: 'status', status: 500, message: 'x'.repeat(2_000_000) } } });
    expect((await client.send('PATCH', '/state', { baseURL: server.controlURL, body: patch })).status).toBe(413);
    expect(model.scenario.faults).toBeUndefined();
    expect((await client.send('GET', `${upgrades}/targets`)).status).toBe(200);
  });

  test('a fault resets the connection', async () => {
    const { client } = await trouble({ kind: 'reset' });
    await expect(client.send('GET', `${upgrades}/targets`)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('a fault truncates a body in the middle', async () => {
    const running = await trouble({ kind: 'truncate' });
    const { status, broken, text, headers } = await running.client.send('GET', `${upgrades}/collectors`);
    expect([status, broken]).toEqual([200, true]);
    expect(text.length).toBe(Math.floor(Number(headers['content-length']) / 2));
    await expect.poll(() => journalOf(running).at(-1), { interval: 1 }).toMatchObject({ fault: 'trouble', status: 0 });
  });

  test('a slow response arrives in pieces, but completely', async () => {
    const { client } = await trouble({ kind: 'drip', bytesPerSecond: 2_000 });
    const { pieces, json } = await client.send('GET', `${upgrades}/targets`);
    expect(json.targets).toHaveLength(3);
    expect(pieces).toBeGreaterThan(0);
  });

  test('a stalled request counts as in flight until the client disconnects', async () => {
    const running = await trouble({ kind: 'stall', operations: ['getTask'] });
    const hangUp = new AbortController();
    const stalled = running.client.send('GET', `${upgrades}/1`, { signal: hangUp.signal });
    await expect.poll(() => running.model.counters().requests, { interval: 1 }).toBe(1);
    expect((await running.client.send('GET', `${upgrades}/targets`)).status).toBe(200);
    expect(running.model.counters().maxInFlight).toBe(2);
    hangUp.abort();
    await expect(stalled).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect
      .poll(() => journalOf(running).at(-1), { interval: 1 })
      .toMatchObject({ operation: 'getTask', status: 0 });
  });

  test('a request without a host or with an unusual path gets a response', async () => {
    const { client } = await start();
    expect((await client.send('GET', '/%zz?offset=%')).status).toBe(404);
  });

  test('an absolute request target is accepted, and its host replaces the header Host (RFC 9112, 3.2.2)', async () => {
    const running = await start({
      basePaths: ['/api', '/eu/api'],
      faults: { moved: { kind: 'redirect', to: '/eu/api', operations: ['listCollectors'] } },
    });
    const baseURL = new URL('/', running.server.baseURL).href;
    const absolute = (path: string) => running.client.send('GET', `https://logs.example:8443${path}`, { baseURL });
    expect((await absolute(`/api${upgrades}/targets`)).status).toBe(200);
    expect(journalOf(running)).toMatchObject([{ path: `/api${upgrades}/targets` }]);
    const { location } = (await absolute(`/api${upgrades}/collectors?limit=5`)).headers;
    expect(location).toBe(`https://logs.example:8443/eu/api${upgrades}/collectors?limit=5`);
    expect((await absolute('/simulator/state')).status).toBe(200);
    expect((await absolute('')).status).toBe(404);
  });

  test('plain HTTP is refused (5.2)', async () => {
    const { server } = await start();
    const outcome = await new Promise<string>((resolve) => {
      plainRequest(server.baseURL.replace('https:', 'http:'), () => resolve('answered'))
        .on('error', () => resolve('refused'))
        .end();
    });
    expect(outcome).toBe('refused');
  });
});

describe('the journal', () => {
  test('has a line for each finished request', async () => {
    const running = await start();
    await running.client.send('GET', `${upgrades}/targets`);
    await running.client.send('GET', `${upgrades}/1`, { credentials: 'who:knows' });
    await running.client.send('POST', upgrades, { body: JSON.stringify({ collectorId: first, toVersion: target }) });
    const [builds, refused, created] = journalOf(running);
    expect(Object.keys(builds).slice(0, 9)).toEqual([
      'at',
      'end',
      'user',
      'method',
      'path',
      'status',
      'code',
      'why',
      'inFlight',
    ]);
    expect(builds).toMatchObject({
      user: 'simulator',
      method: 'GET',
      path: `/api${upgrades}/targets`,
      status: 200,
      code: null,
      inFlight: 1,
    });
    expect(builds.end).toBeGreaterThanOrEqual(builds.at);
    expect(refused).toMatchObject({ user: null, status: 401, code: 'unauthorized' });
    expect(created).toMatchObject({
      status: 202,
      operation: 'createTask',
      collectorId: String(first),
      taskId: '200001',
    });
  });
});

describe('the control address', () => {
  const state = '/state';
  const control = async (scenario?: Scenario, clock?: Clock) => {
    const running = await start(scenario, clock);
    return {
      ...running,
      at: (method: string, under: string, options = {}) =>
        running.client.send(method, under, { ...options, baseURL: running.server.controlURL }),
    };
  };

  test('returns the state, and is neither counted nor limited', async () => {
    // The clock stands still, because the upgrade would otherwise make progress after a second.
    const { at, client } = await control({ limits: { requestsPerSecond: 1 } }, new VirtualClock());
    await client.send('POST', upgrades, { body: JSON.stringify({ collectorId: first, toVersion: target }) });
    for (let count = 0; count < 5; count++) await at('GET', state);
    const { json } = await at('GET', state);
    expect(json.counters).toEqual({
      requests: 1,
      rejected429: 0,
      maxInFlight: 1,
      maxPerSecond: 1,
      tasksAccepted: 1,
      createTaskRequests: 1,
      jobsCreated: 0,
      jobsActive: 0,
      jobsLostToSilence: 0,
    });
    expect(json.builds).toContainEqual({ version: target, latest: true });
    expect(json.collectors[0]).toMatchObject({
      id: String(first),
      name: 'web-0001',
      version: '19.400-1',
      alive: true,
      upgrading: true,
    });
    expect(json.tasks).toEqual([
      expect.objectContaining({
        id: '200001',
        collectorId: String(first),
        fromVersion: '19.400-1',
        toVersion: target,
        status: 0,
      }),
    ]);
  });

  test('applies a merge patch, and responds with the scenario', async () => {
    const { at, client } = await control();
    const reply = await at('PATCH', state, { body: '{"groups":{"web":{"count":1}}}' });
    expect(reply).toMatchObject({ status: 200, json: { groups: { web: { count: 1, version: '19.400-1' } } } });
    expect((await client.send('GET', `${upgrades}/collectors`)).json.collectors).toHaveLength(1);
  });

  test('refuses an invalid scenario and reports its problem', async () => {
    const { at } = await control();
    expect(await at('PATCH', state, { body: '{"seed":"x"}' })).toMatchObject({
      status: 400,
      json: { message: 'seed: "x" is not valid; use a whole number' },
    });
    expect((await at('PATCH', state, { body: '{' })).status).toBe(400);
  });

  test('requires credentials, path and method', async () => {
    const { at } = await control();
    expect((await at('GET', state, { credentials: 'a:b' })).status).toBe(401);
    expect((await at('GET', '/other')).status).toBe(404);
    expect((await at('DELETE', state)).status).toBe(405);
  });
});

describe('certificates', () => {
  const dir = path.join(folder, 'certificates');
  const nowMs = systemClock.now();

  test('are created if absent and kept otherwise, with a key that only its owner can read', async () => {
    const made = await certificatesIn(dir, nowMs);
    expect(statSync(path.join(dir, 'tls.key')).mode & 0o077).toBe(0);
    expect(await certificatesIn(dir, nowMs)).toEqual(made);
  });

  test('are refused when they have expired', async () => {
    await certificatesIn(dir, nowMs);
    await expect(certificatesIn(dir, nowMs + 11 * 365 * 86_400_000)).rejects.toMatchObject({ code: 'simulator.tls' });
  });

  test('are refused when the key belongs to another certificate', async () => {
    const [one, other] = [path.join(folder, 'one'), path.join(folder, 'other')];
    await Promise.all([certificatesIn(one, nowMs), certificatesIn(other, nowMs)]);
    copyFileSync(path.join(other, 'tls.key'), path.join(one, 'tls.key'));
    await expect(certificatesIn(one, nowMs)).rejects.toMatchObject({ code: 'simulator.tls' });
  });

  test('are refused when one is missing, and none are overwritten', async () => {
    await certificatesIn(dir, nowMs);
    unlinkSync(path.join(dir, 'ca.crt'));
    await expect(certificatesIn(dir, nowMs)).rejects.toMatchObject({ code: 'simulator.tls' });
  });
});

test('an occupied address is refused', async () => {
  const { server, model } = await start();
  const { cert, key } = await certificatesIn(path.join(folder, 'tls'), systemClock.now());
  const port = Number(new URL(server.baseURL).port);
  const again = startServer({ model, clock: systemClock, host: '127.0.0.1', port, cert, key });
  await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('closing ends requests in flight and frees the port', async () => {
  const { server, client, model } = await start({ faults: { trouble: { kind: 'stall' } } });
  const stalled = client.send('GET', `${upgrades}/targets`);
  await expect.poll(() => model.counters().requests, { interval: 1 }).toBe(1);
  await server.close();
  await expect(stalled).rejects.toThrow();
  const { cert, key } = await certificatesIn(path.join(folder, 'tls'), systemClock.now());
  const next = await startServer({
    model,
    clock: systemClock,
    host: '127.0.0.1',
    port: Number(new URL(server.baseURL).port),
    cert,
    key,
  });
  await next.close();
});

test('closing writes requests that wait for their response to the journal', async () => {
  const running = await start({ latency: '1m' }, new VirtualClock());
  const failed = expect(running.client.send('GET', `${upgrades}/targets`)).rejects.toThrow();
  await expect.poll(() => running.model.counters().requests, { interval: 1 }).toBe(1);
  await running.server.close();
  await failed;
  expect(journalOf(running)).toMatchObject([{ operation: 'listBuilds', status: 0 }]);
});
