/**
 * Tests of the order in which policies begin. A policy starts no upgrade until all policies of the same service have selected
 * their collectors, except policies that cannot do so (U13).
 */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicy } from '../../../src/api/kinds.ts';
import { ClaimTurns } from '../../../src/policy/members/claim-turns.ts';
import { policy } from './builders.ts';

const service = 'https://logs.test/api';
const elsewhere = 'https://other.test/api';

function world(...names: readonly string[]) {
  const policies = new Map<string, CollectorVersionPolicy>();
  const add = (name: string, generation = 1) =>
    policies.set(name, policy({ metadata: { name, uid: name, namespace: 'logging', generation } }));
  for (const name of names) add(name);
  const enqueued: string[] = [];
  const turns = new ClaimTurns({
    policies: () => policies.values(),
    policy: ({ name }) => policies.get(name),
    enqueue: ({ name }) => enqueued.push(name),
  });
  const held = (serviceId = service) => turns.heldBy(serviceId);
  const wait = (name: string) => turns.wait({ namespace: 'logging', name }, service);
  const of = (name: string) => policies.get(name) as CollectorVersionPolicy;
  return { turns, held, wait, add, of, enqueued, policies };
}

const waits = (name: string) => `policy logging/${name} to claim its collectors first`;

describe('a policy waits', () => {
  test('for itself and for each other that was not looked at yet, wherever that belongs', () => {
    const { turns, held, of } = world('a', 'b');
    expect(held()).toBe(waits('a'));
    turns.claimed(of('a'), service);
    expect(held()).toBe(waits('b'));
    turns.claimed(of('b'), service);
    expect(held()).toBeUndefined();
  });

  test('for who is about to claim of the same host, whatever the path', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claiming(of('b'), 'https://logs.test/other');
    expect(held()).toBe(waits('b'));
  });

  test('not for who belongs to another service', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claiming(of('b'), elsewhere);
    expect(held()).toBeUndefined();
  });

  test('for one that came after all had claimed', () => {
    const { turns, held, add, of } = world('a');
    turns.claimed(of('a'), service);
    expect(held()).toBeUndefined();
    add('b');
    turns.expect(of('b'));
    expect(held()).toBe(waits('b'));
  });

  test('for one that turned to its service since', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claimed(of('b'), elsewhere);
    expect(held()).toBeUndefined();
    turns.claiming(of('b'), service);
    expect(held()).toBe(waits('b'));
  });

  test('and is reported once it need not', () => {
    const { turns, wait, of, enqueued } = world('a', 'b', 'c');
    for (const name of ['a', 'c']) turns.claimed(of(name), service);
    wait('a');
    wait('c');
    expect(enqueued).toEqual([]);
    turns.claimed(of('b'), service);
    expect(enqueued).toEqual(['a', 'c']);
    turns.claimed(of('b'), service);
    expect(enqueued).toHaveLength(2);
  });

  test('and is reported once, when the last one has claimed', () => {
    const { turns, wait, of, enqueued } = world('a', 'b', 'c', 'd');
    for (const name of ['a', 'b', 'c', 'd']) {
      expect(enqueued).toEqual([]);
      wait(name);
      turns.claimed(of(name), service);
    }
    expect(enqueued).toEqual(['a', 'b', 'c', 'd']);
  });

  test('and is reported at once where nobody is awaited any more', () => {
    const { turns, wait, of, enqueued } = world('a');
    turns.claimed(of('a'), service);
    wait('a');
    expect(enqueued).toEqual(['a']);
  });

  test('not for one that is gone', () => {
    const { turns, held, wait, of, enqueued, policies } = world('a', 'b');
    turns.claimed(of('a'), service);
    wait('a');
    policies.delete('b');
    expect(held()).toBeUndefined();
    turns.forget({ namespace: 'logging', name: 'b' }, undefined);
    expect(enqueued).toEqual(['a']);
  });

  test('for all again in another term', () => {
    const { turns, held, of } = world('a');
    turns.claimed(of('a'), service);
    expect(held()).toBeUndefined();
    turns.reset();
    expect(held()).toBe(waits('a'));
  });
});

describe('an excuse', () => {
  test('holds for as long as its reason does', () => {
    const { turns, held, wait, of, enqueued } = world('a', 'b');
    turns.claimed(of('a'), service);
    wait('a');
    let broken = true;
    turns.excuse(of('b'), { problem: () => (broken ? 'broken' : undefined) });
    expect(enqueued).toEqual(['a']);
    expect(held()).toBeUndefined();
    broken = false;
    expect(held()).toBe(waits('b'));
  });

  test('holds for the text that it was made for: another may be able to claim', () => {
    const { turns, held, add, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.excuse(of('b'));
    add('b', 2);
    turns.expect(of('b'));
    expect(held()).toBe(waits('b'));
    turns.excuse(of('b'));
    expect(held()).toBeUndefined();
  });

  test('ends when the policy is about to claim, and not with each look that it takes', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.excuse(of('b'));
    turns.claiming(of('b'), service);
    expect(held()).toBeUndefined();
    turns.resumes(of('b'), service);
    expect(held()).toBe(waits('b'));
  });

  test('takes nothing from who has claimed: its claims stand', () => {
    const { turns, held, of } = world('a', 'b');
    for (const name of ['a', 'b']) turns.claimed(of(name), service);
    turns.excuse(of('b'), { problem: () => undefined });
    expect(held()).toBeUndefined();
  });
});

describe("once somebody's trouble is over", () => {
  function troubled() {
    const parts = world('a', 'b');
    const { turns, of } = parts;
    turns.claimed(of('a'), service);
    turns.troubled('a');
    turns.troubled('b');
    turns.excuse(of('b'));
    return parts;
  }

  test('a collector that is excused looks again, and the others wait for what it finds', () => {
    const { turns, held, wait, of, enqueued } = troubled();
    expect(held()).toBeUndefined();
    turns.usable('a');
    wait('a');
    expect(enqueued).toEqual(['b']);
    expect(held()).toBe(waits('b'));
    turns.claimed(of('b'), service);
    expect(enqueued).toEqual(['b', 'a']);
    expect(held()).toBeUndefined();
  });

  test('a collector that stays in trouble is excused again, and does not hold up the others', () => {
    const { turns, held, of } = troubled();
    turns.usable('a');
    turns.troubled('b');
    turns.excuse(of('b'));
    turns.usable('a');
    expect(held()).toBeUndefined();
  });

  test('is once: a policy that continues well asks nobody to look', () => {
    const { turns, held, of, enqueued } = troubled();
    turns.usable('a');
    turns.excuse(of('b'));
    turns.usable('a');
    expect(enqueued).toEqual(['b']);
    expect(held()).toBeUndefined();
  });
});
