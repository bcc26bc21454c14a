/**
 * The policy that each collector of one service belongs to, and the attempts that are in flight there (U13). One table for each service
 * is shared by all policies whose credentials lead to the service, across Secrets and namespaces.
 *
 * Invariant: a collector has at most one owner. A policy with an open attempt keeps the collector until the attempt has ended. An attempt
 * in flight stays known when its policy is deleted, so that a policy made again does not start from nought.
 */
import { Multimap } from '../base/multimap.ts';

export interface Claimant {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  /** RFC 3339; the older policy goes first. */
  readonly creationTimestamp: string;
  /** A policy that only observes takes nothing from one that acts. */
  readonly enforcing: boolean;
  readonly targetVersion: string | undefined;
}

export interface Flight {
  /** uid of the policy that started it. */
  readonly policy: string;
  readonly toVersion: string;
  readonly taskId: string | undefined;
  /** Monotonic; since when it is known to be in flight. */
  readonly sinceMs: number;
}

export class Ownership {
  readonly #claimants = new Map<string, Claimant>();
  /** Claimants by collector, and collectors by claimant. */
  readonly #claims = new Multimap();
  readonly #claimed = new Multimap();
  readonly #flights = new Map<string, Flight>();
  /** The collectors of `#flights` by policy. */
  readonly #flying = new Multimap();
  /** Policies of `#flying` that are gone. */
  readonly #orphaning = new Set<string>();
  /** Whose attempt ended last, and when: what others know of the collector is older. */
  readonly #landings = new Map<
    string,
    { readonly policy: string; readonly atMs: number; readonly wasAccepted: boolean }
  >();
  /** Collectors whose owner may have changed, by the policies that have not taken that yet. */
  readonly #dirty = new Multimap();
  /** The policies of `#dirty` that were not told yet. */
  readonly #untold = new Set<string>();
  /** Brings a policy's claims up to what its listing shows now. */
  readonly #syncs = new Map<string, () => void>();
  /** Policies whose listing shows more than they have claimed. */
  readonly #outdated = new Set<string>();
  readonly #onChange: (policy: Claimant) => void;

  /** @param onChange called for a policy whose collectors may have come to it or left it */
  constructor(onChange: (policy: Claimant) => void) {
    this.#onChange = onChange;
  }

  /** Makes a policy known, or its new rank or target. */
  introduce(claimant: Claimant): void {
    const before = this.#claimants.get(claimant.uid);
    this.#claimants.set(claimant.uid, claimant);
    this.#orphaning.delete(claimant.uid);
    if (before && compareClaimants(before, claimant) === 0) return;
    for (const id of this.#claimed.get(claimant.uid)) this.#touch(id);
    this.#announce();
  }

  /** The policy is gone, or speaks to another service now. What it has in flight stays known. */
  retire(uid: string): void {
    if (!this.#claimants.delete(uid)) return;
    this.#syncs.delete(uid);
    this.#outdated.delete(uid);
    for (const id of [...this.#claimed.get(uid)]) this.unclaim(uid, id);
    this.#dirty.take(uid);
    this.#untold.delete(uid);
    if (this.#flying.hasKey(uid)) this.#orphaning.add(uid);
    this.#announce();
  }

  /** @param sync brings the claims of this policy up to what its listing shows; replaces the one before */
  follow(uid: string, sync: () => void): void {
    this.#syncs.set(uid, sync);
  }

  /** The listing of this policy shows more than it has claimed. */
  outdate(uid: string): void {
    this.#outdated.add(uid);
  }

  /** Lets all policies but this one claim what their listings show by now, so that it does not take what is theirs. */
  catchUp(uid: string): void {
    this.#announce();
    for (const other of this.#outdated) {
      if (other === uid) continue;
      this.#outdated.delete(other);
      this.#syncs.get(other)?.();
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

  /** The collectors that the policy claims. */
  claimed(uid: string): Iterable<string> {
    return this.#claimed.get(uid);
  }

  /** Tells the policies whose collectors changed hands since the last call. */
  announce(): void {
    this.#announce();
  }

  /** The collectors of this policy whose owner may have changed since the last call. */
  takeChanged(uid: string): Iterable<string> {
    this.#untold.delete(uid);
    return this.#dirty.take(uid);
  }

  owner(id: string): Claimant | undefined {
    const holder = this.#flights.get(id)?.policy;
    const held = holder !== undefined && this.#claims.has(id, holder);
    return held ? this.#claimants.get(holder) : this.first(id);
  }

  /** Whose the collector would be if nothing was in flight there: who goes first of all that claim it. */
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

  /** A flight whose policy is gone. */
  orphan(id: string): Flight | undefined {
    const flight = this.#flights.get(id);
    return flight && !this.#claimants.has(flight.policy) ? flight : undefined;
  }

  /** An attempt is open, or there is more to know about it. */
  began(id: string, flight: Flight): void {
    this.#forgetFlight(id);
    this.#flights.set(id, flight);
    this.#flying.add(flight.policy, id);
    if (!this.#claimants.has(flight.policy)) this.#orphaning.add(flight.policy);
  }

  /**
   * When an attempt of another policy ended on this collector; undefined where none did lately.
   * @param isForgotten whether this policy remembers no attempt of its own there: then one of those that was accepted counts as well
   */
  landedMs(id: string, policy: string, isForgotten = false): number | undefined {
    const landing = this.#landings.get(id);
    if (!landing) return undefined;
    const counts = landing.policy !== policy || (isForgotten && landing.wasAccepted);
    return counts ? landing.atMs : undefined;
  }

  /** The attempt has ended. Whoever else claims the collector may have it now, once it was seen again (`landedMs`). */
  ended(id: string, policy: string, nowMs?: number): void {
    const flight = this.#flights.get(id);
    if (flight?.policy !== policy) return;
    this.#forgetFlight(id);
    this.#landings.delete(id);
    const wasAccepted = flight.taskId !== undefined;
    if (nowMs !== undefined) this.#landings.set(id, { policy, atMs: nowMs, wasAccepted });
    this.#touch(id);
  }

  /**
   * The policy's ledger was read anew: what it has in flight is what that says, and not what was never written. The policy itself is not
   * told. It is at work on that, and a host that fails each write would have it look again at once, for ever.
   */
  forgetFlights(policy: string): void {
    for (const id of [...this.#flying.get(policy)]) {
      this.#forgetFlight(id);
      this.#landings.delete(id);
      this.#touch(id, policy);
    }
  }

  /**
   * Flights whose policy is gone and that began before `beforeMs`: nothing can be running any more.
   * @param seenMs what ended before this shows in the list by now; what ended later is not forgotten, however long the list takes (U8)
   */
  forgetOrphans(beforeMs: number, seenMs: number): void {
    // In order of time, so that looking ends at the first that is to be kept.
    for (const [id, { atMs }] of this.#landings) {
      if (atMs >= Math.min(beforeMs, seenMs)) break;
      this.#landings.delete(id);
    }
    for (const policy of this.#orphaning) {
      for (const id of [...this.#flying.get(policy)]) {
        if ((this.#flights.get(id) as Flight).sinceMs >= beforeMs) continue;
        this.#forgetFlight(id);
        this.#touch(id);
      }
    }
  }

  /** Versions that some policy of this service brings its collectors to. */
  targeted(): ReadonlySet<string> {
    const versions = new Set<string>();
    for (const { targetVersion } of this.#claimants.values())
      if (targetVersion !== undefined) versions.add(targetVersion);
    return versions;
  }

  #forgetFlight(id: string): void {
    const policy = this.#flights.get(id)?.policy;
    if (policy === undefined) return;
    this.#flights.delete(id);
    this.#flying.delete(policy, id);
    if (!this.#flying.hasKey(policy)) this.#orphaning.delete(policy);
  }

  #touch(id: string, except?: string): void {
    for (const uid of this.#claims.get(id)) {
      if (uid === except) continue;
      if (!this.#dirty.hasKey(uid)) this.#untold.add(uid);
      this.#dirty.add(uid, id);
    }
  }

  /** Each policy is told once of all that it has not taken: it looks at everything when its turn comes. */
  #announce(): void {
    for (const uid of this.#untold) {
      this.#untold.delete(uid);
      const claimant = this.#claimants.get(uid);
      if (claimant) this.#onChange(claimant);
    }
  }
}

/** Negative when `left` goes first: who acts, the higher priority, the older, then by namespace/name. */
export function compareClaimants(left: Claimant, right: Claimant): number {
  return (
    Number(right.enforcing) - Number(left.enforcing) ||
    right.priority - left.priority ||
    Date.parse(left.creationTimestamp) - Date.parse(right.creationTimestamp) ||
    compareText(`${left.namespace}/${left.name}`, `${right.namespace}/${right.name}`)
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
