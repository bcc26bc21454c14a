/**
 * The fleets this process knows: one listing for each account, one table of ownership for each service, shared by all policies
 * that use them and let go of with the last one (U9, U13).
 */
import type { Account } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { FleetListing } from './fleet-listing.ts';
import { type Claimant, Ownership } from './ownership.ts';

export interface FleetsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether this process may speak to services now. */
  readonly active: () => boolean;
  /** Called for a policy whose collectors may have come to it or left it. */
  readonly onOwnersChanged: (policy: Claimant) => void;
}

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #listings = new Map<Account, { readonly listing: FleetListing; readonly users: Set<string> }>();
  /** Kept for as long as we lead: what is in flight must be known however often a policy is made again. */
  readonly #ownerships = new Map<string, Ownership>();

  constructor(options: FleetsOptions) {
    this.#options = options;
  }

  /** By host: its collectors are the same whatever the path of the address (U13). */
  ownership(serviceId: string): Ownership {
    const host = new URL(serviceId).host;
    const known = this.#ownerships.get(host);
    if (known) return known;
    const ownership = new Ownership(this.#options.onOwnersChanged);
    this.#ownerships.set(host, ownership);
    return ownership;
  }

  /** The listing of an account, held until `release` by this user. Other credentials may see other collectors: they read for themselves. */
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

  /** A policy is gone: its collectors are free for others, once what is in flight has ended (U13). */
  retire(policy: string): void {
    for (const ownership of this.#ownerships.values()) ownership.retire(policy);
  }

  /** Forgets everything: another process may have acted since it was learnt. */
  reset(): void {
    for (const { listing } of this.#listings.values()) listing.close();
    this.#listings.clear();
    this.#ownerships.clear();
  }
}
