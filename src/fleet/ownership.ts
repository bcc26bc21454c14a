/**
 * Which policy a collector of one service belongs to, and what is in flight there (U13). One of these per service, shared by
 * all policies whose credentials lead to it, across Secrets and namespaces.
 *
 * Invariant: a collector has at most one owner; who has an attempt open keeps it until that has ended. What is in flight is
 * kept when its policy is deleted, so that a policy made again does not start from nought.
 */

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
  /** Most collectors have one claimant; a list is kept only where there are more. */
  readonly #claims = new Map<string, string | readonly string[]>();
  readonly #flights = new Map<string, Flight>();
  /** Whose attempt ended last, and when: what others know of the collector is older. */
  readonly #landings = new Map<
    string,
    { readonly policy: string; readonly atMs: number; readonly wasAccepted: boolean }
  >();
  readonly #dirty = new Map<string, Set<string>>();
  /** Brings a policy's claims up to what its listing shows now. */
  readonly #syncs = new Map<string, () => void>();
  readonly #onChange: (policy: Claimant) => void;

  /** @param onChange called for a policy whose collectors may have come to it or left it */
  constructor(onChange: (policy: Claimant) => void) {
    this.#onChange = onChange;
  }

  /** Makes a policy known, or its new rank or target. */
  introduce(claimant: Claimant): void {
    const before = this.#claimants.get(claimant.uid);
    this.#claimants.set(claimant.uid, claimant);
    if (before && compareClaimants(before, claimant) === 0) return;
    for (const [id, claims] of this.#claims) if (includes(claims, claimant.uid)) this.#touch(id);
    this.#announce();
  }

  /** The policy is gone, or speaks to another service now. What it has in flight stays known. */
  retire(uid: string): void {
    if (!this.#claimants.delete(uid)) return;
    this.#dirty.delete(uid);
    this.#syncs.delete(uid);
    for (const id of [...this.#claims.keys()]) this.#removeClaim(uid, id);
    this.#announce();
  }

  /** @param sync brings the claims of this policy up to what its listing shows; replaces the one before */
  follow(uid: string, sync: () => void): void {
    this.#syncs.set(uid, sync);
  }

  /** Lets all policies but this one claim what their listings show by now, so that it does not take what is theirs. */
  catchUp(uid: string): void {
    this.#announce();
    for (const [other, sync] of this.#syncs) if (other !== uid) sync();
  }

  claim(uid: string, id: string): void {
    const claims = this.#claims.get(id);
    if (claims === undefined) {
      this.#claims.set(id, uid);
      return;
    }
    if (includes(claims, uid)) return;
    this.#claims.set(id, typeof claims === 'string' ? [claims, uid] : [...claims, uid]);
    this.#touch(id, uid);
  }

  unclaim(uid: string, id: string): void {
    this.#removeClaim(uid, id);
  }

  /** Tells the policies whose collectors changed hands since the last call. */
  announce(): void {
    this.#announce();
  }

  /** The collectors of this policy whose owner may have changed since the last call. */
  takeChanged(uid: string): Iterable<string> {
    const changed = this.#dirty.get(uid);
    this.#dirty.delete(uid);
    return changed ?? [];
  }

  owner(id: string): Claimant | undefined {
    const claims = this.#claims.get(id);
    const holder = this.#flights.get(id)?.policy;
    const held = claims !== undefined && holder !== undefined && includes(claims, holder);
    return held ? this.#claimants.get(holder) : this.first(id);
  }

  /** Whose the collector would be if nothing was in flight there: who goes first of all that claim it. */
  first(id: string): Claimant | undefined {
    const claims = this.#claims.get(id);
    if (claims === undefined) return undefined;
    if (typeof claims === 'string') return this.#claimants.get(claims);
    let best: Claimant | undefined;
    for (const uid of claims) {
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
    this.#flights.set(id, flight);
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
    this.#flights.delete(id);
    this.#landings.delete(id);
    const wasAccepted = flight.taskId !== undefined;
    if (nowMs !== undefined) this.#landings.set(id, { policy, atMs: nowMs, wasAccepted });
    this.#touch(id);
  }

  /** The policy's ledger was read anew: what it has in flight is what that says, and not what was never written. */
  forgetFlights(policy: string): void {
    for (const [id, flight] of this.#flights) if (flight.policy === policy) this.ended(id, policy);
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
    for (const [id, flight] of this.#flights) {
      if (flight.sinceMs < beforeMs && !this.#claimants.has(flight.policy)) {
        this.#flights.delete(id);
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

  #removeClaim(uid: string, id: string): void {
    const claims = this.#claims.get(id);
    if (claims === undefined || !includes(claims, uid)) return;
    const rest = typeof claims === 'string' ? [] : claims.filter((other) => other !== uid);
    if (rest.length === 0) this.#claims.delete(id);
    else this.#claims.set(id, rest.length === 1 ? (rest[0] as string) : rest);
    this.#touch(id);
  }

  #touch(id: string, except?: string): void {
    const claims = this.#claims.get(id);
    if (claims === undefined) return;
    for (const uid of typeof claims === 'string' ? [claims] : claims) {
      if (uid === except) continue;
      const changed = this.#dirty.get(uid);
      if (changed) changed.add(id);
      else this.#dirty.set(uid, new Set([id]));
    }
  }

  #announce(): void {
    for (const uid of this.#dirty.keys()) {
      const claimant = this.#claimants.get(uid);
      if (claimant) this.#onChange(claimant);
    }
  }
}

function includes(claims: string | readonly string[], uid: string): boolean {
  return typeof claims === 'string' ? claims === uid : claims.includes(uid);
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
