/** Tests behaviour specific to Google Cloud Storage, such as its settings, errors and upload sessions. */
import { createVerify, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { gcpMetadata } from 'google-auth-library';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { SecretText } from '../../src/base/secret-text.ts';
import { credentialsOfKeyFile, defaultEndpoint, type GcsSettings } from '../../src/destination/gcs/gcs-settings.ts';
import { authorizationOf } from '../../src/destination/gcs/gcs-tokens.ts';
import { openDestination } from '../../src/destination/open-destination.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { FakeGcsServer, newServiceAccountKey, sendPodToken } from '../support/fake-gcs-server.ts';
import { serve } from '../support/loopback.ts';
import { RefusingProxy } from '../support/refusing-proxy.ts';
import { makeGcsBucket, openPlace, type StorePlace, settingsOf, systemPorts } from './place.ts';
import { drain } from './stores.ts';

const mebibyte = 1024 * 1024;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function newPlace(): Promise<StorePlace> {
  const place = await makeGcsBucket(inject('fakeGcsServer'));
  cleanups.push(() => place.remove());
  return place;
}

async function open(changes: Partial<GcsSettings>, environment: Record<string, string> = {}): Promise<Destination> {
  const known = settingsOf((await newPlace()).data);
  if (known.kind !== 'gcs') throw new Error('the place is a bucket of Google Cloud Storage');
  const settings = { ...known.settings, ...changes };
  const destination = await openDestination({ kind: 'gcs', settings }, { ...(await systemPorts()), environment });
  cleanups.push(() => destination.close());
  return destination;
}

/** Waits for the whole request, and then sends the response. Returns the request body. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body = '',
  headers: Record<string, string> = {},
): Promise<Buffer> {
  const content = await buffer(request);
  response.writeHead(status, headers).end(body);
  return content;
}

test('tokens from the metadata server are requested again after the server was silent', async () => {
  const { isAvailable, resetIsAvailableCache } = gcpMetadata;
  resetIsAvailableCache();
  let requests = 0;
  const metadata = await serve((_, response) => {
    if (++requests === 1) return;
    sendPodToken(response);
  });
  vi.stubEnv('GCE_METADATA_HOST', metadata.replace('http://', ''));
  vi.stubEnv('HOME', '/nonexistent');
  cleanups.push(() => {
    vi.unstubAllEnvs();
    resetIsAvailableCache();
  });
  expect(await isAvailable()).toBe(false);
  // Google's library waits only three seconds for a response, which can be too short on a busy machine.
  vi.stubEnv('DETECT_GCP_RETRIES', '3');
  const settings = { bucket: 'log-exports', root: '', credentials: 'ambient' } as const;
  const headers = await authorizationOf(settings, defaultEndpoint)();
  expect(new Headers(headers).get('authorization')).toBe('Bearer token-of-the-pod');
});

test('tokens from the metadata server are requested without the proxy', async () => {
  const proxy = new RefusingProxy();
  await proxy.start();
  cleanups.push(() => proxy.stop());
  const metadata = await serve((_, response) => sendPodToken(response));
  vi.stubEnv('GCE_METADATA_HOST', metadata.replace('http://', ''));
  vi.stubEnv('HOME', '/nonexistent');
  vi.stubEnv('HTTPS_PROXY', `http://${proxy.address}`);
  gcpMetadata.resetIsAvailableCache();
  cleanups.push(() => {
    vi.unstubAllEnvs();
    gcpMetadata.resetIsAvailableCache();
  });
  const settings = { bucket: 'log-exports', root: '', credentials: 'ambient' } as const;
  const headers = await authorizationOf(settings, defaultEndpoint)();
  expect(new Headers(headers).get('authorization')).toBe('Bearer token-of-the-pod');
  expect(proxy.requests).toEqual([]);
});

test('a missing bucket is reported by every request', async () => {
  const destination = await open({ bucket: 'no-such-bucket' });
  const acts = [
    () => destination.create('plan', Buffer.from('x')),
    () => destination.read('plan'),
    () => destination.remove('plan'),
    () => drain(destination.list('')),
    async () => (await destination.open('data')).finish(),
    async () => (await destination.open('data')).write(Buffer.alloc(6 * mebibyte)),
  ];
  for (const act of acts) {
    await expect(act()).rejects.toMatchObject({
      code: 'destination.missing',
      reason: 'DestinationNotFound',
      handling: { kind: 'stall' },
      message: expect.stringContaining('create the bucket'),
    });
  }
});

describe('a service account key', () => {
  test('signs the tokens of requests for the storage service, whatever the endpoint', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const seen: string[] = [];
    const endpoint = await serve((request, response) => {
      seen.push(String(request.headers.authorization));
      void respond(request, response, 200, '{}');
    });
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const credentials = { clientEmail: 'a@example.com', privateKey: new SecretText(pem), keyId: 'key-7' };
    await drain((await open({ endpoint, credentials })).list(''));
    const [head = '', payload = '', signature = ''] = seen[0]?.replace(/^Bearer /, '').split('.') ?? [];
    const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decoded(head)).toMatchObject({ alg: 'RS256', kid: 'key-7' });
    expect(decoded(payload)).toMatchObject({ iss: 'a@example.com', aud: 'https://storage.googleapis.com/' });
    const verifier = createVerify('RSA-SHA256').update(`${head}.${payload}`);
    expect(verifier.verify(publicKey, signature, 'base64url')).toBe(true);
  });

  test('that cannot be read is refused before any request, and messages do not contain it', async () => {
    const credentials = { clientEmail: 'a@example.com', privateKey: new SecretText('canary') };
    const error = await open({ credentials }).catch((cause: Error) => cause);
    expect(error).toMatchObject({ code: 'destination.credentials', handling: { kind: 'stall' } });
    expect(inspect(error, { depth: 9 })).not.toContain('canary');
  });

  test.each([
    ['text', 'canary'],
    ['a file of another type', JSON.stringify({ type: 'external_account', token_url: 'https://example.com' })],
    ['a file without a key', JSON.stringify({ type: 'service_account', client_email: 'a@example.com' })],
  ])('is not %s', (_, text) => {
    expect(credentialsOfKeyFile(text)).toBeUndefined();
  });

  test('is the file that Google creates', () => {
    expect(credentialsOfKeyFile(newServiceAccountKey())).toMatchObject({
      clientEmail: 'exporter@example.iam.gserviceaccount.com',
      keyId: 'key-1',
    });
  });
});

test('tokens of the environment are not sent without encryption', async () => {
  await expect(open({ credentials: 'ambient' })).rejects.toMatchObject({ code: 'destination.invalid' });
});

test('requests have a condition, and names that are escaped once', async () => {
  const seen: string[] = [];
  const endpoint = await serve((request, response) => {
    seen.push(request.url ?? '');
    void respond(request, response, 200, '{}');
  });
  const destination = await open({ endpoint: `${endpoint}/`, bucket: 'logs', root: 'prod' });
  await destination.create('a b/c+d=(1),ü.gz', Buffer.from('x'));
  await destination.remove('a b/c+d=(1),ü.gz');
  const [created, removed] = seen.map((url) => new URL(url, endpoint));
  expect(created?.pathname).toBe('/upload/storage/v1/b/logs/o');
  expect(created?.searchParams.get('name')).toBe('prod/a b/c+d=(1),ü.gz');
  expect(created?.searchParams.get('ifGenerationMatch')).toBe('0');
  expect(removed?.pathname.split('/').slice(0, 6).join('/')).toBe('/storage/v1/b/logs/o');
  expect(decodeURIComponent(removed?.pathname.split('/')[6] ?? '')).toBe('prod/a b/c+d=(1),ü.gz');
  expect(destination.url).toBe('gs://logs/prod');
});

/** Body of an error response from Google Cloud Storage. */
const refusal = (code: number, reason: string, message: string) =>
  JSON.stringify({ error: { code, message, errors: [{ message, domain: 'global', reason }] } });

const noWrite =
  'a@example.com does not have storage.objects.create access to the Google Cloud Storage object. Permission denied (or it may not exist).';

test.each([
  [401, 'authError', 'Invalid Credentials', 'destination.credentials', 'stall'],
  [401, 'required', 'Anonymous caller does not have access', 'destination.credentials', 'stall'],
  [403, 'forbidden', noWrite, 'destination.denied', 'stall'],
  [403, 'insufficientPermissions', 'so it is', 'destination.denied', 'stall'],
  [403, 'retentionPolicyNotMet', 'so it is', 'destination.denied', 'stall'],
  [403, 'quotaExceeded', 'so it is', 'destination.full', 'wait'],
  [404, 'notFound', 'The specified bucket does not exist.', 'destination.missing', 'stall'],
  [409, 'conflict', 'so it is', 'destination.away', 'backoff'],
  [400, 'invalid', 'so it is', 'destination.invalid', 'stall'],
  [400, 'required', 'Bucket is a requester pays bucket.', 'destination.invalid', 'stall'],
  [429, 'rateLimitExceeded', 'so it is', 'destination.away', 'backoff'],
  [503, 'backendError', 'so it is', 'destination.away', 'backoff'],
])('%d %s is reported with its message', async (status, reason, message, expected, handling) => {
  let requests = 0;
  const endpoint = await serve((request, response) => {
    requests++;
    void respond(request, response, status, refusal(status, reason, message));
  });
  const error = await (await open({ endpoint })).create('plan', Buffer.from('x')).catch((cause: Error) => cause);
  expect(error).toMatchObject({ code: expected, handling: { kind: handling } });
  expect((error as Error).message).toContain(`${reason}: ${message.replace(/\.$/, '')}`);
  expect(requests).toBe(status === 429 || status === 503 ? 3 : 1);
  expect(inspect(error, { depth: 9 })).not.toContain('Bearer');
});

test('a file that the retention of the bucket keeps is not removed again and again', async () => {
  let requests = 0;
  const endpoint = await serve((request, response) => {
    requests++;
    void respond(request, response, 403, refusal(403, 'retentionPolicyNotMet', 'retained until 2027'));
  });
  const destination = await open({ endpoint });
  await destination.remove('data/a');
  await destination.remove('data/a');
  expect([...(destination.lockedFiles ?? [])]).toEqual(['data/a']);
  expect(requests).toBe(1);
});

test.each([301, 302, 307, 308])('a redirection with status %d does not count as success', async (status) => {
  const endpoint = await serve((request, response) => {
    void respond(request, response, status, 'moved', { location: 'https://other.example.com/' });
  });
  const destination = await open({ endpoint });
  const upload = await destination.open('data/a');
  await upload.write(Buffer.from('row'));
  const refused = { code: 'destination.invalid', handling: { kind: 'stall' } };
  await expect(destination.create('plan', Buffer.from('x'))).rejects.toMatchObject(refused);
  await expect(destination.read('plan')).rejects.toMatchObject(refused);
  await expect(destination.remove('plan')).rejects.toMatchObject(refused);
  await expect(upload.finish()).rejects.toMatchObject(refused);
});

test('a missing right to list is reported by a listing, and when an object is missing', async () => {
  const endpoint = await serve((request, response) => {
    const isListing = request.url?.includes('/o?') === true;
    const body = isListing ? refusal(403, 'forbidden', 'no storage.objects.list access') : 'No such object';
    void respond(request, response, isListing ? 403 : 404, body);
  });
  const destination = await open({ endpoint });
  const denied = { code: 'destination.denied', message: expect.stringContaining('storage.objects.list access') };
  await expect(drain(destination.list(''))).rejects.toMatchObject(denied);
  await expect(destination.read('plan')).rejects.toMatchObject(denied);
});

test.each([
  [500, ''],
  [403, refusal(403, 'retentionPolicyNotMet', 'retained until 2027')],
])('an upload in one request succeeds if its object exists, although the store returns %d', async (status, body) => {
  let mark: string | undefined;
  const endpoint = await serve(async (request, response) => {
    if (request.method === 'GET') {
      await respond(request, response, 200, JSON.stringify({ metadata: { 'logfleet-upload': mark } }));
      return;
    }
    const content = await respond(request, response, status, body);
    mark = /"logfleet-upload":"([^"]+)"/.exec(content.toString())?.[1];
  });
  const upload = await (await open({ endpoint })).open('data/a');
  await upload.write(Buffer.from('row'));
  await upload.finish();
  expect(mark).toMatch(/^w[0-9a-f]{8}-/);
});

test('an upload to a name that is taken is repeated later if the store does not say which upload created the object', async () => {
  const endpoint = await serve(
    (request, response) => void respond(request, response, request.method === 'GET' ? 503 : 412),
  );
  const upload = await (await open({ endpoint })).open('data/a');
  await upload.write(Buffer.from('row'));
  await expect(upload.finish()).rejects.toMatchObject({ code: 'destination.away', handling: { kind: 'backoff' } });
});

describe('an upload session', () => {
  const chunk = 5 * mebibyte;
  const content = Buffer.alloc(2 * chunk + 7, 'row ');

  /**
   * Simulates a server's upload session. For each chunk, `put` returns the total number of bytes stored so far, or the
   * HTTP status of an error.
   */
  async function session(
    put: (range: string, index: number) => { readonly stored: number } | { readonly status: number },
  ) {
    const ranges: string[] = [];
    const parts: Buffer[] = [];
    let cancelled = 0;
    const endpoint = await serve(async (request, response) => {
      const range = request.headers['content-range'];
      if (request.method === 'POST') {
        // The session URL names a host that the client cannot reach, as can happen with a private endpoint. The client
        // must send the chunks to its own endpoint instead.
        await respond(request, response, 200, '', { location: 'https://unreachable.example.com/upload/x?upload_id=7' });
      } else if (request.method === 'DELETE') {
        cancelled++;
        await respond(request, response, 499);
      } else if (range === undefined) {
        await respond(request, response, 404);
      } else {
        ranges.push(range);
        const result = put(range, ranges.length);
        if ('status' in result) {
          await respond(request, response, result.status);
          return;
        }
        const [, from = '', total = ''] = /^bytes (\d+)-\d+\/(.+)$/.exec(range) ?? [];
        const isComplete = result.stored === Number(total);
        const body = await respond(request, response, isComplete ? 200 : 308, '', {
          ...(isComplete || result.stored === 0 ? {} : { range: `bytes=0-${result.stored - 1}` }),
        });
        parts.push(body.subarray(0, result.stored - Number(from)));
      }
    });
    const upload = await (await open({ endpoint })).open('data/a');
    return { upload, ranges, stored: () => Buffer.concat(parts), cancelled: () => cancelled };
  }

  const endOf = (range: string) => Number(/-(\d+)\//.exec(range)?.[1]) + 1;

  test('sends one chunk after another, and the total size with the last one', async () => {
    const { upload, ranges, stored } = await session((range) => ({ stored: endOf(range) }));
    await upload.write(content);
    await upload.finish();
    expect(ranges).toEqual([
      `bytes 0-${chunk - 1}/*`,
      `bytes ${chunk}-${2 * chunk - 1}/*`,
      `bytes ${2 * chunk}-${2 * chunk + 6}/${2 * chunk + 7}`,
    ]);
    expect(stored().equals(content)).toBe(true);
  });

  test('of a name that is taken is refused when it begins', async () => {
    const endpoint = await serve((request, response) => {
      void respond(request, response, 412, refusal(412, 'conditionNotMet', 'so it is'));
    });
    const upload = await (await open({ endpoint })).open('data/a');
    await expect(upload.write(content)).rejects.toMatchObject({ code: 'destination.lost' });
    await upload.abort();
  });

  test('resends bytes that the store has not kept', async () => {
    const { upload, ranges, stored } = await session((range, index) => ({
      stored: index === 1 ? 262_144 : endOf(range),
    }));
    await upload.write(content);
    await upload.finish();
    expect(ranges.slice(0, 2)).toEqual([`bytes 0-${chunk - 1}/*`, `bytes 262144-${chunk - 1}/*`]);
    expect(stored().equals(content)).toBe(true);
  });

  test('repeats a chunk after a temporary failure', async () => {
    const { upload, ranges, stored } = await session((range, index) =>
      index === 2 ? { status: 503 } : { stored: endOf(range) },
    );
    await upload.write(content);
    await upload.finish();
    expect(ranges[2]).toBe(ranges[1]);
    expect(stored().equals(content)).toBe(true);
  });

  test.each([404, 410])('that gets %d from the store is lost', async (status) => {
    const { upload } = await session((range, index) => (index === 2 ? { status } : { stored: endOf(range) }));
    const lost = { code: 'destination.lost', handling: { kind: 'backoff' } };
    await expect(upload.write(content).then(() => upload.finish())).rejects.toMatchObject(lost);
    await upload.abort();
  });

  test('that makes no progress fails instead of sending the same bytes forever', async () => {
    const { upload, ranges } = await session(() => ({ stored: 0 }));
    await expect(upload.write(content).then(() => upload.finish())).rejects.toMatchObject({ code: 'destination.away' });
    expect(ranges).toHaveLength(1);
  });

  test('is cancelled in the store when the upload is aborted', async () => {
    const { upload, cancelled } = await session((range) => ({ stored: endOf(range) }));
    await upload.write(content);
    await upload.abort();
    expect(cancelled()).toBe(1);
  });
});

test.each([
  ['even if the last response is lost', true],
  ['even if the last response arrives', false],
])('a file is not complete if the store has stored a repeated chunk twice, %s', async (_, losesLast) => {
  const { endpoint: target } = inject('fakeGcsServer');
  let chunks = 0;
  const endpoint = await serve(async (request, response) => {
    const body = await buffer(request);
    const { host: _host, ...headers } = request.headers as Record<string, string>;
    const init = {
      method: request.method ?? 'GET',
      headers,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    };
    const found = await fetch(`${target}${request.url}`, { ...init, redirect: 'manual' });
    const content = Buffer.from(await found.arrayBuffer());
    const isLast = request.method === 'PUT' && found.status === 200;
    // The emulator stores the bytes of a repeated chunk a second time, whereas the real service ignores them.
    if ((request.method === 'PUT' && chunks++ === 0) || (isLast && losesLast)) request.socket.destroy();
    else response.writeHead(found.status, Object.fromEntries(found.headers)).end(content);
  });
  const destination = await open({ endpoint });
  const upload = await destination.open('data/a');
  const content = Buffer.alloc(6 * mebibyte, 'row ');
  const broken = { handling: { kind: 'backoff' } };
  await expect(upload.write(content).then(() => upload.finish())).rejects.toMatchObject(broken);
  await upload.abort();
  expect(await destination.read('data/a')).toBeUndefined();
});

test('a download that is cut off continues with the same version of the object', async () => {
  const content = Buffer.from('one two three');
  const seen: unknown[] = [];
  const endpoint = await serve((request, response) => {
    const [, from = '0'] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    seen.push([from, new URL(request.url ?? '', 'http://x').searchParams.get('generation')]);
    const rest = content.subarray(Number(from));
    response.writeHead(from === '0' ? 200 : 206, { 'content-length': rest.length, 'x-goog-generation': '42' });
    if (seen.length < 3) response.write(rest.subarray(0, 4), () => response.destroy());
    else response.end(rest);
  });
  expect((await (await open({ endpoint })).read('plan'))?.toString()).toBe('one two three');
  expect(seen).toEqual([
    ['0', null],
    ['4', '42'],
    ['8', '42'],
  ]);
});

test('an unavailable store is reported, and used again when it is back', async () => {
  const server = await FakeGcsServer.start();
  cleanups.push(() => server.stop());
  const place = await makeGcsBucket(server.access);
  const destination = await openPlace(place.data);
  cleanups.push(() => destination.close());
  const away = { code: 'destination.away', reason: 'DestinationUnavailable', handling: { kind: 'backoff' } };
  const upload = await destination.open('data/a');
  await upload.write(Buffer.alloc(6 * mebibyte));
  await server.kill();
  await expect(destination.read('plan')).rejects.toMatchObject(away);
  await expect(destination.create('record', Buffer.from('x'))).rejects.toMatchObject(away);
  await expect(upload.finish()).rejects.toMatchObject(away);
  await expect(upload.abort()).rejects.toMatchObject(away);
  await server.restart();
  await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.missing' });
});
