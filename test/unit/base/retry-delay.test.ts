/** Tests the delays before retries: after repeated failures, and after repeated rejections of the credentials. */
import { expect, test } from 'vitest';
import { failure } from '../../../src/base/errors.ts';
import { FailureRecord, holdMs, isRefusal } from '../../../src/base/retry-delay.ts';

const unavailable = failure('backoff', 'service.unavailable', 'No.');
const unauthorized = failure('stall', 'service.unauthorized', 'No.');
const forbidden = failure('stall', 'service.forbidden', 'No.');

test('delays grow with each failure, and start again after a success', () => {
  const record = new FailureRecord();
  expect([1, 2, 3].map(() => record.failed(unavailable, 0))).toEqual([1_000, 2_000, 4_000]);
  expect([record.count, record.error]).toEqual([3, unavailable]);
  record.succeeded();
  expect([record.count, record.error]).toEqual([0, undefined]);
  expect(record.failed(unavailable, 0)).toBe(1_000);
});

test.each([unauthorized, forbidden])('only the first of several rejections has a short delay: $code', (refusal) => {
  const record = new FailureRecord();
  for (let times = 0; times < 5; times++) record.failed(unavailable, 0);
  expect([1, 2, 3].map(() => record.failed(refusal, 0))).toEqual([30_000, 600_000, 600_000]);
});

test('an error about a rejected key has a short delay as soon as the key may be sent again', () => {
  const rejected = failure('stall', 'account.unauthorized', 'No.');
  expect([5_000, Number.POSITIVE_INFINITY].map((heldMs) => holdMs(rejected, heldMs))).toEqual([5_000, 1_000]);
  expect(holdMs(unauthorized, Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
});

test('other errors that need a user have a short delay each time', () => {
  const record = new FailureRecord();
  const address = failure('stall', 'service.notFound', 'No.');
  expect([1, 2].map(() => record.failed(address, 0))).toEqual([30_000, 30_000]);
  expect([address, undefined].map(isRefusal)).toEqual([false, false]);
});

test("a user's request ends the delay, but does not reset the failures", () => {
  const record = new FailureRecord();
  record.failed(forbidden, 100);
  expect(record.untilMs).toBe(30_100);
  record.tryAgain();
  expect([record.untilMs, record.error]).toEqual([Number.NEGATIVE_INFINITY, forbidden]);
  expect(record.failed(forbidden, 200)).toBe(600_000);
});
