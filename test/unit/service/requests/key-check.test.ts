/** Tests which requests wait while the service rejects the access key (401). */
import { expect, test } from 'vitest';
import type { Call } from '../../../../src/service/requests/call.ts';
import { JobSession } from '../../../../src/service/requests/job-session.ts';
import { KeyCheck } from '../../../../src/service/requests/key-check.ts';
import { toServiceError } from '../../../../src/service/requests/service-failure.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const address = 'https://service.test/api/v1/collectors/upgrades/collectors';
const rejection = toServiceError('listCollectors', { failure: 'unauthorized', address, status: 401 });
const newCall = (signal?: AbortSignal): Call => ({ operation: 'listCollectors', path: '/v1/x', signal });

/**
 * Returns a key check whose key the service has rejected once. The call `first` checks the key again, and the calls in
 * `waiting` wait for its result.
 */
async function rejected(waiting: readonly Call[]) {
  const check = new KeyCheck();
  const first = newCall();
  await check.pass(first);
  check.rejected(first, rejection, true);
  const ends = waiting.map(() => 'waits');
  waiting.forEach((call, index) => {
    check.pass(call).then(
      () => (ends[index] = 'sent'),
      (error: Error) => (ends[index] = error.name),
    );
  });
  await Promise.resolve();
  return { check, first, ends };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('no request waits before the first rejection', async () => {
  const check = new KeyCheck();
  await check.pass(newCall());
  const second = newCall();
  await check.pass(second);
  expect(check.mustWait(second)).toBe(false);
});

test('waiting requests fail without being sent if the key is rejected again', async () => {
  const { check, first, ends } = await rejected([newCall(), newCall()]);
  check.rejected(first, rejection, false);
  await settle();
  expect(ends).toEqual(['KeyRejectedError', 'KeyRejectedError']);
  const next = newCall();
  await check.pass(next);
  expect([check.mustWait(next), check.mustWait(newCall())]).toEqual([false, true]);
});

test('waiting requests are sent if the key is accepted', async () => {
  const { check, ends } = await rejected([newCall(), newCall()]);
  check.accepted();
  await settle();
  expect(ends).toEqual(['sent', 'sent']);
});

test('waiting requests are sent if the check ends without a response', async () => {
  const { check, first, ends } = await rejected([newCall(), newCall()]);
  check.unanswered(first);
  await settle();
  expect(ends).toEqual(['sent', 'sent']);
});

test('waiting requests are sent as soon as another request shows that the key is valid', async () => {
  const { check, first, ends } = await rejected([newCall(), newCall()]);
  check.accepted();
  await settle();
  expect(ends).toEqual(['sent', 'sent']);
  check.unanswered(first);
  expect(check.mustWait(newCall())).toBe(false);
});

test('requests wait until the check ends, whatever response a request gets that was sent before the rejection', async () => {
  const { check, ends } = await rejected([newCall()]);
  const earlier = newCall();
  check.unanswered(earlier);
  check.rejected(earlier, rejection, false);
  await settle();
  expect(ends).toEqual(['waits']);
});

test('a waiting request can be cancelled', async () => {
  const controller = new AbortController();
  const { ends } = await rejected([newCall(controller.signal), newCall()]);
  controller.abort(new DOMException('stopped', 'AbortError'));
  await settle();
  expect(ends).toEqual(['AbortError', 'waits']);
});

function newKeepAlive(): Call {
  const session = new JobSession(new VirtualClock());
  session.answered({ origin: 'https://service.test', basePath: '/api' }, true, 0);
  return { operation: 'getJob', path: '/v1/search/jobs/1', session };
}

test('no request waits for a request of a running search job, because its key may be an old one', async () => {
  const keepAlive = newKeepAlive();
  const { check, first } = await rejected([]);
  check.rejected(first, rejection, false);
  await check.pass(keepAlive);
  expect(check.mustWait(newCall())).toBe(false);
  check.rejected(keepAlive, rejection, true);
  expect(check.mustWait(newCall())).toBe(false);
});

test('requests of a running search job never wait', async () => {
  const keepAlive = newKeepAlive();
  const { check, ends } = await rejected([keepAlive]);
  expect(check.mustWait(keepAlive)).toBe(false);
  await settle();
  expect(ends).toEqual(['sent']);
});
