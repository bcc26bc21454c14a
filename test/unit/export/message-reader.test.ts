import { expect, test } from 'vitest';
import { MessageReader } from '../../../src/export/search/message-reader.ts';
import { evenly, hour, SearchWorld } from './search-world.ts';

async function readingOf(world: SearchWorld) {
  const { simulated, tools, definition } = world;
  const job = await simulated.run(tools.jobs.open(definition.order(hour, false)));
  const progress = await simulated.run(job.whenFinished());
  const { signal } = new AbortController();
  const order = { segment: 0, ...hour };
  const reading = new MessageReader({ job, order, tools, signal, countedRows: undefined });
  return { job, reading, end: { progress, sign: undefined, isDone: true } };
}

const whole = { kind: 'read', anyOrder: false, mayLeave: false } as const;

test('each reading begins with the first row, and writes separate files (E6)', async () => {
  const world = new SearchWorld();
  const { job, reading, end } = await readingOf(world);
  expect(reading.found.figures).toBeUndefined();
  await world.simulated.run(reading.read(whole, end));
  await world.simulated.run(reading.read({ ...whole, anyOrder: true }, end));
  expect(reading.found.figures).toMatchObject({ received: 600, written: 600, duplicates: 0 });
  const files = await world.simulated.run(reading.end());
  expect(files.reduce((sum, { rows }) => sum + rows, 0)).toBe(600);
  await world.simulated.run(job.close());
  expect(await world.leftovers(files.map(({ name }) => name))).toEqual([]);
});

test('pages that change with each reading are read a limited number of times', async () => {
  const world = new SearchWorld({ messages: evenly(10) });
  const { job, reading, end } = await readingOf(world);
  for (let readings = 0; readings < 5; readings++) await world.simulated.run(reading.read(whole, end));
  await expect(reading.read(whole, end)).rejects.toMatchObject({
    code: 'export.pagesUnsteady',
    handling: { kind: 'backoff' },
  });
  await reading.giveUp();
  await world.simulated.run(job.close());
  expect(await world.leftovers()).toEqual([]);
});
