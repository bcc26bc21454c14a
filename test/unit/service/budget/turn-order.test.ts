/** Tests the order of keep-alives and page reads if requests of both classes are always waiting (B3, B4). */
import { expect, test } from 'vitest';
import type { RequestClass } from '../../../../src/service/budget/request-slot.ts';
import { TurnOrder } from '../../../../src/service/budget/turn-order.ts';

/**
 * Returns the classes of the next `count` requests, in order. `late` contains the lateness in ms of the oldest request
 * of each class.
 */
function starts(count: number, late: Partial<Record<RequestClass, number>>): RequestClass[] {
  const order = new TurnOrder();
  const heads = Object.entries(late).map(([name, lateMs]) => ({ class: name as RequestClass, lateMs }));
  return Array.from({ length: count }, () => order.next(heads)?.class as RequestClass);
}

const shareOf = (requestClass: RequestClass, sent: readonly RequestClass[]) =>
  sent.filter((one) => one === requestClass).length / sent.length;

test('keep-alives that are not in danger leave slightly more than half of the starts to pages', () => {
  const sent = starts(1_000, { keepAlive: 3_000, pageRead: 500 });
  expect(shareOf('pageRead', sent)).toBeGreaterThan(0.51);
  expect(shareOf('pageRead', sent)).toBeLessThan(0.53);
});

test('at most three keep-alives precede waiting pages, and again after as many pages', () => {
  const order = new TurnOrder();
  const poll = { class: 'keepAlive', lateMs: 0 } as const;
  const page = { class: 'pageRead', lateMs: 0 } as const;
  const next = (...heads: Parameters<TurnOrder['next']>[0]) => order.next(heads)?.class;
  const both = () => next(poll, page);
  expect([both(), both(), both(), both()]).toEqual(['keepAlive', 'keepAlive', 'keepAlive', 'pageRead']);
  for (let one = 0; one < 10; one++) next(page);
  expect([both(), both(), both(), both()]).toEqual(['keepAlive', 'keepAlive', 'keepAlive', 'pageRead']);
  // At most three keep-alives in a row may be sent while a page read is waiting. Keep-alives sent while no page read is
  // waiting do not count.
  for (let one = 0; one < 10; one++) next(page);
  for (let one = 0; one < 50; one++) next(poll);
  expect(both()).toBe('keepAlive');
});

test('keep-alives in danger precede pages, which get every fourth start when they are late', () => {
  expect(shareOf('pageRead', starts(400, { keepAlive: 3_600, pageRead: 500 }))).toBe(0);
  expect(shareOf('pageRead', starts(400, { keepAlive: 3_600, pageRead: 2_500 }))).toBe(0.25);
});

test('only pages get such a share of starts', () => {
  for (const requestClass of ['taskCreation', 'taskStatus', 'listing'] as const)
    expect(shareOf('keepAlive', starts(100, { keepAlive: 100, [requestClass]: 1_900 }))).toBe(1);
});

test('no class starves while keep-alives and pages wait', () => {
  const sent = starts(400, { keepAlive: 3_000, pageRead: 500, listing: 2_500 });
  expect(shareOf('listing', sent)).toBeGreaterThanOrEqual(0.25);
  expect(shareOf('pageRead', sent)).toBeGreaterThanOrEqual(0.2);
  expect(shareOf('keepAlive', sent)).toBeGreaterThanOrEqual(0.2);
});
