/** Tests accounts, the request budget, the client and the simulated service together. */
import { expect, test } from 'vitest';
import type { Scenario } from '../../../../simulator/scenario/scenario.ts';
import { Accounts } from '../../../../src/account/accounts.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { noMetrics } from '../../../../src/base/metrics.ts';
import { alwaysLeading } from '../../../../src/cli/resources/memory-host.ts';
import type { UpgradeService } from '../../../../src/service/collectors/upgrade-service.ts';
import { firstCollector, thirtyCollectors } from '../../../support/client-world.ts';
import { secretTexts } from '../../../support/memory-secrets.ts';
import { ServiceWorld, secondOrigin } from '../../../support/service-world.ts';

async function world(scenario: Scenario = {}) {
  const simulated = new ServiceWorld({ scenario: { ...thirtyCollectors, ...scenario }, latencyMs: 20 });
  const { clock } = simulated;
  const members = {
    ...simulated.secret,
    accessId: 'id',
    accessKey: 'key',
    user: 'ops',
    allowedHosts: new URL(secondOrigin).host,
  };
  const accounts = new Accounts({
    leadership: alwaysLeading,
    clock,
    log: silentLogger,
    metrics: noMetrics,
    connect: simulated.connect(),
    secrets: { get: async () => secretTexts(members) },
  });
  const { service } = await accounts.resolve({ namespace: 'logging', name: 'log-service' });
  return { clock, journal: simulated.journal, service, run: <T>(call: Promise<T>) => simulated.run(call) };
}

const calls = {
  listCollectors: (service: UpgradeService) => service.listCollectors({ toVersion: '19.500-1', offset: 0, limit: 50 }),
  listBuilds: (service: UpgradeService) => service.listBuilds(),
  createTask: (service: UpgradeService) => service.createTask({ collectorId: firstCollector, toVersion: '19.500-1' }),
};

test('an upgrade from the listing to its end, with exact ids above 2^53', async () => {
  const { clock, service, run } = await world();
  const builds = await run(service.listBuilds());
  expect(builds.value).toContainEqual({ version: '19.500-1', latest: true });
  const listed = await run(service.listCollectors({ toVersion: '19.500-1', offset: 0, limit: 10 }));
  expect(listed.value).toHaveLength(10);
  expect(listed.value[0]).toMatchObject({
    id: firstCollector,
    collectorVersion: '19.253-26',
    osName: 'Linux',
    alive: true,
  });
  const { value } = await run(service.createTask({ collectorId: firstCollector, toVersion: '19.500-1' }));
  expect(value.taskId).toBe('9223372036854770000');
  await clock.advance(30 * 60_000);
  const task = await run(service.getTask(value.taskId));
  expect(task.value).toMatchObject({ collectorId: firstCollector, toVersion: '19.500-1', status: 'succeeded' });
});

test('the journal contains the sending time of a request', async () => {
  const { clock, journal, service, run } = await world();
  await clock.advance(500);
  const { sentAtMs } = await run(service.listBuilds());
  expect(journal[0]?.at).toBe(clock.now() - clock.monotonic() + sentAtMs + 20);
});

test('any number of concurrent calls stays within the limits of the service (B1)', async () => {
  const { journal, service, run } = await world({ latency: ['100ms', '3s'] });
  await run(
    Promise.all(Array.from({ length: 60 }, (_, index) => calls[index % 2 ? 'listBuilds' : 'listCollectors'](service))),
  );
  expect(journal).toHaveLength(60);
  expect(Math.max(...journal.map(({ perSecond }) => perSecond))).toBeLessThanOrEqual(4);
  expect(Math.max(...journal.map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(10);
  expect(journal.filter(({ status }) => status === 429)).toEqual([]);
});

test.each([
  ['collector.invalid', { collectorId: '1', toVersion: '19.500-1' }, {}],
  ['collector.version.invalid', { collectorId: firstCollector, toVersion: '1.1-1' }, {}],
  ['collector.not.alive', { collectorId: firstCollector, toVersion: '19.500-1' }, { running: false, silentFor: '24h' }],
  [
    'collector.type.invalid',
    { collectorId: firstCollector, toVersion: '19.500-1' },
    { collectorType: 'Hosted', version: '' },
  ],
])('a creation refused with %s', async (code, task, traits) => {
  const group = { count: 2, version: '19.253-26', ...traits };
  const { service, run } = await world({ groups: { web: group } });
  await expect(run(service.createTask(task))).rejects.toMatchObject({
    code: `service.${code}`,
    serviceCode: code,
    effect: 'none',
  });
});

test('a second creation while the first runs is refused with collector.in.upgrading', async () => {
  const { service, run } = await world();
  await run(calls.createTask(service));
  await expect(run(calls.createTask(service))).rejects.toMatchObject({
    serviceCode: 'collector.in.upgrading',
    effect: 'none',
  });
});

test.each(['object', 'list', 'html', 'empty'] as const)('an unknown task in errors of the shape %s', async (shape) => {
  const { service, run } = await world({ errors: { shape, codePrefix: 'searchjob.' } });
  await expect(run(service.getTask('5'))).rejects.toMatchObject({ reason: 'TaskNotFound', handling: { kind: 'wait' } });
});
