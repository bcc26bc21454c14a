import { describe, expect, test } from 'vitest';
import { SecretText } from '../../../src/base/secret-text.ts';
import { DestinationChoice } from '../../../src/export/resource/chosen-destination.ts';
import { noPlaces } from '../../../src/export/resource/export-settings.ts';
import { MemorySecrets, type SecretMembers } from '../../support/memory-secrets.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { exportOf } from './sample-view.ts';

const storeKey = { namespace: 'logging', name: 'store' };

class ChoiceWorld {
  readonly clock = new VirtualClock();
  readonly secrets = new MemorySecrets().set(storeKey, { accessKeyId: 'id\n', secretAccessKey: ' key ' });
  readonly #ambient: boolean;
  readonly #trustsEndpoints: boolean;

  constructor(ambient = false, trustsEndpoints = false) {
    this.#ambient = ambient;
    this.#trustsEndpoints = trustsEndpoints;
  }

  choice = () => {
    const places = {
      ...noPlaces,
      volumes: new Map([['exports', '/mnt/exports']]),
      allowAmbientCredentials: this.#ambient,
      trustsEndpoints: this.#trustsEndpoints,
    };
    return new DestinationChoice({ secrets: this.secrets, places, clock: this.clock, secretMaxAgeMs: 60_000 });
  };
}

const s3 = { bucket: 'log-exports', forcePathStyle: false, insecure: false };
const store = (more: object = { credentialsSecretRef: { name: 'store' } }) =>
  exportOf({ destination: { s3: { ...s3, ...more } } });

describe('a volume', () => {
  test.each([
    [undefined, 'logging'],
    ['audit/2026', 'logging/audit/2026'],
    ['audit/', 'logging/audit'],
  ])('with the path %s is below the folder of the namespace (E1)', async (path, root) => {
    const volume = { name: 'exports', ...(path === undefined ? {} : { path }) };
    const { settings } = await new ChoiceWorld().choice().current(exportOf({ destination: { volume } }));
    expect(settings).toEqual({ kind: 'volume', directory: '/mnt/exports', root });
  });

  test('that leads upwards is refused', async () => {
    const resource = exportOf({ destination: { volume: { name: 'exports', path: '../other' } } });
    await expect(new ChoiceWorld().choice().current(resource)).rejects.toMatchObject({ code: 'destination.name' });
  });

  test('that the operator does not have needs a user', async () => {
    const resource = exportOf({ destination: { volume: { name: 'other' } } });
    await expect(new ChoiceWorld().choice().current(resource)).rejects.toMatchObject({
      reason: 'VolumeNotFound',
      handling: { kind: 'stall' },
    });
  });
});

describe('a store', () => {
  test('is used with the Secret of the namespace and all settings of the spec', async () => {
    const world = new ChoiceWorld();
    const more = {
      ...{
        prefix: 'audit',
        region: 'eu-central-1',
        endpoint: 'https://store.example.com',
        storageClass: 'STANDARD_IA',
        objectLock: { mode: 'Compliance', retainUntilDays: 365 },
      },
      ...{ credentialsSecretRef: { name: 'store' }, serverSideEncryption: { type: 'AES256' } },
    };
    const { settings } = await world.choice().current(store(more));
    const { credentialsSecretRef: _, prefix: __, ...same } = more;
    expect(settings).toEqual({
      kind: 's3',
      settings: {
        ...{ ...s3, ...same, root: 'audit/logging' },
        credentials: { accessKeyId: 'id', secretAccessKey: new SecretText('key') },
      },
    });
    expect(world.secrets.reads).toEqual(['logging/store']);
  });

  test.each<[string, SecretMembers | undefined, string]>([
    ['does not exist', undefined, 'SecretNotFound'],
    ['lacks a key', { accessKeyId: 'id' }, 'SecretIncomplete'],
    ['has an empty key', { accessKeyId: ' ', secretAccessKey: 'key' }, 'SecretIncomplete'],
  ])('whose Secret %s needs a user', async (_, members, reason) => {
    const world = new ChoiceWorld();
    world.secrets.set(storeKey, members);
    await expect(world.choice().current(store())).rejects.toMatchObject({ reason, handling: { kind: 'stall' } });
  });

  test('does not use the credentials of the service', async () => {
    const world = new ChoiceWorld();
    world.secrets.usesVariables = true;
    await expect(world.choice().current(store())).rejects.toMatchObject({ reason: 'SecretNotFound' });
    expect(world.secrets.reads).toEqual([]);
  });

  test('without a Secret is refused, unless the operator allows its own credentials', async () => {
    await expect(new ChoiceWorld().choice().current(store({}))).rejects.toMatchObject({
      reason: 'AmbientCredentialsNotAllowed',
    });
    const { settings } = await new ChoiceWorld(true).choice().current(store({}));
    expect(settings).toMatchObject({ settings: { credentials: 'ambient' } });
  });

  test('is another destination after its credentials have changed and were read again', async () => {
    const world = new ChoiceWorld();
    const choice = world.choice();
    const { fingerprint } = await choice.current(store());
    world.secrets.set(storeKey, { accessKeyId: 'id', secretAccessKey: 'other', sessionToken: 'token' });
    await world.clock.advance(59_000);
    expect((await choice.current(store())).fingerprint).toBe(fingerprint);
    await world.clock.advance(1_000);
    expect((await choice.current(store())).fingerprint).not.toBe(fingerprint);
    expect(world.secrets.reads).toHaveLength(2);
    choice.forget();
    await choice.current(store());
    expect(world.secrets.reads).toHaveLength(3);
  });

  test('is the same destination if its Secret has the same content', async () => {
    const world = new ChoiceWorld();
    const choice = world.choice();
    const before = await choice.current(store());
    choice.forget();
    expect((await choice.current(store())).fingerprint).toBe(before.fingerprint);
    expect(before.fingerprint).not.toContain('key');
  });
});

describe('a container of Azure Blob Storage', () => {
  const container = (more: object = { credentialsSecretRef: { name: 'store' } }) =>
    exportOf({ destination: { azureBlob: { account: 'examplelogs', container: 'logs', insecure: false, ...more } } });
  const chosen = async (members: SecretMembers | undefined) => {
    const world = new ChoiceWorld();
    world.secrets.set(storeKey, members);
    return world.choice().current(container());
  };

  test.each<[string, SecretMembers, object]>([
    [
      'a key',
      { accountName: 'examplelogs\n', accountKey: ' key ' },
      { kind: 'key', accountName: 'examplelogs', accountKey: new SecretText('key') },
    ],
    ['a shared access signature', { sasToken: 'sig=a' }, { kind: 'sas', sasToken: new SecretText('sig=a') }],
    [
      'a connection string',
      { connectionString: 'DefaultEndpointsProtocol=https;AccountName=other;AccountKey=a==;EndpointSuffix=x' },
      { kind: 'key', accountName: 'other', accountKey: new SecretText('a==') },
    ],
    [
      'a connection string with a signature',
      { connectionString: 'BlobEndpoint=https://x;SharedAccessSignature=sv=1&sig=a%3D' },
      { kind: 'sas', sasToken: new SecretText('sv=1&sig=a%3D') },
    ],
  ])('is used with %s', async (_, members, credentials) => {
    const { settings } = await chosen(members);
    expect(settings).toEqual({
      kind: 'azureBlob',
      settings: { account: 'examplelogs', container: 'logs', insecure: false, root: 'logging', credentials },
    });
    const { settings: inner } = settings as { settings: { credentials: Record<string, unknown> } };
    const reveal = (value: unknown) => (value instanceof SecretText ? value.reveal() : value);
    const texts = (of: Record<string, unknown>) => Object.values(of).map(reveal);
    expect(texts(inner.credentials)).toEqual(texts(credentials as Record<string, unknown>));
  });

  test.each<[string, SecretMembers | undefined, string]>([
    ['does not exist', undefined, 'SecretNotFound'],
    ['lacks the key', { accountName: 'examplelogs' }, 'SecretIncomplete'],
    ['has a connection string without credentials', { connectionString: 'AccountName=a' }, 'SecretIncomplete'],
  ])('whose Secret %s needs a user', async (_, members, reason) => {
    await expect(chosen(members)).rejects.toMatchObject({ reason, handling: { kind: 'stall' } });
  });

  test('is another destination after its key has changed', async () => {
    const { fingerprint } = await chosen({ sasToken: 'sig=a' });
    expect((await chosen({ sasToken: 'sig=a' })).fingerprint).toBe(fingerprint);
    expect((await chosen({ sasToken: 'sig=b' })).fingerprint).not.toBe(fingerprint);
  });

  test('without a Secret is refused, unless the operator allows its own credentials', async () => {
    await expect(new ChoiceWorld().choice().current(container({}))).rejects.toMatchObject({
      reason: 'AmbientCredentialsNotAllowed',
    });
    const { settings } = await new ChoiceWorld(true).choice().current(container({}));
    expect(settings).toMatchObject({ settings: { credentials: 'ambient' } });
  });
});

describe('a bucket of Google Cloud Storage', () => {
  const file = (more: object = {}) =>
    JSON.stringify({ type: 'service_account', client_email: 'a@example.com', private_key: 'pem', ...more });
  const bucket = (more: object = { credentialsSecretRef: { name: 'store' } }) =>
    exportOf({ destination: { gcs: { bucket: 'logs', prefix: 'audit/', insecure: false, ...more } } });
  const chosen = async (members: SecretMembers | undefined) => {
    const world = new ChoiceWorld();
    world.secrets.set(storeKey, members);
    return world.choice().current(bucket());
  };

  test('is used with the key of a service account', async () => {
    const { settings } = await chosen({ serviceAccountKey: `${file({ private_key_id: 'key-1' })}\n` });
    expect(settings).toEqual({
      kind: 'gcs',
      settings: {
        bucket: 'logs',
        insecure: false,
        root: 'audit/logging',
        credentials: { clientEmail: 'a@example.com', privateKey: new SecretText('pem'), keyId: 'key-1' },
      },
    });
  });

  test.each<[string, SecretMembers | undefined, string]>([
    ['does not exist', undefined, 'SecretNotFound'],
    ['lacks the key', { other: 'a' }, 'SecretIncomplete'],
    ['has a text that is not a key', { serviceAccountKey: 'canary' }, 'SecretIncomplete'],
    ['has a file of another type', { serviceAccountKey: file({ type: 'external_account' }) }, 'SecretIncomplete'],
  ])('whose Secret %s needs a user', async (_, members, reason) => {
    const error = await chosen(members).catch((cause: Error) => cause);
    expect(error).toMatchObject({ reason, handling: { kind: 'stall' } });
    expect((error as Error).message).not.toContain('canary');
  });

  test('is another destination after its key has changed', async () => {
    const { fingerprint } = await chosen({ serviceAccountKey: file() });
    expect((await chosen({ serviceAccountKey: file() })).fingerprint).toBe(fingerprint);
    expect((await chosen({ serviceAccountKey: file({ private_key: 'new' }) })).fingerprint).not.toBe(fingerprint);
  });

  test('without a Secret is refused, unless the operator allows its own credentials', async () => {
    await expect(new ChoiceWorld().choice().current(bucket({}))).rejects.toMatchObject({
      reason: 'AmbientCredentialsNotAllowed',
    });
    const { settings } = await new ChoiceWorld(true).choice().current(bucket({}));
    expect(settings).toMatchObject({ kind: 'gcs', settings: { credentials: 'ambient' } });
  });
});

describe('an endpoint', () => {
  const foreign = 'https://store.example.com';
  const serviceAccountKey = JSON.stringify({
    ...{ type: 'service_account', client_email: 'a@example.com', private_key: 'pem' },
  });
  const specs = { azureBlob: { container: 'logs' }, gcs: { bucket: 'logs' }, s3: { bucket: 'logs' } } as const;
  type Kind = keyof typeof specs;
  const credentialsSecretRef = { name: 'store' };
  const exportTo = (kind: Kind, more: object) =>
    exportOf({ destination: { [kind]: { ...specs[kind], insecure: false, ...more } } });
  const withSecret = (kind: Kind, endpoint: string, members: SecretMembers) => {
    const world = new ChoiceWorld();
    world.secrets.set(storeKey, members);
    return world.choice().current(exportTo(kind, { endpoint, credentialsSecretRef }));
  };

  test.each<[Kind, string, SecretMembers]>([
    ['gcs', foreign, { serviceAccountKey }],
    ['gcs', 'https://storage.googleapis.com.example.com', { serviceAccountKey }],
    ['gcs', 'https://xgoogleapis.com', { serviceAccountKey }],
    ['gcs', 'http://storage.googleapis.com', { serviceAccountKey }],
    ['gcs', 'https://logs.blob.core.windows.net', { serviceAccountKey }],
    ['gcs', foreign, { serviceAccountKey, endpoint: 'https://other.example.com' }],
    ['gcs', 'http://store.example.com', { serviceAccountKey, endpoint: foreign }],
    ['gcs', foreign, { serviceAccountKey, endpoint: `${foreign}${'/'.repeat(800_000)}a` }],
    ['azureBlob', foreign, { sasToken: 'sig=a' }],
    ['azureBlob', foreign, { sasToken: 'sig=a', accountName: 'logs', accountKey: 'key' }],
    ['azureBlob', foreign, { connectionString: 'SharedAccessSignature=sig=a' }],
    ['azureBlob', foreign, { connectionString: 'AccountKey=a==;SharedAccessSignature=sig=a' }],
    ['azureBlob', foreign, { connectionString: 'BlobEndpoint=https://a.example.com;SharedAccessSignature=sig=a' }],
  ])(
    'of the kind %s at %s gets no token from a Secret if the Secret does not name the endpoint',
    async (kind, endpoint, members) => {
      await expect(withSecret(kind, endpoint, members)).rejects.toMatchObject({
        reason: 'SecretIncomplete',
        handling: { kind: 'stall' },
        message: expect.stringMatching(
          `^spec\\.destination\\.${kind}\\.endpoint: ${endpoint} must not .*; use .* add the key endpoint with the value ${endpoint} to the Secret\\.$`,
        ),
      });
    },
  );

  test.each<[Kind, string, SecretMembers]>([
    ['gcs', foreign, { serviceAccountKey, endpoint: `${foreign}/\n` }],
    ['gcs', 'http://127.0.0.1:4443/', { serviceAccountKey, endpoint: 'http://127.0.0.1:4443' }],
    ['gcs', 'https://storage-logs.p.googleapis.com', { serviceAccountKey }],
    ['azureBlob', foreign, { sasToken: 'sig=a', endpoint: foreign }],
    ['azureBlob', 'https://logs.blob.core.usgovcloudapi.net', { sasToken: 'sig=a' }],
    ['azureBlob', `${foreign}/logs`, { connectionString: `BlobEndpoint=${foreign}/logs/;SharedAccessSignature=sig=a` }],
    ['azureBlob', foreign, { connectionString: 'AccountName=logs;AccountKey=a==' }],
    ['azureBlob', foreign, { accountName: 'logs', accountKey: 'a==' }],
    ['s3', foreign, { accessKeyId: 'id', secretAccessKey: 'key' }],
  ])('of the kind %s at %s is used', async (kind, endpoint, members) => {
    const { settings } = await withSecret(kind, endpoint, members);
    expect(settings).toMatchObject({ kind, settings: { endpoint } });
  });

  test.each(['gcs', 'azureBlob'] as const)(
    'of the kind %s gets the token of an identity only if it is an address of the cloud',
    async (kind) => {
      const choice = (trusts?: boolean) => new ChoiceWorld(true, trusts).choice();
      await expect(choice().current(exportTo(kind, { endpoint: foreign }))).rejects.toMatchObject({
        reason: 'AmbientCredentialsNotAllowed',
        message: expect.stringContaining('set credentialsSecretRef and add the key endpoint'),
      });
      const endpoint = { gcs: 'https://storage.googleapis.com', azureBlob: 'https://logs.blob.core.windows.net' }[kind];
      for (const chosen of [
        choice().current(exportTo(kind, { endpoint })),
        choice(true).current(exportTo(kind, { endpoint: foreign })),
      ]) {
        expect(await chosen).toMatchObject({ settings: { settings: { credentials: 'ambient' } } });
      }
    },
  );
});
