/** Tests the service client over real TLS against the simulator. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceModel } from '../../../simulator/model.ts';
import type { JournalEntry } from '../../../simulator/requests/journal.ts';
import type { FaultScenario } from '../../../simulator/scenario/scenario.ts';
import { type SimulatorServer, startServer } from '../../../simulator/server.ts';
import { Accounts } from '../../../src/account/accounts.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { alwaysLeading } from '../../../src/cli/resources/memory-host.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import { connectOverTls } from '../../../src/service/connect.ts';
import { readAllMessages } from '../../support/job-results.ts';
import { type Certificate, connectProxy, selfSigned } from '../../support/loopback.ts';
import { secretTexts } from '../../support/memory-secrets.ts';
import { RecordingReceiver } from '../../support/recording-receiver.ts';
import { everlastingRight } from '../../support/send-rights.ts';

const key = { namespace: 'logging', name: 'log-service' };

let certificate: Certificate;
let server: SimulatorServer;
let model: ServiceModel;
const journal: JournalEntry[] = [];

beforeAll(async () => {
  certificate = await selfSigned(['127.0.0.1', 'service.test']);
  model = new ServiceModel(
    {
      users: { ops: { keys: { id: 'key' } } },
      builds: ['19.500-1'],
      groups: { web: { count: 1_200, version: '19.253-26' } },
      // The tests also send their own requests as the same user, so the simulator must not limit the request rate.
      limits: { requestsPerSecond: 0 },
      search: { notStartedFor: '0s', duration: '0s' },
      logs: { messages: 3_000, from: '-1h', to: '-0s' },
    },
    { startMs: systemClock.now(), journal: (entry) => journal.push(entry) },
  );
  const { cert, key: tlsKey } = certificate;
  server = await startServer({ model, clock: systemClock, host: '127.0.0.1', port: 0, cert, key: tlsKey });
});

afterAll(() => server.close());

function accountsFor(members: Record<string, string>, environment: Record<string, string> = {}) {
  const secret = { baseURL: server.baseURL, accessId: 'id', accessKey: 'key', 'ca.crt': certificate.cert, ...members };
  const accounts = new Accounts({
    leadership: alwaysLeading,
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    connect: connectOverTls({ clock: systemClock, metrics: noMetrics, userAgent: 'logfleet/test', environment }),
    secrets: { get: async () => secretTexts(secret) },
  });
  return Object.assign(accounts, { [Symbol.asyncDispose]: () => accounts.close() });
}

test('a large listing and an upgrade', async () => {
  await using accounts = accountsFor({});
  const { service } = await accounts.resolve(key);
  const { value: collectors } = await service.listCollectors({ toVersion: '19.500-1', offset: 0, limit: 1_000 });
  expect(collectors).toHaveLength(1_000);
  const collectorId = collectors[0]?.id ?? '';
  const { value: created } = await service.createTask({ collectorId, toVersion: '19.500-1' });
  const { value: task } = await service.getTask(created.taskId);
  expect(task).toMatchObject({ id: created.taskId, collectorId, toVersion: '19.500-1' });
});

test('a proxy from the environment leads to a hostname that only the proxy knows', async () => {
  const { port } = new URL(server.baseURL);
  await using proxy = await connectProxy(Number(port));
  const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  await using accounts = accountsFor({ baseURL: 'https://service.test/api' }, environment);
  const { service } = await accounts.resolve(key);
  await expect(service.listBuilds()).resolves.toMatchObject({ value: [{ version: '19.500-1', latest: true }] });
  expect(new Set(proxy.tunnels.map(({ target }) => target))).toEqual(new Set(['service.test:443']));
});

describe('pages of messages over TLS', () => {
  async function openJob() {
    const { origin, pathname } = new URL(server.baseURL);
    const budget = new RequestBudget({ right: everlastingRight, clock: systemClock });
    budget.setRequestsPerSecond(100);
    const connect = connectOverTls({
      clock: systemClock,
      metrics: noMetrics,
      userAgent: 'logfleet/test',
      environment: {},
    });
    const connection = connect({
      address: { origin, basePath: pathname },
      accessId: 'id',
      accessKey: new SecretText('key'),
      caCertificates: certificate.cert,
      allowedHosts: [],
      budget: budget.key('id'),
    });
    const range = { fromMs: model.startMs - 3_600_000, toMs: model.startMs };
    const job = await connection.searches.open({ query: '*', ...range, requiresRawMessages: true });
    const { messageCount } = await job.whenFinished();
    expect(messageCount).toBe(3_000);
    return Object.assign(job, {
      async [Symbol.asyncDispose]() {
        await job.close();
        await connection.close();
      },
    });
  }

  /** Slow receiver of rows, which accepts one row per turn of the event loop. */
  class SlowReceiver extends RecordingReceiver {
    drained(): Promise<void> {
      return new Promise((resolve) => setImmediate(resolve));
    }
  }

  test('arrive completely at a slow receiver, and the job is deleted', async () => {
    const receiver = new SlowReceiver();
    {
      await using job = await openJob();
      await readAllMessages(job, { receiver });
    }
    expect(receiver.ids).toHaveLength(3_000);
    expect(new Set(receiver.ids).size).toBe(3_000);
    expect(model.counters().jobsActive).toBe(0);
  });

  test('that are cut off are continued after their last complete row', async () => {
    await using job = await openJob();
    const before = journal.length;
    model.patch(
      { faults: { cut: { kind: 'truncate', operations: ['listMessages'], nth: [1, 2, 3] } } },
      server.nowMs(),
    );
    const receiver = new SlowReceiver();
    await readAllMessages(job, { receiver });
    model.patch({ faults: null }, server.nowMs());
    expect(receiver.ids).toHaveLength(3_000);
    expect(new Set(receiver.ids).size).toBe(3_000);
    const pages = journal.slice(before).filter(({ operation }) => operation === 'listMessages');
    const offsets = pages.map(({ path }) => Number(new URLSearchParams(path.split('?')[1]).get('offset')));
    expect(offsets).toHaveLength(4);
    // The client keeps the rows received before the page was cut off. The next request starts after these rows.
    expect(offsets.every((offset, index) => index === 0 || offset > (offsets[index - 1] ?? 0) + 100)).toBe(true);
  });
});

describe('faults on the wire', () => {
  const faults: readonly [FaultScenario, string][] = [
    [{ kind: 'reset', effect: true }, 'connectionLost'],
    [{ kind: 'truncate' }, 'connectionLost'],
    [{ kind: 'html' }, 'responseInvalid'],
    [{ kind: 'empty' }, 'responseInvalid'],
    [{ kind: 'wrongTypes' }, 'responseInvalid'],
    [{ kind: 'status', status: 503 }, 'unavailable'],
  ];

  test.each(faults)('%o leaves the effect of a creation unknown, and sends it once', async (fault, outcome) => {
    await using accounts = accountsFor({});
    const { service } = await accounts.resolve(key);
    const { value: collectors } = await service.listCollectors({ toVersion: '19.500-1', offset: 0, limit: 200 });
    const before = journal.length;
    model.patch({ faults: { wire: { ...fault, operations: ['createTask'] } } }, server.nowMs());
    const collectorId = collectors.at(-1 - faults.findIndex(([known]) => known === fault))?.id ?? '';
    const call = service.createTask({ collectorId, toVersion: '19.500-1' });
    await expect(call).rejects.toMatchObject({ code: `service.${outcome}`, effect: 'unknown' });
    model.patch({ faults: null }, server.nowMs());
    await service.listBuilds();
    expect(journal.slice(before).filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe.concurrent('an invalid Secret that the connection reveals', () => {
  const cases: readonly [string, () => Record<string, string>, string, string, string][] = [
    ['a wrong key', () => ({ accessKey: 'canary' }), 'Unauthorized', 'stall', 'accessKey'],
    ['no CA', () => ({ 'ca.crt': '' }), 'CertificateNotTrusted', 'stall', 'ca.crt'],
    [
      'a host name that does not exist',
      () => ({ baseURL: 'https://nowhere.invalid/api' }),
      'ServiceUnreachable',
      'backoff',
      'baseURL',
    ],
    [
      'a port without a server',
      () => ({ baseURL: 'https://127.0.0.1:1/api' }),
      'ServiceUnreachable',
      'backoff',
      'baseURL',
    ],
    ['a wrong path', () => ({ baseURL: `${new URL(server.baseURL).origin}/nope` }), 'AddressInvalid', 'stall', '/api'],
  ];

  test.each(cases)('%s', async (_name, members, reason, handling, says) => {
    await using accounts = accountsFor(members());
    const { service } = await accounts.resolve(key);
    const call = service.listBuilds();
    await expect(call).rejects.toMatchObject({
      reason,
      handling: { kind: handling },
      message: expect.stringContaining(says),
    });
    await expect(call).rejects.not.toMatchObject({ message: expect.stringContaining('canary') });
  });
});
