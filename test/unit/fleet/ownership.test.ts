/** Tests the table that stores each collector's owner and running upgrade attempt (U13). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Claimant, compareClaimants, type Flight, Ownership } from '../../../src/fleet/ownership.ts';
import { claimant } from '../policy/builders.ts';

const flight = (policy: string, more: Partial<Flight> = {}): Flight => ({
  policy,
  toVersion: '19.200-1',
  taskId: '7',
  sinceMs: 0,
  ...more,
});

function table(...claimants: readonly Claimant[]) {
  const reported: string[] = [];
  const ownership = new Ownership(({ uid }) => reported.push(uid));
  for (const one of claimants) ownership.register(one);
  return { ownership, reported, owner: (id = '1') => ownership.owner(id)?.uid };
}

describe('U13: precedence', () => {
  const plain = claimant('a');

  test.each<[string, Claimant, Claimant]>([
    [
      'a policy that upgrades comes before one that observes',
      claimant('b'),
      claimant('a', { enforcing: false, priority: 9 }),
    ],
    ['the higher priority comes first', claimant('b', { priority: 1 }), claimant('a', { priority: 0 })],
    ['a negative priority comes last', claimant('b'), claimant('a', { priority: -1 })],
    [
      'the older',
      claimant('b', { creationTimestamp: '2026-10-31T00:00:00Z' }),
      claimant('a', { creationTimestamp: '2026-11-01T00:00:00Z' }),
    ],
    ['priority before age', claimant('b', { priority: 1, creationTimestamp: '2026-12-01T00:00:00Z' }), plain],
    ['the namespace', claimant('b', { namespace: 'apps' }), claimant('a', { namespace: 'logging' })],
    ['the name', claimant('b', { name: 'alpha' }), claimant('a', { name: 'beta' })],
  ])('%s', (_, first, second) => {
    expect(compareClaimants(first, second)).toBeLessThan(0);
    expect(compareClaimants(second, first)).toBeGreaterThan(0);
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      const { ownership, owner } = table(first, second);
      for (const { uid } of order) ownership.claim(uid, '1');
      expect(owner()).toBe('b');
    }
  });

  test('a policy equals itself', () => {
    expect(compareClaimants(plain, { ...plain, targetVersion: 'other' })).toBe(0);
  });
});

test('U13: attempts in flight do not change the precedence, but the owner stays', () => {
  const { ownership, owner } = table(claimant('a'), claimant('b', { priority: 1 }));
  for (const uid of ['a', 'b']) ownership.claim(uid, '1');
  ownership.began('1', flight('a'));
  expect([owner(), ownership.first('1')?.uid]).toEqual(['a', 'b']);
  expect(ownership.first('2')).toBeUndefined();
});

describe('claims', () => {
  test('an unclaimed collector has no owner', () => {
    expect(table(claimant('a')).owner()).toBeUndefined();
  });

  test('a single claim makes the owner', () => {
    const { ownership, owner } = table(claimant('a'));
    ownership.claim('a', '1');
    expect(owner()).toBe('a');
    expect(owner('2')).toBeUndefined();
  });

  test('after the end of a claim the next policy is the owner', () => {
    const { ownership, owner } = table(claimant('a', { priority: 1 }), claimant('b'));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.unclaim('a', '1');
    expect(owner()).toBe('b');
    ownership.unclaim('b', '1');
    expect(owner()).toBeUndefined();
  });

  test('a retired policy owns no collector, and can be introduced again', () => {
    const { ownership, owner } = table(claimant('a', { priority: 1 }), claimant('b'));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.retire('a');
    expect(owner()).toBe('b');
    ownership.register(claimant('a', { priority: 1 }));
    expect(owner()).toBe('b');
    ownership.claim('a', '1');
    expect(owner()).toBe('a');
  });

  test('a new rank changes the owner', () => {
    const { ownership, owner } = table(claimant('a'), claimant('b'));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    expect(owner()).toBe('a');
    ownership.register(claimant('b', { priority: 5 }));
    expect(owner()).toBe('b');
  });
});

describe('U13: an open attempt holds its collector', () => {
  test('against a policy of higher priority until the attempt has ended', () => {
    const { ownership, owner } = table(claimant('a'));
    ownership.claim('a', '1');
    ownership.began('1', flight('a'));
    ownership.register(claimant('b', { priority: 9 }));
    ownership.claim('b', '1');
    expect(owner()).toBe('a');
    ownership.ended('1', 'a');
    expect(owner()).toBe('b');
  });

  test('but not after its policy has ended the claim', () => {
    const { ownership, owner } = table(claimant('a'), claimant('b', { priority: 9 }));
    ownership.claim('a', '1');
    ownership.began('1', flight('a'));
    ownership.claim('b', '1');
    ownership.unclaim('a', '1');
    expect(owner()).toBe('b');
    expect(ownership.flight('1')).toEqual(flight('a'));
  });

  test('the end of an attempt of another policy changes nothing', () => {
    const { ownership } = table(claimant('a'), claimant('b'));
    ownership.began('1', flight('a'));
    ownership.ended('1', 'b');
    expect(ownership.flight('1')).toEqual(flight('a'));
  });

  test('after the loss of its ledger, a policy waits for the result of its own upgrade only if it was accepted', () => {
    const { ownership } = table(claimant('a'));
    for (const [id, taskId] of [
      ['1', '7'],
      ['2', undefined],
    ] as const) {
      ownership.began(id, flight('a', { taskId }));
      ownership.ended(id, 'a', 5);
    }
    const endOf = (id: string, isForgotten: boolean) => ownership.otherUpgrade(id, 'a', isForgotten)?.atMs;
    expect([endOf('1', true), endOf('2', true), endOf('1', false)]).toEqual([5, undefined, undefined]);
    expect(ownership.otherUpgrade('2', 'b')?.atMs).toBe(5);
  });

  test('newer knowledge about the attempt replaces older knowledge', () => {
    const { ownership } = table(claimant('a'));
    ownership.began('1', flight('a', { taskId: undefined }));
    ownership.began('1', flight('a'));
    expect(ownership.flight('1')?.taskId).toBe('7');
  });
});

describe('U13: an attempt in flight outlives its policy', () => {
  test('an attempt is an orphan after its policy is deleted', () => {
    const { ownership } = table(claimant('a'));
    ownership.claim('a', '1');
    ownership.began('1', flight('a'));
    expect(ownership.orphan('1')).toBeUndefined();
    ownership.retire('a');
    expect(ownership.orphan('1')).toEqual(flight('a'));
  });

  test('it is forgotten when no upgrade can be running any more, and its claimants are notified', () => {
    const { ownership } = table(claimant('a'), claimant('b'));
    ownership.claim('b', '1');
    ownership.began('1', flight('a', { sinceMs: 100 }));
    ownership.retire('a');
    ownership.takeChanged('b');
    ownership.forgetOrphans(100, 0);
    expect(ownership.orphan('1')).toBeDefined();
    ownership.forgetOrphans(101, 0);
    expect(ownership.orphan('1')).toBeUndefined();
    expect([...ownership.takeChanged('b')]).toEqual(['1']);
  });

  test('an attempt of an existing policy is not forgotten at any age', () => {
    const { ownership } = table(claimant('a'));
    ownership.began('1', flight('a', { sinceMs: 0 }));
    ownership.forgetOrphans(1_000_000, 0);
    expect(ownership.flight('1')).toBeDefined();
  });

  test('the end of an upgrade is not forgotten before a listing can show it', () => {
    const { ownership } = table(claimant('a'));
    ownership.began('1', flight('a', { taskId: '7' }));
    ownership.ended('1', 'a', 100);
    ownership.forgetOrphans(1_000_000, 100);
    expect(ownership.otherUpgrade('1', 'a', true)?.atMs).toBe(100);
    ownership.forgetOrphans(1_000_000, 101);
    expect(ownership.otherUpgrade('1', 'a', true)).toBeUndefined();
  });

  test('the end of an upgrade is forgotten even if another collector was upgraded both before and after it', () => {
    const { ownership } = table(claimant('a'));
    for (const [id, endedMs] of [
      ['1', 100],
      ['2', 200],
      ['1', 300],
    ] as const) {
      ownership.began(id, flight('a'));
      ownership.ended(id, 'a', endedMs);
    }
    ownership.forgetOrphans(250, 250);
    expect(['1', '2'].map((id) => ownership.otherUpgrade(id, 'b')?.atMs)).toEqual([300, undefined]);
  });
});

describe('U13: before the decision of a policy', () => {
  test('all other policies have claimed the collectors of their listings', () => {
    const { ownership, owner } = table(claimant('a', { priority: 1 }), claimant('b'));
    let synced = 0;
    const claimNew = () => {
      synced++;
      ownership.claim('a', '1');
    };
    ownership.outdate('a', claimNew);
    ownership.outdate('b', () => expect.unreachable());
    ownership.catchUp('b');
    ownership.claim('b', '1');
    expect([owner(), synced]).toEqual(['a', 1]);
    ownership.catchUp('b');
    expect(synced).toBe(1);
    ownership.outdate('a', claimNew);
    ownership.retire('a');
    ownership.catchUp('b');
    expect([owner(), synced]).toEqual(['b', 1]);
  });

  test('and are notified of their own changes', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b', { priority: 1 }));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.outdate('a', () => ownership.takeChanged('a'));
    ownership.catchUp('b');
    expect(reported).toEqual(['a']);
  });

  test('only the last registered function claims for a policy', () => {
    const { ownership } = table(claimant('a'));
    let synced = 0;
    ownership.outdate('a', () => expect.unreachable());
    ownership.outdate('a', () => synced++);
    ownership.catchUp('b');
    expect(synced).toBe(1);
  });

  test('a policy is notified once of changes that it has not taken', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b', { priority: 1 }));
    for (const id of ['1', '2']) ownership.claim('a', id);
    for (const id of ['1', '2']) {
      ownership.claim('b', id);
      ownership.announce();
    }
    expect(reported).toEqual(['a']);
    expect([...ownership.takeChanged('a')]).toEqual(['1', '2']);
    ownership.unclaim('b', '1');
    ownership.announce();
    expect(reported).toEqual(['a', 'a']);
  });
});

test('U13: after a new read of its ledger a policy has only the attempts of the ledger in flight', () => {
  const { ownership, owner } = table(claimant('a'), claimant('b', { priority: 9 }));
  for (const id of ['1', '2']) {
    ownership.claim('a', id);
    ownership.claim('b', id);
  }
  ownership.began('1', flight('a'));
  ownership.began('2', flight('b'));
  ownership.forgetFlights('a', () => true);
  expect([ownership.flight('1'), ownership.flight('2')?.policy, owner('1')]).toEqual([undefined, 'b', 'b']);
});

test('U13: an upgrade that a lost ledger contained becomes an orphan, with or without a task id', () => {
  const { ownership } = table(claimant('a'));
  const upgrades = [
    ['1', flight('a', { taskId: '7' })],
    ['2', flight('a', { taskId: undefined })],
    ['3', flight('a', { taskId: undefined })],
  ] as const;
  for (const [id, upgrade] of upgrades) {
    ownership.claim('a', id);
    ownership.began(id, upgrade);
  }
  ownership.forgetFlights('a', (id) => id === '3');
  expect(upgrades.map(([id]) => ownership.orphan(id)?.toVersion)).toEqual(['19.200-1', '19.200-1', undefined]);
  expect(ownership.flight('3')).toBeUndefined();
});

describe('notification of changes', () => {
  test('the former owner is notified once of a better claim', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b', { priority: 1 }));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.announce();
    expect(reported).toEqual(['a']);
    expect([...ownership.takeChanged('a')]).toEqual(['1']);
    expect([...ownership.takeChanged('a')]).toEqual([]);
  });

  test('the next owner is notified of an ended claim', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b', { priority: 1 }));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.takeChanged('a');
    ownership.unclaim('b', '1');
    ownership.announce();
    expect(reported).toEqual(['a']);
    expect([...ownership.takeChanged('a')]).toEqual(['1']);
  });

  test('all policies that claim its collectors are notified of a retired policy', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b'));
    ownership.claim('a', '1');
    ownership.claim('b', '1');
    ownership.takeChanged('a');
    ownership.retire('a');
    expect(reported).toEqual(['b']);
    expect([...ownership.takeChanged('a')]).toEqual([]);
  });

  test('a repeated claim notifies no policy', () => {
    const { ownership, reported } = table(claimant('a'), claimant('b'));
    ownership.claim('a', '1');
    ownership.claim('a', '1');
    ownership.register(claimant('a'));
    ownership.announce();
    expect(reported).toEqual([]);
  });
});

test('the targeted versions are those of all existing policies with a target', () => {
  const { ownership } = table(
    claimant('a'),
    claimant('b', { targetVersion: '18.1-1' }),
    claimant('c', { targetVersion: undefined }),
  );
  expect([...ownership.targeted()].sort()).toEqual(['18.1-1', '19.200-1']);
  ownership.retire('b');
  expect([...ownership.targeted()]).toEqual(['19.200-1']);
});

test('U13: after any history each collector has the owner by the rules, and all concerned policies were notified', () => {
  const uids = ['a', 'b', 'c'];
  const ids = ['1', '2', '3'];
  const uid = fc.constantFrom(...uids);
  const id = fc.constantFrom(...ids);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('introduce' as const), uid, priority: fc.integer({ min: 0, max: 2 }) }),
    fc.record({ kind: fc.constantFrom('claim', 'unclaim', 'retire', 'ended', 'began'), uid, id }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const ownership = new Ownership(() => {});
      const known = new Map<string, Claimant>();
      const claims = new Set<string>();
      const flights = new Map<string, string>();
      const believed = new Map<string, string | undefined>();
      const expected = (collector: string) => {
        const rivals = [...known.values()].filter((one) => claims.has(`${one.uid} ${collector}`));
        const holder = rivals.find((one) => one.uid === flights.get(collector));
        return (holder ?? rivals.sort(compareClaimants)[0])?.uid;
      };
      for (const one of steps) {
        if (one.kind === 'introduce') {
          known.set(one.uid, claimant(one.uid, { priority: one.priority }));
          ownership.register(known.get(one.uid) as Claimant);
        } else if (one.kind === 'claim' && known.has(one.uid)) {
          claims.add(`${one.uid} ${one.id}`);
          ownership.claim(one.uid, one.id);
          believed.set(`${one.uid} ${one.id}`, expected(one.id));
        } else if (one.kind === 'unclaim') {
          claims.delete(`${one.uid} ${one.id}`);
          ownership.unclaim(one.uid, one.id);
        } else if (one.kind === 'retire') {
          known.delete(one.uid);
          for (const collector of ids) claims.delete(`${one.uid} ${collector}`);
          ownership.retire(one.uid);
        } else if (one.kind === 'began' && expected(one.id) === one.uid) {
          if (!flights.has(one.id)) {
            flights.set(one.id, one.uid);
            ownership.began(one.id, flight(one.uid));
          }
        } else if (one.kind === 'ended' && flights.get(one.id) === one.uid) {
          flights.delete(one.id);
          ownership.ended(one.id, one.uid);
        }
        for (const collector of ids) expect(ownership.owner(collector)?.uid).toBe(expected(collector));
        for (const policy of known.keys()) {
          for (const collector of ownership.takeChanged(policy)) {
            believed.set(`${policy} ${collector}`, expected(collector));
          }
          for (const collector of ids) {
            if (!claims.has(`${policy} ${collector}`)) continue;
            expect(believed.get(`${policy} ${collector}`)).toBe(expected(collector));
          }
        }
      }
    }),
    { numRuns: 500 },
  );
});
