/** Tests that exactly the affected policies are notified when a collector changes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CollectorSelector } from '../../../src/api/generated/collector-version-policy.ts';
import { FleetRows } from '../../../src/fleet/fleet-rows.ts';
import { anchorOf, compileSelection } from '../../../src/policy/members/selector.ts';
import { collector } from '../policy/builders.ts';

function entered(rows: FleetRows, policy: string, selector: CollectorSelector, onMatch = () => {}): void {
  const matches = compileSelection(selector);
  const counting = (one: Parameters<typeof matches>[0]) => {
    onMatch();
    return matches(one);
  };
  rows.members.enter(policy, { anchor: anchorOf(selector), matches: counting, onChange: () => {} });
}

const changed = (rows: FleetRows, policy: string) => [...rows.members.takeChanged(policy)];
const named = (count: number) =>
  Array.from({ length: count }, (_, index) => collector(String(index), { name: `web-${index}` }));

describe('policies that select one collector each', () => {
  const selectors: readonly (readonly [string, (name: string) => CollectorSelector])[] = [
    ['by name', (name) => ({ matchNames: [name] })],
    ['by a glob', (name) => ({ matchNames: [`${name}*`] })],
    ['by a field', (name) => ({ matchFields: { name } })],
    ['by a list', (name) => ({ matchExpressions: [{ key: 'name', operator: 'In', values: [name, 'other'] }] })],
    ['by a glob and a field', (name) => ({ matchNames: ['*'], matchFields: { name } })],
  ];

  test.each(selectors)('%s: each policy is compared with few changed rows', (_, selectorOf) => {
    const rows = new FleetRows();
    const count = 500;
    let comparisons = 0;
    for (let index = 0; index < count; index++) {
      entered(rows, `policy-${index}`, selectorOf(`web-${index}`), () => comparisons++);
    }
    rows.takePage(named(count), 1, 0);
    // The prefix `web-1` also matches names such as `web-10`, so the index compares the policy with these rows, too. On
    // average, each row is compared with at most four policies.
    expect(comparisons).toBeLessThanOrEqual(4 * count);
    expect(changed(rows, 'policy-499')).toEqual(['499']);
  });

  test.each(selectors)('%s: each new policy reads few existing rows', (_, selectorOf) => {
    const rows = new FleetRows();
    const count = 500;
    rows.takePage(named(count), 1, 0);
    let looks = 0;
    for (let index = 0; index < count; index++) {
      looks += [...rows.anchored(anchorOf(selectorOf(`web-${index}`)))].length;
    }
    expect(looks).toBeGreaterThanOrEqual(count);
    expect(looks).toBeLessThanOrEqual(4 * count);
  });
});

test('a followed row concerns the policy, for any selection', () => {
  const rows = new FleetRows();
  entered(rows, 'a', { matchFields: { collectorVersion: '19.1-1' } });
  rows.members.follow('a', '1');
  rows.takePage([collector('1'), collector('2')], 1, 0);
  expect(changed(rows, 'a')).toEqual(['1']);
  rows.members.unfollow('a', '1');
  rows.takePage([collector('1', { alive: false })], 2, 0);
  expect(changed(rows, 'a')).toEqual([]);
});

test('a change is kept until the policy takes it, and the concerned policy also afterwards', () => {
  const rows = new FleetRows();
  let reported = 0;
  rows.members.enter('a', { anchor: undefined, matches: () => true, onChange: () => reported++ });
  rows.takePage([collector('1'), collector('2')], 1, 0);
  expect(reported).toBe(1);
  expect(changed(rows, 'a')).toEqual(['1', '2']);
  expect([...rows.members.takeConcerned()]).toEqual(['a']);
  expect([...rows.members.takeConcerned()]).toEqual([]);
  rows.members.leave('a');
  rows.takePage([collector('1', { alive: false })], 2, 0);
  expect(changed(rows, 'a')).toEqual([]);
});

test('a policy that selects names by their beginning is notified after a policy that selects one name has left', () => {
  const rows = new FleetRows();
  entered(rows, 'a', { matchNames: ['web-*'] });
  entered(rows, 'b', { matchNames: ['db-1'] });
  rows.members.leave('b');
  rows.takePage(named(1), 1, 0);
  expect(changed(rows, 'a')).toEqual(['0']);
});

const text = fc.constantFrom('a', 'ab', 'abc', 'b', 'ba', '');
const pattern = fc.constantFrom('a', 'a*', 'ab*', '*', '?b', 'b', 'ba?', '*c');
const operator = fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist');
const key = fc.constantFrom('name', 'hostName', 'osName', 'alive');
const expression = fc
  .record({ key, operator, values: fc.array(text, { minLength: 1, maxLength: 2 }) })
  .map((found) => (found.operator.endsWith('In') ? found : { key: found.key, operator: found.operator }));
const selector = fc.record(
  {
    matchNames: fc.array(pattern, { maxLength: 3 }),
    matchFields: fc.dictionary(fc.constantFrom('name', 'osName'), text, { maxKeys: 2 }),
    matchExpressions: fc.array(expression, { maxLength: 2 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<CollectorSelector>;
const shown = fc.record({ id: fc.integer({ min: 0, max: 5 }), name: text, hostName: text, osName: text });

test('finds the same rows as a comparison of all policies with all rows', () => {
  fc.assert(
    fc.property(fc.array(selector, { maxLength: 6 }), fc.array(shown, { maxLength: 20 }), (selectors, pages) => {
      const rows = new FleetRows();
      for (const [policy, one] of selectors.entries()) entered(rows, String(policy), one);
      for (const [index, { id, ...fields }] of pages.entries()) {
        const one = collector(String(id), fields);
        const before = rows.get(one.id)?.collector;
        const isNews = !before || Object.entries(fields).some(([name, value]) => before[name as 'name'] !== value);
        rows.takePage([one], index, 0);
        for (const [policy, selector] of selectors.entries()) {
          const expected = isNews && compileSelection(selector)(one) ? [one.id] : [];
          expect(changed(rows, String(policy))).toEqual(expected);
        }
      }
      for (const selector of selectors) {
        const matches = compileSelection(selector);
        const matching = [...rows.entries()].filter(([, { collector: one }]) => matches(one)).map(([id]) => id);
        const allowed = new Set(rows.anchored(anchorOf(selector)));
        expect(matching.filter((id) => !allowed.has(id))).toEqual([]);
      }
    }),
  );
});
