/** Tests that no upgrade starts before all policies of the service have selected their collectors (U13). */
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

const policyNamed = (name: string) => ({ namespace: 'logging', name });

describe('a policy waits', () => {
  test('for itself and for each policy that was not examined yet, of any service', () => {
    const { turns, held, of } = world('a', 'b');
    expect(held()).toEqual(policyNamed('a'));
    turns.claimed(of('a'), service);
    expect(held()).toEqual(policyNamed('b'));
    turns.claimed(of('b'), service);
    expect(held()).toBeUndefined();
  });

  test('for a policy that is about to claim at the same host, with any path', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claiming(of('b'), 'https://logs.test/other');
    expect(held()).toEqual(policyNamed('b'));
  });

  test('not for a policy of another service', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claiming(of('b'), elsewhere);
    expect(held()).toBeUndefined();
  });

  test('for a policy that was added after all others had claimed', () => {
    const { turns, held, add, of } = world('a');
    turns.claimed(of('a'), service);
    expect(held()).toBeUndefined();
    add('b');
    turns.expect(of('b'));
    expect(held()).toEqual(policyNamed('b'));
  });

  test('for a policy that has changed to its service meanwhile', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.claimed(of('b'), elsewhere);
    expect(held()).toBeUndefined();
    turns.claiming(of('b'), service);
    expect(held()).toEqual(policyNamed('b'));
  });

  test('and is notified once when it need not wait any more', () => {
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

  test('and is notified once, when the last policy has claimed', () => {
    const { turns, wait, of, enqueued } = world('a', 'b', 'c', 'd');
    for (const name of ['a', 'b', 'c', 'd']) {
      expect(enqueued).toEqual([]);
      wait(name);
      turns.claimed(of(name), service);
    }
    expect(enqueued).toEqual(['a', 'b', 'c', 'd']);
  });

  test('and is notified immediately if no policy has to claim', () => {
    const { turns, wait, of, enqueued } = world('a');
    turns.claimed(of('a'), service);
    wait('a');
    expect(enqueued).toEqual(['a']);
  });

  test('not for a deleted policy', () => {
    const { turns, held, wait, of, enqueued, policies } = world('a', 'b');
    turns.claimed(of('a'), service);
    wait('a');
    policies.delete('b');
    expect(held()).toBeUndefined();
    turns.forget({ namespace: 'logging', name: 'b' }, undefined);
    expect(enqueued).toEqual(['a']);
  });

  test('not for a deleted policy that was created again, and that has claimed since', () => {
    const { turns, held, of, policies } = world('a', 'b');
    turns.claimed(of('a'), service);
    expect(held()).toEqual(policyNamed('b'));
    const again = policy({ metadata: { name: 'b', uid: 'b2', namespace: 'logging' } });
    policies.set('b', again);
    turns.claimed(again, service);
    expect(held()).toBeUndefined();
  });

  test('for all policies again in another term of leadership', () => {
    const { turns, held, of } = world('a');
    turns.claimed(of('a'), service);
    expect(held()).toBeUndefined();
    turns.reset();
    expect(held()).toEqual(policyNamed('a'));
  });
});

describe('an exemption from claiming', () => {
  test('holds as long as its reason', () => {
    const { turns, held, wait, of, enqueued } = world('a', 'b');
    turns.claimed(of('a'), service);
    wait('a');
    let broken = true;
    turns.exempt(of('b'), { problem: () => (broken ? 'broken' : undefined) });
    expect(enqueued).toEqual(['a']);
    expect(held()).toBeUndefined();
    broken = false;
    expect(held()).toEqual(policyNamed('b'));
  });

  test('holds only for the spec for which it was given, because another spec may be able to claim', () => {
    const { turns, held, add, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.exempt(of('b'));
    add('b', 2);
    turns.expect(of('b'));
    expect(held()).toEqual(policyNamed('b'));
    turns.exempt(of('b'));
    expect(held()).toBeUndefined();
  });

  test('ends when the policy is about to claim, not with each of its reconciles', () => {
    const { turns, held, of } = world('a', 'b');
    turns.claimed(of('a'), service);
    turns.exempt(of('b'));
    turns.claiming(of('b'), service);
    expect(held()).toBeUndefined();
    turns.resumes(of('b'), service);
    expect(held()).toEqual(policyNamed('b'));
  });

  test('does not cancel the claims of a policy that has claimed', () => {
    const { turns, held, of } = world('a', 'b');
    for (const name of ['a', 'b']) turns.claimed(of(name), service);
    turns.exempt(of('b'), { problem: () => undefined });
    expect(held()).toBeUndefined();
  });
});

describe('when the problem of one policy ends', () => {
  function unusable() {
    const parts = world('a', 'b');
    const { turns, of } = parts;
    turns.claimed(of('a'), service);
    turns.unusable('a');
    turns.unusable('b');
    turns.exempt(of('b'));
    return parts;
  }

  test('an exempt policy tries again, and the others wait for the result', () => {
    const { turns, held, wait, of, enqueued } = unusable();
    expect(held()).toBeUndefined();
    turns.usable('a');
    wait('a');
    expect(enqueued).toEqual(['b']);
    expect(held()).toEqual(policyNamed('b'));
    turns.claimed(of('b'), service);
    expect(enqueued).toEqual(['b', 'a']);
    expect(held()).toBeUndefined();
  });

  test('a policy whose problem continues is exempt again, and does not block the others', () => {
    const { turns, held, of } = unusable();
    turns.usable('a');
    turns.unusable('b');
    turns.exempt(of('b'));
    turns.usable('a');
    expect(held()).toBeUndefined();
  });

  test('exempt policies are asked to try only once', () => {
    const { turns, held, of, enqueued } = unusable();
    turns.usable('a');
    turns.exempt(of('b'));
    turns.usable('a');
    expect(enqueued).toEqual(['b']);
    expect(held()).toBeUndefined();
  });
});
