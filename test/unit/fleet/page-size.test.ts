/** Tests how the operator finds the largest page size that a service accepts (U9). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PageSize } from '../../../src/fleet/page-size.ts';
import { serviceError } from '../../support/service-error.ts';

function sweep(size: PageSize, rows: number, { cut = Infinity, max = Infinity } = {}): readonly number[] {
  const limits: number[] = [];
  for (let offset = 0; limits.length < 1_000; ) {
    const limit = size.limit();
    limits.push(limit);
    if (limit > max) {
      expect(size.refused(serviceError({ status: 400 }), limit)).toBe(true);
      continue;
    }
    const got = Math.max(0, Math.min(limit, cut, rows - offset));
    const ended = size.learn(limit, got, offset);
    offset += got;
    if (!ended) continue;
    expect(offset).toBe(rows);
    return limits;
  }
  throw new Error('the sweep does not end');
}

describe('a service that accepts any limit', () => {
  test.each([1, 20, 700])('with %d collectors gets one more request, for an empty page', (rows) => {
    expect(sweep(new PageSize(), rows)).toEqual([1_000, 1_000]);
  });

  test('gets a larger limit after a full page', () => {
    expect(sweep(new PageSize(), 25_000)).toEqual([1_000, 10_000, 10_000, 10_000, 10_000]);
  });

  test('immediately ends the list of an empty fleet', () => {
    expect(sweep(new PageSize(), 0)).toEqual([1_000]);
  });
});

describe('a service that rejects large limits', () => {
  test.each([
    [500, 1_020, [1_000, 500, 500, 500, 500]],
    [100, 220, [1_000, 500, 100, 100, 100, 100]],
  ])('above %d gets an accepted limit', (max, rows, limits) => {
    expect(sweep(new PageSize(), rows, { max })).toEqual(limits);
  });

  test('does not get a larger limit again', () => {
    const size = new PageSize();
    sweep(size, 5_000, { max: 500 });
    expect(new Set(sweep(size, 5_000, { max: 500 }))).toEqual(new Set([500]));
  });

  test('gets the former limit after a rejected increase', () => {
    const size = new PageSize();
    expect(sweep(size, 2_020, { max: 1_000 })).toEqual([1_000, 10_000, 1_000, 1_000, 1_000]);
    expect(sweep(size, 2_020, { max: 1_000 })).toEqual([1_000, 1_000, 1_000, 1_000]);
  });

  test('gets no limit below the documented default', () => {
    const size = new PageSize();
    for (const limit of [1_000, 500, 100]) expect(size.refused(serviceError({ status: 400 }), limit)).toBe(true);
    expect(size.rows()).toBe(50);
    expect(size.refused(serviceError({ status: 400 }), 50)).toBe(false);
  });

  test('for another reason gets the first limit again when it also rejects the smallest one', () => {
    const size = new PageSize();
    for (const limit of [1_000, 500, 100, 50]) size.refused(serviceError({ status: 400 }), limit);
    expect(sweep(size, 25_000)).toEqual([1_000, 10_000, 10_000, 10_000, 10_000]);
  });

  test.each([401, 403, 404, 429, 500, 503])('%d does not count as a rejection of the limit', (status) => {
    const size = new PageSize();
    expect(size.refused(serviceError({ status: status }), 1_000)).toBe(false);
    expect(size.rows()).toBe(1_000);
  });

  test('other failures do not count as a rejection of the limit', () => {
    expect(new PageSize().refused(new Error('reset'), 1_000)).toBe(false);
  });
});

describe('a service that silently shortens pages', () => {
  test.each([10, 49, 50, 100, 640])('to %d rows is detected at the second page', (cut) => {
    const size = new PageSize();
    sweep(size, 5_010, { cut });
    expect(size.rows()).toBe(cut);
  });

  test.each([11, 15, 20, 60])('to 10 rows shows all %d collectors', (rows) => {
    const size = new PageSize();
    sweep(size, rows, { cut: 10 });
    expect(size.rows()).toBe(10);
  });

  test('and later stops is detected at the first page', () => {
    const size = new PageSize();
    sweep(size, 500, { cut: 50 });
    sweep(size, 500);
    expect(size.rows()).toBe(1_000);
  });

  test('is distinguished from a service that lists a new collector after the last page', () => {
    const size = new PageSize();
    expect(size.learn(1_000, 1_000, 0)).toBe(false);
    expect(size.learn(10_000, 1, 1_000)).toBe(false);
    expect(size.learn(10_000, 1, 1_001)).toBe(false);
    expect(size.learn(10_000, 0, 1_002)).toBe(true);
    expect(size.rows()).toBe(1_000);
  });
});

test('U9: a sweep ends and shows all collectors, for any behaviour of the service', () => {
  const behaviour = fc.record({
    rows: fc.integer({ min: 0, max: 12_000 }),
    cut: fc.oneof(fc.constant(Infinity), fc.integer({ min: 20, max: 2_000 })),
    max: fc.oneof(fc.constant(Infinity), fc.integer({ min: 50, max: 12_000 })),
  });
  fc.assert(
    fc.property(behaviour, fc.array(fc.integer({ min: 0, max: 12_000 }), { maxLength: 3 }), (how, later) => {
      const size = new PageSize();
      for (const rows of [how.rows, ...later]) sweep(size, rows, how);
    }),
    { numRuns: 200 },
  );
});
