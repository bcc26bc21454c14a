/**
 * Accounts of the log service. An account consists of a client and a request budget for the credentials in a Secret.
 * Secrets with the same content share one client.
 *
 * As long as a Secret does not change, `resolve` returns the same `Account`. If the service rejects a request with 401,
 * the caller must call `unauthorized`.
 */
import { reasons } from '../api/conditions.ts';
import { failure, type LogfleetError } from '../base/errors.ts';
import { getOrAdd } from '../base/get-or-add.ts';
import { keyText } from '../base/key-text.ts';
import type { Ports } from '../base/ports.ts';
import { retryDelayMs } from '../base/retry-delay.ts';
import { hourMs } from '../base/time-units.ts';
import type { Leadership, ResourceKey, SecretReader } from '../host/host.ts';
import { serviceLimits } from '../service/budget/request-budget.ts';
import type { UpgradeService } from '../service/collectors/upgrade-service.ts';
import type { Connect, ServiceConnection } from '../service/connect.ts';
import type { SearchJobs } from '../service/jobs/search-jobs.ts';
import { serviceIdOf } from '../service/requests/service-address.ts';
import { AwaitedSecrets } from './awaited-secrets.ts';
import { Budgets, LeadershipRight, type Spender, userIdOf } from './budgets.ts';
import { type CredentialPlace, renderPlace, renderRefused, settingNamesOf } from './credential-place.ts';
import { type Credentials, credentialsFingerprint, decodeCredentials } from './credentials.ts';
import type { RequestLimits, WorkerShares } from './worker-shares.ts';

export interface Account {
  /**
   * Identity of the service, which is its normalised base URL. Each ledger contains this URL, so logfleet can recognize
   * a ledger that belongs to another service (U1).
   */
  readonly serviceId: string;
  readonly service: UpgradeService;
  /** Client for this account's search jobs. */
  readonly searches: SearchJobs;
  /** Maximum number of requests per second. Defaults to 4, the service's limit. */
  readonly requestsPerSecond: number;
  /** Identity of the service user to whom the credentials belong. The service applies its rate limits per user. */
  readonly user: string;
  /** Digest that identifies the credentials without revealing them. */
  readonly fingerprint: string;
}

/** Maximum age, in ms, of a Secret's content in memory. After that, the Secret is read again. */
const secretMaxAgeMs = 60_000;
/**
 * Time in ms after which an unused Secret is forgotten. The Secret's client is closed, unless another Secret uses the
 * same client.
 */
const idleMs = hourMs;
/**
 * Time in ms after a rejected access key is allowed again. If the service rejects the key within this time, the next
 * delay is longer.
 */
const recheckMs = 60_000;

export interface AccountsOptions extends Omit<Ports, 'random'> {
  readonly secrets: SecretReader;
  readonly connect: Connect;
  /** Leadership of this process. Only the leader sends requests (L1). */
  readonly leadership: Leadership;
  /** Request limits that are reserved for each user's worker pods (B8). The operator does not use them. */
  readonly shares?: WorkerShares;
  /** Request limits of this process if it is a worker. */
  readonly limits?: RequestLimits;
  /**
   * In a worker: the only user whose credentials may be used. The worker's request limits are a share of this user's
   * limits (B8).
   */
  readonly onlyUser?: string;
}

/** Client for one set of credentials, shared by all Secrets with the same content. */
interface Shared {
  readonly account: Account;
  readonly credentials: Credentials;
  readonly connection: ServiceConnection;
  /**
   * Namespaces of the Secrets that contain these credentials. When the last of these Secrets is gone, the set is not
   * cleared.
   */
  namespaces: Set<string>;
  refusal: KeyRejection | undefined;
}

/**
 * Rejection of an access key (401). The key is not sent again before the monotonic time `untilMs`, unless a user asks
 * for a retry.
 */
interface KeyRejection {
  /** Number of consecutive earlier rejections of the key. A rejection that arrives before `untilMs` is not counted. */
  readonly earlier: number;
  readonly untilMs: number;
}

/** State of one Secret, and the client that uses the Secret's credentials. */
interface SecretEntry {
  /** Namespace of the Secret. */
  readonly namespace: string;
  shared: Shared | undefined;
  readAtMs: number;
  usedAtMs: number;
  /**
   * Monotonic time, in ms, at which this process learned that the cached content may be outdated. Undefined while the
   * cached content is current.
   */
  staleAtMs: number | undefined;
  /**
   * Value of `AwaitedSecrets.changes` before the last read of this Secret. If `changes` has increased since then, this
   * Secret may have changed, so it is read again.
   */
  changes: number;
  reading: Promise<Shared> | undefined;
}

export class Accounts {
  readonly #options: AccountsOptions;
  /** Reads Secrets, and waits for changes to them. */
  readonly secrets: AwaitedSecrets;
  readonly #entries = new Map<string, SecretEntry>();
  readonly #shared = new Map<string, Shared>();
  /** Errors that have already been passed to `unauthorized`. A second report of the same error is ignored. */
  readonly #reported = new WeakSet<LogfleetError>();
  /**
   * Clients whose credentials are no longer in any Secret. Each is kept until its requests have ended, because a search
   * job can take hours.
   */
  readonly #retiring = new Set<Shared>();
  readonly #right: LeadershipRight;
  readonly #budgets: Budgets;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.secrets = new AwaitedSecrets(options);
    this.#right = new LeadershipRight(options.leadership, options.clock);
    this.#budgets = new Budgets({ ...options, right: this.#right });
  }

  /**
   * Returns the account of a Secret. Reads the Secret on first use, when its cached content is 60 s old or may have
   * changed, and after a 401.
   *
   * Rejects with the error from reading the Secret, or with a `LogfleetError`. The reason of a `LogfleetError` is
   * SecretNotFound, SecretIncomplete, SecretInvalid, AddressInvalid, UserChanged (this process is a worker of another
   * user), or Unauthorized (the service recently rejected the access key).
   */
  async resolve(key: ResourceKey): Promise<Account> {
    const nowMs = this.#options.clock.monotonic();
    const entry = this.#entry(key, nowMs);
    let shared = this.#fresh(entry, nowMs);
    if (!shared) {
      shared = await this.#read(key, entry);
      this.#closeUnused(nowMs);
    }
    this.#throwIfRejected(key, shared);
    return shared.account;
  }

  /**
   * Reports that the service rejected the credentials of a Secret (401), so that the next `resolve` reads the Secret
   * again. The report is ignored if the Secret no longer belongs to `account`.
   */
  unauthorized(key: ResourceKey, account: Account, error: LogfleetError): LogfleetError {
    const entry = this.#entries.get(keyText(key));
    const { shared } = entry ?? {};
    if (!entry || shared?.account !== account) return error;
    const shown = refused(this.#placeOf(key), account.serviceId);
    if (this.#reported.has(error)) return shown;
    this.#reported.add(error);
    const nowMs = this.#options.clock.monotonic();
    entry.staleAtMs = nowMs;
    const { untilMs = Number.NEGATIVE_INFINITY, earlier = 0 } = shared.refusal ?? {};
    // Several requests may have been in flight when the service rejected the key. Their rejections count as one.
    if (nowMs < untilMs) return shown;
    // A rejection soon after the delay adds to the count of rejections. A later rejection starts a new count, because
    // the service has probably accepted the key in the meantime.
    const repeated = nowMs < untilMs + recheckMs ? earlier + 1 : 0;
    shared.refusal = { earlier: repeated, untilMs: nowMs + retryDelayMs(shown, repeated) };
    return shown;
  }

  /**
   * Returns the time, in ms, until this Secret's rejected access key may be sent again. Returns Infinity if the key has
   * not been rejected, or may already be sent again.
   */
  refusedForMs(key: ResourceKey): number {
    const { untilMs = 0 } = this.#entries.get(keyText(key))?.shared?.refusal ?? {};
    const leftMs = untilMs - this.#options.clock.monotonic();
    return leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY;
  }

  /** Allows a rejected access key to be sent again immediately, because a user asked for a retry. */
  tryAgain(key: ResourceKey): void {
    const entry = this.#entries.get(keyText(key));
    const { refusal } = entry?.shared ?? {};
    const nowMs = this.#options.clock.monotonic();
    if (entry?.shared && refusal) entry.shared.refusal = { ...refusal, untilMs: Math.min(refusal.untilMs, nowMs) };
  }

  /** Returns the user's request limits, including the share that workers use (B8). */
  limitsOf(account: Account): RequestLimits {
    return this.#budgets.limitsOf(account.user);
  }

  /** Reports whether the user's requests in flight and search jobs are within the current limits of this process. */
  isWithinLimits(account: Account): boolean {
    return this.#budgets.isWithinLimits(account.user);
  }

  sharesChanged(): void {
    this.#shareBudgets();
  }

  /** Closes the connections of all clients. */
  async close(): Promise<void> {
    this.secrets.close();
    this.#right.close();
    const all = [...this.#retiring, ...this.#shared.values()];
    this.#entries.clear();
    this.#shared.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #entry(key: ResourceKey, nowMs: number): SecretEntry {
    const entry = getOrAdd(this.#entries, keyText(key), () => ({
      ...{ shared: undefined, reading: undefined, staleAtMs: undefined },
      ...{ namespace: key.namespace, readAtMs: nowMs, usedAtMs: nowMs, changes: 0 },
    }));
    entry.usedAtMs = nowMs;
    return entry;
  }

  #fresh(entry: SecretEntry, nowMs: number): Shared | undefined {
    const isYoung = nowMs - entry.readAtMs < secretMaxAgeMs && entry.changes === this.secrets.changes;
    const isRefused = nowMs < (entry.shared?.refusal?.untilMs ?? 0);
    return isYoung && !isRefused && entry.staleAtMs === undefined ? entry.shared : undefined;
  }

  /** Reads a Secret, and creates a client from its content. Concurrent callers share one read. */
  #read(key: ResourceKey, entry: SecretEntry): Promise<Shared> {
    entry.reading ??= this.#readNow(key, entry).finally(() => {
      entry.reading = undefined;
    });
    return entry.reading;
  }

  async #readNow(key: ResourceKey, entry: SecretEntry): Promise<Shared> {
    const readAtMs = this.#options.clock.monotonic();
    const { changes } = this.secrets;
    const members = await this.secrets.get(key, entry.staleAtMs);
    // The client is removed before the new content is decoded, so that the old credentials are not used if decoding
    // fails.
    entry.shared = undefined;
    const place = this.#placeOf(key);
    const shared = this.#connect(decodeCredentials(place, members), place);
    entry.shared = shared;
    entry.readAtMs = readAtMs;
    entry.changes = changes;
    entry.staleAtMs = undefined;
    return shared;
  }

  #connect(credentials: Credentials, place: CredentialPlace): Shared {
    const fingerprint = credentialsFingerprint(credentials);
    const { namespace } = place.key;
    const known = this.#shared.get(fingerprint);
    if (known) {
      if (!known.namespaces.has(namespace)) {
        known.namespaces.add(namespace);
        this.#shareBudgets(known.account.user);
      }
      return known;
    }
    const serviceId = serviceIdOf(credentials.address);
    const { accessId, accessKey, address, allowedHosts, caCertificates } = credentials;
    const user = userIdOf({ ...credentials, serviceId });
    const { onlyUser = user } = this.#options;
    if (user !== onlyUser) throw userChanged();
    const budget = this.#budgets.of({ user, accessId });
    const names = settingNamesOf(place);
    const settings = { address, accessId, accessKey, allowedHosts, caCertificates, budget, names };
    const connection = this.#options.connect(settings);
    const { service, searches } = connection;
    const { requestsPerSecond: defaultRate } = serviceLimits;
    const account: Account = {
      ...{ serviceId, service, searches, user, fingerprint },
      requestsPerSecond: Math.min(defaultRate, credentials.requestsPerSecond ?? defaultRate),
    };
    const shared: Shared = {
      ...{ account, credentials, connection },
      ...{ namespaces: new Set([namespace]), refusal: undefined },
    };
    this.#shared.set(fingerprint, shared);
    this.#shareBudgets(user);
    this.#options.log.info('credentials read', { service: serviceId, from: renderPlace(place) });
    return shared;
  }

  #placeOf(key: ResourceKey): CredentialPlace {
    return { kind: this.secrets.takesVariables(key) ? 'variables' : 'secret', key };
  }

  #throwIfRejected(key: ResourceKey, shared: Shared): void {
    const { untilMs = 0 } = shared.refusal ?? {};
    if (this.#options.clock.monotonic() < untilMs) throw refused(this.#placeOf(key), shared.account.serviceId);
  }

  /**
   * Forgets unused Secrets, and closes clients whose credentials are in no Secret. Once no Secret in a namespace
   * contains a client's credentials, the request limits of these credentials no longer count for that namespace.
   */
  #closeUnused(nowMs: number): void {
    for (const [name, entry] of this.#entries) {
      if (nowMs - entry.usedAtMs >= idleMs) this.#entries.delete(name);
    }
    const held = Map.groupBy(this.#entries.values(), ({ shared }) => shared);
    let isChanged = false;
    for (const [fingerprint, shared] of this.#shared) {
      const namespaces = new Set(held.get(shared)?.map(({ namespace }) => namespace));
      if (namespaces.size === shared.namespaces.size) continue;
      isChanged = true;
      if (namespaces.size > 0) shared.namespaces = namespaces;
      else {
        this.#shared.delete(fingerprint);
        this.#retire(shared);
      }
    }
    if (isChanged) this.#shareBudgets();
  }

  /** Sets the request limits of one user, or of all users if `user` is undefined. */
  #shareBudgets(user?: string): void {
    const spenders = (all: Iterable<Shared>) =>
      [...all].filter(({ account }) => user === undefined || account.user === user).flatMap(spendersOf);
    this.#budgets.share(spenders(this.#shared.values()), spenders(this.#retiring), user);
  }

  #retire(shared: Shared): void {
    this.#retiring.add(shared);
    shared.connection
      .drain()
      .catch((error: unknown) => this.#options.log.warn('connections did not close', { error }))
      .finally(() => {
        this.#retiring.delete(shared);
        this.#shareBudgets(shared.account.user);
      });
  }
}

function spendersOf({ account, credentials, namespaces }: Shared): readonly Spender[] {
  return [...namespaces].map((namespace) => ({ ...credentials, user: account.user, namespace }));
}

function userChanged(): LogfleetError {
  const message =
    'The credentials in the Secret now belong to a different log service user than when the Kubernetes Job was created. The operator will replace the Job.';
  return failure('stall', 'account.userChanged', message, { reason: reasons.userChanged });
}

function refused(place: CredentialPlace, serviceId: string): LogfleetError {
  return failure('stall', 'account.unauthorized', renderRefused(place, serviceId), { reason: 'Unauthorized' });
}
