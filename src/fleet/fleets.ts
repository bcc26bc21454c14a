/**
 * Listings and ownership tables of this process: one listing for each account and one ownership table for each service. Policies
 * share them, and a listing is closed with its last user (U9, U13).
 */
import type { Account } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { FleetListing } from './fleet-listing.ts';
import { type Claimant, Ownership } from './ownership.ts';

export interface FleetsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether this process may send requests to services. */
  readonly active: () => boolean;
  /** Called for a policy that may have gained or lost collectors. */
  readonly onOwnersChanged: (policy: Claimant) => void;
}

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #listings = new Map<Account, { readonly listing: FleetListing; readonly users: Set<string> }>();
  /**
   * Ownership tables by host. Kept while this process leads, so that attempts in flight stay known when a policy is created again.
   */
  readonly #ownerships = new Map<string, Ownership>();

  constructor(options: FleetsOptions) {
    this.#options = options;
  }

  /** Ownership table of a service. Keyed by host, since collectors are the same for any path (U13). */
  ownership(serviceId: string): Ownership {
    const host = new URL(serviceId).host;
    const known = this.#ownerships.get(host);
    if (known) return known;
    const ownership = new Ownership(this.#options.onOwnersChanged);
    this.#ownerships.set(host, ownership);
    return ownership;
  }

  /**
   * Returns the listing of an account, which is kept until `release` by this user. Accounts have separate listings, since other
   * credentials may see other collectors.
   */
  use(account: Account, user: string): FleetListing {
    const known = this.#listings.get(account);
    if (known) {
      known.users.add(user);
      return known.listing;
    }
    const { clock, log, active } = this.#options;
    const ownership = this.ownership(account.serviceId);
    const listing = new FleetListing({
      service: account.service,
      clock,
      log: log.with({ service: account.serviceId }),
      targeted: () => ownership.targeted(),
      active,
    });
    this.#listings.set(account, { listing, users: new Set([user]) });
    return listing;
  }

  release(account: Account, user: string): void {
    const known = this.#listings.get(account);
    if (!known) return;
    known.users.delete(user);
    known.listing.leave(user);
    if (known.users.size > 0) return;
    known.listing.close();
    this.#listings.delete(account);
  }

  /** Removes a deleted policy. Its collectors are free for others after their attempts in flight have ended (U13). */
  retire(policy: string): void {
    for (const ownership of this.#ownerships.values()) ownership.retire(policy);
  }

  /** Forgets everything, since another process may have acted in the meantime. */
  reset(): void {
    for (const { listing } of this.#listings.values()) listing.close();
    this.#listings.clear();
    this.#ownerships.clear();
  }
}
