/**
 * Accounts: what all resources with the same credentials share. A Secret is read, decoded and made into a client of the
 * service; clients with equal Secrets are one, and all that speaks as one user shares one budget, across Secrets and namespaces.
 *
 * Invariant: `resolve` gives the same `Account` as long as nothing in the Secret changed. Nothing here talks to the service; whether
 * credentials are good is found out by who uses them and told by `unauthorized`.
 */
import type { Clock } from '../base/clock.ts';
import { LogfleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Leadership, ResourceKey, SecretReader } from '../host/host.ts';
import type { Connect, ServiceConnection } from '../service/connection.ts';
import { defaultBudgetSettings } from '../service/request-budget.ts';
import type { SearchJobs } from '../service/search-jobs.ts';
import { serviceIdOf } from '../service/service-address.ts';
import type { UpgradeService } from '../service/upgrade-service.ts';
import { AwaitedSecrets } from './awaited-secrets.ts';
import { Budgets, type Spender } from './budgets.ts';
import { type CredentialPlace, renderPlace, renderRefused, settingNamesOf } from './credential-place.ts';
import { type Credentials, decodeCredentials, fingerprintOf } from './credentials.ts';
import { LeadershipRight } from './leadership-right.ts';

export interface Account {
  /** Identity of the service: its normalised base URL; stamps ledgers (protocol U1), keys ownership (U13). */
  readonly serviceId: string;
  /** `serviceId` and access id: what this access id may see is the same for all who hold it; listings are shared by it. */
  readonly id: string;
  readonly service: UpgradeService;
  /** Search jobs under the same credentials, out of the same budget. */
  readonly searches: SearchJobs;
  /** How many requests a second it may send at most, as far as its own Secret says; 4 where that says nothing (8). */
  readonly requestsPerSecond: number;
}

export interface AccountSettings {
  /** A Secret that was read longer ago is read again before use. */
  readonly secretMaxAgeMs: number;
  /**
   * For how long a refused key (401) is not shown to the service again, unless the Secret changes. A little less than the 30 s
   * after which a stalled resource looks again, so that its look is not in vain.
   */
  readonly refusalHoldMs: number;
  /** Credentials that no resource has asked for in this time are closed. */
  readonly idleMs: number;
}

export const defaultAccountSettings: AccountSettings = {
  secretMaxAgeMs: 60_000,
  refusalHoldMs: 29_000,
  idleMs: 3_600_000,
};

export interface AccountsOptions {
  readonly secrets: SecretReader;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly connect: Connect;
  /** Requests are sent only while this process leads (L1). */
  readonly leadership: Leadership;
  readonly settings?: Partial<AccountSettings>;
}

/** One set of credentials, in use by every Secret that says the same. */
interface Shared {
  readonly account: Account;
  readonly credentials: Credentials;
  readonly connection: ServiceConnection;
  refusedAtMs: number | undefined;
}

/** One Secret, by its key. */
interface Entry {
  shared: Shared | undefined;
  readAtMs: number;
  usedAtMs: number;
  /** When it was last known to be stale, on the monotonic clock: what was read before does not do. */
  staleAtMs: number | undefined;
  reading: Promise<Shared> | undefined;
}

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #settings: AccountSettings;
  /** Secrets as they are read, and waited for, by whoever needs one. */
  readonly secrets: AwaitedSecrets;
  readonly #entries = new Map<string, Entry>();
  readonly #shared = new Map<string, Shared>();
  /** Credentials let go of, while they finish what they have under way: search jobs may take hours. */
  readonly #retiring = new Set<Shared>();
  readonly #right: LeadershipRight;
  readonly #budgets: Budgets;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#settings = { ...defaultAccountSettings, ...options.settings };
    this.secrets = new AwaitedSecrets(options);
    this.#right = new LeadershipRight(options.leadership, options.clock);
    this.#budgets = new Budgets({ ...options, right: this.#right });
  }

  /**
   * The account of a Secret. Reads the Secret before first use, when what is known is older than 60 s, and after a 401. A read serves
   * everybody for five seconds (`awaited-secrets.ts`), one that shows a Secret that cannot be used, too.
   *
   * Throws what reading the Secret threw, or a `LogfleetError` with the reason SecretNotFound, SecretIncomplete, SecretInvalid,
   * AddressInvalid, or (for a key refused just now) Unauthorized.
   */
  async resolve(key: ResourceKey): Promise<Account> {
    const nowMs = this.#options.clock.monotonic();
    const entry = this.#entry(key, nowMs);
    let shared = this.#fresh(entry, nowMs);
    if (!shared) {
      shared = await this.#read(key, entry);
      this.#tidy(nowMs);
    }
    this.#refuseHeldBack(key, shared);
    return shared.account;
  }

  /**
   * A 401 was seen with this Secret: the next `resolve` reads it again. `account` is the one that was refused; news about one
   * that the Secret no longer stands for changes nothing.
   */
  unauthorized(key: ResourceKey, account?: Account): void {
    const entry = this.#entries.get(nameOf(key));
    if (!entry?.shared || (account && account !== entry.shared.account)) return;
    entry.staleAtMs = this.#options.clock.monotonic();
    entry.shared.refusedAtMs = entry.staleAtMs;
  }

  /** Destroys every connection. */
  async close(): Promise<void> {
    this.secrets.close();
    this.#right.close();
    const all = [...this.#retiring, ...this.#shared.values()];
    this.#entries.clear();
    this.#shared.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #entry(key: ResourceKey, nowMs: number): Entry {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    if (known) {
      known.usedAtMs = nowMs;
      return known;
    }
    const entry: Entry = {
      shared: undefined,
      readAtMs: nowMs,
      usedAtMs: nowMs,
      staleAtMs: undefined,
      reading: undefined,
    };
    this.#entries.set(name, entry);
    return entry;
  }

  #fresh(entry: Entry, nowMs: number): Shared | undefined {
    const young = nowMs - entry.readAtMs < this.#settings.secretMaxAgeMs;
    return young && entry.staleAtMs === undefined ? entry.shared : undefined;
  }

  /** Callers that come while a read is under way share it. */
  #read(key: ResourceKey, entry: Entry): Promise<Shared> {
    entry.reading ??= this.#readNow(key, entry).finally(() => {
      entry.reading = undefined;
    });
    return entry.reading;
  }

  async #readNow(key: ResourceKey, entry: Entry): Promise<Shared> {
    const readAtMs = this.#options.clock.monotonic();
    const members = await this.secrets.get(key, entry.staleAtMs);
    // Cleared before decoding: credentials that the Secret no longer holds must not be used.
    entry.shared = undefined;
    const place = this.#placeOf(key);
    const shared = this.#connect(decodeCredentials(place, members), place);
    entry.shared = shared;
    entry.readAtMs = readAtMs;
    entry.staleAtMs = undefined;
    return shared;
  }

  #connect(credentials: Credentials, place: CredentialPlace): Shared {
    const fingerprint = fingerprintOf(credentials);
    const known = this.#shared.get(fingerprint);
    if (known) return known;
    const serviceId = serviceIdOf(credentials.address);
    const { accessId, accessKey, address, allowedHosts, caCertificates } = credentials;
    const budget = this.#budgets.of({ ...credentials, serviceId });
    const names = settingNamesOf(place);
    const settings = { address, accessId, accessKey, allowedHosts, caCertificates, budget, names };
    const connection = this.#options.connect(settings);
    const { service, searches } = connection;
    const { requestsPerSecond: defaultRate } = defaultBudgetSettings;
    const account: Account = {
      serviceId,
      id: `${serviceId} ${accessId}`,
      service,
      searches,
      requestsPerSecond: Math.min(defaultRate, credentials.requestsPerSecond ?? defaultRate),
    };
    const shared: Shared = { account, credentials, connection, refusedAtMs: undefined };
    this.#shared.set(fingerprint, shared);
    this.#shareBudgets();
    this.#options.log.info('credentials read', { service: serviceId, from: renderPlace(place) });
    return shared;
  }

  #placeOf(key: ResourceKey): CredentialPlace {
    return { kind: this.secrets.takesVariables(key) ? 'variables' : 'secret', key };
  }

  #refuseHeldBack(key: ResourceKey, shared: Shared): void {
    if (shared.refusedAtMs === undefined) return;
    const heldMs = this.#options.clock.monotonic() - shared.refusedAtMs;
    if (heldMs < this.#settings.refusalHoldMs) throw refused(this.#placeOf(key), shared.account.serviceId);
    shared.refusedAtMs = undefined;
  }

  /** Forgets Secrets that nobody asks for, then lets go of credentials that no Secret holds any more. */
  #tidy(nowMs: number): void {
    for (const [name, entry] of this.#entries) {
      if (nowMs - entry.usedAtMs >= this.#settings.idleMs) this.#entries.delete(name);
    }
    const held = new Set([...this.#entries.values()].map(({ shared }) => shared));
    const idle = [...this.#shared].filter(([, shared]) => !held.has(shared));
    for (const [fingerprint, shared] of idle) {
      this.#shared.delete(fingerprint);
      this.#retire(shared);
    }
    if (idle.length > 0) this.#shareBudgets();
  }

  #shareBudgets(): void {
    this.#budgets.share([...this.#shared.values()].map(spenderOf), [...this.#retiring].map(spenderOf));
  }

  #retire(shared: Shared): void {
    this.#retiring.add(shared);
    shared.connection
      .drain()
      .catch((error: unknown) => this.#options.log.warn('connections did not close', { error }))
      .finally(() => {
        this.#retiring.delete(shared);
        this.#shareBudgets();
      });
  }
}

function spenderOf({ account, credentials }: Shared): Spender {
  return { ...credentials, serviceId: account.serviceId };
}

function nameOf(key: ResourceKey): string {
  return `${key.namespace}/${key.name}`;
}

function refused(place: CredentialPlace, serviceId: string): LogfleetError {
  return new LogfleetError({
    code: 'account.unauthorized',
    reason: 'Unauthorized',
    message: renderRefused(place, serviceId),
    handling: { kind: 'stall' },
  });
}
