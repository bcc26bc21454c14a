import { describe, expect, test } from 'vitest';
import { type Handling, LogfleetError } from '../../../src/base/errors.ts';
import { ExportDelays } from '../../../src/export/work/export-delays.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const order = { segment: 3, fromMs: 0, toMs: 100 };

function failure(handling: Handling = { kind: 'backoff' }, reason = 'InternalError'): LogfleetError {
  return new LogfleetError({ code: 'test.failure', message: 'It failed.', handling, reason });
}

function world() {
  const clock = new VirtualClock();
  const delays = new ExportDelays(clock);
  const waitMs = () => (delays.troubleAt(clock.monotonic())?.untilMs ?? clock.monotonic()) - clock.monotonic();
  const intervalWaitMs = () => (delays.intervals[0]?.untilMs ?? clock.monotonic()) - clock.monotonic();
  return { clock, delays, waitMs, intervalWaitMs };
}

describe('failures', () => {
  test.each<[Handling, number]>([
    [{ kind: 'backoff' }, 1_000],
    [{ kind: 'bug' }, 1_000],
    [{ kind: 'wait' }, 30_000],
    [{ kind: 'stall' }, 30_000],
    [{ kind: 'retryAfter', delayMs: 7_000 }, 7_000],
    [{ kind: 'retryAfter', delayMs: 0 }, 1_000],
  ])('delay retries according to their handling: %j', (handling, expected) => {
    const { delays, waitMs } = world();
    delays.failed(failure(handling));
    expect(waitMs()).toBe(expected);
  });

  test('delay retries longer each time, up to a minute', async () => {
    const { clock, delays, waitMs } = world();
    const waits: number[] = [];
    for (let times = 0; times < 8; times++) {
      delays.failed(failure());
      waits.push(waitMs());
      await clock.advance(waitMs());
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('with Retry-After 0 delay retries longer each time', async () => {
    const { clock, delays, waitMs } = world();
    const waits: number[] = [];
    for (let times = 0; times < 4; times++) {
      delays.failed(failure({ kind: 'retryAfter', delayMs: 0 }));
      waits.push(waitMs());
      await clock.advance(waitMs());
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test('that are concurrent count as one', () => {
    const { delays, waitMs } = world();
    for (let times = 0; times < 4; times++) delays.failed(failure());
    expect(waitMs()).toBe(1_000);
  });

  test('end when something succeeds', async () => {
    const { clock, delays } = world();
    const error = failure();
    delays.failed(error);
    await clock.advance(1_000);
    expect(delays.troubleAt(clock.monotonic())).toBeUndefined();
    expect(delays.lastError).toBe(error);
    delays.succeeded();
    expect(delays.lastError).toBeUndefined();
  });

  test('of one interval delay it longer than others', async () => {
    const { clock, delays, intervalWaitMs } = world();
    for (let times = 0; times < 4; times++) {
      delays.searchFailed(order, failure());
      await clock.advance(intervalWaitMs());
      delays.succeeded({ ...order, segment: 4 });
    }
    delays.searchFailed(order, failure());
    expect(intervalWaitMs()).toBe(16_000);
    expect(delays.intervals).toMatchObject([{ segment: 3, toMs: 100 }]);
    delays.succeeded(order);
    expect(delays.intervals).toEqual([]);
  });

  test('of a search end when another process commits its interval, but not when it commits other intervals', () => {
    const { delays } = world();
    const error = failure();
    delays.searchFailed(order, error);
    delays.committedElsewhere({ ...order, segment: 4 });
    expect([delays.lastError, delays.intervals.length]).toEqual([error, 1]);
    delays.committedElsewhere(order);
    expect([delays.lastError, delays.intervals.length]).toEqual([undefined, 0]);
  });
});

test.each([
  ['QueryRefused', [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]],
  ['DestinationAccessDenied', [30_000, 30_000, 30_000, 30_000, 30_000, 30_000]],
])(
  'an interval whose search stalls waits longer each time if no change can be noticed: %s',
  async (reason, expected) => {
    const { clock, delays, waitMs, intervalWaitMs } = world();
    const waits: number[] = [];
    for (let times = 0; times < 6; times++) {
      delays.searchFailed(order, failure({ kind: 'stall' }, reason));
      waits.push(intervalWaitMs());
      expect(waitMs()).toBe(30_000);
      await clock.advance(intervalWaitMs());
    }
    expect(waits).toEqual(expected);
  },
);

test('an interval is searched again immediately, and with a delay after several repetitions', async () => {
  const { clock, delays, intervalWaitMs } = world();
  const waits: number[] = [];
  for (let times = 0; times < 6; times++) {
    delays.again(order, 'a status was lost');
    waits.push(intervalWaitMs());
    await clock.advance(intervalWaitMs());
  }
  expect(waits).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000]);
});

test('an unproven interval waits for a user, even when other intervals succeed', () => {
  const { delays } = world();
  const unproven = {
    order,
    reason: 'CountDiffers',
    message: 'the service counts 3 rows, but the search found 2',
    figures: undefined,
  } as const;
  delays.incomplete(unproven);
  delays.succeeded({ ...order, segment: 4 });
  expect(delays.unproven).toEqual([unproven]);
  expect(delays.intervals).toEqual([{ segment: 3, toMs: 100, untilMs: undefined, message: unproven.message }]);
  delays.lift();
  expect([delays.unproven, delays.intervals]).toEqual([[], []]);
});
