/** Tests accounts: several Secrets for one account, changes to Secrets, and invalid Secrets. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Account, Accounts } from '../../../src/account/accounts.ts';
import { failure, type LogfleetError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { alwaysLeading } from '../../../src/cli/resources/memory-host.ts';
import type { ResourceKey } from '../../../src/host/host.ts';
import { RequestBudget } from '../../../src/service/budget/request-budget.ts';
import type { Path } from '../../../src/service/budget/request-slot.ts';
import type { UpgradeService } from '../../../src/service/collectors/upgrade-service.ts';
import type { ConnectionSettings } from '../../../src/service/connect.ts';
import type { SearchJobs } from '../../../src/service/jobs/search-jobs.ts';
import { requestFailures } from '../../../src/service/requests/request-failure.ts';
import { toServiceError } from '../../../src/service/requests/service-failure.ts';
import { MemorySecrets } from '../../support/memory-secrets.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const key: ResourceKey = { namespace: 'logging', name: 'log-service' };
const good = { baseURL: 'https://api.example.com/api', accessId: 'id', accessKey: 'canary-key' };

const path: Path = { origin: 'https://a.test', probe: async () => {} };

const rejection = () => failure('stall', 'service.unauthorized', 'was answered 401');

class AccountsWorld {
  readonly clock = new VirtualClock();
  readonly secrets = new MemorySecrets();
  readonly connected: ConnectionSettings[] = [];
  readonly drained: ConnectionSettings[] = [];
  readonly closed: ConnectionSettings[] = [];
  draining: PromiseWithResolvers<void> | undefined;
  readonly service = {} as UpgradeService;
  readonly searches = {} as SearchJobs;
  readonly accounts = new Accounts({
    leadership: alwaysLeading,
    clock: this.clock,
    log: silentLogger,
    metrics: noMetrics,
    secrets: this.secrets,
    connect: (settings) => {
      this.connected.push(settings);
      return {
        service: this.service,
        searches: this.searches,
        drain: async () => {
          this.drained.push(settings);
          await this.draining?.promise;
        },
        close: async () => void this.closed.push(settings),
      };
    },
  });

  constructor(members?: Record<string, string>) {
    if (members) this.write(members);
  }

  /** Replaces the Secret with environment variables. */
  static withVariables(members?: Record<string, string>): AccountsWorld {
    const world = new AccountsWorld(members);
    world.secrets.usesVariables = true;
    return world;
  }

  write(members: Record<string, string>, at = key): void {
    this.secrets.set(at, members);
  }

  resolve(at = key): Promise<Account> {
    return this.accounts.resolve(at);
  }

  async startsWithin(durationMs: number): Promise<number> {
    let starts = 0;
    const giveUp = new AbortController();
    for (let index = 0; index < 10; index++) {
      const asked = this.connected.at(-1)?.budget.acquire({ class: 'listing', path, signal: giveUp.signal });
      asked?.then(
        (slot) => {
          starts++;
          slot.started();
          slot.finished({ kind: 'answered', status: 200 });
        },
        () => {},
      );
    }
    await this.clock.advance(durationMs);
    giveUp.abort();
    return starts;
  }

  async failure(): Promise<LogfleetError> {
    return this.resolve().then(
      () => {
        throw new Error('resolved');
      },
      (error: unknown) => error as LogfleetError,
    );
  }
}

describe('identity', () => {
  test('a service is identified by its normalised address', async () => {
    const { serviceId } = await new AccountsWorld({
      ...good,
      baseURL: ' https://API.example.com:443/api/\n',
    }).resolve();
    expect(serviceId).toBe('https://api.example.com/api');
  });

  test('collector and search operations share a connection and a budget', async () => {
    const world = new AccountsWorld(good);
    const { service, searches } = await world.resolve();
    expect(service).toBe(world.service);
    expect(searches).toBe(world.searches);
    expect(world.connected).toHaveLength(1);
  });

  test('equal Secrets share an account across namespaces', async () => {
    const world = new AccountsWorld(good);
    const other = { namespace: 'audit', name: 'other' };
    world.write({ ...good, accessKey: 'canary-key\n' }, other);
    expect(await world.resolve(other)).toBe(await world.resolve());
    expect(world.connected).toHaveLength(1);
  });

  test('the members of the Secret reach the client', async () => {
    const world = new AccountsWorld({ ...good, allowedHosts: 'eu.example.com, https://us.example.com:8443/api' });
    await world.resolve();
    const [settings] = world.connected;
    expect(settings).toMatchObject({
      address: { origin: 'https://api.example.com', basePath: '/api' },
      accessId: 'id',
      allowedHosts: ['eu.example.com', 'us.example.com:8443'],
      caCertificates: undefined,
    });
    expect(settings?.accessKey.reveal()).toBe('canary-key');
  });
});

describe('reading', () => {
  test('a Secret is read again after 60 s, and the account stays if the content is the same', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    await world.clock.advance(59_999);
    await world.resolve();
    expect(world.secrets.reads).toHaveLength(1);
    await world.clock.advance(1);
    expect(await world.resolve()).toBe(account);
    expect(world.secrets.reads).toHaveLength(2);
  });

  test('concurrent callers share one read', async () => {
    const world = new AccountsWorld(good);
    await Promise.all([world.resolve(), world.resolve(), world.resolve()]);
    expect(world.secrets.reads).toHaveLength(1);
  });

  test('a changed Secret creates a new account, and the old account finishes its requests', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    world.write({ ...good, accessKey: 'another' });
    await world.clock.advance(60_000);
    expect(await world.resolve()).not.toBe(account);
    expect(world.drained).toEqual([world.connected[0]]);
    expect(world.closed).toEqual([]);
  });

  test('a new rate share applies immediately, including to earlier work', async () => {
    const world = new AccountsWorld({ ...good, requestsPerSecond: '1' });
    await world.clock.advance(62_000);
    await world.resolve();
    world.draining = Promise.withResolvers();
    world.write(good);
    await world.clock.advance(60_000);
    await world.resolve();
    expect(await world.startsWithin(900)).toBe(4);
    world.draining.resolve();
    await world.clock.advance(60_000);
    expect(await world.startsWithin(900)).toBe(4);
  });

  test('the share of a user without a Secret applies until its work has ended', async () => {
    const world = new AccountsWorld({ ...good, user: 'audit', requestsPerSecond: '1' });
    await world.clock.advance(62_000);
    await world.resolve();
    const [before] = world.connected;
    world.draining = Promise.withResolvers();
    world.write(good);
    await world.clock.advance(60_000);
    await world.resolve();
    expect(await world.startsWithin(900)).toBe(4);
    world.connected.push(before as ConnectionSettings);
    expect(await world.startsWithin(900)).toBe(1);
  });

  test('a lower rate in one namespace does not apply to the Secrets of another namespace', async () => {
    const world = new AccountsWorld({ ...good, user: 'audit' });
    await world.clock.advance(62_000);
    await world.resolve();
    const lower = { namespace: 'logging', name: 'lower' };
    world.write({ ...good, accessId: 'other', user: 'audit', requestsPerSecond: '1' }, lower);
    await world.resolve(lower);
    expect(await world.startsWithin(900)).toBe(1);
    const foreign = { ...key, namespace: 'team-a' };
    world.write({ ...good, user: 'audit' }, foreign);
    await world.resolve(foreign);
    await world.clock.advance(1_000);
    expect(await world.startsWithin(900)).toBe(4);
  });

  test('a lower rate no longer applies in a namespace whose Secret has changed', async () => {
    const lower = { ...good, user: 'audit', requestsPerSecond: '1' };
    const world = new AccountsWorld(lower);
    const foreign = { ...key, namespace: 'team-a' };
    world.write(lower, foreign);
    await world.clock.advance(62_000);
    await world.resolve();
    await world.resolve(foreign);
    world.write({ ...good, user: 'audit' });
    await world.clock.advance(60_000);
    await world.resolve();
    expect(await world.startsWithin(900)).toBe(4);
  });

  test('a new Secret sets the limits of its user, but not of other users', async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const setRate = vi.spyOn(RequestBudget.prototype, 'setRequestsPerSecond');
    const world = new AccountsWorld();
    const rates = ['1', '2', '3'];
    for (const requestsPerSecond of rates) {
      const at = { ...key, name: `secret-${requestsPerSecond}` };
      world.write({ ...good, accessId: `id-${requestsPerSecond}`, requestsPerSecond }, at);
      await world.resolve(at);
    }
    expect(setRate.mock.calls.map(([rate]) => rate)).toEqual([1, 2, 3]);
  });

  test('a Secret is read again immediately after a change that a waiting resource has noticed', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    const { secrets } = world.accounts;
    secrets.wait('export', [key], secrets.changes, () => {});
    world.write({ ...good, accessKey: 'another' });
    await world.clock.advance(5_000);
    expect(await world.resolve()).not.toBe(account);
  });

  test("a rate above the service's limit counts as this limit", async () => {
    expect((await new AccountsWorld({ ...good, requestsPerSecond: '9' }).resolve()).requestsPerSecond).toBe(4);
  });

  test('a failed read keeps the known account', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    world.secrets.failure = new Error('the API server is away');
    await world.clock.advance(60_000);
    await expect(world.resolve()).rejects.toThrow('the API server is away');
    world.secrets.failure = undefined;
    expect(await world.resolve()).toBe(account);
  });

  test('a corrected Secret is used at the next read, at most one read in five seconds (C2)', async () => {
    const world = new AccountsWorld();
    expect((await world.failure()).reason).toBe('SecretNotFound');
    world.write(good);
    await world.clock.advance(5_000);
    await expect(world.resolve()).resolves.toBeDefined();
  });

  test('an unused account is closed', async () => {
    const world = new AccountsWorld(good);
    await world.resolve();
    const other = { namespace: 'audit', name: 'other' };
    world.write({ ...good, accessId: 'id2' }, other);
    await world.clock.advance(3_600_000);
    await world.resolve(other);
    expect(world.drained).toEqual([world.connected[0]]);
  });

  test('closing destroys every connection', async () => {
    const world = new AccountsWorld(good);
    await world.resolve();
    await world.accounts.close();
    expect(world.closed).toHaveLength(1);
  });

  test('closing also destroys the connection of a former account whose requests have not ended', async () => {
    const world = new AccountsWorld(good);
    await world.resolve();
    world.draining = Promise.withResolvers();
    world.write({ ...good, accessKey: 'another' });
    await world.clock.advance(60_000);
    await world.resolve();
    await world.accounts.close();
    expect(world.closed).toEqual(world.connected);
  });
});

describe('a rejected key', () => {
  test('is read again immediately, and is not sent to the service for 30 s, and then for ten minutes', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    for (const holdMs of [30_000, 600_000, 600_000]) {
      world.accounts.unauthorized(key, account, rejection());
      expect(world.accounts.refusedForMs(key)).toBe(holdMs);
      await world.clock.advance(holdMs - 1);
      expect(await world.failure()).toMatchObject({ reason: 'Unauthorized', handling: { kind: 'stall' } });
      await world.clock.advance(1);
      expect(await world.resolve()).toBe(account);
      expect(world.accounts.refusedForMs(key)).toBe(Number.POSITIVE_INFINITY);
    }
  });

  test('is sent again immediately when a user asks', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    world.accounts.unauthorized(key, account, rejection());
    world.accounts.tryAgain(key);
    expect(await world.resolve()).toBe(account);
    world.accounts.unauthorized(key, account, rejection());
    expect(world.accounts.refusedForMs(key)).toBe(600_000);
  });

  test('counts once for several requests at the same time, and once for each error', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    const [first, second] = [rejection(), rejection()];
    for (const error of [first, second, first]) world.accounts.unauthorized(key, account, error);
    expect(world.accounts.refusedForMs(key)).toBe(30_000);
    await world.clock.advance(30_000);
    const shown = world.accounts.unauthorized(key, account, first);
    expect(shown.message).toContain('rejects the credentials of Secret logging/log-service (401)');
    expect(await world.resolve()).toBe(account);
  });

  test('counts as the first rejection again if the key was used for a minute without being rejected', async () => {
    const world = new AccountsWorld(good);
    const account = await world.resolve();
    world.accounts.unauthorized(key, account, rejection());
    await world.clock.advance(91_000);
    world.accounts.unauthorized(key, await world.resolve(), rejection());
    expect(world.accounts.refusedForMs(key)).toBe(30_000);
  });

  test('is replaced as soon as the Secret contains another key', async () => {
    const world = new AccountsWorld(good);
    world.accounts.unauthorized(key, await world.resolve(), rejection());
    world.write({ ...good, accessKey: 'mended' });
    await expect(world.resolve()).resolves.toBeDefined();
  });

  test('is not used again after the Secret has become invalid', async () => {
    const world = new AccountsWorld(good);
    world.accounts.unauthorized(key, await world.resolve(), rejection());
    expect(await world.failure()).toMatchObject({ reason: 'Unauthorized' });
    world.write({ ...good, accessKey: '' });
    await world.clock.advance(5_000);
    expect(await world.failure()).toMatchObject({ reason: 'SecretIncomplete' });
    await world.clock.advance(30_000);
    expect(await world.failure()).toMatchObject({ reason: 'SecretIncomplete' });
  });

  test('a late rejection of the former key has no effect', async () => {
    const world = new AccountsWorld(good);
    const before = await world.resolve();
    world.write({ ...good, accessKey: 'mended' });
    await world.clock.advance(60_000);
    const after = await world.resolve();
    world.accounts.unauthorized(key, before, rejection());
    expect(await world.resolve()).toBe(after);
  });
});

describe('an invalid Secret', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----';
  const cases: readonly [string, Record<string, string>, string, string][] = [
    ['nothing in it', {}, 'SecretIncomplete', 'lacks baseURL, accessId and accessKey'],
    ['half of it', { baseURL: good.baseURL, accessId: ' \n', accessKey: 'k' }, 'SecretIncomplete', 'lacks accessId'],
    ['plain HTTP', { ...good, baseURL: 'http://api.example.com/api' }, 'AddressInvalid', 'https://'],
    ['no host', { ...good, baseURL: 'api' }, 'AddressInvalid', 'use an address like'],
    ['another scheme', { ...good, baseURL: 'ftp://api.example.com' }, 'AddressInvalid', 'does not start with https://'],
    [
      'a version in the address',
      { ...good, baseURL: 'https://a.example.com/api/v1' },
      'AddressInvalid',
      'leave out /v1 and everything after it',
    ],
    [
      'a key in the address',
      { ...good, baseURL: 'https://id:canary-key@a.example.com/api' },
      'AddressInvalid',
      'accessKey',
    ],
    ['a query in the address', { ...good, baseURL: 'https://a.example.com/api?x=1' }, 'AddressInvalid', 'query'],
    ['a colon in the id', { ...good, accessId: 'id:canary-key' }, 'SecretInvalid', 'accessId'],
    ['a key of two lines', { ...good, accessKey: 'canary-key\nagain' }, 'SecretInvalid', 'accessKey'],
    ['text as certificate', { ...good, 'ca.crt': 'trust me' }, 'SecretInvalid', 'ca.crt'],
    ['a certificate that is not in PEM format', { ...good, 'ca.crt': pem }, 'SecretInvalid', 'ca.crt'],
    ['a path instead of a host', { ...good, allowedHosts: 'a.example.com, :::' }, 'SecretInvalid', 'allowedHosts'],
    ['HTTP as host', { ...good, allowedHosts: 'http://a.example.com' }, 'SecretInvalid', 'allowedHosts'],
    ['no rate', { ...good, requestsPerSecond: '0' }, 'SecretInvalid', 'requestsPerSecond'],
    ['words as rate', { ...good, requestsPerSecond: 'two' }, 'SecretInvalid', 'requestsPerSecond'],
    ['half a request', { ...good, maxConcurrentRequests: '1.5' }, 'SecretInvalid', 'maxConcurrentRequests'],
  ];

  test.each(cases)('%s', async (_name, members, reason, says) => {
    const world = new AccountsWorld(members);
    const error = await world.failure();
    expect(error).toMatchObject({ reason, handling: { kind: 'stall' } });
    expect(error.message).toContain('logging/log-service');
    expect(error.message).toContain(says);
    expect(error.message).not.toContain('canary-key');
    expect(world.connected).toHaveLength(0);
  });

  test('no Secret', async () => {
    const error = await new AccountsWorld().failure();
    expect(error.reason).toBe('SecretNotFound');
    expect(error.message).toContain('create it with the keys baseURL, accessId and accessKey');
  });
});

describe('messages name the environment variables that replace a Secret', () => {
  const all = 'LOGFLEET_BASE_URL, LOGFLEET_ACCESS_ID and LOGFLEET_ACCESS_KEY';
  const { baseURL, accessId } = good;
  const cases: readonly [string, Record<string, string> | undefined, string, string][] = [
    [
      'no Secret',
      undefined,
      'SecretNotFound',
      `There are no credentials: set ${all}, or create Secret logging/log-service with the keys baseURL, accessId and accessKey`,
    ],
    [
      'one of three missing',
      { baseURL, accessId },
      'SecretIncomplete',
      `LOGFLEET_ACCESS_KEY is not set, but other variables for the credentials are: set all of ${all}`,
    ],
    [
      'two of three missing',
      { baseURL },
      'SecretIncomplete',
      `LOGFLEET_ACCESS_ID and LOGFLEET_ACCESS_KEY are not set, but other variables for the credentials are: set all of ${all}`,
    ],
    [
      'plain HTTP',
      { ...good, baseURL: 'http://api.example.com/api' },
      'AddressInvalid',
      'LOGFLEET_BASE_URL starts with http://, but the service is only available over https://; use an address like https://api.example.com/api',
    ],
    [
      'a colon in the id',
      { ...good, accessId: 'id:canary-key' },
      'SecretInvalid',
      'LOGFLEET_ACCESS_ID contains a colon or a control character; use only the access ID',
    ],
    [
      'text as certificate',
      { ...good, 'ca.crt': 'trust me' },
      'SecretInvalid',
      'The file that LOGFLEET_CA_FILE names contains no certificate; use PEM, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----',
    ],
  ];

  test.each(cases)('%s', async (_name, members, reason, message) => {
    expect(await AccountsWorld.withVariables(members).failure()).toMatchObject({ reason, message });
  });

  test('a key that the service rejects', async () => {
    const world = AccountsWorld.withVariables(good);
    world.accounts.unauthorized(key, await world.resolve(), rejection());
    expect((await world.failure()).message).toBe(
      'https://api.example.com/api rejects the credentials (401): check LOGFLEET_ACCESS_ID and LOGFLEET_ACCESS_KEY',
    );
  });

  test.each(requestFailures)('a request that ends with %s', async (failure) => {
    const world = AccountsWorld.withVariables(good);
    await world.resolve();
    const names = world.connected[0]?.names;
    const failed = { failure, address: 'https://api.example.com/api/v1', detail: 'https://eu.example.com/api' };
    const { message } = toServiceError('listCollectors', failed, names);
    expect(message).not.toMatch(/baseURL|accessId|accessKey|ca\.crt|allowedHosts|the Secret/);
  });
});
