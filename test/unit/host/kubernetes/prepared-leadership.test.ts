import { expect, test } from 'vitest';
import type { Leadership } from '../../../../src/host/host.ts';
import { PreparedLeadership } from '../../../../src/host/kubernetes/prepared-leadership.ts';

function leadershipOf() {
  const listeners = new Set<() => void>();
  let isLeader = false;
  let term = 0;
  const inner: Leadership = {
    isLeader: () => isLeader,
    term: () => term,
    tookOverByForce: () => true,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const set = (value: boolean) => {
    isLeader = value;
    if (value) term++;
    for (const listener of listeners) listener();
  };
  return { inner, set };
}

test('leadership begins when the preparation of its term has ended', async () => {
  const { inner, set } = leadershipOf();
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  const told: boolean[] = [];
  leadership.subscribe(() => told.push(leadership.isLeader()));
  set(true);
  expect([leadership.isLeader(), ends.length]).toEqual([false, 1]);
  ends[0]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
  set(false);
  expect(leadership.isLeader()).toBe(false);
  set(true);
  expect([leadership.isLeader(), leadership.term(), ends.length]).toEqual([false, 2, 2]);
  ends[1]?.();
  await expect.poll(() => told).toEqual([false, true, false, false, true]);
  expect(leadership.tookOverByForce()).toBe(true);
});

test('the preparation of a former term is not enough', async () => {
  const { inner, set } = leadershipOf();
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  set(true);
  set(false);
  set(true);
  ends[0]?.();
  await Promise.resolve();
  expect(leadership.isLeader()).toBe(false);
  ends[1]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
});
