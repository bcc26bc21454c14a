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
