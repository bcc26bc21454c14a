/** Tests that sparse maps, sparse sets and multimaps give the same results as JavaScript maps and sets. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Multimap } from '../../../src/base/multimap.ts';
import { SparseMap, SparseSet } from '../../../src/base/sparse.ts';

const key = fc.constantFrom('a', 'b', 'c');
const step = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), key, value: key }),
  fc.record({ kind: fc.constant('delete' as const), key, value: key }),
  fc.record({ kind: fc.constant('clear' as const), key, value: key }),
);
const steps = fc.array(step, { maxLength: 12 });

test('a sparse set behaves like a set', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const [sparse, plain] = [new SparseSet<string>(), new Set<string>()];
      for (const { kind, key } of history) {
        if (kind === 'clear') for (const set of [sparse, plain]) set.clear();
        else if (kind === 'put') for (const set of [sparse, plain]) set.add(key);
        else expect(sparse.delete(key)).toBe(plain.delete(key));
        expect([[...sparse], sparse.size, sparse.has('a')]).toEqual([[...plain], plain.size, plain.has('a')]);
      }
    }),
  );
});

test('a sparse map behaves like a map', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const [sparse, plain] = [new SparseMap<string, string>(), new Map<string, string>()];
      for (const { kind, key, value } of history) {
        if (kind === 'clear') for (const map of [sparse, plain]) map.clear();
        else if (kind === 'put') for (const map of [sparse, plain]) map.set(key, value);
        else expect(sparse.delete(key)).toBe(plain.delete(key));
        expect([[...sparse], sparse.size, sparse.has('a')]).toEqual([[...plain], plain.size, plain.has('a')]);
        expect([[...sparse.keys()], [...sparse.values()]]).toEqual([[...plain.keys()], [...plain.values()]]);
        expect(sparse.get('a')).toBe(plain.get('a'));
        const visited: string[][] = [];
        sparse.forEach((one, name) => {
          visited.push([name, one]);
        });
        expect(visited).toEqual([...plain]);
      }
    }),
  );
});

test('a multimap behaves like a map of non-empty sets', () => {
  fc.assert(
    fc.property(steps, (history) => {
      const [multimap, plain] = [new Multimap(), new Map<string, Set<string>>()];
      for (const { kind, key, value } of history) {
        const values = plain.get(key) ?? new Set<string>();
        if (kind === 'clear') {
          expect([...multimap.take(key)]).toEqual([...values]);
          values.clear();
        } else if (kind === 'put') {
          expect(multimap.add(key, value)).toBe(!values.has(value));
          values.add(value);
        } else {
          expect(multimap.delete(key, value)).toBe(values.delete(value));
        }
        if (values.size > 0) plain.set(key, values);
        else plain.delete(key);
        expect(multimap.size).toBe(plain.size);
        for (const one of ['a', 'b', 'c']) {
          expect([...multimap.get(one)]).toEqual([...(plain.get(one) ?? [])]);
          expect([multimap.hasKey(one), multimap.has(one, 'a')]).toEqual([
            plain.has(one),
            plain.get(one)?.has('a') ?? false,
          ]);
        }
      }
    }),
  );
});
