/**
 * Binds a policy to the service that its Secret names: the account, the shared collector listing, and the ownership table. The
 * binding also records problems that currently prevent the use of the service.
 *
 * Invariant: a policy claims collectors of one service at a time. When its Secret names another service, the policy releases its
 * claims at the former service.
 */
import type { Account } from '../account/accounts.ts';
import { LogfleetError } from '../base/errors.ts';
import { keyText } from '../base/key-text.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import type { FleetListing } from '../fleet/fleet-listing.ts';
import type { Ownership } from '../fleet/ownership.ts';
import type { OwnerRef, ResourceKey } from '../host/host.ts';
import { ServiceError } from '../service/requests/service-error.ts';
import type { PolicyEnvironment } from './policy-environment.ts';

export interface Bound {
  readonly account: Account;
  readonly listing: FleetListing;
  readonly ownership: Ownership;
}

/** Kinds of requests that each policy sends for itself: upgrade POSTs, and reads of upgrade tasks. */
export type Asked = 'posts' | 'reads';

/** Failure of the service that does not concern a single collector, and the time until which no new requests are sent. */
interface Hold {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

/** Number of consecutive failed requests that are tolerated before the policy reports a problem. */
const toleratedFailures = 3;

export class ServiceBinding {
  readonly #environment: PolicyEnvironment;
  readonly #owner: OwnerRef;
  readonly #onNews: () => void;
  #secret: ResourceKey | undefined;
  #bound: Bound | undefined;
  #hold: Hold | undefined;
  #buildsDoubtedMs = -Infinity;
  /** Number of consecutive failures by kind of request. The more failures, the longer the delay before the next request. */
  readonly #failures: Record<Asked, number> = { posts: 0, reads: 0 };

  constructor(environment: PolicyEnvironment, owner: OwnerRef, onNews: () => void) {
    this.#environment = environment;
    this.#owner = owner;
    this.#onNews = onNews;
  }

  get bound(): Bound | undefined {
    return this.#bound;
  }

  /** Binds the policy to the service that its Secret names. Returns the error if the Secret or its credentials cannot be used. */
  async bind(secret: ResourceKey, resyncMs: number): Promise<Bound | LogfleetError> {
    const { accounts } = this.#environment;
    const { changes } = accounts.secrets;
    const { uid: policy } = this.#owner;
    const onNews = this.#onNews;
    this.#secret = secret;
    const name = keyText(secret);
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
    const { fleets } = this.#environment;
    this.#bound?.listing.doubtSecret(secret);
    if (this.#bound?.account.serviceId !== account.serviceId) this.#bound?.ownership.retire(this.#owner.uid);
    this.#release();
    this.#hold = undefined;
    this.#bound = {
      account,
      listing: fleets.use(account, this.#owner.uid),
      ownership: fleets.ownership(account.serviceId),
    };
    return this.#bound;
  }

  /** Error that currently prevents use of the service; undefined when there is none, or when the failure may be temporary. */
  problem(): LogfleetError | undefined {
    const failed = this.#bound?.listing.problem()?.error;
    if (failed) this.#noteRefusal(failed);
    if (this.#hold && this.#environment.clock.monotonic() >= this.#hold.untilMs) this.#hold = undefined;
    if (failed) return failed;
    const lasting =
      this.#hold?.error.handling.kind === 'stall' || Math.max(...Object.values(this.#failures)) > toleratedFailures;
    return lasting ? this.#hold?.error : undefined;
  }

  /** Reason why the policy currently starts no upgrade, as text for status; undefined when there is none. */
  heldBy(): string | undefined {
    const listedMs = this.#bound?.listing.builds()?.sentAtMs ?? 0;
    if (listedMs < this.#buildsDoubtedMs)
      return 'the current list of builds, because the service refused an upgrade to the requested build';
    return this.#hold ? 'the service, which failed a moment ago' : undefined;
  }

  /** Sends no new requests for a while after a failure that does not concern a single collector. */
  holdFor(error: LogfleetError, asked: Asked): void {
    const { clock, log } = this.#environment;
    const { namespace, name: policy } = this.#owner;
    if (!this.#bound) return;
    const nowMs = clock.monotonic();
    this.#noteRefusal(error);
    if (this.#hold && nowMs < this.#hold.untilMs) return;
    const delayMs = retryDelayMs(error, this.#failures[asked]++);
    this.#hold = { error, untilMs: nowMs + delayMs };
    // An answer 429 (too many requests) is not logged as a warning, because the service says when to continue.
    const level = error.handling.kind === 'retryAfter' ? 'info' : 'warn';
    log[level]('requests to the service are sent again later', { namespace, policy, error, retryInMs: delayMs });
    this.#onNews();
  }

  /** Requests a new list of builds, because the service refused the requested build (U11). */
  doubtBuilds(): void {
    this.#buildsDoubtedMs = this.#environment.clock.monotonic();
    this.#bound?.listing.requestBuilds(this.#buildsDoubtedMs);
  }

  /** Resets the number of failures for a kind of request, after a request of this kind succeeded. */
  succeeded(asked: Asked): void {
    this.#failures[asked] = 0;
  }

  /** Milliseconds until new requests may be sent after a failure; Infinity when no failure prevents requests. */
  heldForMs(): number {
    return this.#hold ? this.#hold.untilMs - this.#environment.clock.monotonic() : Infinity;
  }

  close(): void {
    this.#environment.accounts.secrets.leave(this.#owner.uid);
    this.#release();
  }

  #release(): void {
    if (!this.#bound) return;
    this.#environment.fleets.release(this.#bound.account, this.#owner.uid);
    this.#bound = undefined;
  }

  /** Records that the service rejected the credentials. The rejected key is not used until its Secret has been read again. */
  #noteRefusal(error: LogfleetError): void {
    if (!this.#secret || !this.#bound || !(error instanceof ServiceError) || error.status !== 401) return;
    this.#environment.accounts.unauthorized(this.#secret, this.#bound.account);
  }
}
