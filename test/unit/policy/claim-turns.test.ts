/** U13: nobody of a service starts anything before all of its policies that can have claimed their collectors. */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { ClaimTurns } from '../../../src/policy/claim-turns.ts';
import { policy } from './builders.ts';

const service = 'https://logs.test/api';
const elsewhere = 'https://other.test/api';

function world(...names: readonly string[]) {
  const policies = new Map<string, CollectorVersionPolicy>();
  const add = (name: string, generation = 1) =>
    policies.set(name, policy({ metadata: { name, uid: name, namespace: 'logging', generation } }));
  for (const name of names) add(name);
  const enqueued: string[] = [];
  const turns = new ClaimTurns({ policies: () => policies.values(), enqueue: ({ name }) => enqueued.push(name) });
  const held = (name: string, serviceId = service) => turns.heldBy({ namespace: 'logging', name }, serviceId);
  const of = (name: string) => policies.get(name) as CollectorVersionPolicy;
  return { turns, held, add, of, enqueued, policies };
}

const waits = (name: string) => `policy logging/${name} to claim its collectors first`;

describe('a policy waits', () => {
  test('for itself and for each other that was not looked at yet, wherever that belongs', () => {
    const { turns, held } = world('a', 'b');
    expect(held('a')).toBe(waits('a'));
    turns.claimed('a', service);
    expect(held('a')).toBe(waits('b'));
    turns.claimed('b', service);
    expect(held('a')).toBeUndefined();
  });

  test('for who is about to claim of the same host, whatever the path', () => {
    const { turns, held } = world('a', 'b');
    turns.claimed('a', service);
    turns.claiming('b', 'https://logs.test/other');
    expect(held('a')).toBe(waits('b'));
  });

  test('not for who belongs to another service', () => {
    const { turns, held } = world('a', 'b');
    turns.claimed('a', service);
    turns.claiming('b', elsewhere);
    expect(held('a')).toBeUndefined();
  });

  test('for one that came after all had claimed', () => {
    const { turns, held, add } = world('a');
    turns.claimed('a', service);
    expect(held('a')).toBeUndefined();
    add('b');
    turns.expect('b');
    expect(held('a')).toBe(waits('b'));
  });

  test('for one that turned to its service since', () => {
    const { turns, held } = world('a', 'b');
    turns.claimed('a', service);
    turns.claimed('b', elsewhere);
    expect(held('a')).toBeUndefined();
    turns.claiming('b', service);
    expect(held('a')).toBe(waits('b'));
  });

  test('and is told once it need not', () => {
    const { turns, held, enqueued } = world('a', 'b', 'c');
    for (const name of ['a', 'c']) turns.claimed(name, service);
    held('a');
    held('c');
    turns.claimed('b', service);
    expect(enqueued).toEqual(['a', 'c']);
    turns.claimed('b', service);
    expect(enqueued).toHaveLength(2);
  });

  test('not for one that is gone', () => {
    const { turns, held, enqueued, policies } = world('a', 'b');
    turns.claimed('a', service);
    held('a');
    policies.delete('b');
    turns.forget({ namespace: 'logging', name: 'b' }, 'b');
    expect(enqueued).toEqual(['a']);
    expect(held('a')).toBeUndefined();
  });

  test('for all again in another term', () => {
    const { turns, held } = world('a');
    turns.claimed('a', service);
    expect(held('a')).toBeUndefined();
    turns.reset();
    expect(held('a')).toBe(waits('a'));
  });
});

describe('an excuse', () => {
  test('holds for as long as its reason does', () => {
    const { turns, held, of, enqueued } = world('a', 'b');
    turns.claimed('a', service);
    held('a');
    let broken = true;
    turns.excuse(of('b'), () => broken);
    expect(enqueued).toEqual(['a']);
    expect(held('a')).toBeUndefined();
    broken = false;
    expect(held('a')).toBe(waits('b'));
  });

  test('holds for the text that it was made for: another may be able to claim', () => {
    const { turns, held, of, add } = world('a', 'b');
    turns.claimed('a', service);
    turns.excuse(of('b'), () => true);
    add('b', 2);
    expect(held('a')).toBe(waits('b'));
    turns.excuse(of('b'), () => true);
    expect(held('a')).toBeUndefined();
  });

  test('ends when the policy is about to claim, and not with each look that it takes', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed('a', service);
    turns.excuse(of('b'), () => true);
    turns.claiming('b', service);
    expect(held('a')).toBeUndefined();
    turns.resumes('b', service);
    expect(held('a')).toBe(waits('b'));
  });

  test('takes nothing from who has claimed: its claims stand', () => {
    const { turns, held, of } = world('a', 'b');
    for (const name of ['a', 'b']) turns.claimed(name, service);
    turns.excuse(of('b'), () => false);
    expect(held('a')).toBeUndefined();
  });
});

describe("once somebody's trouble is over", () => {
  function troubled() {
    const parts = world('a', 'b');
    const { turns, of } = parts;
    turns.claimed('a', service);
    turns.troubled('a');
    turns.troubled('b');
    turns.excuse(of('b'), () => true);
    return parts;
  }

  test('who is excused looks again, and the others wait for what it finds', () => {
    const { turns, held, enqueued } = troubled();
    expect(held('a')).toBeUndefined();
    turns.usable('a');
    expect(enqueued).toEqual(['b']);
    expect(held('a')).toBe(waits('b'));
    turns.claimed('b', service);
    expect(enqueued).toEqual(['b', 'a']);
    expect(held('a')).toBeUndefined();
  });

  test('who stays in trouble is excused again, and does not hold up the others', () => {
    const { turns, held, of } = troubled();
    turns.usable('a');
    turns.troubled('b');
    turns.excuse(of('b'), () => true);
    turns.usable('a');
    expect(held('a')).toBeUndefined();
  });

  test('is once: a policy that goes on well asks nobody to look', () => {
    const { turns, held, enqueued, of } = troubled();
    turns.usable('a');
    turns.excuse(of('b'), () => true);
    turns.usable('a');
    expect(enqueued).toEqual(['b']);
    expect(held('a')).toBeUndefined();
  });
});
