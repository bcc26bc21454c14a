/**
 * Makes sure that all policies of a service have claimed their collectors before any of these policies starts an
 * upgrade (U13).
 *
 * ```
 *   unknown ──► claiming ──► claimed
 *      │          │  ▲
 *      └► exempt ◄──┘
 * ```
 *
 * A policy with a problem, such as a missing Secret, is exempt: other policies do not wait for its claims. A policy
 * stops being exempt when it changes or when its problem is solved.
 */
import type { CollectorVersionPolicy } from '../../api/kinds.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { keyText } from '../../base/key-text.ts';
import type { ResourceKey } from '../../host/host.ts';

/** Collector list whose reads may fail. */
export interface FailingListing {
  readonly problem: () => unknown;
}

type Turn =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'claiming' | 'claimed'; readonly host: string }
  | { readonly kind: 'exempt'; readonly generation: number; readonly listing: FailingListing | undefined };

interface Known {
  readonly key: ResourceKey;
  readonly turn: Turn;
}

export interface ClaimTurnsOptions {
  /** Lists all policies in the cluster or directory. */
  readonly policies: () => Iterable<CollectorVersionPolicy>;
  readonly policy: (key: ResourceKey) => CollectorVersionPolicy | undefined;
  /** Reconciles a policy that waited for other policies. */
  readonly enqueue: (key: ResourceKey) => void;
}

export class ClaimTurns {
  readonly #options: ClaimTurnsOptions;
  readonly #policies = new Map<string, Known>();
  /** Uids of the policies that have not yet claimed their collectors, grouped by state. */
  readonly #unclaimed = { unknown: new Set<string>(), claiming: new Set<string>(), exempt: new Set<string>() };
  readonly #unusable = new Set<string>();
  /** Policies that wait for other policies, by hostname of the service and by name of the policy. */
  readonly #waiters = new Map<string, Map<string, ResourceKey>>();
  /** True once all policies that exist at the start have been registered. */
  #isListed = false;

  constructor(options: ClaimTurnsOptions) {
    this.#options = options;
  }

  /** Registers a policy that was added or changed, so that other policies wait for its claims. */
  expect({ metadata }: CollectorVersionPolicy): void {
    const { uid, namespace, name, generation } = metadata;
    const turn = this.#policies.get(uid)?.turn;
    if (turn && (turn.kind !== 'exempt' || turn.generation === generation)) return;
    this.#set(uid, { namespace, name }, { kind: 'unknown' });
  }

  /**
   * Makes the other policies of the service wait until this policy has claimed its collectors. Does nothing if this
   * policy is exempt.
   */
  claiming(policy: CollectorVersionPolicy, serviceId: string): void {
    if (this.#policies.get(policy.metadata.uid)?.turn.kind !== 'exempt') this.resumes(policy, serviceId);
  }

  /** Makes other policies wait until this policy has claimed its collectors, even if this policy was exempt before. */
  resumes({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = new URL(serviceId).host;
    const turn = this.#policies.get(metadata.uid)?.turn;
    const isSame = (turn?.kind === 'claiming' || turn?.kind === 'claimed') && turn.host === host;
    if (!isSame) this.#set(metadata.uid, metadata, { kind: 'claiming', host });
  }

  /**
   * Records that the policy has claimed all collectors that it selects. Other policies then no longer wait for this
   * policy.
   */
  claimed({ metadata }: CollectorVersionPolicy, serviceId: string): void {
    const host = new URL(serviceId).host;
    const turn = this.#policies.get(metadata.uid)?.turn;
    if (turn?.kind === 'claimed' && turn.host === host) return;
    this.#set(metadata.uid, metadata, { kind: 'claimed', host });
    this.#release();
  }

  /**
   * Lets other policies continue without waiting for a policy that has a problem and cannot claim its collectors.
   * @param listing the collector list, if the problem is that it cannot be read. After the next successful read, other
   * policies wait for this policy again.
   */
  exempt({ metadata }: CollectorVersionPolicy, listing?: FailingListing): void {
    const { uid, generation } = metadata;
    if (this.#policies.get(uid)?.turn.kind === 'claimed') return;
    this.#set(uid, metadata, { kind: 'exempt', generation, listing });
    this.#release();
  }

  /** Records that the policy cannot use its service or its ledger, until `usable` is called for the policy. */
  unusable(uid: string): void {
    this.#unusable.add(uid);
  }

  /**
   * Records that the policy can use its service and its ledger. If the policy could not use them before, all exempt
   * policies try once more to claim their collectors.
   */
  usable(uid: string): void {
    if (!this.#unusable.delete(uid)) return;
    for (const exempt of [...this.#unclaimed.exempt]) {
      const { key } = this.#policies.get(exempt) as Known;
      this.#set(exempt, key, { kind: 'unknown' });
      this.#options.enqueue(key);
    }
  }

  /**
   * Returns a policy of the service that has not yet claimed its collectors. Returns undefined if there is no such
   * policy.
   */
  heldBy(serviceId: string): ResourceKey | undefined {
    return this.#awaited(new URL(serviceId).host);
  }

  /** Reconciles the policy again as soon as all other policies of its service have claimed their collectors. */
  wait(key: ResourceKey, serviceId: string): void {
    getOrAdd(this.#waiters, new URL(serviceId).host, () => new Map()).set(keyText(key), key);
    this.#release();
  }

  forget(key: ResourceKey, uid: string | undefined): void {
    if (uid !== undefined) this.#drop(uid);
    for (const waiters of this.#waiters.values()) waiters.delete(keyText(key));
    this.#release();
  }

  /** Forgets which policies have claimed collectors, because the leader has changed. */
  reset(): void {
    for (const uid of [...this.#policies.keys()]) this.#drop(uid);
    this.#isListed = false;
  }

  #awaited(host: string): ResourceKey | undefined {
    this.#list();
    const { unknown, claiming, exempt } = this.#unclaimed;
    for (const uids of [unknown, claiming, exempt]) {
      for (const uid of uids) {
        const { key, turn } = this.#policies.get(uid) as Known;
        if (!isAwaited(turn, host)) continue;
        if (this.#options.policy(key)?.metadata.uid === uid) return key;
        this.#drop(uid);
      }
    }
    return undefined;
  }

  /** Registers all policies that already exist. */
  #list(): void {
    if (this.#isListed) return;
    this.#isListed = true;
    for (const policy of this.#options.policies()) this.expect(policy);
  }

  #set(uid: string, { namespace, name }: ResourceKey, turn: Turn): void {
    for (const uids of Object.values(this.#unclaimed)) uids.delete(uid);
    if (turn.kind !== 'claimed') this.#unclaimed[turn.kind].add(uid);
    this.#policies.set(uid, { key: { namespace, name }, turn });
  }

  #drop(uid: string): void {
    for (const uids of Object.values(this.#unclaimed)) uids.delete(uid);
    this.#policies.delete(uid);
    this.#unusable.delete(uid);
  }

  #release(): void {
    for (const [host, waiters] of this.#waiters) {
      if (waiters.size > 0 && this.#awaited(host)) continue;
      this.#waiters.delete(host);
      for (const key of waiters.values()) this.#options.enqueue(key);
    }
  }
}

function isAwaited(turn: Turn, host: string): boolean {
  if (turn.kind === 'claiming') return turn.host === host;
  // If a policy was exempt because the collector list was unreadable, other policies wait for that policy again as
  // soon as the list can be read.
  return turn.kind === 'unknown' || (turn.kind === 'exempt' && turn.listing !== undefined && !turn.listing.problem());
}
