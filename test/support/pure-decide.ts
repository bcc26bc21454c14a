/**
 * Checks that the `decide` function for policies is pure. The function must not change its input, and must return the
 * same result each time. The result must be plain data, and must not contain objects that change later.
 */
import { isDeepStrictEqual } from 'node:util';
import { assert } from '../../src/base/assert.ts';
import { type Decision, decide } from '../../src/policy/decide.ts';
import type { LedgerView } from '../../src/policy/ledger/ledger.ts';
import type { MemberView } from '../../src/policy/members/policy-member-index.ts';
import type { DecideInput, ListingView } from '../../src/policy/rollout/decide-input.ts';

/**
 * Whether the result of each member of a view (data that `decide` reads) is `constant`, or `changing`, because the
 * operator may change it later. A decision must not contain a `changing` result.
 */
type MemberResults<View> = Readonly<Record<keyof View, 'constant' | 'changing'>>;

const ledgerMembers: MemberResults<LedgerView> = {
  header: 'constant',
  size: 'constant',
  entry: 'constant',
  entries: 'constant',
  open: 'constant',
};

const memberMembers: MemberResults<MemberView> = {
  awaitsSweep: 'constant',
  comesFirst: 'constant',
  context: 'constant',
  countVersions: 'constant',
  counts: 'changing',
  driftingSinceMs: 'constant',
  ids: 'constant',
  isReselected: 'constant',
  matched: 'constant',
  member: 'constant',
  members: 'constant',
  orphan: 'constant',
  owns: 'constant',
  pending: 'constant',
  row: 'changing',
  selection: 'constant',
  skipReason: 'constant',
  stageCounts: 'changing',
  stageOf: 'constant',
  stateOf: 'constant',
  unlisted: 'constant',
  unseenSinceMs: 'constant',
};

const listingMembers: MemberResults<ListingView> = {
  completeSinceMs: 'constant',
  observes: 'constant',
  pageOf: 'constant',
  pageReadMs: 'constant',
  row: 'changing',
  sweepMs: 'constant',
};

/**
 * Calls `decideWith` twice with a frozen snapshot. Throws if a call tries to change the snapshot, or if the result is
 * not plain data.
 */
export function checkedDecide(input: DecideInput, decideWith: typeof decide = decide): Decision {
  const changing = new WeakSet<object>();
  const { observation, windows } = input;
  const snapshot: DecideInput = Object.freeze({
    ...input,
    policy: frozen(input.policy),
    ledger: viewOf(input.ledger, ledgerMembers, changing),
    memberIndex: viewOf(input.memberIndex, memberMembers, changing),
    observation: Object.freeze({
      ...observation,
      listing: viewOf(observation.listing, listingMembers, changing),
      posted: frozen(observation.posted),
      tasks: frozen(observation.tasks),
      reads: frozen(observation.reads),
      inFlight: frozen(observation.inFlight),
      messages: frozen(observation.messages),
      overlap: frozen(observation.overlap),
      heldBy: frozen(observation.heldBy),
    }),
    windows: Object.freeze({ ...windows, byZone: frozen(windows.byZone) }),
    now: frozen(input.now),
    settings: frozen(input.settings),
  });
  const decision = decideWith(snapshot);
  assert(isDeepStrictEqual(decideWith(snapshot), decision), 'decide gives two different results for the same input');
  assert(isDeepStrictEqual(structuredClone(decision), decision), 'a decision is not plain data');
  assert(!reaches(decision, changing), 'a decision contains an object that changes later');
  return frozen(decision);
}

/** Returns a read-only view. Its results are frozen, and accessing properties other than `members` throws. */
function viewOf<View extends object>(view: View, members: MemberResults<View>, changing: WeakSet<object>): View {
  const result = (name: keyof View, value: unknown) => {
    const isCopied = members[name] === 'changing' && typeof value === 'object' && value !== null;
    if (!isCopied) return frozen(value);
    const copy = Object.freeze({ ...value });
    changing.add(copy);
    return copy;
  };
  return new Proxy(Object.freeze({}) as View, {
    get(_, property) {
      assert(property in members, `a decision used ${String(property)}, which is not a member of the view`);
      const name = property as keyof View;
      const value = view[name];
      if (typeof value !== 'function') return result(name, value);
      return (...parameters: unknown[]) => result(name, value.apply(view, parameters));
    },
  });
}

/** Deeply freezes plain data. Returns read-only copies of maps, sets and iterators. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (isPlain(value)) {
    if (Object.isFrozen(value)) return value;
    for (const part of Object.values(value)) frozen(part);
    return Object.freeze(value);
  }
  assert(Symbol.iterator in value, 'an object is neither plain data nor a collection');
  const items = value as unknown as Iterable<unknown>;
  if (!('size' in value)) return eachFrozen(items) as T;
  const copy = 'get' in value ? new Map(eachFrozen(items) as Iterable<[unknown, unknown]>) : new Set(eachFrozen(items));
  return Object.assign(copy, { set: refuse, add: refuse, delete: refuse, clear: refuse }) as T;
}

function* eachFrozen(items: Iterable<unknown>): Generator<unknown> {
  for (const item of items) yield frozen(item);
}

function refuse(): never {
  throw new Error('a decision changed a collection of its input');
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Reports whether the data contains any of `objects` at any depth. */
function reaches(data: unknown, objects: WeakSet<object>): boolean {
  if (typeof data !== 'object' || data === null) return false;
  const parts = data instanceof Map || data instanceof Set ? [...data].flat() : Object.values(data);
  return objects.has(data) || parts.some((part) => reaches(part, objects));
}
