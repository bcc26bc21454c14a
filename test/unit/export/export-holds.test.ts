import { describe, expect, test } from 'vitest';
import { type Handling, LogfleetError } from '../../../src/base/errors.ts';
import { ExportHolds } from '../../../src/export/export-holds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const order = { segment: 3, fromMs: 0, toMs: 100 };

function failure(handling: Handling = { kind: 'backoff' }, reason = 'InternalError'): LogfleetError {
  return new LogfleetError({ code: 'test.failure', message: 'It failed.', handling, reason });
}

function world() {
  const clock = new VirtualClock();
  const holds = new ExportHolds(clock);
  const waitMs = () => (holds.trouble?.untilMs ?? clock.monotonic()) - clock.monotonic();
  const intervalWaitMs = () => (holds.intervals[0]?.untilMs ?? clock.monotonic()) - clock.monotonic();
  return { clock, holds, waitMs, intervalWaitMs };
}

describe('failures', () => {
  test.each<[Handling, number]>([
    [{ kind: 'backoff' }, 1_000],
    [{ kind: 'bug' }, 1_000],
    [{ kind: 'wait' }, 30_000],
    [{ kind: 'stall' }, 30_000],
    [{ kind: 'retryAfter', delayMs: 7_000 }, 7_000],
    [{ kind: 'retryAfter', delayMs: 0 }, 1_000],
  ])('wait as their handling says: %j', (handling, expected) => {
    const { holds, waitMs } = world();
    holds.failed(failure(handling));
    expect(waitMs()).toBe(expected);
  });

  test('in a row wait longer each time, up to a minute', async () => {
    const { clock, holds, waitMs } = world();
    const waits: number[] = [];
    for (let times = 0; times < 8; times++) {
      holds.failed(failure());
      waits.push(waitMs());
      await clock.advance(waitMs());
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('that name a delay of nothing wait longer each time, too', async () => {
    const { clock, holds, waitMs } = world();
    const waits: number[] = [];
    for (let times = 0; times < 4; times++) {
      holds.failed(failure({ kind: 'retryAfter', delayMs: 0 }));
      waits.push(waitMs());
      await clock.advance(waitMs());
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test('that come together count as one', () => {
    const { holds, waitMs } = world();
    for (let times = 0; times < 4; times++) holds.failed(failure());
    expect(waitMs()).toBe(1_000);
  });

  test('are over once something succeeds, but are known until then', async () => {
    const { clock, holds } = world();
    const error = failure();
    holds.failed(error);
    await clock.advance(1_000);
    expect(holds.trouble).toBeUndefined();
    expect(holds.lastError).toBe(error);
    holds.succeeded();
    expect(holds.lastError).toBeUndefined();
  });

  test('of one interval hold it longer than all others, until it is done', async () => {
    const { clock, holds, intervalWaitMs } = world();
    for (let times = 0; times < 4; times++) {
      holds.searchFailed(order, failure());
      await clock.advance(intervalWaitMs());
      holds.succeeded({ ...order, segment: 4 });
    }
    holds.searchFailed(order, failure());
    expect(intervalWaitMs()).toBe(16_000);
    expect(holds.intervals).toMatchObject([{ segment: 3, toMs: 100 }]);
    holds.succeeded(order);
    expect(holds.intervals).toEqual([]);
  });
});

test.each([
  ['QueryRefused', [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]],
  ['DestinationAccessDenied', [30_000, 30_000, 30_000, 30_000, 30_000, 30_000]],
])('an interval whose search stalls waits longer each time where nothing can mend it: %s', async (reason, expected) => {
  const { clock, holds, waitMs, intervalWaitMs } = world();
  const waits: number[] = [];
  for (let times = 0; times < 6; times++) {
    holds.searchFailed(order, failure({ kind: 'stall' }, reason));
    waits.push(intervalWaitMs());
    expect(waitMs()).toBe(30_000);
    await clock.advance(intervalWaitMs());
  }
  expect(waits).toEqual(expected);
});

test('an interval is searched again at once, but not for ever', async () => {
  const { clock, holds, intervalWaitMs } = world();
  const waits: number[] = [];
  for (let times = 0; times < 6; times++) {
    holds.again(order, 'a status was lost');
    waits.push(intervalWaitMs());
    await clock.advance(intervalWaitMs());
  }
  expect(waits).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000]);
});

test('what cannot be proven waits for a person, whatever succeeds meanwhile', () => {
  const { holds } = world();
  const unproven = {
    order,
    reason: 'CountDiffers',
    message: '3 rows were counted, and 2 were found',
    figures: undefined,
  } as const;
  holds.incomplete(unproven);
  holds.succeeded({ ...order, segment: 4 });
  expect(holds.unproven).toEqual([unproven]);
  expect(holds.intervals).toEqual([{ segment: 3, toMs: 100, untilMs: undefined, message: unproven.message }]);
  holds.lift();
  expect([holds.unproven, holds.intervals]).toEqual([[], []]);
});
