import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { sleep, systemClock } from '../../../src/base/clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

describe('sleep', () => {
  test('resolves after the given time, and not before', async () => {
    const clock = new VirtualClock();
    let awake = false;
    void sleep(clock, 1_000).then(() => {
      awake = true;
    });
    await clock.advance(999);
    expect(awake).toBe(false);
    await clock.advance(1);
    expect(awake).toBe(true);
  });

  test('rejects with the reason as soon as its signal is aborted, and leaves no timer', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, 1_000, stop.signal);
    stop.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(clock.next()).toBeUndefined();
  });

  test('does not begin with an aborted signal', async () => {
    const clock = new VirtualClock();
    await expect(sleep(clock, 1_000, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    expect(clock.next()).toBeUndefined();
  });

  test('an abort after the end changes nothing', async () => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, 10, stop.signal);
    await clock.advance(10);
    await sleeping;
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    stop.abort();
    await expect(sleeping).resolves.toBeUndefined();
  });
});

test('a timer that is longer than Node.js supports does not fire immediately', async () => {
  let hasFired = false;
  const timer = systemClock.after(2 ** 31, () => {
    hasFired = true;
  });
  await sleep(systemClock, 5);
  timer.cancel();
  expect(hasFired).toBe(false);
});
