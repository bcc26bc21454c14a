/** Tests what all operations of the service have in common: address, credentials, general errors and versions. */
import { request as plainRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Scenario } from '../../simulator/scenario/scenario.ts';
import { expectError, openDeployment, testSimulated } from './contract-test.ts';
import { type Deployment, onSimulator } from './deployment.ts';
import type { SendOptions } from './https-client.ts';
import { type ContractJob, jobsPath, orderFor, requestJob, startJob } from './job-session.ts';

const upgrades = '/v1/collectors/upgrades';

let service: Deployment;
beforeAll(async () => {
  service = await openDeployment();
});
afterAll(() => service.close());

interface OperationRequest {
  /** Section of docs/service.md that describes the operation. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

/** One request for each operation of the service. None of the requests changes anything. */
const requests: readonly OperationRequest[] = [
  { operation: '4.1', method: 'POST', path: jobsPath, body: '{}' },
  { operation: '4.2', method: 'GET', path: `${jobsPath}/0000000000000000` },
  { operation: '4.3', method: 'GET', path: `${jobsPath}/0000000000000000/messages?offset=0&limit=10` },
  { operation: '4.4', method: 'GET', path: `${jobsPath}/0000000000000000/records?offset=0&limit=10` },
  { operation: '4.5', method: 'DELETE', path: `${jobsPath}/0000000000000000` },
  { operation: '4.6', method: 'GET', path: `${upgrades}/collectors` },
  { operation: '4.7', method: 'GET', path: `${upgrades}/targets` },
  { operation: '4.8', method: 'GET', path: `${upgrades}/1` },
  { operation: '4.9', method: 'POST', path: upgrades, body: '{}' },
];

const send = (where: Deployment, { method, path, body }: OperationRequest, options: SendOptions = {}) =>
  where.send(method, path, { ...(body === undefined ? {} : { body }), ...options });

describe('1 the purpose of the service', () => {
  test('searches and upgrades have one address and the same credentials (5.5)', async () => {
    expect((await startJob(service)).created.status).toBe(202);
    expect((await service.send('GET', `${upgrades}/targets`)).status).toBe(200);
  });

  testSimulated(
    'a wrong address of the deployment returns 301 moved, with the right address in Location (7.1)',
    {
      why: 'needs a wrong address',
      scenario: {
        builds: ['19.500-1'],
        basePaths: ['/api', '/eu/api'],
        faults: { elsewhere: { kind: 'redirect', to: '/eu/api' } },
      },
    },
    async (simulator) => {
      for (const request of requests) {
        const moved = await send(simulator, request);
        expectError(moved, 301, 'moved');
        const { location = '' } = moved.headers;
        expect(location).toBe(`${simulator.baseURL.replace(/\/api$/, '/eu/api')}${request.path}`);
        const { status } = await send(simulator, { ...request, path: '' }, { baseURL: location });
        expect(status).not.toBe(301);
      }
    },
  );

  const forbidden: Scenario = { users: { guest: { keys: { id: 'key' }, forbidden: true } } };
  for (const request of requests) {
    testSimulated(
      `403 forbidden for an operation that the account type does not allow (5.4, 7.1, ${request.operation})`,
      { why: 'needs an account with restricted permissions', scenario: forbidden },
      async (simulator) => expectError(await send(simulator, request), 403, 'forbidden'),
    );
  }
});

describe('4 JSON in requests and responses', () => {
  test.each(requests)('$operation responds in JSON', async (request) => {
    const { headers, json } = await send(service, request);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toEqual(expect.any(Object));
  });

  test.each(['application/json', 'application/json; charset=utf-8', '*/*'])(
    'Accept: %s is accepted',
    async (accept) => {
      expect((await service.send('GET', `${upgrades}/targets`, { headers: { accept } })).status).toBe(200);
    },
  );

  test('a content type with a charset is JSON', async () => {
    const body = JSON.stringify(orderFor(service, { query: '' }));
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expectError(await requestJob(service, {}, { body, headers }), 400, 'no.query');
  });
});

describe('5 authentication', () => {
  for (const request of requests) {
    test.each([
      ['no credentials', null],
      ['unknown credentials', 'nobody:nothing'],
    ])(`401 unauthorized for %s (5.1, 5.4, 7.1, ${request.operation})`, async (_, credentials) => {
      expectError(await send(service, request, { credentials }), 401, 'unauthorized');
    });
  }

  test('cookies do not replace credentials (5.1)', async () => {
    const job = await startJob(service);
    expect((await job.send('GET', '', { credentials: null })).status).toBe(401);
  });

  test('only HTTPS is accepted (5.2)', async () => {
    const answered = await new Promise<number | undefined>((resolve) => {
      plainRequest(service.baseURL.replace('https:', 'http:'), (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', () => resolve(undefined))
        .end();
    });
    if (answered !== undefined) expect(answered).toBeGreaterThanOrEqual(300);
  });

  test('the creation of a job sets cookies (5.3)', async () => {
    expect((await startJob(service)).created.cookies.length).toBeGreaterThan(0);
  });

  const followUps: readonly [
    string,
    (job: ContractJob, cookie: string | undefined) => ReturnType<ContractJob['send']>,
  ][] = [
    ['status', (job, cookie) => job.send('GET', '', { headers: { cookie } })],
    ['messages', (job, cookie) => job.send('GET', '/messages?offset=0&limit=1', { headers: { cookie } })],
    ['deletion', (job, cookie) => job.send('DELETE', '', { headers: { cookie } })],
  ];

  test.each(followUps)('the %s of a job succeeds with the cookies (5.3)', async (_, followUp) => {
    const job = await startJob(service);
    expect((await followUp(job, job.cookie)).status).toBe(200);
  });

  test.each(followUps)('the %s of a job may be 404 without the cookies (5.3, 7.3)', async (what, followUp) => {
    const job = await startJob(service);
    const { status } = await followUp(job, undefined);
    // Without the cookies, a load balancer might send the request to a replica that does not have the search job.
    if (onSimulator) expect(status).toBe(404);
    else expect(status).toBeOneOf([200, ...(what === 'messages' ? [400] : []), 404, 500]);
  });

  testSimulated(
    'a job needs all cookies of its creation (5.3)',
    { why: 'needs several cookies', scenario: { search: { cookies: { names: ['node', 'balancer'] } } } },
    async (simulator) => {
      const job = await startJob(simulator);
      expect(job.created.cookies).toHaveLength(2);
      expect((await job.status()).status).toBe(200);
      for (const cookie of job.cookie.split('; ')) {
        expectError(await job.send('GET', '', { headers: { cookie } }), 404, 'jobid.invalid');
      }
    },
  );
});

describe('7.1 errors of every operation', () => {
  test.each(['/v1/no/such/thing', `${jobsPath}/`, `${jobsPath}/1/2/3`])('404 notfound for %s', async (path) => {
    expectError(await service.send('GET', path), 404, 'notfound');
  });

  test('errors are JSON with an identifier (10.1)', async () => {
    expectError(await service.send('GET', `${upgrades}/1`), 404, 'notfound');
  });

  test.each([
    ['PUT', jobsPath],
    ['PUT', `${jobsPath}/0000000000000000`],
    ['POST', `${jobsPath}/0000000000000000/messages`],
    ['POST', `${jobsPath}/0000000000000000/records`],
    ['DELETE', `${upgrades}/collectors`],
    ['DELETE', `${upgrades}/targets`],
    ['PUT', upgrades],
  ])('405 method.unsupported for %s %s', async (method, path) => {
    const body = method === 'DELETE' ? {} : { body: '{}' };
    expectError(await service.send(method, path, body), 405, 'method.unsupported');
  });

  for (const request of requests) {
    testSimulated(
      `415 contenttype.invalid for a client that does not accept JSON (${request.operation})`,
      { why: 'would need a request without a body that the service answers with 415' },
      async (simulator) => {
        const headers = { accept: 'application/xml' };
        expectError(await send(simulator, request, { headers }), 415, 'contenttype.invalid');
      },
    );
  }

  test.each(requests.filter(({ method }) => method === 'POST'))(
    '415 contenttype.invalid for a body whose content type is not JSON ($operation)',
    async (request) => {
      const headers = { 'content-type': 'text/plain' };
      expectError(await send(service, request, { headers }), 415, 'contenttype.invalid');
    },
  );

  for (const [status, code] of [
    [500, 'internal.error'],
    [503, 'service.unavailable'],
  ] as const) {
    testSimulated(
      `${status} ${code}`,
      { why: 'needs a service that fails', scenario: { faults: { trouble: { kind: 'status', status } } } },
      async (simulator) => {
        for (const request of requests) expectError(await send(simulator, request), status, code);
      },
    );
  }
});

describe('9 versions', () => {
  test.each(requests)('another version in the path is 404 (9.1, $operation)', async (request) => {
    const path = request.path.replace('/v1/', '/v9/');
    expect((await send(service, { ...request, path })).status).toBe(404);
  });
});
