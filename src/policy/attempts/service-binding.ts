/**
 * Binds a policy to the service that its Secret names, and records problems with the service. A policy claims
 * collectors from only one service at a time.
 */
import type { Account, Accounts } from '../../account/accounts.ts';
import type { Clock } from '../../base/clock.ts';
import { isExpected, LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import type { Logger } from '../../base/log.ts';
import { FailureRecord } from '../../base/retry-delay.ts';
import type { Bound, Fleets } from '../../fleet/fleets.ts';
import type { OwnerRef, ResourceKey } from '../../host/host.ts';
import { ServiceError } from '../../service/requests/service-error.ts';

/**
 * Kinds of requests that each policy sends for itself: upgrade requests (`posts`), and reads of upgrade tasks
 * (`reads`).
 */
export type Asked = 'posts' | 'reads';

const asked: readonly Asked[] = ['posts', 'reads'];

/** Number of consecutive failures that are tolerated before the policy reports a problem. */
const toleratedFailures = 3;

/** Objects shared by the bindings of all policies in this process. */
export interface BindingEnvironment {
  /**
   * Accounts for the log service. All policies share these accounts, so that there is only one request budget for each
   * user of the service.
   */
  readonly accounts: Accounts;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Reason why a policy starts no upgrade: another request must first succeed. */
export interface ServiceCause {
  /**
   * - `buildList`: the service refused a build, so the list of builds must be read again.
   * - `listRead`: the last read of the builds or collectors failed.
   * - `requestBackOff`: a request failed, and will be repeated later.
   */
  readonly kind: 'buildList' | 'listRead' | 'requestBackOff';
}

export class ServiceBinding {
  readonly #environment: BindingEnvironment;
  readonly #owner: OwnerRef;
  readonly #onChange: () => void;
  #secret: ResourceKey | undefined;
  #bound: Bound | undefined;
  #buildsRefusedMs = -Infinity;
  /**
   * Service failures, recorded separately for `posts` and `reads`. A refusal to upgrade a single collector is not a
   * service failure.
   */
  #failures = newFailures();

  constructor(environment: BindingEnvironment, owner: OwnerRef, onChange: () => void) {
    this.#environment = environment;
    this.#owner = owner;
    this.#onChange = onChange;
  }

  get bound(): Bound | undefined {
    return this.#bound;
  }

  /** Binds the policy to the service that its Secret names. Returns the error if the credentials cannot be used. */
  async bind(secret: ResourceKey, resyncMs: number): Promise<Bound | LogfleetError> {
    const { accounts } = this.#environment;
    const { changes } = accounts.secrets;
    const { uid: policy } = this.#owner;
    const onChange = this.#onChange;
    this.#secret = secret;
    const name = keyText(secret);
    let account: Account;
    try {
      account = await accounts.resolve(secret);
    } catch (error) {
      this.#bound?.listing.recheckSecret(name);
      const isForPeople = error instanceof LogfleetError && error.handling.kind === 'stall';
      accounts.secrets.wait(policy, isForPeople ? [secret] : [], changes, onChange);
      if (isExpected(error)) return error;
      throw error;
    }
    const bound = this.#bound?.account === account ? this.#bound : this.#bindTo(account, name);
    bound.listing.addUser(policy, { secret: name, resyncMs, onChange });
    const isForPeople = this.problem()?.handling.kind === 'stall';
    accounts.secrets.wait(policy, isForPeople ? [secret] : [], changes, onChange);
    return bound;
  }

  #bindTo(account: Account, secret: string): Bound {
    const { fleets } = this.#environment;
    this.#bound?.listing.recheckSecret(secret);
    if (this.#bound?.account.serviceId !== account.serviceId) this.#bound?.ownership.retire(this.#owner.uid);
    this.#release();
    this.#failures = newFailures();
    this.#bound = {
      account,
      listing: fleets.use(account, this.#owner.uid),
      ownership: fleets.ownership(account.serviceId),
    };
    return this.#bound;
  }

  /**
   * Returns the error that prevents the use of the service. Returns undefined if there is no error, or if there have
   * been only a few failures, which may be temporary.
   */
  problem(): LogfleetError | undefined {
    const unlisted = this.#bound?.listing.problem()?.error;
    if (unlisted) return this.#noteRefusal(unlisted);
    for (const { error, count } of Object.values(this.#failures)) {
      if (error && (error.handling.kind === 'stall' || count > toleratedFailures)) return error;
    }
    return undefined;
  }

  /** Returns the reason why the policy starts no upgrade now, or undefined if there is no such reason. */
  heldBy(): ServiceCause | undefined {
    const listedMs = this.#bound?.listing.builds()?.sentAtMs ?? 0;
    if (listedMs < this.#buildsRefusedMs) return { kind: 'buildList' };
    if (this.#bound?.listing.problem()) return { kind: 'listRead' };
    return asked.some((kind) => this.#isHeld(kind)) ? { kind: 'requestBackOff' } : undefined;
  }

  /** Reports whether upgrade requests are paused because of an error that a user must correct. */
  refusesPosts(): boolean {
    return this.#isHeld('posts') && this.#failures.posts.error?.handling.kind === 'stall';
  }

  /**
   * Returns the number of requests of this kind (`posts` or `reads`) that may be sent now. After a failure, no request
   * may be sent for a while. Then, until a request succeeds, only one request at a time may be sent.
   * @param inFlight number of unanswered requests of this kind
   */
  capacityFor(kind: Asked, inFlight: number): number {
    if (this.#isHeld(kind)) return 0;
    if (this.#failures[kind].error === undefined) return Infinity;
    return inFlight === 0 ? 1 : 0;
  }

  /**
   * Pauses requests of this kind (`posts` or `reads`) after a failure that affects the whole service, not only a single
   * collector.
   */
  holdFor(given: LogfleetError, kind: Asked): void {
    const { clock, log } = this.#environment;
    const { namespace, name: policy } = this.#owner;
    if (!this.#bound) return;
    const error = this.#noteRefusal(given);
    if (this.#isHeld(kind)) return;
    const failures = this.#failures[kind];
    // The first error is shown until the error code changes. Later errors can differ in details, such as an address,
    // and would change the status each time.
    const shown = failures.error?.code === error.code ? failures.error : error;
    const delayMs = failures.failed(error, clock.monotonic(), shown);
    // A 429 response (too many requests) says when to send the next request, so no warning is needed.
    const level = error.handling.kind === 'retryAfter' ? 'info' : 'warn';
    log[level]('requests to the service will be sent again later', { namespace, policy, error, retryInMs: delayMs });
    this.#onChange();
  }

  /** Requests a new list of builds, because the service refused a build (U11). */
  rereadBuilds(): void {
    this.#buildsRefusedMs = this.#environment.clock.monotonic();
    this.#bound?.listing.requestBuilds(this.#buildsRefusedMs);
  }

  /** Clears the failures of this kind of request (`posts` or `reads`) after a request has succeeded. */
  succeeded(kind: Asked): void {
    this.#failures[kind].succeeded();
  }

  /**
   * Clears the failures of this kind of request (`posts` or `reads`), because the policy no longer needs such requests.
   */
  unneeded(kind: Asked): void {
    if (this.#failures[kind].error === undefined) return;
    this.succeeded(kind);
    this.#failures[kind].tryAgain();
    this.#onChange();
  }

  /**
   * Returns the time in ms until new requests may be sent after a failure. Returns Infinity if no request has failed.
   */
  heldForMs(): number {
    const { clock, accounts } = this.#environment;
    const heldMs = asked.filter((kind) => this.#isHeld(kind)).map((kind) => this.#failures[kind].untilMs);
    const refusedForMs = this.#secret ? accounts.refusedForMs(this.#secret) : Infinity;
    return Math.min(refusedForMs, ...heldMs.map((untilMs) => untilMs - clock.monotonic()));
  }

  /** Ends the delays after failed requests, because a user asked for a retry. */
  tryAgain(secret: ResourceKey): void {
    this.#environment.accounts.tryAgain(secret);
    for (const failures of Object.values(this.#failures)) failures.tryAgain();
    this.#bound?.listing.tryAgain();
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

  #isHeld(kind: Asked): boolean {
    return this.#environment.clock.monotonic() < this.#failures[kind].untilMs;
  }

  /** Records that the service rejected the credentials (401). Returns the error to show. */
  #noteRefusal(error: LogfleetError): LogfleetError {
    if (!this.#secret || !this.#bound || !(error instanceof ServiceError) || error.status !== 401) return error;
    return this.#environment.accounts.unauthorized(this.#secret, this.#bound.account, error);
  }
}

function newFailures(): Record<Asked, FailureRecord> {
  return { posts: new FailureRecord(), reads: new FailureRecord() };
}
