/** Tests the parts of the request budget individually, such as an API key's queue, or the admission of search jobs. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JobAdmission, type JobPermit } from '../../../../src/service/budget/job-admission.ts';
import { KeyQueue, type Waiter } from '../../../../src/service/budget/key-queue.ts';
import { marginBounds, PathMargin } from '../../../../src/service/budget/path-margin.ts';
import { RatePace, stepsSince } from '../../../../src/service/budget/rate-pace.ts';
import type { RequestClass } from '../../../../src/service/budget/request-slot.ts';
import { settle, VirtualClock } from '../../../support/virtual-clock.ts';

/** Interval in ms at which the request rate is raised by one step. */
const paceStepMs = 10_000;

describe('the waiting queue', () => {
  const waiterOf = (queue: KeyQueue, dueMs: number): Waiter => ({
    class: 'listing',
    path: undefined,
    queue,
    sinceMs: 0,
    dueMs,
    grant() {},
    refuse() {},
  });

  it('returns requests by due time and then by arrival, even after removals', () => {
    const step = fc.oneof(
      {
        arbitrary: fc.record({ kind: fc.constant('push' as const), dueMs: fc.integer({ min: 0, max: 99 }) }),
        weight: 3,
      },
      { arbitrary: fc.record({ kind: fc.constant('remove' as const), index: fc.nat() }), weight: 2 },
      { arbitrary: fc.constant({ kind: 'pop' as const }), weight: 1 },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const queue = new KeyQueue(1, () => 0);
        let model: Waiter[] = [];
        const take = (waiter: Waiter | undefined) => {
          if (!waiter) return;
          queue.remove(waiter);
          model = model.filter((other) => other !== waiter);
        };
        for (const one of steps) {
          if (one.kind === 'push') {
            const waiter = waiterOf(queue, one.dueMs);
            queue.push(waiter, 0);
            model = [...model, waiter].sort((left, right) => left.dueMs - right.dueMs);
          } else {
            take(one.kind === 'pop' ? queue.head('listing') : model[one.index % Math.max(1, model.length)]);
          }
          expect(queue.head('listing')).toBe(model[0]);
          expect(queue.waiting).toBe(model.length);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('the margin of the path (B1)', () => {
  const feed = (margin: PathMargin, roundTrips: readonly number[]) =>
    roundTrips.map((roundTripMs, index) => margin.learn('listing', roundTripMs, index * 250));
  const repeat = (count: number, ...roundTrips: number[]) => Array.from({ length: count }, () => roundTrips).flat();

  it.each([
    { what: 'is close to its minimum on a path without delays', roundTrips: repeat(200, 2, 3), min: 5, max: 7 },
    { what: 'does not depend on how long the server works', roundTrips: repeat(200, 800, 801), min: 5, max: 7 },
    { what: 'covers a path that is late by up to 100 ms', roundTrips: repeat(100, 20, 70, 120), min: 60, max: 105 },
    { what: 'has a maximum', roundTrips: repeat(100, 1, 9_000, 9_000, 9_000), min: 200, max: 250 },
    {
      what: 'hardly grows when one response in fifty is late',
      roundTrips: repeat(8, ...repeat(49, 2), 52),
      min: 5,
      max: 13,
    },
    { what: 'shrinks slowly', roundTrips: [10, ...repeat(40, 210), ...repeat(20, 10)], min: 90, max: 200 },
  ])('$what', ({ roundTrips, min, max }) => {
    const margin = new PathMargin();
    feed(margin, roundTrips);
    expect(margin.currentMs).toBeGreaterThanOrEqual(min);
    expect(margin.currentMs).toBeLessThanOrEqual(max);
  });

  const old = (margin: PathMargin, requestClass: RequestClass, roundTripMs: number) => {
    for (let response = 0; response < marginBounds.youngResponses; response++)
      margin.learn(requestClass, roundTripMs, 0);
  };

  it('compares a response only with responses of its class', () => {
    const margin = new PathMargin();
    old(margin, 'taskStatus', 5);
    old(margin, 'listing', 80);
    expect(margin.currentMs).toBeLessThan(marginBounds.initialMs);
    expect(margin.learn('listing', 120, 100)).toBe(40);
    expect(margin.learn('taskStatus', 8, 100)).toBe(3);
  });

  it('compares the first responses with nothing, since all may be late', () => {
    const margin = new PathMargin();
    expect([82, 90, 93, 300].map((roundTripMs) => margin.learn('jobCreation', roundTripMs, 0))).toEqual([
      82, 90, 93, 300,
    ]);
  });

  it('compares the first responses of a class with the quickest response of all classes, since each may be late', () => {
    const margin = new PathMargin();
    old(margin, 'listing', 10);
    expect(margin.learn('pageRead', 90, 0)).toBe(80);
    expect(margin.learn('pageRead', 900, 0)).toBe(890);
    for (let response = 2; response < marginBounds.youngResponses; response++)
      expect(margin.learn('pageRead', 90, 0)).toBe(80);
    expect(margin.learn('pageRead', 98, 0)).toBe(8);
  });

  it('forgets the quickest response of a path that has become longer', () => {
    const margin = new PathMargin();
    old(margin, 'listing', 10);
    expect(margin.learn('listing', 110, 61_000)).toBe(100);
    expect(margin.learn('listing', 112, 122_000)).toBe(2);
  });

  it('doubles the additional margin with each further 429, up to a maximum', () => {
    const margin = new PathMargin();
    const grown = Array.from({ length: 6 }, () => {
      margin.refused();
      return margin.cautionMs;
    });
    expect(grown).toEqual([25, 50, 100, 200, 250, 250]);
    expect(margin.currentMs).toBe(marginBounds.maxMs);
    for (let response = 0; response < 35; response++) margin.passed();
    expect(margin.cautionMs).toBeGreaterThan(100);
    for (let response = 0; response < 300; response++) margin.passed();
    expect(margin.cautionMs).toBe(0);
  });
});

describe('the pace (B5)', () => {
  it.each([
    { afterMs: 0, starts: 2 },
    { afterMs: paceStepMs - 1, starts: 2 },
    { afterMs: paceStepMs, starts: 3 },
    { afterMs: 2 * paceStepMs, starts: 4 },
    { afterMs: 900 * paceStepMs, starts: 4 },
  ])('allows $starts per second $afterMs ms after it was halved', ({ afterMs, starts }) => {
    const pace = new RatePace(4);
    pace.slowDown(50, 100);
    expect(pace.current(100 + afterMs)).toEqual({ starts, periodMs: 1000 });
  });

  it('falls with each 429, down to a quarter of the share', () => {
    const pace = new RatePace(4);
    const starts = [100, 200, 300].map((atMs) => {
      expect(pace.slowDown(atMs - 1, atMs)).toBe(true);
      return pace.current(atMs).starts;
    });
    expect(starts).toEqual([2, 1, 1]);
    expect(pace.slowDown(299, 301)).toBe(false);
  });

  it('takes each step exactly at the announced time, despite rounding', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), fc.integer({ min: 1, max: 3 }), (slowedAtMs, count) => {
        expect(stepsSince(slowedAtMs, paceStepMs, slowedAtMs + count * paceStepMs)).toBeGreaterThanOrEqual(count);
        const pace = new RatePace(4);
        pace.slowDown(slowedAtMs, slowedAtMs);
        const nextMs = pace.nextStepMs(slowedAtMs);
        expect(pace.nextStepMs(nextMs)).toBeGreaterThan(nextMs);
      }),
    );
  });
});

describe('the admission of jobs (B4, B5)', () => {
  function admission(sustainable: () => number) {
    const clock = new VirtualClock();
    const jobs = new JobAdmission(clock, sustainable);
    const permits: JobPermit[] = [];
    const admit = async (count: number) => {
      for (let job = 0; job < count; job++) void jobs.admit().then((permit) => permits.push(permit));
      await settle();
    };
    return { clock, jobs, permits, admit };
  }

  it('admits as many jobs as can be kept alive, and the next one when a job ends', async () => {
    const { clock, jobs, permits, admit } = admission(() => 3);
    await admit(5);
    expect(permits).toHaveLength(3);
    permits[0]?.end();
    await settle();
    expect(permits).toHaveLength(4);
    expect(jobs.active).toBe(3);
    await clock.advance(3_600_000);
    expect(permits).toHaveLength(4);
  });

  it('admits at least one job', async () => {
    const { permits, admit } = admission(() => 0);
    await admit(2);
    expect(permits).toHaveLength(1);
  });

  it('checks again while a job waits, and sets no timer otherwise', async () => {
    let sustainable = 1;
    const { clock, permits, admit } = admission(() => sustainable);
    await admit(3);
    sustainable = 3;
    await clock.advance(10_000);
    expect(permits).toHaveLength(3);
    expect(clock.next()).toBeUndefined();
  });

  it('halves the limit after a rejection, once for all creations sent before it, and adds one job per minute', async () => {
    const { clock, jobs, permits, admit } = admission(() => 30);
    await admit(20);
    await clock.advance(1_000);
    jobs.refused(900);
    jobs.refused(950);
    expect([jobs.limit, jobs.active]).toEqual([10, 20]);
    for (const permit of permits.splice(0)) permit.end();
    await admit(12);
    expect(permits).toHaveLength(10);
    await clock.advance(59_999);
    expect(permits).toHaveLength(10);
    await clock.advance(1);
    expect(permits).toHaveLength(11);
    await clock.advance(60_000);
    expect(permits).toHaveLength(12);
    await clock.advance(3_600_000);
    expect(jobs.limit).toBe(30);
  });

  it('removes aborted waiters', async () => {
    const { jobs, permits, admit, clock } = admission(() => 1);
    await admit(1);
    const controller = new AbortController();
    const waiting = jobs.admit(controller.signal);
    controller.abort(new Error('not needed'));
    await expect(waiting).rejects.toThrow('not needed');
    await expect(jobs.admit(controller.signal)).rejects.toThrow('not needed');
    permits[0]?.end();
    expect(jobs.active).toBe(0);
    expect(clock.next()).toBeUndefined();
  });
});
