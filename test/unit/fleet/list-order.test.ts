/** Tests how the operator merges two collector lists, each of which lacks some collectors, into one order. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Listed, ListOrder } from '../../../src/fleet/list-order.ts';

const list = (ids: string): readonly Listed[] => [...ids].map((id) => ({ id, name: `web-${id}` }));
const everybody = () => true;
const order = (merged: ListOrder, ids: string) =>
  [...ids].sort((left, right) => (merged.place(left) ?? 99) - (merged.place(right) ?? 99)).join('');

describe('two lists of one order', () => {
  test.each([
    ['each list omits some collectors', 'acdf', 'bcef', 'abcdef'],
    ['the lists have no collector in common', 'ace', 'bdf', 'abcdef'],
    ['the second is empty', 'abc', '', 'abc'],
    ['the first is empty', '', 'abc', 'abc'],
    ['both lists have all collectors', 'abc', 'abc', 'abc'],
  ])('%s', (_, first, second, merged) => {
    const found = new ListOrder(undefined, list(first), list(second), everybody);
    expect(order(found, [...new Set(first + second)].join(''))).toBe(merged);
  });

  test('unsorted lists are joined by their common collectors', () => {
    const found = new ListOrder(undefined, list('xbma'), list('xpbqa'), everybody);
    for (const part of ['xbma', 'xpbqa']) expect(order(found, part)).toBe(part);
    expect(order(found, 'xpbqma')).toHaveLength(6);
  });

  test('a collector in neither listing has no position', () => {
    const found = new ListOrder(undefined, list('ab'), list('c'), everybody);
    expect(found.place('z')).toBeUndefined();
    found.locate(everybody, 1);
    expect(found.position('z')).toBeUndefined();
  });
});

describe('the position', () => {
  const found = new ListOrder(undefined, list('abcdef'), list(''), everybody);

  test('counts the visible collectors before it', () => {
    const shown = new Set('bdf');
    const shows = (id: string) => shown.has(id);
    found.locate(shows, 1);
    expect([...'abcdef'].map((id) => found.position(id))).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test('counts a collector once that two pages show, because the list changed between them', () => {
    const twice = new ListOrder(undefined, list('abbde'), list('bccd'), everybody);
    twice.locate(everybody, 1);
    expect([...'abcde'].map((id) => twice.position(id))).toEqual([0, 1, 2, 3, 4]);
  });

  test('is counted again when the visible collectors change', () => {
    found.locate(everybody, 2);
    expect(found.position('f')).toBe(5);
    found.locate(() => false, 2);
    expect(found.position('f')).toBe(5);
    found.locate(() => false, 3);
    expect(found.position('f')).toBe(0);
  });
});

describe('after another sweep', () => {
  test('a collector that moved between the listings during the sweep keeps its position', () => {
    const before = new ListOrder(undefined, list('ace'), list('bd'), everybody);
    const after = new ListOrder(before, list('ae'), list('bd'), everybody);
    expect(order(after, 'abcde')).toBe('abcde');
  });

  test('a removed collector has no position', () => {
    const before = new ListOrder(undefined, list('ace'), list('bd'), everybody);
    const after = new ListOrder(before, list('ae'), list('bd'), (id) => id !== 'c');
    expect(after.place('c')).toBeUndefined();
  });
});

test('sorted listings with any gaps merge into the sorted order of all', () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 60 });
  const byNumber = (left: number, right: number) => left - right;
  const listed = (numbers: readonly number[]) =>
    [...numbers].sort(byNumber).map((id) => ({ id: String(id), name: 'x' }));
  fc.assert(
    fc.property(ids, fc.func(fc.constantFrom('first', 'second', 'both')), (numbers, where) => {
      const first = listed(numbers.filter((id) => where(id) !== 'second'));
      const second = listed(numbers.filter((id) => where(id) !== 'first'));
      const found = new ListOrder(undefined, first, second, everybody);
      const sorted = [...numbers].sort(byNumber);
      expect(sorted.map((id) => found.place(String(id)))).toEqual(sorted.map((_, place) => place));
    }),
    { numRuns: 200 },
  );
});

test('for any order, no collector is lost and no two have the same position', () => {
  const ids = fc.uniqueArray(fc.constantFrom(...'abcdefghij'), { maxLength: 10 });
  fc.assert(
    fc.property(ids, ids, (first, second) => {
      const found = new ListOrder(undefined, list(first.join('')), list(second.join('')), everybody);
      const all = [...new Set([...first, ...second])];
      expect(all.map((id) => found.place(id)).sort()).toEqual(all.map((_, place) => place).sort());
    }),
    { numRuns: 500 },
  );
});
