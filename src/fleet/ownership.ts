/**
 * Table that shows the owner (a policy) and the running upgrade of each collector of a service (U13). All policies of
 * the service share the table. A collector has at most one owner. A collector's owner does not change while the owner
 * is upgrading the collector.
 */

import { keyText } from '../base/key-text.ts';
import { Multimap } from '../base/multimap.ts';
import { compareText } from '../base/text-order.ts';

export interface Claimant {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  /** Creation time of the policy (RFC 3339). Older policies take precedence. */
  readonly creationTimestamp: string;
  /** True if the policy may start upgrades. Such a policy takes precedence over every policy that only observes. */
  readonly enforcing: boolean;
  readonly targetVersion: string | undefined;
}

export interface Flight {
  /** Kubernetes uid of the CollectorVersionPolicy that started the upgrade. */
  readonly policy: string;
  readonly toVersion: string;
  readonly taskId: string | undefined;
  /** Monotonic time in ms at which this process learned of the running upgrade. */
  readonly sinceMs: number;
}

export interface EndedUpgrade {
  readonly toVersion: string;
  /** Monotonic time in ms at which the upgrade ended. */
  readonly atMs: number;
}

/** Placeholder for the policy of a running upgrade, used if the policy's ledger was lost during the upgrade. */
const noPolicy = '';

export class Ownership {
  readonly #claimants = new Map<string, Claimant>();
  /** The policies that select each collector (`#claims`), and the collectors that each policy selects (`#claimed`). */
  readonly #claims = new Multimap();
  readonly #claimed = new Multimap();
  readonly #flights = new Map<string, Flight>();
  /**
   * For each collector, the upgrade that ended last. Another policy must not upgrade the collector until a later
   * collector list shows the result of this upgrade.
   */
  readonly #endedUpgrades = new Map<
    string,
    EndedUpgrade & { readonly policy: string; readonly wasAccepted: boolean }
  >();
  /** For each policy, the collectors whose owner may have changed since the policy last called `takeChanged`. */
  readonly #dirty = new Multimap();
  /** Policies that must be notified, because the owners of their collectors may have changed. */
  readonly #toNotify = new Set<string>();
  /**
   * Functions that claim the new collectors of a policy, by policy uid. Contains only policies that have new
   * collectors.
   */
  readonly #outdated = new Map<string, () => void>();
  readonly #onChange: (policy: Claimant) => void;

  constructor(onChange: (policy: Claimant) => void) {
    this.#onChange = onChange;
  }

  /** Adds a policy to the table, or updates the precedence and target version of the policy. */
  register(claimant: Claimant): void {
    const before = this.#claimants.get(claimant.uid);
    this.#claimants.set(claimant.uid, claimant);
    if (before && compareClaimants(before, claimant) === 0) return;
    for (const id of this.#claimed.get(claimant.uid)) this.#touch(id);
    this.announce();
  }

  /**
   * Removes a policy that was deleted or now uses another service. The policy's running upgrades remain in the table.
   */
  retire(uid: string): void {
    if (!this.#claimants.delete(uid)) return;
    this.#outdated.delete(uid);
    for (const id of [...this.#claimed.get(uid)]) this.unclaim(uid, id);
    this.#dirty.take(uid);
    this.#toNotify.delete(uid);
    this.announce();
  }

  /**
   * Records that a policy has new collectors that it has not claimed yet. `claimNew` claims these collectors, and is
   * called before another policy claims any.
   */
  outdate(uid: string, claimNew: () => void): void {
    this.#outdated.set(uid, claimNew);
  }

  /**
   * Lets all other policies claim their new collectors before this policy claims any. Otherwise, this policy could
   * become the owner of a collector that a policy with a higher precedence selects.
   */
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

  /** Returns the collectors that the policy selects, even if another policy owns them. */
  claimed(uid: string): Iterable<string> {
    return this.#claimed.get(uid);
  }

  /** Notifies each policy that may have gained or lost collectors. */
  announce(): void {
    for (const uid of this.#toNotify) {
      this.#toNotify.delete(uid);
      const claimant = this.#claimants.get(uid);
      if (claimant) this.#onChange(claimant);
    }
  }

  /** Returns the collectors of this policy whose owner may have changed since the policy last called this method. */
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
   * Returns the policy with the highest precedence that selects the collector. This policy owns the collector, unless
   * another policy is upgrading it.
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

  /**
   * Returns the running upgrade of this collector if no policy manages the upgrade any more, for example because the
   * policy that started it was deleted. Otherwise returns undefined.
   */
  orphan(id: string): Flight | undefined {
    const flight = this.#flights.get(id);
    return flight && !this.#claimants.has(flight.policy) ? flight : undefined;
  }

  /** Records a running upgrade. The upgrade counts as running until a collector list has shown its result. */
  began(id: string, flight: Flight): void {
    this.#flights.set(id, flight);
  }

  /**
   * Returns the last ended upgrade of this collector if another policy started it. Otherwise returns undefined.
   * @param isForgotten true if this policy's ledger has no entry for the collector; in that case, an accepted upgrade
   * that this policy started counts as an upgrade by another policy
   */
  otherUpgrade(id: string, policy: string, isForgotten = false): EndedUpgrade | undefined {
    const ended = this.#endedUpgrades.get(id);
    if (!ended) return undefined;
    const counts = ended.policy !== policy || (isForgotten && ended.wasAccepted);
    return counts ? ended : undefined;
  }

  /**
   * Records that an upgrade has ended. Another policy must not upgrade the collector until a newer collector list has
   * been read (see `otherUpgrade`).
   */
  ended(id: string, policy: string, nowMs?: number): void {
    const flight = this.#flights.get(id);
    if (flight?.policy !== policy) return;
    this.#flights.delete(id);
    this.#endedUpgrades.delete(id);
    const { toVersion, taskId } = flight;
    if (nowMs !== undefined)
      this.#endedUpgrades.set(id, { policy, toVersion, atMs: nowMs, wasAccepted: taskId !== undefined });
    this.#touch(id);
  }

  /**
   * Removes a policy's upgrades from this table, before the caller adds the upgrades from the policy's stored ledger.
   * If the ledger lacks an upgrade that may be running, this upgrade stays in the table as an orphan.
   * @param isCovered reports whether the stored ledger contains the upgrade, or the upgrade was never requested
   */
  forgetFlights(policy: string, isCovered: (id: string, taskId: string | undefined) => boolean): void {
    for (const [id, flight] of this.#flights) {
      if (flight.policy !== policy) continue;
      if (isCovered(id, flight.taskId)) this.#flights.delete(id);
      else this.#flights.set(id, { ...flight, policy: noPolicy });
      this.#endedUpgrades.delete(id);
      this.#touch(id, policy);
    }
  }

  /**
   * Removes running upgrades that began before `beforeMs` and that no policy manages any more. Also removes all
   * upgrades that ended before `beforeMs` and before `seenMs`.
   * @param seenMs monotonic time in ms; the collector list shows the results of all upgrades that ended before this
   * time (U8)
   */
  forgetOrphans(beforeMs: number, seenMs: number): void {
    // The map is sorted by the time at which each upgrade ended, so the loop stops at the first upgrade that must be
    // kept.
    for (const [id, { atMs }] of this.#endedUpgrades) {
      if (atMs >= Math.min(beforeMs, seenMs)) break;
      this.#endedUpgrades.delete(id);
    }
    for (const [id, { policy, sinceMs }] of this.#flights) {
      if (this.#claimants.has(policy) || sinceMs >= beforeMs) continue;
      this.#flights.delete(id);
      this.#touch(id);
    }
  }

  /** Returns the target versions of this service's policies. */
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
 * Orders policies by precedence. Policies that may start upgrades come before all others. Within each of the two
 * groups, the order is by priority (highest first), then by age (oldest first), then by namespace and name.
 */
export function compareClaimants(left: Claimant, right: Claimant): number {
  return (
    Number(right.enforcing) - Number(left.enforcing) ||
    right.priority - left.priority ||
    Date.parse(left.creationTimestamp) - Date.parse(right.creationTimestamp) ||
    compareText(keyText(left), keyText(right))
  );
}
