/**
 * What ties a policy to the service that its Secret names: the account, the shared listing and the table of ownership; and what
 * keeps them from being used right now.
 *
 * Invariant: a policy claims collectors of one service at a time; when its Secret leads elsewhere, its claims there are let go of.
 */
import type { Account, Accounts } from '../account/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Fleets } from '../fleet/fleets.ts';
import type { Ownership } from '../fleet/ownership.ts';
import type { ResourceKey } from '../host/host.ts';
import { ServiceError } from '../service/service-error.ts';

export interface Bound {
  readonly account: Account;
  readonly listing: FleetListing;
  readonly ownership: Ownership;
}

export interface ServiceBindingOptions {
  /** uid of the policy. */
  readonly policy: string;
  readonly accounts: Accounts;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly log: Logger;
  /** Something changed that the policy should look at. */
  readonly onNews: () => void;
}

/** What a policy asks for itself: tasks to be made, and how they are. */
export type Asked = 'posts' | 'reads';

/** A failure that is not about one collector, and until when nothing new is tried because of it. */
interface Hold {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

/** So many failures in a row are waited out without a word. */
const toleratedFailures = 3;

export class ServiceBinding {
  readonly #options: ServiceBindingOptions;
  #secret: ResourceKey | undefined;
  #bound: Bound | undefined;
  #hold: Hold | undefined;
  #buildsDoubtedMs = Number.NEGATIVE_INFINITY;
  /** Failures in a row: each waits longer. Those of one kind of request are not made good by another kind that succeeds. */
  readonly #failures: Record<Asked, number> = { posts: 0, reads: 0 };

  constructor(options: ServiceBindingOptions) {
    this.#options = options;
  }

  get bound(): Bound | undefined {
    return this.#bound;
  }

  /**
   * Binds to what the Secret names now, which may be what it was, and makes the listing attend to the policy. An error of the Secret or
   * its credentials is returned.
   */
  async bind(secret: ResourceKey, resyncMs: number): Promise<Bound | LogfleetError> {
    const { accounts, policy, onNews } = this.#options;
    const { changes } = accounts.secrets;
    this.#secret = secret;
    const name = `${secret.namespace}/${secret.name}`;
    let account: Account;
    try {
      account = await accounts.resolve(secret);
      accounts.secrets.leave(policy);
    } catch (error) {
      this.#bound?.listing.doubtSecret(name);
      const isForPeople = error instanceof LogfleetError && error.handling.kind === 'stall';
      accounts.secrets.wait(policy, isForPeople ? [secret] : [], changes, onNews);
      if (error instanceof LogfleetError && error.handling.kind !== 'bug') return error;
      throw error;
    }
    const bound = this.#bound?.account === account ? this.#bound : this.#bindTo(account, name);
    bound.listing.attend(policy, { secret: name, resyncMs, onNews });
    return bound;
  }

  #bindTo(account: Account, secret: string): Bound {
    const { fleets, policy } = this.#options;
    this.#bound?.listing.doubtSecret(secret);
    if (this.#bound?.account.serviceId !== account.serviceId) this.retire();
    this.#release();
    this.#hold = undefined;
    this.#bound = {
      account,
      listing: fleets.use(account, policy),
      ownership: fleets.ownership(account.serviceId),
    };
    return this.#bound;
  }

  /** What keeps the service from being used, or undefined. A failure that may have passed already is no problem yet. */
  problem(): LogfleetError | undefined {
    const failed = this.#bound?.listing.problem()?.error;
    if (failed) this.#noteRefusal(failed);
    if (this.#hold && this.#options.clock.monotonic() >= this.#hold.untilMs) this.#hold = undefined;
    if (failed) return failed;
    const lasting =
      this.#hold?.error.handling.kind === 'stall' || Math.max(...Object.values(this.#failures)) > toleratedFailures;
    return lasting ? this.#hold?.error : undefined;
  }

  /** Why nothing new is started for a moment, in words; undefined where something may be. */
  heldBy(): string | undefined {
    const listedMs = this.#bound?.listing.builds()?.sentAtMs ?? 0;
    if (listedMs < this.#buildsDoubtedMs) return 'the list of builds, since the service refused the one that is wanted';
    return this.#hold ? 'the service, which failed a moment ago' : undefined;
  }

  /** Something other than a collector refused or failed: nothing new until it had time to pass. */
  holdFor(error: LogfleetError, asked: Asked): void {
    const { clock, log, onNews } = this.#options;
    if (!this.#bound) return;
    const nowMs = clock.monotonic();
    this.#noteRefusal(error);
    if (this.#hold && nowMs < this.#hold.untilMs) return;
    const delayMs = retryDelayMs(error, this.#failures[asked]++);
    this.#hold = { error, untilMs: nowMs + delayMs };
    log.warn('the service cannot be used', { error, retryInMs: delayMs });
    onNews();
  }

  /** The service refused the build that is wanted (U11): whether it is still offered comes before anything else. */
  doubtBuilds(): void {
    this.#buildsDoubtedMs = this.#options.clock.monotonic();
    this.#bound?.listing.requestBuilds(this.#buildsDoubtedMs);
  }

  /** The service did what it was asked for. */
  succeeded(asked: Asked): void {
    this.#failures[asked] = 0;
  }

  /** How long the present hold lasts; Infinity where there is none. */
  heldForMs(): number {
    return this.#hold ? this.#hold.untilMs - this.#options.clock.monotonic() : Number.POSITIVE_INFINITY;
  }

  /** Gives up every claim. What is in flight stays known to ownership. */
  retire(): void {
    this.#bound?.ownership.retire(this.#options.policy);
  }

  close(): void {
    this.#options.accounts.secrets.leave(this.#options.policy);
    this.#release();
  }

  #release(): void {
    if (!this.#bound) return;
    this.#options.fleets.release(this.#bound.account, this.#options.policy);
    this.#bound = undefined;
  }

  /** A refused key is not shown again before its Secret has been read anew. */
  #noteRefusal(error: LogfleetError): void {
    if (!this.#secret || !this.#bound || !(error instanceof ServiceError) || error.status !== 401) return;
    this.#options.accounts.unauthorized(this.#secret, this.#bound.account);
  }
}
