/** Tests how many requests to the API server run at the same time, and in which order other requests wait. */
import { expect, test } from 'vitest';
import { ConcurrencyLimit } from '../../../../src/host/kubernetes/concurrency-limit.ts';

test('runs at most the allowed number of tasks at once, in order of arrival', async () => {
  const limit = new ConcurrencyLimit(2);
  const begun: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const all = ends.map(({ promise }, index) =>
    limit.run(async () => {
      begun.push(index);
      await promise;
    }),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[1]?.resolve();
  await all[1];
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3]);
});

test('after a failed task, the next one starts', async () => {
  const limit = new ConcurrencyLimit(1);
  await expect(limit.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await limit.run(async () => 'done')).toBe('done');
});
