/** Tests behaviour specific to S3 stores, such as keys, buckets, lost responses and conditional writes. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { openDestination } from '../../src/destination/open-destination.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { serve } from '../support/loopback.ts';
import { S3Gateway } from '../support/s3-gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type FolderPlace, makeBucket, openPlace, type PlaceData, settingsOf, systemPorts } from './place.ts';
import { drain } from './stores.ts';

const mebibyte = 1024 * 1024;

type S3Bucket = Extract<PlaceData, { kind: 's3' }>;

let place: FolderPlace;
beforeEach(() => {
  place = makeBucket(inject('s3Gateway'));
});
afterEach(() => place.remove());

const opened: Destination[] = [];
afterEach(async () => {
  for (const destination of opened.splice(0)) await destination.close();
});
async function open(changes: Partial<S3Bucket> = {}): Promise<Destination> {
  const destination = await openPlace({ ...(place.data as S3Bucket), ...changes });
  opened.push(destination);
  return destination;
}

describe('wrong settings are reported with a remedy', () => {
  const everything = (destination: Destination): readonly (() => Promise<unknown>)[] => [
    () => destination.create('plan', Buffer.from('x')),
    () => destination.read('plan'),
    () => destination.remove('plan'),
    () => destination.abortLeftovers('', 'all'),
    () => drain(destination.list('')),
    () => drain(destination.stream('plan')),
    async () => (await destination.open('data')).finish(),
    async () => (await destination.open('data')).write(Buffer.alloc(6 * mebibyte)),
  ];

  test.each<[string, Partial<S3Bucket>, string, string]>([
    ['an unknown access key', { accessKeyId: 'nobody' }, 'destination.credentials', "correct the store's credentials"],
    ['a wrong secret', { secretAccessKey: 'wrong' }, 'destination.credentials', "correct the store's credentials"],
    ['a missing bucket', { bucket: 'no-such-bucket' }, 'destination.missing', 'create the bucket'],
  ])('%s', async (_, changes, code, advice) => {
    const destination = await open(changes);
    for (const act of everything(destination)) {
      await expect(act()).rejects.toMatchObject({
        code,
        handling: { kind: 'stall' },
        message: expect.stringContaining(advice),
      });
    }
  });

  test('messages contain no secrets', async () => {
    const error = await (await open({ secretAccessKey: 'canary' })).read('plan').catch((cause: Error) => cause);
    expect(`${(error as Error).message} ${(await open({ secretAccessKey: 'canary' })).url}`).not.toContain('canary');
  });
});

describe('a store that becomes unavailable', () => {
  let gateway: S3Gateway;
  let bucket: FolderPlace;
  beforeEach(async () => {
    gateway = await S3Gateway.start();
    bucket = makeBucket(gateway.access);
  });
  afterEach(() => gateway.stop());

  test('keeps its objects, and leftovers are removed when it is available again', async () => {
    const destination = await openPlace(bucket.data);
    const away = { code: 'destination.away', reason: 'DestinationUnavailable', handling: { kind: 'backoff' } };
    await destination.create('plan', Buffer.from('x'));
    const upload = await destination.open('data/a');
    await upload.write(Buffer.alloc(6 * mebibyte));
    await gateway.kill();
    await expect(destination.read('plan')).rejects.toMatchObject(away);
    await expect(destination.create('record', Buffer.from('x'))).rejects.toMatchObject(away);
    await expect(upload.finish()).rejects.toMatchObject(away);
    await expect(upload.abort()).rejects.toMatchObject(away);
    await gateway.restart();
    expect((await destination.read('plan'))?.toString()).toBe('x');
    expect(await destination.create('record', Buffer.from('x'))).toBe('created');
    // The process with this token is considered dead, so `abortLeftovers` removes its unfinished upload.
    expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(1);
    expect(await destination.abortLeftovers('', 'endedProcesses')).toBe(0);
    expect(bucket.files()).toEqual(['audit/logging/plan', 'audit/logging/record']);
    await destination.close();
  });
});

test('E15: an upload that one destination could not remove is removed by the next one on the same store', async () => {
  const gateway = await S3Gateway.start();
  try {
    const bucket = makeBucket(gateway.access);
    const ports = await systemPorts();
    const first = await openDestination(settingsOf(bucket.data), ports);
    const upload = await first.open('data/a');
    await upload.write(Buffer.alloc(6 * mebibyte));
    await gateway.kill();
    await expect(upload.abort()).rejects.toMatchObject({ code: 'destination.away' });
    await first.close();
    await gateway.restart();
    const next = await openDestination(settingsOf(bucket.data), ports);
    opened.push(next);
    expect(await next.abortLeftovers('elsewhere', 'endedProcesses')).toBe(0);
    expect(await next.abortLeftovers('data', 'endedProcesses')).toBe(1);
    expect(await next.abortLeftovers('', 'endedProcesses')).toBe(0);
    expect(bucket.files()).toEqual([]);
  } finally {
    await gateway.stop();
  }
});

test.each([500, 503])('an upload succeeds if its object exists, although the store returns %d', async (status) => {
  let mark: string | undefined;
  const endpoint = await serve((request, response) => {
    const { method, headers } = request;
    if (method === 'PUT') mark = headers['x-amz-meta-logfleet-upload'] as string;
    const isAsked = method === 'HEAD' && mark !== undefined;
    const headersOfObject = { 'x-amz-meta-logfleet-upload': mark ?? '' };
    request.resume().on('end', () => response.writeHead(isAsked ? 200 : status, headersOfObject).end());
  });
  const destination = await open({ endpoint });
  const upload = await destination.open('data/a');
  await upload.write(Buffer.from('rows'));
  await upload.finish();
  expect(mark).not.toBeUndefined();
});

describe('a lost response', () => {
  let proxy: ResponseLosingProxy;
  beforeEach(async () => {
    proxy = await ResponseLosingProxy.start((place.data as S3Bucket).endpoint);
  });
  afterEach(() => proxy.stop());

  const text = async (name: string) => (await (await open()).read(name))?.toString();

  test('to the creation of a small object does not look like an overwriting store (E3)', async () => {
    const destination = await open({ endpoint: proxy.endpoint });
    await destination.create('first', Buffer.from('x'));
    proxy.loseNext('PUT ');
    expect(await destination.create('record', Buffer.from('ours'))).toBe('exists');
    expect(proxy.lost).toBe(1);
    expect(await text('record')).toBe('ours');
  });

  test.each([
    [1, 'PUT ', 1],
    [6 * mebibyte, 'POST ', 1],
    // Three lost responses use up the retries of this request, but the upload must still succeed.
    [1, 'PUT ', 3],
    [6 * mebibyte, 'POST ', 3],
  ])('to an upload of %d bytes does not fail the upload (%s, times: %d)', async (bytes, method, times) => {
    const destination = await open({ endpoint: proxy.endpoint });
    const upload = await destination.open('data/a');
    await upload.write(Buffer.alloc(bytes));
    proxy.loseNext(method, times);
    await upload.finish();
    expect(proxy.lost).toBe(times);
    expect(await (await open()).read('data/a')).toHaveLength(bytes);
    expect(place.files()).toHaveLength(1);
  });

  test('leaves no file when the upload is aborted', async () => {
    const destination = await open({ endpoint: proxy.endpoint });
    const upload = await destination.open('data/a');
    await upload.write(Buffer.from('rows'));
    proxy.loseNext('', Number.POSITIVE_INFINITY);
    await expect(upload.finish()).rejects.toMatchObject({ handling: { kind: 'backoff' } });
    expect(await text('data/a')).toBe('rows');
    proxy.loseNext('', 0);
    await upload.abort();
    expect(place.files()).toEqual([]);
  });

  test('in the middle of a download is continued from there', async () => {
    const content = Buffer.from(Uint32Array.from({ length: 5 * mebibyte }, (_, index) => index).buffer);
    const upload = await (await open()).open('data/a');
    await upload.write(content);
    await upload.finish();
    const destination = await open({ endpoint: proxy.endpoint });
    proxy.loseNext('GET ', 2, 7 * mebibyte);
    const pieces: Buffer[] = [];
    for await (const piece of destination.stream('data/a')) pieces.push(Buffer.from(piece));
    expect(proxy.lost).toBe(2);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  });
});

describe('a store that overwrites objects despite If-None-Match', () => {
  let endpoint: string;
  const objects = new Map<string, string>();
  /** Whether the store closes the connection instead of responding to an upload without content. */
  let isSilent = false;
  beforeEach(async () => {
    objects.clear();
    isSilent = false;
    endpoint = await serve((request, response) => {
      const { url = '', method = '', headers } = request;
      if (method !== 'HEAD') objects.set(url.replace(/\?.*/, ''), method);
      const isUnanswered = isSilent && method === 'PUT' && headers['content-length'] === '0';
      request.resume().on('end', () => (isUnanswered ? request.socket.destroy() : response.end()));
    });
  });

  const refusal = { code: 'destination.unsupported', handling: { kind: 'stall' } };

  test('is detected by the first object and refused', async () => {
    const destination = await open({ endpoint });
    await expect(destination.create('plan', Buffer.from('x'))).rejects.toMatchObject(refusal);
    expect([...objects.values()]).toEqual(['DELETE']);
  });

  test('is refused even if it does not respond to the first test', async () => {
    const destination = await open({ endpoint });
    isSilent = true;
    await expect(destination.create('plan', Buffer.from('x'))).rejects.toMatchObject({ code: 'destination.away' });
    isSilent = false;
    await expect(destination.create('plan', Buffer.from('x'))).rejects.toMatchObject(refusal);
    expect([...objects.values()]).toEqual(['DELETE']);
  });
});

test('an object of unknown length is read completely', async () => {
  const endpoint = await serve((request, response) => {
    response.write('the whole ');
    request.resume().on('end', () => response.end('plan'));
  });
  const destination = await open({ endpoint });
  expect((await destination.read('plan'))?.toString()).toBe('the whole plan');
});

test.each([
  [503, 'SlowDown', 'destination.away', 'backoff'],
  [500, 'InternalError', 'destination.away', 'backoff'],
  [409, 'ConditionalRequestConflict', 'destination.away', 'backoff'],
  [400, 'RequestTimeout', 'destination.away', 'backoff'],
  [400, 'BadDigest', 'destination.away', 'backoff'],
  [400, 'XAmzContentSHA256Mismatch', 'destination.away', 'backoff'],
  [400, 'XAmzContentChecksumMismatch', 'destination.away', 'backoff'],
  [403, 'RequestTimeTooSkewed', 'destination.away', 'backoff'],
  [403, 'AccessDenied', 'destination.denied', 'stall'],
  [403, 'QuotaExceeded', 'destination.full', 'wait'],
  [507, 'InsufficientStorage', 'destination.full', 'wait'],
  [501, 'NotImplemented', 'destination.unsupported', 'stall'],
  [400, 'InvalidStorageClass', 'destination.invalid', 'stall'],
  [400, 'KMS.NotFoundException', 'destination.invalid', 'stall'],
])('%d %s is %s', async (status, code, expected, handling) => {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>so it is</Message></Error>`;
  const endpoint = await serve((request, response) => {
    request.resume().on('end', () => response.writeHead(status, { 'content-type': 'application/xml' }).end(body));
  });
  const destination = await open({ endpoint });
  await expect(destination.create('plan', Buffer.from('x'))).rejects.toMatchObject({
    code: expected,
    handling: { kind: handling },
    message: expect.stringContaining(code),
  });
});

test('an upload of a process that cannot be checked is left over after 15 minutes without a part (E15)', async () => {
  const clock = new VirtualClock(0);
  const later = await openDestination(settingsOf(place.data), { ...(await systemPorts()), clock });
  opened.push(later);
  const upload = await (await open()).open('data/foreign');
  await upload.write(Buffer.alloc(12 * mebibyte));
  // Waits until both parts have been stored, because the client might abort the upload while it is still sending parts.
  const parts = () => place.files().filter((file) => /\/\d+$/.test(file));
  await expect.poll(parts).toHaveLength(2);
  expect(await later.abortLeftovers('', 'endedProcesses')).toBe(0);
  clock.skewMs = 10 ** 14;
  expect(await later.abortLeftovers('', 'endedProcesses')).toBe(1);
  await upload.abort();
  expect(place.files()).toEqual([]);
});

test('aborts any number of uploads in a folder', async () => {
  const destination = await open();
  const uploads = await Promise.all(Array.from({ length: 12 }, (_, index) => destination.open(`data/${index}`)));
  for (const upload of uploads) await upload.write(Buffer.alloc(5 * mebibyte + 1));
  expect(await destination.abortLeftovers('data', 'all')).toBe(12);
  for (const upload of uploads) await upload.abort();
  expect(place.files()).toEqual([]);
});

/** Proxy in front of a store. The proxy drops responses on demand. */
class ResponseLosingProxy {
  readonly endpoint: string;
  /** Number of responses that the proxy has dropped. */
  lost = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #method = '';
  #count = 0;
  #passedBytes = 0;

  static async start(target: string): Promise<ResponseLosingProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ResponseLosingProxy(server, new URL(target));
  }

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (inner) => this.#carry(inner, connect(Number(target.port), target.hostname)));
  }

  /** Cuts off the responses to the next `count` requests with this method after `passedBytes` bytes. */
  loseNext(method: string, count = 1, passedBytes = 0): void {
    this.#method = method;
    this.#count = count;
    this.#passedBytes = passedBytes;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server.close(), 'close');
  }

  #carry(inner: Socket, outer: Socket): void {
    let passes = Number.POSITIVE_INFINITY;
    for (const [socket, other] of [[inner, outer] as const, [outer, inner] as const]) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
    inner.on('data', (bytes) => {
      if (this.#count > 0 && bytes.toString('latin1', 0, 8).startsWith(this.#method)) {
        this.#count--;
        passes = this.#passedBytes;
      }
      outer.write(bytes);
    });
    outer.on('data', (bytes) => {
      // Always forwards `100 Continue`, because the test must drop only the final response.
      if (passes >= bytes.length || bytes.toString('latin1', 0, 12) === 'HTTP/1.1 100') {
        passes -= bytes.length;
        inner.write(bytes);
        return;
      }
      if (!inner.destroyed) this.lost++;
      inner.destroy();
    });
  }
}
