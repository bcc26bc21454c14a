/** Tests behaviour specific to Azure Blob Storage, such as its settings, credentials and errors. */
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { inspect } from 'node:util';
import {
  AggregateAuthenticationError,
  AuthenticationRequiredError,
  CredentialUnavailableError,
  DefaultAzureCredential,
} from '@azure/identity';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { SecretText } from '../../src/base/secret-text.ts';
import { azureErrors } from '../../src/destination/azure/azure-error.ts';
import type { AzureSettings } from '../../src/destination/azure/azure-settings.ts';
import { openDestination } from '../../src/destination/open-destination.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { Azurite } from '../support/azurite.ts';
import { serve } from '../support/loopback.ts';
import { RefusingProxy } from '../support/refusing-proxy.ts';
import { makeContainer, openPlace, type StorePlace, settingsOf, systemPorts } from './place.ts';
import { drain } from './stores.ts';

const mebibyte = 1024 * 1024;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function newPlace(): Promise<StorePlace> {
  const place = await makeContainer(inject('azurite'));
  cleanups.push(() => place.remove());
  return place;
}

async function open(
  changes: Partial<AzureSettings>,
  environment: Record<string, string> = {},
  place?: StorePlace,
): Promise<Destination> {
  const known = settingsOf((place ?? (await newPlace())).data);
  if (known.kind !== 'azureBlob') throw new Error('the place is a container');
  const settings = { ...known.settings, ...changes };
  const destination = await openDestination({ kind: 'azureBlob', settings }, { ...(await systemPorts()), environment });
  cleanups.push(() => destination.close());
  return destination;
}

const serveAccount = async (listener: RequestListener) => `${await serve(listener)}/account`;

/** Sets the environment variables that AKS injects for a workload identity. */
function stubIdentity(): void {
  vi.stubEnv('AZURE_CLIENT_ID', '11111111-1111-1111-1111-111111111111');
  vi.stubEnv('AZURE_TENANT_ID', '22222222-2222-2222-2222-222222222222');
  vi.stubEnv('AZURE_FEDERATED_TOKEN_FILE', import.meta.filename);
  vi.stubEnv('AZURE_AUTHORITY_HOST', 'https://login.microsoftonline.com/');
  vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'WorkloadIdentityCredential');
}

const key = (accountName: string, accountKey: string) =>
  ({ kind: 'key', accountName, accountKey: new SecretText(accountKey) }) as const;

test('a missing container is reported by every request', async () => {
  const destination = await open({ container: 'no-such-container' });
  const acts = [
    () => destination.create('plan', Buffer.from('x')),
    () => destination.read('plan'),
    () => destination.remove('plan'),
    () => destination.abortLeftovers('', 'all'),
    () => drain(destination.list('')),
    async () => (await destination.open('data')).finish(),
  ];
  for (const act of acts) {
    await expect(act()).rejects.toMatchObject({
      code: 'destination.missing',
      handling: { kind: 'stall' },
      message: expect.stringContaining('create the container'),
    });
  }
});

test('a wrong key is refused, and messages do not contain it', async () => {
  const canary = Buffer.from('canary').toString('base64');
  const destination = await open({ credentials: key('devstoreaccount1', canary) });
  const error = await destination.read('plan').catch((cause: Error) => cause);
  expect(error).toMatchObject({ handling: { kind: 'stall' }, reason: 'DestinationAccessDenied' });
  expect(`${(error as Error).message} ${destination.url}`).not.toContain(canary);
  expect(inspect(error, { depth: 9 })).not.toMatch(/SharedKey/);
});

describe('credentials of the environment', () => {
  const access = () => inject('azurite');

  test.each([
    ['a key', () => ({ AZURE_STORAGE_ACCOUNT: access().accountName, AZURE_STORAGE_KEY: access().accountKey })],
    [
      'a connection string',
      () => ({
        AZURE_STORAGE_CONNECTION_STRING: `AccountName=${access().accountName};AccountKey=${access().accountKey};`,
      }),
    ],
  ])('can be %s', async (_, environment) => {
    const destination = await open({ credentials: 'ambient' }, environment());
    expect(await destination.create('plan', Buffer.from('x'))).toBe('created');
  });

  test('never replace given credentials', async () => {
    const environment = { AZURE_STORAGE_ACCOUNT: access().accountName, AZURE_STORAGE_KEY: access().accountKey };
    const destination = await open({ credentials: key('devstoreaccount1', 'd3Jvbmc=') }, environment);
    await expect(destination.read('plan')).rejects.toMatchObject({ handling: { kind: 'stall' } });
  });

  test('that are tokens are requested again later if the token service cannot be reached', async () => {
    const proxy = new RefusingProxy();
    await proxy.start();
    cleanups.push(() => proxy.stop(), vi.unstubAllEnvs);
    stubIdentity();
    const environment = { HTTPS_PROXY: `http://${proxy.address}` };
    const destination = await open({ credentials: 'ambient', endpoint: 'https://store.invalid' }, environment);
    await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.away' });
    expect(proxy.requests).toMatchObject([{ url: 'login.microsoftonline.com:443' }]);
  });

  test('that are rejected by the token service are reported with its message', () => {
    const missing = new CredentialUnavailableError('EnvironmentCredential is unavailable.');
    const message = 'invalid_client: AADSTS700213: No matching federated identity record found.\nTrace ID: t';
    const rejected = new AuthenticationRequiredError({ scopes: [], message });
    const cause = new AggregateAuthenticationError(
      [missing, rejected],
      'ChainedTokenCredential authentication failed.',
    );
    expect(azureErrors.error('read plan', cause)).toMatchObject({
      code: 'destination.credentials',
      message: expect.stringContaining(': invalid_client: AADSTS700213: No matching federated identity record found; '),
    });
  });

  test('that are tokens are requested again later if the token service is overloaded', async () => {
    const body = '{"error":"temporarily_unavailable","error_description":"AADSTS90055: busy","error_codes":[90055]}';
    const tokenService = await serve((request, response) => {
      request.resume().on('end', () => response.writeHead(429).end(body));
    });
    cleanups.push(vi.unstubAllEnvs);
    stubIdentity();
    const credential = new DefaultAzureCredential({
      additionalPolicies: [
        {
          position: 'perRetry',
          policy: {
            name: 'redirect',
            sendRequest(request, next) {
              request.url = tokenService;
              request.allowInsecureConnection = true;
              return next(request);
            },
          },
        },
      ],
    });
    // The SDK rejects the second request itself.
    for (const _ of [1, 2]) {
      const cause = await credential.getToken('https://storage.azure.com/.default').catch((cause: unknown) => cause);
      expect(azureErrors.error('read plan', cause)).toMatchObject({
        code: 'destination.away',
        message: expect.stringContaining('AADSTS90055: busy'),
      });
    }
  });

  test('that are tokens of a managed identity are requested without the proxy', async () => {
    const asked: string[] = [];
    const listen = (name: string) =>
      serve((_, response) => {
        asked.push(name);
        response.writeHead(400).end('{"error":"invalid_request","error_description":"Identity not found"}');
      });
    cleanups.push(vi.unstubAllEnvs);
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'ManagedIdentityCredential');
    vi.stubEnv('AZURE_POD_IDENTITY_AUTHORITY_HOST', await listen('node'));
    vi.stubEnv('HTTPS_PROXY', await listen('proxy'));
    const endpoint = 'https://store.invalid';
    const settings = { container: 'log-exports', root: '', endpoint, credentials: 'ambient' } as const;
    const ports = { ...(await systemPorts()), environment: {} };
    const destination = await openDestination({ kind: 'azureBlob', settings }, ports);
    cleanups.push(() => destination.close());
    await expect(destination.read('plan')).rejects.toMatchObject({
      code: 'destination.credentials',
      message: expect.stringContaining('Identity not found'),
    });
    expect(new Set(asked)).toEqual(new Set(['node']));
  });

  test('that are tokens are not sent without encryption', async () => {
    await expect(open({ credentials: 'ambient' })).rejects.toMatchObject({ code: 'destination.invalid' });
  });
});

test('requests have a condition, a shared access signature, and names that are escaped once', async () => {
  const sent: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  const endpoint = await serveAccount((request, response) => {
    sent.push({ url: request.url ?? '', headers: request.headers });
    request.resume().on('end', () => response.writeHead(201).end());
  });
  const credentials = { kind: 'sas', sasToken: new SecretText('?sv=2024&sig=a%2Bb') } as const;
  const destination = await open({ endpoint, credentials, container: 'logs', root: 'prod' });
  await destination.create('a b/c+d=(1),ü.gz', Buffer.from('x'));
  const { pathname, searchParams } = new URL(sent[0]?.url ?? '', endpoint);
  expect(decodeURIComponent(pathname)).toBe('/account/logs/prod/a b/c+d=(1),ü.gz');
  expect(searchParams.get('sig')).toBe('a+b');
  expect(sent[0]?.headers['if-none-match']).toBe('*');
  expect(destination.url).toBe(`${endpoint}/logs/prod`);
});

test.each([
  [403, 'AuthenticationFailed', 'destination.credentials', 'stall'],
  [403, 'AuthorizationPermissionMismatch', 'destination.denied', 'stall'],
  [403, 'AuthorizationFailure', 'destination.denied', 'stall'],
  [401, 'NoAuthenticationInformation', 'destination.credentials', 'stall'],
  [409, 'ContainerBeingDeleted', 'destination.away', 'backoff'],
  [409, 'LeaseIdMissing', 'destination.away', 'backoff'],
  [409, 'BlobArchived', 'destination.frozen', 'stall'],
  [400, 'InvalidHeaderValue', 'destination.invalid', 'stall'],
  [500, 'OperationTimedOut', 'destination.away', 'backoff'],
  [503, 'ServerBusy', 'destination.away', 'backoff'],
])('%d %s is %s', async (status, code, expected, handling) => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>so it is\nRequestId:1</Message></Error>`;
  const headers = { 'content-type': 'application/xml', 'x-ms-error-code': code };
  const endpoint = await serveAccount((request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body));
  });
  const error = await (await open({ endpoint })).create('plan', Buffer.from('x')).catch((cause: Error) => cause);
  expect(error).toMatchObject({ code: expected, handling: { kind: handling } });
  expect((error as Error).message).toContain(`${code}: so it is`);
  expect((error as Error).message).not.toContain('RequestId');
});

test.each([
  ['Signature not valid in the specified time frame: Start [x] - Expiry [y] - Current [z]', true],
  ["Request date header too old: 'Mon, 30 Nov 2026 00:00:00 GMT'", true],
  ["The MAC signature found in the HTTP request 'canary' is not the same as any computed signature.", false],
])('the detail %s is shown: %s', async (detail, isShown) => {
  const texts = `<Code>AuthenticationFailed</Code><Message>so it is\nRequestId:1</Message>`;
  const body = `<Error>${texts}<AuthenticationErrorDetail>${detail}</AuthenticationErrorDetail></Error>`;
  const headers = { 'content-type': 'application/xml', 'x-ms-error-code': 'AuthenticationFailed' };
  const endpoint = await serveAccount((request, response) => {
    request.resume().on('end', () => response.writeHead(403, headers).end(body));
  });
  const error = await (await open({ endpoint })).create('plan', Buffer.from('x')).catch((cause: Error) => cause);
  expect(error).toMatchObject({ code: 'destination.credentials' });
  expect((error as Error).message.includes(detail)).toBe(isShown);
});

const lockedCodes = ['BlobImmutableDueToPolicy', 'BlobImmutableDueToLegalHold'];

test.each(lockedCodes)(
  'after %s, a file that cannot be removed is kept, and blocks are not discarded',
  async (code) => {
    const deleted: string[] = [];
    const endpoint = await serveAccount((request, response) => {
      const { method, url = '' } = request;
      if (method === 'DELETE') deleted.push(url.split('?')[0] ?? '');
      const status = method === 'DELETE' ? 409 : method === 'PUT' ? 201 : 404;
      const headers = { etag: '"1"', 'x-ms-error-code': status === 409 ? code : 'BlobNotFound' };
      request.resume().on('end', () => response.writeHead(status, headers).end());
    });
    const destination = await open({ endpoint, container: 'logs', root: 'prod' });
    for (const name of ['data/a', 'data/b']) {
      const upload = await destination.open(name);
      await upload.write(Buffer.alloc(6 * mebibyte));
      await upload.abort();
    }
    for (const name of ['data/a', 'data/c', 'data/c']) await destination.remove(name);
    expect(deleted).toEqual(['/account/logs/prod/data/a', '/account/logs/prod/data/c']);
    expect([...(destination.lockedFiles ?? [])]).toEqual(['data/a', 'data/c']);
  },
);

test.each(lockedCodes)('a blob is taken if the store refuses to overwrite it with %s', async (code) => {
  const headers = { 'x-ms-error-code': code };
  const endpoint = await serveAccount((request, response) => {
    request.resume().on('end', () => response.writeHead(409, headers).end());
  });
  expect(await (await open({ endpoint })).create('plan', Buffer.from('x'))).toBe('exists');
});

test.each([1, 6 * mebibyte])(
  'an upload of %d bytes succeeds if its blob exists, although the store returns 500',
  async (bytes) => {
    let mark: string | undefined;
    const endpoint = await serveAccount((request, response) => {
      const { method, headers, url = '' } = request;
      const isBlock = url.includes('comp=block&') || url.endsWith('comp=block');
      if (method === 'PUT' && !isBlock) mark ??= headers['x-ms-meta-logfleet_upload'] as string;
      const isAnswered = isBlock || (method === 'HEAD' && mark !== undefined);
      const status = isBlock ? 201 : isAnswered ? 200 : 500;
      request.resume().on('end', () => response.writeHead(status, { 'x-ms-meta-logfleet_upload': mark ?? '' }).end());
    });
    const upload = await (await open({ endpoint })).open('data/a');
    await upload.write(Buffer.alloc(bytes));
    await upload.finish();
    expect(mark).toMatch(/^w[0-9a-f]{8}-/);
  },
);

test('a store that becomes unavailable keeps its blobs, and leftovers are removed when it is available again', async () => {
  const azurite = await Azurite.start();
  cleanups.push(() => azurite.stop());
  const place = await makeContainer(azurite.access);
  const destination = await openPlace(place.data);
  cleanups.push(() => destination.close());
  const away = { code: 'destination.away', reason: 'DestinationUnavailable', handling: { kind: 'backoff' } };
  await destination.create('plan', Buffer.from('x'));
  const upload = await destination.open('data/a');
  await upload.write(Buffer.alloc(6 * mebibyte));
  await expect.poll(() => azurite.hasSaved('audit/logging/data/a')).toBe(true);
  await azurite.kill();
  await expect(destination.read('plan')).rejects.toMatchObject(away);
  await expect(destination.create('record', Buffer.from('x'))).rejects.toMatchObject(away);
  await expect(upload.finish()).rejects.toMatchObject(away);
  await expect(upload.abort()).rejects.toMatchObject(away);
  await azurite.restart();
  expect((await destination.read('plan'))?.toString()).toBe('x');
  // The process with this token is considered dead, so `abortLeftovers` removes its unfinished upload.
  expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(1);
  expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(0);
  expect(await place.files()).toEqual(['audit/logging/plan']);
});

test('an upload that finishes while another process removes leftovers is kept', async () => {
  const place = await newPlace();
  const destination = await open({}, {}, place);
  const upload = await destination.open('data/a');
  await upload.write(Buffer.alloc(6 * mebibyte));
  await upload.finish();
  const empty = await destination.open('data/empty');
  await empty.finish();
  expect(await destination.abortLeftovers('', 'all')).toBe(0);
  expect(await place.files()).toEqual(['audit/logging/data/a', 'audit/logging/data/empty']);
});
