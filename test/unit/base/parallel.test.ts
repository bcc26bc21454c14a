import { expect, test } from 'vitest';
import { inParallel } from '../../../src/base/parallel.ts';

function pendingWork() {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<void>>();
  const run = (item: number) => {
    begun.push(item);
    const end = Promise.withResolvers<void>();
    ends.set(item, end);
    return end.promise;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { begun, ends, run, settled };
}

test('runs as many calls concurrently as allowed at the start', async () => {
  const { begun, ends, run, settled } = pendingWork();
  let atOnce = 2;
  const all = inParallel([1, 2, 3, 4], () => atOnce, run);
  expect(begun).toEqual([1, 2]);
  atOnce = 3;
  ends.get(2)?.resolve();
  await settled();
  expect(begun).toEqual([1, 2, 3, 4]);
  for (const { resolve } of ends.values()) resolve();
  await all;
});

test('at least one call runs', async () => {
  const { begun, ends, run, settled } = pendingWork();
  const all = inParallel([1, 2], () => 0, run);
  ends.get(1)?.resolve();
  await settled();
  expect(begun).toEqual([1, 2]);
  ends.get(2)?.resolve();
  await all;
});

test('no call starts after a failure, and running calls are awaited', async () => {
  const { begun, ends, run, settled } = pendingWork();
  let isOver = false;
  const all = inParallel([1, 2, 3], () => 2, run).finally(() => {
    isOver = true;
  });
  all.catch(() => {});
  ends.get(1)?.reject(new Error('broken'));
  await settled();
  expect([begun, isOver]).toEqual([[1, 2], false]);
  ends.get(2)?.resolve();
  await expect(all).rejects.toThrow('broken');
});
