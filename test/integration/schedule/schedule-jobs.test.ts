/** Tests schedules whose runs are Kubernetes Jobs. */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { JobController } from '../../support/job-controller.ts';
import { secretsPath } from '../../support/world.ts';
import { every, exportsPath, ScheduleWorld, startMs, textsIn } from './schedule-world.ts';

const inJob = { execution: { mode: 'Job' }, destination: { s3: { bucket: 'logs', region: 'eu-central-1' } } };
const startTime = new Date(startMs - 4 * hourMs).toISOString().replace('.000', '');

describe('a schedule whose runs are Kubernetes Jobs', () => {
  test('records each run, and exports every row once', async () => {
    const messages = every(7 * minuteMs, startMs - 4 * hourMs, startMs + 4 * hourMs);
    const world = new ScheduleWorld({ messages, workerImage: 'logfleet:test' });
    const controller = new JobController(world.world, world.exports.options);
    world.add({ startTime }, inJob);
    world.start();
    await world.until(() => controller.running.length > 0);
    controller.kill(controller.running[0] as string);
    expect(await world.until(() => world.ready?.reason === reasons.upToDate)).toBe(true);
    await world.world.clock.advance(2.5 * hourMs);
    const toMs = world.records().at(-1)?.toMs ?? 0;
    expect(toMs).toBeGreaterThanOrEqual(startMs + 2 * hourMs);
    expect(world.rowsOfRecords()).toEqual(textsIn(messages, { fromMs: startMs - 4 * hourMs, toMs }));
    expect(await world.verify()).toMatchObject({ gaps: [], overlaps: [], problems: [] });
    const ended = world.runs().filter(({ status }) => status?.manifest !== undefined);
    expect(ended.every(({ status }) => status?.kubernetesJob !== undefined)).toBe(true);
  });

  test.each([
    [3, { workers: 1, maxConcurrentRequests: 10 }],
    // A second run starts although there are fewer free shares of the request limits than the run has workers.
    [2, { workers: 2, maxConcurrentRequests: 10 }],
    [1, { workers: 3, maxConcurrentRequests: 10 }],
    // These limits have only one share.
    [1, { workers: 1, maxConcurrentRequests: 4 }],
  ])('runs %i at a time, and no run waits for another: %j', async (count, { workers, maxConcurrentRequests }) => {
    const messages = every(minuteMs, startMs - 4 * hourMs, startMs + 4 * hourMs);
    const scenario = { search: { duration: '20m' } };
    const world = new ScheduleWorld({ messages, scenario, workerImage: 'logfleet:test' });
    const data = { maxConcurrentRequests: Buffer.from(`${maxConcurrentRequests}`).toString('base64') };
    world.world.api.patch(`${secretsPath}/log-service`, { data });
    new JobController(world.world, world.exports.options);
    world.add({ startTime, maxActive: 10 }, { ...inJob, execution: { mode: 'Job', job: { workers } }, proof: 'Count' });
    world.start();
    let running = 0;
    let waiting = 0;
    const isDone = await world.until(() => {
      const states = world.runs().map(({ status }) => status?.summary?.state);
      running = Math.max(running, states.filter((state) => state === reasons.exporting).length);
      waiting = Math.max(waiting, states.filter((state) => state === reasons.waitingForShare).length);
      return world.records()[0]?.fromMs === startMs - 4 * hourMs;
    });
    expect([isDone, running, waiting]).toEqual([true, count, 0]);
  });

  test('gives the shares of a paused run to another run', async () => {
    const messages = every(minuteMs, startMs - 4 * hourMs, startMs + hourMs);
    const world = new ScheduleWorld({
      messages,
      scenario: { search: { duration: '20m' } },
      workerImage: 'logfleet:test',
    });
    new JobController(world.world, world.exports.options);
    world.add({ startTime }, { ...inJob, execution: { mode: 'Job', job: { workers: 3 } }, proof: 'Count' });
    world.start();
    const states = () => world.runs().map(({ status }) => status?.summary?.state);
    expect(await world.until(() => states().includes(reasons.exporting))).toBe(true);
    expect(states()).toHaveLength(1);
    world.world.api.patch(`${exportsPath}/${world.runs()[0]?.metadata.name}`, { spec: { paused: true } });
    const isShared = () => states().includes(reasons.exporting) && states().includes(reasons.paused);
    expect(await world.until(isShared, 10 * minuteMs)).toBe(true);
  });
});
