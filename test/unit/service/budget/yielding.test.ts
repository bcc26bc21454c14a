/** Tests that a slow status request is cancelled if a keep-alive needs its slot (B2, B4). */
import { describe, expect, test } from 'vitest';
import { RequestBudget } from '../../../../src/service/budget/request-budget.ts';
import type { Path, Slot } from '../../../../src/service/budget/request-slot.ts';
import { everlastingRight } from '../../../support/send-rights.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const path: Path = { origin: 'https://service.test', probe: async () => {} };

/**
 * Starts keep-alives that never get a response. If `gives` is true, the client cancels a keep-alive when the budget
 * asks it to.
 */
async function crowd(count: number, gives = true) {
  const clock = new VirtualClock();
  const budget = new RequestBudget({ right: everlastingRight, clock });
  budget.setRequestsPerSecond(1_000);
  const key = budget.key('a');
  const reported: number[] = [];
  const slots: Slot[] = [];
  for (let index = 0; index < count; index++) {
    const slot = await key.acquire({ path, class: 'keepAlive' });
    slot.started();
    slots.push(slot);
  }
  const yieldTo = (index: number) =>
    slots[index]?.yieldTo(() => {
      reported.push(index);
      if (gives) queueMicrotask(() => slots[index]?.finished({ kind: 'abandoned' }));
    });
  const granted: number[] = [];
  const poll = () => void key.acquire({ path, class: 'keepAlive' }).then(() => granted.push(clock.monotonic()));
  return { clock, key, slots, reported, granted, yieldTo, poll };
}

describe('status requests that have waited for their maximum time', () => {
  test('continue while there are enough slots', async () => {
    const { clock, reported, granted, yieldTo, poll } = await crowd(9);
    for (let index = 0; index < 9; index++) yieldTo(index);
    poll();
    await clock.advance(10_000);
    expect([reported, granted]).toEqual([[], [0]]);
  });

  test('are cancelled oldest first, one for each keep-alive without a slot, and free their slots 2 s after arrival', async () => {
    const { clock, reported, granted, yieldTo, poll } = await crowd(10);
    for (const index of [3, 1, 2]) yieldTo(index);
    poll();
    poll();
    // After 250 ms, a TLS handshake proves that the server has received the cancelled keep-alives. Their slots become
    // free 2 s later.
    await clock.advance(2_249);
    expect([reported, granted]).toEqual([[1, 2], []]);
    await clock.advance(1);
    expect([reported, granted]).toEqual([
      [1, 2],
      [2_250, 2_250],
    ]);
  });

  test('are cancelled at the end of this time if keep-alives already wait', async () => {
    const { clock, reported, granted, yieldTo, poll } = await crowd(10);
    poll();
    await clock.advance(2_000);
    expect(reported).toEqual([]);
    yieldTo(4);
    yieldTo(5);
    await clock.advance(2_000);
    expect([reported, granted]).toEqual([[4], [4_000]]);
  });

  test('are asked to cancel only once, even if they end slowly', async () => {
    const { clock, reported, slots, granted, yieldTo, poll } = await crowd(10, false);
    for (let index = 0; index < 10; index++) yieldTo(index);
    poll();
    await clock.advance(500);
    expect(reported).toEqual([0]);
    slots[0]?.finished({ kind: 'answered', status: 200 });
    await clock.advance(1);
    expect([reported, granted]).toEqual([[0], [500]]);
  });

  test('are not cancelled for work, nor for keep-alives that wait for the rate', async () => {
    const { clock, key, reported, yieldTo } = await crowd(10);
    for (let index = 0; index < 10; index++) yieldTo(index);
    void key.acquire({ path, class: 'pageRead' });
    await clock.advance(5_000);
    expect(reported).toEqual([]);
  });
});

test('a cancelled progress request keeps its slot for 2 s like a keep-alive, a deletion of the same class for 10 s (B2)', async () => {
  for (const [isPoll, heldMs] of [
    [true, 2_000],
    [false, 10_000],
  ] as const) {
    const clock = new VirtualClock();
    const budget = new RequestBudget({ right: everlastingRight, clock });
    budget.setMaxConcurrent('a', 1);
    const key = budget.key('a');
    const slot = await key.acquire({ path, class: 'jobCare', isPoll });
    slot.started();
    slot.finished({ kind: 'abandoned' });
    let grantedMs: number | undefined;
    void key.acquire({ path, class: 'keepAlive' }).then(() => {
      grantedMs = clock.monotonic();
    });
    await clock.advance(20_000);
    // After 250 ms, a TLS handshake proves that the server has received the cancelled request. Its slot becomes free
    // `heldMs` later.
    expect(grantedMs).toBe(250 + heldMs);
  }
});

test.each(['jobCreation', 'jobCare', 'keepAlive'] as const)(
  'after a request of class %s, work leaves two slots for the expected keep-alives (B3)',
  async (requestClass) => {
    const clock = new VirtualClock();
    const budget = new RequestBudget({ right: everlastingRight, clock });
    budget.setRequestsPerSecond(1_000);
    const key = budget.key('a');
    const first = await key.acquire({ path, class: requestClass });
    first.started();
    first.finished({ kind: 'answered', status: 202 });
    let listings = 0;
    for (let index = 0; index < 12; index++) void key.acquire({ path, class: 'listing' }).then(() => listings++);
    await clock.advance(29_000);
    expect(listings).toBe(8);
    await clock.advance(1_000);
    expect(listings).toBe(10);
  },
);
