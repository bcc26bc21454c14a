/**
 * Tests how the operator reads the statuses of upgrade tasks (section 4.8 of docs/service.md): the number of concurrent
 * reads, and their results.
 */
import { expect, test } from 'vitest';
import type { LogfleetError } from '../../../src/base/errors.ts';
import { TaskReadings } from '../../../src/policy/attempts/task-reading.ts';
import { FakeUpgradeService } from '../../support/fake-upgrade-service.ts';
import { serviceError } from '../../support/service-error.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';
import { task } from './builders.ts';

function world() {
  const clock = new VirtualClock();
  const service = new FakeUpgradeService(clock);
  const problems: LogfleetError[] = [];
  let news = 0;
  let answered = 0;
  const binding = {
    holdFor: (error: LogfleetError) => void problems.push(error),
    succeeded: () => void answered++,
  };
  const tasks = new TaskReadings(clock, binding, { scheduleDecision: () => news++ });
  return { clock, service, problems, tasks, news: () => news, answered: () => answered };
}

test('a status is kept until a decision has used it', async () => {
  const { service, tasks, news, answered } = world();
  tasks.read(service, '1', '77');
  expect(service.taskReads[0]?.asked).toBe('77');
  expect(tasks.readings.size).toBe(0);
  service.taskReads[0]?.respond(task());
  await settle();
  expect([news(), answered()]).toEqual([1, 1]);
  expect(tasks.readings.get('1')).toEqual(task());
  tasks.acknowledge(new Map(tasks.readings));
  expect(tasks.readings.size).toBe(0);
});

test('a status that arrives after the decision is kept for the next one', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  service.taskReads[0]?.respond(task());
  await settle();
  const taken = new Map(tasks.readings);
  tasks.read(service, '1', '77');
  service.taskReads[1]?.respond(task({ status: 'succeeded' }));
  await settle();
  tasks.acknowledge(taken);
  expect(tasks.readings.get('1')).toMatchObject({ status: 'succeeded' });
});

test('the number and times of reads are counted, for any result', async () => {
  const { clock, service, tasks, problems } = world();
  await clock.advance(100);
  tasks.read(service, '1', '77');
  service.taskReads[0]?.respond(task());
  await settle();
  await clock.advance(900);
  tasks.read(service, '1', '77');
  service.taskReads[1]?.fail(serviceError({ status: 503, effect: 'unknown' }));
  await settle();
  expect(tasks.reads.get('1')).toEqual({ count: 2, lastMs: 1_000, previousMs: 100 });
  expect(problems).toHaveLength(1);
});

test('U5: a task that is not found counts as read, without a problem', async () => {
  const { service, tasks, problems } = world();
  tasks.read(service, '1', '77');
  service.taskReads[0]?.fail(serviceError({ status: 404 }));
  await settle();
  expect(tasks.readings.size).toBe(0);
  expect(tasks.reads.get('1')?.count).toBe(1);
  expect(problems).toEqual([]);
});

test('a failed read is a problem, and no status', async () => {
  const { service, tasks, problems, news, answered } = world();
  tasks.read(service, '1', '77');
  service.taskReads[0]?.fail(serviceError({ status: 401 }));
  await settle();
  expect(tasks.readings.size).toBe(0);
  expect(problems.map(({ code }) => code)).toEqual(['service.internalError']);
  expect(answered()).toBe(0);
  expect(news()).toBe(1);
});

test('one read of a collector at a time, and eight in total', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  tasks.read(service, '1', '77');
  expect(service.taskReads).toHaveLength(1);
  for (let id = 2; id <= 12; id++) tasks.read(service, String(id), '77');
  expect(service.taskReads).toHaveLength(8);
  service.taskReads[0]?.respond(task());
  await settle();
  tasks.read(service, '12', '77');
  expect(service.taskReads).toHaveLength(9);
});

test('the reads of an ended attempt are forgotten', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  service.taskReads[0]?.respond(task());
  await settle();
  tasks.forget('1');
  expect(tasks.readings.size).toBe(0);
  expect(tasks.reads.get('1')).toBeUndefined();
});

test('U4: a late response about an ended attempt does not judge the next attempt', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  tasks.forget('1');
  tasks.read(service, '1', '78');
  service.taskReads[0]?.respond(task({ status: 'failed' }));
  await settle();
  expect(tasks.readings.size).toBe(0);
  service.taskReads[1]?.respond(task({ id: '78' }));
  await settle();
  expect(tasks.readings.get('1')).toMatchObject({ id: '78' });
  expect(tasks.reads.get('1')?.count).toBe(1);
});

test('U3: after a new read of the ledger, results of its open tasks are kept, and others are forgotten', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  tasks.read(service, '2', '78');
  for (const [index, id] of ['77', '78'].entries()) service.taskReads[index]?.respond(task({ id, status: 'failed' }));
  await settle();
  tasks.keepOnly((collectorId, taskId) => collectorId === '1' && taskId === '77');
  expect([...tasks.readings.keys()]).toEqual(['1']);
  expect(tasks.hasFailures).toBe(true);
  expect(tasks.reads.get('2')).toBeUndefined();
});

test('U3: after a new read of the ledger with another task, a response about the former task is ignored', async () => {
  const { service, tasks } = world();
  tasks.read(service, '1', '77');
  tasks.keepOnly((_, taskId) => taskId === '78');
  service.taskReads[0]?.respond(task({ id: '77', status: 'failed' }));
  await settle();
  expect(tasks.readings.size).toBe(0);
});

test('after the close, responses are ignored', async () => {
  const { service, tasks, problems, news } = world();
  tasks.read(service, '1', '77');
  tasks.close();
  await settle();
  expect([news(), problems.length, tasks.readings.size]).toEqual([0, 0, 0]);
});
