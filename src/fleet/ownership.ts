/**
 * Ownership of the collectors of one service: the policy to which each collector belongs, and its upgrade attempt in flight
 * (U13). All policies of the service share the table, across Secrets and namespaces.
 *
 * Invariant: a collector has at most one owner. A policy with an open attempt keeps the collector until the attempt has ended. An
 * attempt in flight stays known after its policy was deleted, so a policy that is created again still sees it.
 */

import { keyText } from '../base/key-text.ts';
import { Multimap } from '../base/multimap.ts';
import { compareText } from '../base/text-order.ts';

export interface Claimant {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  /** Creation time of the policy in RFC 3339 format. The older policy takes precedence. */
  readonly creationTimestamp: string;
  /**
   * Whether the policy may start upgrades. A policy that only observes never takes precedence over a policy that may start
   * upgrades.
   */
  readonly enforcing: boolean;
  readonly targetVersion: string | undefined;
}

export interface Flight {
  /** Kubernetes uid of the policy that started the upgrade attempt. */
  readonly policy: string;
  readonly toVersion: string;
  readonly taskId: string | undefined;
  /** Monotonic time in ms since which the attempt is known to be in flight. */
  readonly sinceMs: number;
}

export class Ownership {
  readonly #claimants = new Map<string, Claimant>();
  /** Claims of policies: for each collector, the policies that claim it, and for each policy, the collectors that it claims. */
  readonly #claims = new Multimap();
  readonly #claimed = new Multimap();
  readonly #flights = new Map<string, Flight>();
  /** Last ended attempt of each collector. Another policy may upgrade the collector once a later listing shows its version. */
  readonly #landings = new Map<
    string,
    { readonly policy: string; readonly atMs: number; readonly wasAccepted: boolean }
  >();
  /** For each policy, the collectors that may have another owner since the policy's last call of `takeChanged`. */
  readonly #dirty = new Multimap();
  /** Policies that must still be notified that owners of their collectors may have changed. */
  readonly #toNotify = new Set<string>();
  /** Policies whose claims lack the newest rows of their listing, each with the function that updates the claims. */
  readonly #outdated = new Map<string, () => void>();
  readonly #onChange: (policy: Claimant) => void;

  constructor(onChange: (policy: Claimant) => void) {
    this.#onChange = onChange;
  }

  /** Adds a policy to the ownership table, or updates its precedence and its target version. */
  introduce(claimant: Claimant): void {
    const before = this.#claimants.get(claimant.uid);
    this.#claimants.set(claimant.uid, claimant);
    if (before && compareClaimants(before, claimant) === 0) return;
    for (const id of this.#claimed.get(claimant.uid)) this.#touch(id);
    this.announce();
  }

  /** Removes a policy that was deleted or now uses another service. Its upgrade attempts in flight stay in the table. */
  retire(uid: string): void {
    if (!this.#claimants.delete(uid)) return;
    this.#outdated.delete(uid);
    for (const id of [...this.#claimed.get(uid)]) this.unclaim(uid, id);
    this.#dirty.take(uid);
    this.#toNotify.delete(uid);
    this.announce();
  }

  /** Records that a policy's claims do not include the newest changes of its listing yet; `claimNew` updates the claims. */
  outdate(uid: string, claimNew: () => void): void {
    this.#outdated.set(uid, claimNew);
  }

  /** Updates the outdated claims of all other policies, so that this policy does not take collectors that belong to them. */
  catchUp(uid: string): void {
    this.announce();
    for (const [other, claimNew] of this.#outdated) {
      if (other === uid) continue;
      this.#outdated.delete(other);
      claimNew();
    }
  }

  claim(uid: string, id: string): void {
    if (!this.#claims.add(id, uid)) return;
    this.#claimed.add(uid, id);
    this.#touch(id, uid);
  }

  unclaim(uid: string, id: string): void {
    if (!this.#claims.delete(id, uid)) return;
    this.#claimed.delete(uid, id);
    this.#touch(id);
  }

  /** Collectors that the policy claims, whether or not it owns them. */
  claimed(uid: string): Iterable<string> {
    return this.#claimed.get(uid);
  }

  /** Notifies each policy once if owners of its collectors may have changed since the last call. */
  announce(): void {
    for (const uid of this.#toNotify) {
      this.#toNotify.delete(uid);
      const claimant = this.#claimants.get(uid);
      if (claimant) this.#onChange(claimant);
    }
  }

  /** Returns the collectors of this policy whose owner may have changed, and clears their list. */
  takeChanged(uid: string): Iterable<string> {
    this.#toNotify.delete(uid);
    return this.#dirty.take(uid);
  }

  owner(id: string): Claimant | undefined {
    const holder = this.#flights.get(id)?.policy;
    const held = holder !== undefined && this.#claims.has(id, holder);
    return held ? this.#claimants.get(holder) : this.first(id);
  }

  /**
   * Of the policies that claim the collector, the one with the highest precedence. It owns the collector, unless an attempt
   * is in flight.
   */
  first(id: string): Claimant | undefined {
    let best: Claimant | undefined;
    for (const uid of this.#claims.get(id)) {
      const claimant = this.#claimants.get(uid);
      if (claimant && (!best || compareClaimants(claimant, best) < 0)) best = claimant;
    }
    return best;
  }

  flight(id: string): Flight | undefined {
    return this.#flights.get(id);
  }

  /** Upgrade attempt in flight on this collector that a deleted policy started; undefined when there is none. */
  orphan(id: string): Flight | undefined {
    const flight = this.#flights.get(id);
    return flight && !this.#claimants.has(flight.policy) ? flight : undefined;
  }

  /** Records an upgrade attempt in flight: the attempt is open, or a listing must still confirm its result. */
  began(id: string, flight: Flight): void {
    this.#flights.set(id, flight);
  }

  /**
   * Monotonic time in ms at which another policy's attempt on this collector ended; undefined when there was none.
   * @param isForgotten whether this policy's ledger lacks the collector; if so, an accepted attempt of this policy counts as
   *   well
   */
  landedMs(id: string, policy: string, isForgotten = false): number | undefined {
    const landing = this.#landings.get(id);
    if (!landing) return undefined;
    const counts = landing.policy !== policy || (isForgotten && landing.wasAccepted);
    return counts ? landing.atMs : undefined;
  }

  /**
   * Records the end of an attempt. Another policy may take over the collector after a later listing has shown its version
   * (`landedMs`).
   */
  ended(id: string, policy: string, nowMs?: number): void {
    const flight = this.#flights.get(id);
    if (flight?.policy !== policy) return;
    this.#flights.delete(id);
    this.#landings.delete(id);
    const wasAccepted = flight.taskId !== undefined;
    if (nowMs !== undefined) this.#landings.set(id, { policy, atMs: nowMs, wasAccepted });
    this.#touch(id);
  }

  /**
   * Forgets the attempts of a policy whose ledger was read again. The policy need not be notified, because it is being
   * reconciled.
   */
  forgetFlights(policy: string): void {
    for (const [id, flight] of this.#flights) {
      if (flight.policy !== policy) continue;
      this.#flights.delete(id);
      this.#landings.delete(id);
      this.#touch(id, policy);
    }
  }

  /**
   * Forgets attempts of deleted policies that began before `beforeMs`, because their time limit has passed. Also forgets all
   * attempts that ended before `beforeMs` and before `seenMs`.
   * @param seenMs monotonic time in ms: a complete sweep has shown the results of all attempts that ended before this time
   *   (U8)
   */
  forgetOrphans(beforeMs: number, seenMs: number): void {
    // Ended attempts are ordered by their end, so the loop stops at the first attempt that must be kept.
    for (const [id, { atMs }] of this.#landings) {
      if (atMs >= Math.min(beforeMs, seenMs)) break;
      this.#landings.delete(id);
    }
    for (const [id, { policy, sinceMs }] of this.#flights) {
      if (this.#claimants.has(policy) || sinceMs >= beforeMs) continue;
      this.#flights.delete(id);
      this.#touch(id);
    }
  }

  /** Versions that policies of this service target. */
  targeted(): ReadonlySet<string> {
    const versions = new Set<string>();
    for (const { targetVersion } of this.#claimants.values())
      if (targetVersion !== undefined) versions.add(targetVersion);
    return versions;
  }

  #touch(id: string, except?: string): void {
    for (const uid of this.#claims.get(id)) {
      if (uid === except) continue;
      if (!this.#dirty.hasKey(uid)) this.#toNotify.add(uid);
      this.#dirty.add(uid, id);
    }
  }
}

/**
 * Orders policies by precedence: policies that may start upgrades first, then by higher priority, greater age, and
 * namespace/name.
 */
export function compareClaimants(left: Claimant, right: Claimant): number {
  return (
    Number(right.enforcing) - Number(left.enforcing) ||
    right.priority - left.priority ||
    Date.parse(left.creationTimestamp) - Date.parse(right.creationTimestamp) ||
    compareText(keyText(left), keyText(right))
  );
}
