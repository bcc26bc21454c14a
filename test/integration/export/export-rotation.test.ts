/** Tests exports whose Secret changes. Running searches must keep the old credentials. */
import { expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { ExportWorld, evenly } from './export-world.ts';

const scenario = {
  users: { ops: { keys: { simulator: 'simulator-key', second: 'second-key' } } },
  search: { messageLimit: 200, duration: '90s' },
} as const;
const second = { accessId: 'second', accessKey: 'second-key', user: 'simulator' };

function openJobs(world: ExportWorld): readonly string[] {
  return world.status?.jobs?.map(({ id }) => id) ?? [];
}

/** Waits until four of the export's search jobs are running. */
async function searching(): Promise<ExportWorld> {
  const world = new ExportWorld({ messages: evenly(3_000), scenario });
  world.add();
  world.start();
  expect(await world.world.until(() => openJobs(world).length === 4, 30 * minuteMs)).toBe(true);
  return world;
}

test.each<[string, Readonly<Record<string, string>>]>([
  ['a key of the same user', second],
  ['a share of the rate', { requestsPerSecond: '3' }],
  ['a host to which redirects are allowed', { allowedHosts: 'elsewhere.example.com' }],
])('with %s changed, running searches are read to their end, and their jobs are deleted', async (_, data) => {
  const world = await searching();
  const own = openJobs(world);
  const done = world.status?.progress?.intervalsDone ?? 0;
  world.changeSecret(data);
  expect(await world.world.until(() => world.opened === 2, 10 * minuteMs)).toBe(true);
  const { journal } = world.world;
  const deleted = journal.filter(({ operation, status }) => operation === 'deleteJob' && status === 200);
  for (const id of own) expect(deleted.some(({ path }) => path.endsWith(`/${id}`))).toBe(true);
  expect(await world.untilReason('Exporting')).toBe(true);
  expect(await world.world.until(() => (world.status?.progress?.intervalsDone ?? 0) > done, minuteMs)).toBe(true);
  expect(world.status?.progress?.intervalsDone).toBeGreaterThanOrEqual(done + own.length);
  expect(await world.untilReason('Exported')).toBe(true);
  expect(journal.filter(({ status }) => status === 401 || status === 429)).toEqual([]);
  expect(world.jobsActive()).toBe(0);
});

test('searches with a revoked key end, and start again with the new key', async () => {
  const world = await searching();
  world.changeSecret(second);
  const { model, service, journal, clock } = world.world;
  model.patch({ users: { ops: { keys: { simulator: null } } } }, service.nowMs());
  await clock.advance(2 * minuteMs);
  const refused = () => journal.filter(({ status }) => status === 401).length;
  expect(refused()).toBeGreaterThan(0);
  expect(world.opened).toBe(2);
  const before = refused();
  expect(await world.untilReason('Exported')).toBe(true);
  expect(refused()).toBe(before);
  expect(world.rows()).toHaveLength(3_000);
});

test.each<[string, Readonly<Record<string, string>>, number]>([
  ['another key', second, 1],
  ['a share of the rate', { requestsPerSecond: '3' }, 1],
])('with %s changed, planning in progress continues to its end', async (_, data, jobs) => {
  const world = new ExportWorld({ scenario: { ...scenario, search: { duration: '150s' } } });
  world.add();
  world.start();
  await world.world.clock.advance(30_000);
  expect(world.jobsCreated).toBe(1);
  world.changeSecret(data);
  expect(await world.untilReason('Exported')).toBe(true);
  // One more search job counts the messages, to check that the export found all of them.
  expect(world.jobsCreated).toBe(jobs + 1);
  expect(world.opened).toBe(2);
  expect(world.rows()).toHaveLength(600);
});

test('a change to the service aborts the planning in progress', async () => {
  const world = new ExportWorld({ scenario: { ...scenario, search: { duration: '150s' } } });
  world.add();
  world.start();
  await world.world.clock.advance(30_000);
  expect(world.jobsActive()).toBe(1);
  world.changeSecret({ baseURL: 'https://elsewhere.example.com/api' });
  await world.world.clock.advance(75_000);
  expect(world.jobsActive()).toBe(0);
  expect([...world.store.objects.keys()]).toEqual([]);
});

test.each([
  [503, 1],
  [403, 2],
])(
  'a Secret that cannot be read for a while (%i) aborts planning in progress only if reading is forbidden',
  async (status, jobs) => {
    const world = new ExportWorld({ scenario: { search: { duration: '150s' } } });
    world.add();
    world.start();
    await world.world.clock.advance(50_000);
    expect(world.jobsCreated).toBe(1);
    let failed = 0;
    world.world.api.onRequest = ({ collection, method }) => {
      if (!collection.endsWith('secrets') || method !== 'GET') return undefined;
      failed++;
      return { kind: 'status', status, when: 'before' };
    };
    await world.world.clock.advance(minuteMs);
    expect(failed).toBeGreaterThan(0);
    world.world.api.onRequest = () => undefined;
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.jobsCreated).toBe(jobs + 1);
  },
);
