import { expect, test } from 'vitest';
import { PreparedLeadership } from '../../../../src/host/kubernetes/prepared-leadership.ts';
import { SwitchedLeadership } from '../../../support/switched-leadership.ts';

test('leadership begins when the preparation of its term has ended', async () => {
  const inner = new SwitchedLeadership(false);
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  const reported: boolean[] = [];
  leadership.subscribe(() => reported.push(leadership.isLeader()));
  inner.begin();
  expect([leadership.isLeader(), ends.length]).toEqual([false, 1]);
  ends[0]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
  inner.end();
  expect(leadership.isLeader()).toBe(false);
  inner.begin();
  expect([leadership.isLeader(), leadership.term(), ends.length]).toEqual([false, 2, 2]);
  ends[1]?.();
  await expect.poll(() => reported).toEqual([false, true, false, false, true]);
  expect(leadership.tookOverByForce()).toBe(true);
});

test('the preparation of a former term is not enough', async () => {
  const inner = new SwitchedLeadership(false);
  const ends: (() => void)[] = [];
  const leadership = new PreparedLeadership(inner, () => new Promise((resolve) => ends.push(resolve)));
  inner.begin();
  inner.end();
  inner.begin();
  ends[0]?.();
  await Promise.resolve();
  expect(leadership.isLeader()).toBe(false);
  ends[1]?.();
  await expect.poll(() => leadership.isLeader()).toBe(true);
});
