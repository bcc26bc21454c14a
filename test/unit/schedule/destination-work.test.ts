import { expect, test } from 'vitest';
import { DestinationWork } from '../../../src/schedule/destination-work.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

test('the first reconcile after an aborted one waits the full time for the operation', async () => {
  const clock = new VirtualClock();
  const work = new DestinationWork(clock, () => {});
  const { promise, resolve } = Promise.withResolvers<string>();
  const aborted = new AbortController();
  const first = work.run('read', aborted.signal, () => promise);
  aborted.abort(new Error('leadership was lost'));
  await expect(first).rejects.toThrow('leadership was lost');
  const second = work.run('read', new AbortController().signal, () => Promise.reject(new Error('started twice')));
  await clock.advance(9_000);
  resolve('records');
  expect(await second).toBe('records');
});

test('an operation is started again after it has ended, and another operation is started in any case', async () => {
  const work = new DestinationWork(new VirtualClock(), () => {});
  const { signal } = new AbortController();
  const aborted = new AbortController();
  expect(await work.run('read', signal, async () => 1)).toBe(1);
  expect(await work.run('read', signal, async () => 2)).toBe(2);
  const first = work.run('read', aborted.signal, () => new Promise(() => {}));
  aborted.abort(new Error('leadership was lost'));
  await expect(first).rejects.toThrow('leadership was lost');
  expect(await work.run('record run-1', signal, async () => 3)).toBe(3);
});
