/** Tests the client's requests: paths, headers, bodies and redirects (sections 4, 5 and 7.1 of docs/service.md). */
import { describe, expect, test } from 'vitest';
import type { JobOrder, OpenJob } from '../../../../src/service/jobs/search-service.ts';
import type { CallResponse } from '../../../../src/service/requests/call.ts';
import { jobOperations, type Operation } from '../../../../src/service/requests/operation.ts';
import type { TransportStep } from '../../../support/scripted-transport.ts';
import { calls, failureOn, good, harness, jobCookie, settled } from './harness.ts';

const jobPath = '/api/v1/search/jobs/A1%2FB2';
const orderBody =
  '{"query":"_sourceCategory=web \\"100 %\\"","from":"1788000000000","to":"1788003600000","timeZone":"UTC",' +
  '"byReceiptTime":false,"autoParsingMode":"Manual","requiresRawMessages":false}';

const requests: readonly [Operation, string, string, string | undefined][] = [
  ['createJob', 'POST', '/api/v1/search/jobs', orderBody],
  ['getJob', 'GET', jobPath, undefined],
  ['listMessages', 'GET', `${jobPath}/messages?offset=20&limit=100`, undefined],
  ['listRecords', 'GET', `${jobPath}/records?offset=0&limit=10000`, undefined],
  ['deleteJob', 'DELETE', jobPath, undefined],
  ['listCollectors', 'GET', '/api/v1/collectors/upgrades/collectors?toVersion=1.2-3&offset=0&limit=100', undefined],
  ['listBuilds', 'GET', '/api/v1/collectors/upgrades/targets', undefined],
  ['getTask', 'GET', '/api/v1/collectors/upgrades/77', undefined],
  ['createTask', 'POST', '/api/v1/collectors/upgrades', '{"collectorId":9007199254740993,"toVersion":"1.2-3"}'],
];

test.each(requests)('%s is %s %s with credentials', async (operation, method, path, body) => {
  const world = harness([good(operation)]);
  const { clock, transport, budget } = world;
  await settled(clock, calls[operation](world));
  const [request] = transport.written;
  expect(request).toMatchObject({ method, path, origin: 'https://service.test' });
  expect(request?.body).toBe(body);
  expect(request?.headers).toEqual({
    accept: 'application/json',
    'accept-encoding': 'identity',
    authorization: `Basic ${Buffer.from('id:canary-key').toString('base64')}`,
    'user-agent': 'logfleet/test',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(jobOperations.some((known) => known === operation) ? { cookie: jobCookie.split(';')[0] } : {}),
  });
  expect(budget.ends).toMatchObject([{ kind: 'answered', status: 200 }]);
});

test('the creation of a job sends all members of 4.1', async () => {
  const { clock, client, transport } = harness([good('createJob')]);
  const all: Required<JobOrder> = {
    query: '*',
    fromMs: 1,
    toMs: 2,
    timeZone: 'Europe/Berlin',
    byReceiptTime: true,
    autoParsingMode: 'AutoParse',
    requiresRawMessages: true,
  };
  await settled(clock, client.createJob(all));
  const { fromMs, toMs, ...rest } = all;
  expect(JSON.parse(transport.written[0]?.body ?? '')).toEqual({ ...rest, from: '1', to: '2' });
});

test('the class of a request depends on its purpose (B3)', async () => {
  const classes = [];
  for (const operation of Object.keys(calls) as Operation[]) {
    const world = harness([good(operation)]);
    const { clock, budget } = world;
    await settled(clock, calls[operation](world));
    classes.push([operation, budget.requests[0]?.class]);
  }
  expect(Object.fromEntries(classes)).toEqual({
    createJob: 'jobCreation',
    getJob: 'keepAlive',
    listMessages: 'pageRead',
    listRecords: 'pageRead',
    deleteJob: 'jobCare',
    listCollectors: 'listing',
    listBuilds: 'listing',
    getTask: 'taskStatus',
    createTask: 'taskCreation',
  });
});

test('an error of beforeSend ends a creation unsent and returns the slot (U2)', async () => {
  const world = harness([good('createTask')]);
  const { clock, transport, budget } = world;
  const refusal = new Error('the lease is gone');
  const call = calls.createTask(world, {
    beforeSend: () => {
      throw refusal;
    },
  });
  expect(await settled(clock, call)).toBe(refusal);
  expect(transport.written).toHaveLength(0);
  expect(budget).toMatchObject({ started: 0, open: 0, ends: [{ kind: 'released' }] });
});

describe('redirects', () => {
  const to = (location: string, status = 301): TransportStep => ({ kind: 'response', status, headers: { location } });

  test.each([301, 302, 307, 308])('%d keeps method, body and credentials on the same host', async (status) => {
    const world = harness([to('/eu/api/v1/collectors/upgrades', status), good('createTask')]);
    const { clock, transport } = world;
    await settled(clock, calls.createTask(world));
    const [first, second] = transport.written;
    expect(second).toMatchObject({
      method: 'POST',
      path: '/eu/api/v1/collectors/upgrades',
      origin: 'https://service.test',
    });
    expect(second?.body).toBe(first?.body);
    expect(second?.headers.authorization).toBe(first?.headers.authorization);
  });

  test('beforeSend is called before every write, and each write has its own slot', async () => {
    let asked = 0;
    const world = harness([to('/eu/api/v1/collectors/upgrades', 307), good('createTask')]);
    const { clock, budget } = world;
    await settled(clock, calls.createTask(world, { beforeSend: () => asked++ }));
    expect(asked).toBe(2);
    expect(budget.started).toBe(2);
  });

  test('after a 401, an upgrade that is no longer wanted is not requested again', async () => {
    const world = harness([{ kind: 'response', status: 401 }]);
    const unwanted = new Error('no longer wanted');
    let asked = 0;
    const beforeSend = () => {
      if (asked++ > 0) throw unwanted;
    };
    expect(await settled(world.clock, calls.createTask(world, { beforeSend })).catch((error) => error)).toBe(unwanted);
    expect(world.transport.written).toHaveLength(1);
  });

  test('a permanently moved deployment is remembered with its base path', async () => {
    const moved = to('https://other.test/eu/api/v1/collectors/upgrades/targets', 308);
    const { clock, client, transport } = harness([moved, good('listBuilds'), good('getTask')]);
    await settled(clock, client.listBuilds());
    await settled(clock, client.getTask('77'));
    expect(transport.written.map(({ origin, path }) => origin + path)).toEqual([
      'https://service.test/api/v1/collectors/upgrades/targets',
      'https://other.test/eu/api/v1/collectors/upgrades/targets',
      'https://other.test/eu/api/v1/collectors/upgrades/77',
    ]);
  });

  test('an unreachable new address is dropped in favour of the old one', async () => {
    const moved = to('https://other.test/api/v1/collectors/upgrades/targets');
    const { clock, client, transport } = harness([
      moved,
      { kind: 'unwritten', failure: 'refused' },
      good('listBuilds'),
    ]);
    expect(await settled(clock, client.listBuilds())).toMatchObject({ code: 'service.refused' });
    await settled(clock, client.listBuilds());
    expect(transport.written.at(-1)?.origin).toBe('https://service.test');
  });

  test.each<[string, TransportStep]>([
    ['answers 404', { kind: 'response', status: 404 }],
    ['redirects to another host', to('https://evil.test/api/v1/collectors/upgrades/targets')],
  ])('a new address that %s is dropped in favour of the old one', async (_, step) => {
    const moved = to('/wrong/api/v1/collectors/upgrades/targets');
    const { clock, client, transport } = harness([moved, step, good('listBuilds')]);
    expect(await settled(clock, client.listBuilds())).toMatchObject({ handling: { kind: 'stall' } });
    await settled(clock, client.listBuilds());
    expect(transport.written.map(({ path }) => path)).toEqual([
      '/api/v1/collectors/upgrades/targets',
      '/wrong/api/v1/collectors/upgrades/targets',
      '/api/v1/collectors/upgrades/targets',
    ]);
  });

  test('a new address stays as long as no connection to it has failed', async () => {
    const moved = to('https://other.test/api/v1/collectors/upgrades/targets');
    const world = harness([moved, good('listBuilds')]);
    const { clock, client, transport } = world;
    await settled(clock, client.listBuilds());
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    expect(await settled(clock, client.listBuilds({ signal: controller.signal }))).toMatchObject({
      code: 'service.withdrawn',
    });
    await settled(clock, client.listBuilds());
    expect(transport.written.at(-1)?.origin).toBe('https://other.test');
  });

  describe('of a search job, which stays at the address of its creation (5.3)', () => {
    const origins = (written: readonly { readonly origin: string }[]) => written.map(({ origin }) => origin);
    const here = 'https://service.test';
    const there = 'https://other.test';
    const created: TransportStep = {
      ...(good('createJob') as Extract<TransportStep, { kind: 'response' }>),
      setCookies: ['A=1; Path=/; Secure'],
    };
    const open = async (steps: readonly TransportStep[]) => {
      const world = harness(steps);
      const { value: job } = (await settled(world.clock, calls.createJob(world))) as { value: OpenJob };
      return { ...world, job };
    };

    test('the job stays there when the deployment moves', async () => {
      const moved = to(`${there}/api/v1/collectors/upgrades/targets`);
      const { clock, client, job, transport } = await open([created, moved, good('listBuilds'), good('getJob')]);
      await settled(clock, client.listBuilds());
      await settled(clock, job.getStatus());
      await settled(clock, client.listBuilds());
      expect(origins(transport.written)).toEqual([here, here, there, here, there]);
      expect(transport.written[3]?.headers.cookie).toBe('A=1');
    });

    test.each([301, 307])('%d for its creation applies to all of its requests', async (status) => {
      const moved = to(`${there}/eu/api/v1/search/jobs`, status);
      const { clock, job, transport } = await open([moved, created, good('getJob')]);
      await settled(clock, job.getStatus());
      expect(transport.written.at(-1)).toMatchObject({ origin: there, path: '/eu/api/v1/search/jobs/A1%2FB2' });
      expect(transport.written.at(-1)?.headers.cookie).toBe('A=1');
    });

    test('301 redirects a single request, which returns if the job is unknown there', async () => {
      const moved = to(`${there}/api/v1/search/jobs/A1%2FB2`);
      const { clock, client, job, transport } = await open([
        created,
        moved,
        { kind: 'response', status: 404 },
        good('getJob'),
      ]);
      await clock.advance(11_000);
      expect(await settled(clock, job.getStatus())).toMatchObject({ code: 'service.jobCookieMissing' });
      expect(transport.written.at(-1)?.headers.cookie).toBeUndefined();
      await settled(clock, job.getStatus());
      await settled(clock, client.listBuilds());
      expect(origins(transport.written)).toEqual([here, here, there, here, here]);
    });

    test('a successful request after a 301 moves the job, but not after a 302', async () => {
      for (const [status, next] of [
        [301, there],
        [302, here],
      ] as const) {
        const moved = to(`${there}/api/v1/search/jobs/A1%2FB2`, status);
        const { clock, job, transport } = await open([created, moved, good('getJob')]);
        await settled(clock, job.getStatus());
        await settled(clock, job.getStatus());
        expect(origins(transport.written)).toEqual([here, here, there, next]);
      }
    });

    test('a redirected deletion that finds no job has not deleted it', async () => {
      const moved = to(`${there}/api/v1/search/jobs/A1%2FB2`);
      const { clock, job } = await open([created, moved, { kind: 'response', status: 404 }, good('deleteJob')]);
      expect(await settled(clock, job.delete())).toMatchObject({ code: 'service.jobCookieMissing' });
      expect(await settled(clock, job.delete())).toMatchObject({ value: undefined });
    });

    test.each<[string, TransportStep, string | undefined]>([
      ['refused as unauthorized', { kind: 'response', status: 401 }, 'service.jobNotKnownYet'],
      ['led on', to(`${here}/api/v1/search/jobs/A1%2FB2`, 307), 'service.jobNotKnownYet'],
      ['lost with its response', { kind: 'written', failure: 'connectionLost' }, undefined],
    ])(
      'a deletion that was %s and then finds no young job has deleted it only if it may have had an effect',
      async (_, step, code) => {
        const { clock, job, transport } = await open([
          created,
          step,
          { kind: 'response', status: 404 },
          good('deleteJob'),
        ]);
        const deletion = await settled(clock, job.delete());
        expect(deletion).toMatchObject(code === undefined ? { value: undefined } : { code });
        expect(transport.written).toHaveLength(3);
        if (code !== undefined) expect(await settled(clock, job.delete())).toMatchObject({ value: undefined });
      },
    );
  });

  test.each([
    ['another host', 'https://evil.test', 'add its host to allowedHosts'],
    ['another port', 'https://service.test:8443', 'add its host to allowedHosts'],
    ['plain HTTP', 'http://service.test', 'correct the Location header'],
  ])('%s gets no credentials; the message contains the new address and advice', async (_name, origin, advice) => {
    const location = `${origin}/api/v1/collectors/upgrades/targets`;
    const { error, harness: world } = await failureOn('listBuilds', [to(location)]);
    expect(error).toMatchObject({ reason: 'RedirectNotAllowed', handling: { kind: 'stall' } });
    expect(error.message).toContain(`${origin}/api,`);
    expect(error.message).toContain(advice);
    expect(world.transport.written).toHaveLength(1);
  });
});

test.each([
  ['Sat, 21 Nov 2026 16:00:00 GMT', Date.UTC(2026, 10, 21, 16)],
  ['yesterday', undefined],
  [undefined, undefined],
] as const)("a job's responses contain the service's time %s (E11)", async (date, dateMs) => {
  const dated = (operation: Operation): TransportStep => ({
    ...(good(operation) as Extract<TransportStep, { kind: 'response' }>),
    headers: date === undefined ? {} : { date },
  });
  const world = harness([dated('createJob'), dated('getJob')]);
  const created = (await settled(world.clock, calls.createJob(world))) as CallResponse<OpenJob>;
  const status = (await settled(world.clock, created.value.getStatus())) as CallResponse<unknown>;
  expect([created.dateMs, status.dateMs]).toEqual([dateMs, dateMs]);
});

test.each<[string, TransportStep]>([
  ['refused', { kind: 'response', status: 429 }],
  ['not sent', { kind: 'unwritten', failure: 'refused' }],
])('a deletion whose response was lost may have had an effect, even if another one is %s', async (_, step) => {
  const lost: TransportStep = { kind: 'written', failure: 'connectionLost' };
  const { clock, jobOf } = harness([lost, step, { kind: 'response', status: 404 }]);
  const job = jobOf(15_000);
  expect(await settled(clock, job.delete())).toMatchObject({ effect: 'none' });
  expect(await settled(clock, job.getStatus())).toMatchObject({ code: 'service.jobDeleted' });
});

test('a rejected deletion has deleted nothing', async () => {
  const { clock, jobOf } = harness([
    { kind: 'response', status: 429 },
    { kind: 'response', status: 404 },
  ]);
  const job = jobOf(15_000);
  expect(await settled(clock, job.delete())).toMatchObject({ code: 'service.rateLimited' });
  expect(await settled(clock, job.getStatus())).toMatchObject({ code: 'service.jobGone' });
});

test('slowly arriving bytes end with a timeout', async () => {
  const { error, harness: world } = await failureOn('listCollectors', [{ kind: 'written' }]);
  expect(error.code).toBe('service.timeout');
  expect(world.clock.monotonic()).toBe(30_000);
});
