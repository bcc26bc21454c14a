/**
 * The turns of policies: all policies of a service claim their collectors before one of them may start something (U13).
 *
 * ```
 *   unknown ──► claiming ──► claimed
 *      │          │  ▲
 *      └► excused ◄──┘
 * ```
 *
 * A policy that cannot claim is excused. Once its trouble may be over, the other policies wait for it again. Policies are kept by state,
 * so that a question costs the same however many policies there are. A policy that waits is enqueued when no policy of its service is
 * awaited any more.
 *
 * Invariant: an excuse holds for the text of the policy that it was made for, and only until some policy's trouble is over.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { ResourceKey } from '../host/host.ts';

/** A listing. While it fails, its policies cannot claim. */
export interface FailingListing {
  readonly problem: () => unknown;
}

type Turn =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'claiming' | 'claimed'; readonly host: string }
  | { readonly kind: 'excused'; readonly generation: number; readonly listing: FailingListing | undefined };

interface Known {
  readonly key: ResourceKey;
  turn: Turn;
}

export interface ClaimTurnsOptions {
  /** All policies that the host has, and one of them. */
  readonly policies: () => Iterable<CollectorVersionPolicy>;
  readonly policy: (key: ResourceKey) => CollectorVersionPolicy | undefined;
  /** The policy should look again: its turn may have come. */
  readonly enqueue: (key: ResourceKey) => void;
}

export class ClaimTurns {
  readonly #options: ClaimTurnsOptions;
  /** By uid of the policy. */
  readonly #policies = new Map<string, Known>();
  /** The uids of the policies in each state. Those in state `claimed` are in none of these sets. */
  readonly #unknown = new Set<string>();
  readonly #claiming = new Map<string, Set<string>>();
  readonly #excused = new Map<FailingListing | undefined, Set<string>>();
  readonly #troubled = new Set<string>();
  /** Policies that wait for others to claim, by service and name. */
  readonly #waiters = new Map<string, Map<string, ResourceKey>>();
  /** Whether all policies that the host has are in `#policies`. */
  #isListed = false;

  constructor(options: ClaimTurnsOptions) {
    this.#options = options;
  }

  /** A policy came or changed. One that was not known may have to claim, and one that was excused may be able to by now. */
  expect({ metadata }: CollectorVersionPolicy): void {
    const { uid, namespace, name, generation } = metadata;
    const turn = this.#policies.get(uid)?.turn;
    if (turn && (turn.kind !== 'excused' || turn.generation === generation)) return;
    this.#set(uid, { namespace, name }, { kind: 'unknown' });
  }

  /** The policy belongs to this service, and will claim its collectors. An excuse holds on until that is in sight (`resumes`). */
  claiming(policy: CollectorVersionPolicy, serviceId: string): void {
    if (this.#policies.get(policy.metadata.uid)?.turn.kind !== 'excused') this.resumes(policy, serviceId);
  }

  /** Nothing keeps the policy from claiming but the time that its first sweep takes. */
  resumes({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = hostOf(serviceId);
    const turn = this.#policies.get(metadata.uid)?.turn;
    const isSame = (turn?.kind === 'claiming' || turn?.kind === 'claimed') && turn.host === host;
    if (!isSame) this.#set(metadata.uid, metadata, { kind: 'claiming', host });
  }

  /** The policy has claimed all that it selects of this service. */
  claimed({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = hostOf(serviceId);
    const turn = this.#policies.get(metadata.uid)?.turn;
    if (turn?.kind === 'claimed' && turn.host === host) return;
    this.#set(metadata.uid, metadata, { kind: 'claimed', host });
    this.#release();
  }

  /**
   * The policy, as it reads now, can claim nothing. What it claimed before stands.
   * @param listing given where the excuse holds only while this listing fails
   */
  excuse({ metadata }: CollectorVersionPolicy, listing?: FailingListing): void {
    const { uid, generation } = metadata;
    if (this.#policies.get(uid)?.turn.kind === 'claimed') return;
    this.#set(uid, metadata, { kind: 'excused', generation, listing });
    this.#release();
  }

  /** The policy cannot use its service. */
  troubled(uid: string): void {
    this.#troubled.add(uid);
  }

  /** The policy can use its service. The trouble of excused policies may be over, too: they claim before any policy goes on. */
  usable(uid: string): void {
    if (!this.#troubled.delete(uid)) return;
    for (const excused of [...this.#excused.values()].flatMap((uids) => [...uids])) {
      const { key } = this.#policies.get(excused) as Known;
      this.#set(excused, key, { kind: 'unknown' });
      this.#options.enqueue(key);
    }
  }

  /** What a policy of this service waits for before it may start anything, in words; undefined where it need not wait. */
  heldBy(serviceId: string): string | undefined {
    const awaited = this.#awaited(hostOf(serviceId));
    return awaited && `policy ${awaited.namespace}/${awaited.name} to claim its collectors first`;
  }

  /** Enqueues the policy once it need not wait any more, which may be now. */
  wait({ namespace, name }: ResourceKey, serviceId: string): void {
    const host = hostOf(serviceId);
    const waiters = this.#waiters.get(host) ?? new Map<string, ResourceKey>();
    this.#waiters.set(host, waiters.set(`${namespace}/${name}`, { namespace, name }));
    this.#release();
  }

  /** The policy is gone. No policy waits for it any more. */
  forget({ namespace, name }: ResourceKey, uid: string | undefined): void {
    if (uid !== undefined) {
      this.#drop(uid);
    }
    for (const waiters of this.#waiters.values()) waiters.delete(`${namespace}/${name}`);
    this.#release();
  }

  /** Another term of leadership has begun. */
  reset(): void {
    for (const states of [this.#policies, this.#unknown, this.#claiming, this.#excused, this.#troubled]) states.clear();
    this.#isListed = false;
  }

  #awaited(host: string): ResourceKey | undefined {
    this.#list();
    for (const uids of [this.#unknown, this.#claiming.get(host) ?? [], ...this.#endedExcuses()]) {
      for (const uid of uids) {
        const { key } = this.#policies.get(uid) as Known;
        if (this.#options.policy(key)?.metadata.uid === uid) return key;
        this.#drop(uid);
      }
    }
    return undefined;
  }

  *#endedExcuses(): IterableIterator<ReadonlySet<string>> {
    for (const [listing, uids] of this.#excused) if (listing && listing.problem() === undefined) yield uids;
  }

  /** Notes the policies that exist already. Later ones come by `expect`. */
  #list(): void {
    if (this.#isListed) return;
    this.#isListed = true;
    for (const policy of this.#options.policies()) this.expect(policy);
  }

  #set(uid: string, { namespace, name }: ResourceKey, turn: Turn): void {
    this.#remove(uid);
    const known = this.#policies.get(uid);
    if (known) known.turn = turn;
    else this.#policies.set(uid, { key: { namespace, name }, turn });
    this.#statesOf(turn)?.add(uid);
  }

  #drop(uid: string): void {
    this.#remove(uid);
    this.#policies.delete(uid);
    this.#troubled.delete(uid);
  }

  #remove(uid: string): void {
    const turn = this.#policies.get(uid)?.turn;
    if (!turn) return;
    const uids = this.#statesOf(turn);
    uids?.delete(uid);
    if (turn.kind === 'excused' && uids?.size === 0) this.#excused.delete(turn.listing);
  }

  #statesOf(turn: Turn): Set<string> | undefined {
    switch (turn.kind) {
      case 'unknown':
        return this.#unknown;
      case 'claiming':
        return setOf(this.#claiming, turn.host);
      case 'excused':
        return setOf(this.#excused, turn.listing);
      case 'claimed':
        return undefined;
    }
  }

  #release(): void {
    for (const [host, waiters] of this.#waiters) {
      if (waiters.size > 0 && this.#awaited(host)) continue;
      this.#waiters.delete(host);
      for (const key of waiters.values()) this.#options.enqueue(key);
    }
  }
}

function hostOf(serviceId: string): string {
  return new URL(serviceId).host;
}

function setOf<K>(sets: Map<K, Set<string>>, key: K): Set<string> {
  const known = sets.get(key) ?? new Set();
  sets.set(key, known);
  return known;
}
