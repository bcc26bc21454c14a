/**
 * Order of claims: no policy of a service starts an upgrade before all its policies have claimed their collectors (U13).
 *
 * ```
 *   unknown ──► claiming ──► claimed
 *      │          │  ▲
 *      └► excused ◄──┘
 * ```
 *
 * A policy that cannot claim is excused. When its problem may be solved, the other policies wait for it again. Policies are kept by state,
 * so that a question costs the same however many policies there are. A policy that waits is enqueued when no policy of its service is
 * awaited any more.
 *
 * Invariant: an excuse holds for the text of the policy that it was made for, and only until the problem of some policy of the service is solved.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import type { ResourceKey } from '../../host/host.ts';

/** A listing whose policies cannot claim collectors while it fails. */
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
  /** All policies of the host, and a single policy by key. */
  readonly policies: () => Iterable<CollectorVersionPolicy>;
  readonly policy: (key: ResourceKey) => CollectorVersionPolicy | undefined;
  /** Enqueues a policy that waited and may now start. */
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
  /** The hosts of services by their ids. A decision needs the host several times, and there are few services. */
  readonly #hosts = new Map<string, string>();
  /** Whether all policies that the host has are in `#policies`. */
  #isListed = false;

  constructor(options: ClaimTurnsOptions) {
    this.#options = options;
  }

  /**
   * Registers a policy that was added or changed. A new policy may have to claim, and an excused policy may be able to claim again.
   */
  expect({ metadata }: CollectorVersionPolicy): void {
    const { uid, namespace, name, generation } = metadata;
    const turn = this.#policies.get(uid)?.turn;
    if (turn && (turn.kind !== 'excused' || turn.generation === generation)) return;
    this.#set(uid, { namespace, name }, { kind: 'unknown' });
  }

  /** The policy belongs to this service and will claim its collectors. An excuse lasts until the claim is near (`resumes`). */
  claiming(policy: CollectorVersionPolicy, serviceId: string): void {
    if (this.#policies.get(policy.metadata.uid)?.turn.kind !== 'excused') this.resumes(policy, serviceId);
  }

  /** The policy only has to wait for its first sweep before it claims. */
  resumes({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = this.#hostOf(serviceId);
    const turn = this.#policies.get(metadata.uid)?.turn;
    const isSame = (turn?.kind === 'claiming' || turn?.kind === 'claimed') && turn.host === host;
    if (!isSame) this.#set(metadata.uid, metadata, { kind: 'claiming', host });
  }

  /** The policy has claimed all collectors of this service that it selects. */
  claimed({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = this.#hostOf(serviceId);
    const turn = this.#policies.get(metadata.uid)?.turn;
    if (turn?.kind === 'claimed' && turn.host === host) return;
    this.#set(metadata.uid, metadata, { kind: 'claimed', host });
    this.#release();
  }

  /**
   * Excuses the policy from claiming as long as its text stays the same. Its earlier claims stay.
   * @param listing set when the excuse ends as soon as this listing works again
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

  /**
   * The policy can use its service again. Other excused policies may have recovered, too, and claim before any policy continues.
   */
  usable(uid: string): void {
    if (!this.#troubled.delete(uid)) return;
    for (const excused of [...this.#excused.values()].flatMap((uids) => [...uids])) {
      const { key } = this.#policies.get(excused) as Known;
      this.#set(excused, key, { kind: 'unknown' });
      this.#options.enqueue(key);
    }
  }

  /** Text that names the policies whose claims are awaited; undefined when there are none. */
  heldBy(serviceId: string): string | undefined {
    const awaited = this.#awaited(this.#hostOf(serviceId));
    return awaited && `policy ${awaited.namespace}/${awaited.name} to claim its collectors first`;
  }

  /** Enqueues the policy when no policy of its service is awaited, possibly at once. */
  wait({ namespace, name }: ResourceKey, serviceId: string): void {
    const host = this.#hostOf(serviceId);
    const waiters = this.#waiters.get(host) ?? new Map<string, ResourceKey>();
    this.#waiters.set(host, waiters.set(`${namespace}/${name}`, { namespace, name }));
    this.#release();
  }

  /** Removes a deleted policy. Other policies no longer wait for it. */
  forget({ namespace, name }: ResourceKey, uid: string | undefined): void {
    if (uid !== undefined) {
      this.#drop(uid);
    }
    for (const waiters of this.#waiters.values()) waiters.delete(`${namespace}/${name}`);
    this.#release();
  }

  /** Resets all state when a new term of leadership begins. */
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

  /** Registers the policies that already exist. `expect` registers later ones. */
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

  #hostOf(serviceId: string): string {
    const host = this.#hosts.get(serviceId) ?? new URL(serviceId).host;
    this.#hosts.set(serviceId, host);
    return host;
  }

  #release(): void {
    for (const [host, waiters] of this.#waiters) {
      if (waiters.size > 0 && this.#awaited(host)) continue;
      this.#waiters.delete(host);
      for (const key of waiters.values()) this.#options.enqueue(key);
    }
  }
}

function setOf<K>(sets: Map<K, Set<string>>, key: K): Set<string> {
  const known = sets.get(key) ?? new Set();
  sets.set(key, known);
  return known;
}
