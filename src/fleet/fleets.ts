/**
 * Holds one collector list for each account, and one ownership table for each service. All policies in this process
 * share these lists and tables (U9, U13).
 */

import type { Account } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { getOrAdd } from '../base/get-or-add.ts';
import type { Logger } from '../base/log.ts';
import { FleetListing } from './fleet-listing.ts';
import { type Claimant, Ownership } from './ownership.ts';

export interface FleetsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports whether this process may send requests to services. */
  readonly active: () => boolean;
  /** Called for a policy that may have gained or lost ownership of collectors. */
  readonly onOwnersChanged: (policy: Claimant) => void;
}

/** An account, its collector list, and the ownership table of its service. */
export interface Bound {
  readonly account: Account;
  readonly listing: FleetListing;
  readonly ownership: Ownership;
}

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #listings = new Map<Account, { readonly listing: FleetListing; readonly users: Set<string> }>();
  /** Ownership tables by the service's hostname. Each table is kept as long as this process is the leader. */
  readonly #ownerships = new Map<string, Ownership>();

  constructor(options: FleetsOptions) {
    this.#options = options;
  }

  /**
   * Returns the ownership table of a service. URLs that differ only in their paths share a table, because the same
   * collectors are listed at these URLs (U13).
   */
  ownership(serviceId: string): Ownership {
    const host = new URL(serviceId).host;
    return getOrAdd(this.#ownerships, host, () => new Ownership(this.#options.onOwnersChanged));
  }

  /**
   * Returns the collector list of an account. Each account has its own list, because different accounts may see
   * different collectors. A caller that no longer needs the list must call `release`.
   */
  use(account: Account, user: string): FleetListing {
    const { listing, users } = getOrAdd(this.#listings, account, () => this.#begin(account));
    users.add(user);
    return listing;
  }

  #begin({ service, serviceId }: Account) {
    const { clock, log, active } = this.#options;
    const ownership = this.ownership(serviceId);
    const targeted = () => ownership.targeted();
    const listing = new FleetListing({ service, clock, log: log.with({ service: serviceId }), targeted, active });
    return { listing, users: new Set<string>() };
  }

  release(account: Account, user: string): void {
    const known = this.#listings.get(account);
    if (!known) return;
    known.users.delete(user);
    known.listing.removeUser(user);
    if (known.users.size > 0) return;
    known.listing.close();
    this.#listings.delete(account);
  }

  /**
   * Removes a deleted policy. If the deleted policy is still upgrading a collector, another policy can own this
   * collector only after the upgrade has ended (U13).
   */
  retire(policy: string): void {
    for (const ownership of this.#ownerships.values()) ownership.retire(policy);
  }

  /** Drops all collector lists and ownership tables after a change of the leader. */
  reset(): void {
    for (const { listing } of this.#listings.values()) listing.close();
    this.#listings.clear();
    this.#ownerships.clear();
  }
}
