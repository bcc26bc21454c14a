/** Tests what happens if the caller cancels the creation of a search job. */
import { expect, test } from 'vitest';
import { ClientWorld } from '../../../support/client-world.ts';

const reason = new Error('the caller no longer needs the job');

/** Creates a search job. Resolves to the error if the creation fails, and to undefined if it succeeds. */
function opening(world: ClientWorld, abort: AbortController): Promise<unknown> {
  return world.jobs.open(world.order, { signal: abort.signal }).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test('a creation in flight is awaited, and its job is deleted', async () => {
  const world = new ClientWorld();
  const abort = new AbortController();
  const failure = opening(world, abort);
  await world.clock.run(() => world.requests('createJob').length === 1);
  abort.abort(reason);
  expect(await world.run(failure)).toBe(reason);
  expect(world.counters()).toMatchObject({ jobsCreated: 1, jobsActive: 0 });
  expect(world.budget.jobs.active).toBe(0);
});

test('a job that cannot be deleted keeps its permit as long as it may exist', async () => {
  const world = new ClientWorld({ faults: { down: { kind: 'status', status: 503, operations: ['deleteJob'] } } });
  const abort = new AbortController();
  const failure = opening(world, abort);
  await world.clock.run(() => world.requests('createJob').length === 1);
  abort.abort(reason);
  expect(await world.run(failure)).toBe(reason);
  expect([world.counters().jobsActive, world.budget.jobs.active]).toEqual([1, 1]);
  await world.clock.advance(30_000);
  expect([world.counters().jobsActive, world.budget.jobs.active]).toEqual([0, 0]);
});

test('a creation that was not sent is not awaited and takes no permit', async () => {
  const world = new ClientWorld();
  const aborted = new AbortController();
  aborted.abort(reason);
  expect(await world.run(opening(world, aborted))).toBe(reason);
  const opened = Promise.all([1, 2, 3, 4].map(() => world.jobs.open(world.order)));
  const waiting = new AbortController();
  const fifth = opening(world, waiting);
  await world.clock.run(() => world.requests('createJob').length === 4);
  waiting.abort(reason);
  expect(await world.run(fifth)).toMatchObject({ effect: 'none' });
  await world.run(opened);
  expect(world.counters().jobsCreated).toBe(4);
  expect(world.budget.jobs.active).toBe(4);
});

test('a failed creation rejects with its error, even after an abort', async () => {
  const world = new ClientWorld({ faults: { down: { kind: 'status', status: 503, operations: ['createJob'] } } });
  const abort = new AbortController();
  const failure = opening(world, abort);
  await world.clock.run(() => world.requests('createJob').length === 1);
  abort.abort(reason);
  expect(await world.run(failure)).toMatchObject({ effect: 'unknown' });
});
