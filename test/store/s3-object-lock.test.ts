/** Tests the retention and checksums of objects in S3. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { SecretText } from '../../src/base/secret-text.ts';
import { dayMs } from '../../src/base/time-units.ts';
import { type CommitRecord, commit } from '../../src/destination/commit-record.ts';
import { coverageOf } from '../../src/destination/coverage.ts';
import { openDestination } from '../../src/destination/open-destination.ts';
import { storePlanOnce } from '../../src/destination/plan-object.ts';
import type { S3Settings } from '../../src/destination/s3/s3-settings.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { StoredExport } from '../../src/export/work/stored-export.ts';
import { definitionOf } from '../support/export-definition.ts';
import { S3Gateway, type S3GatewayAccess } from '../support/s3-gateway.ts';
import { systemPorts } from './place.ts';

const mebibyte = 1024 * 1024;
const retainUntilDays = 30;

const definition = definitionOf();

let versioned: S3Gateway;
beforeAll(async () => {
  versioned = await S3Gateway.start({ keepsVersions: true });
});
afterAll(() => versioned.stop());

const closed: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closed.splice(0).reverse()) await close();
});

let buckets = 0;
/** Creates a bucket with object lock, and returns a client for it. */
async function lockedBucket({ endpoint, accessKeyId, secretAccessKey }: S3GatewayAccess, isLocked = true) {
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  closed.push(() => client.destroy());
  const bucket = `locked-${process.pid}-${buckets++}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket, ObjectLockEnabledForBucket: isLocked }));
  return { client, bucket };
}

async function open(
  { endpoint, accessKeyId, secretAccessKey }: S3GatewayAccess,
  bucket: string,
  changes: Partial<S3Settings> = {},
): Promise<Destination> {
  const credentials = { accessKeyId, secretAccessKey: new SecretText(secretAccessKey) };
  const place = { bucket, root: 'audit', endpoint, credentials, forcePathStyle: true, insecure: true };
  const settings: S3Settings = { ...place, objectLock: { mode: 'Governance', retainUntilDays }, ...changes };
  const destination = await openDestination({ kind: 's3', settings }, await systemPorts());
  closed.push(() => destination.close());
  return destination;
}

async function write(destination: Destination, name: string, content: Uint8Array): Promise<void> {
  const upload = await destination.open(name);
  await upload.write(content);
  await upload.finish();
}

const sha256 = (...content: Uint8Array[]) =>
  content.reduce((hash, each) => hash.update(each), createHash('sha256')).digest();

describe.each([
  ['with versions', () => versioned.access],
  ['without versions', () => inject('s3Gateway')],
])('a bucket %s', (_, access) => {
  test.each(['Governance', 'Compliance'] as const)('keeps each object for the days of the mode %s', async (mode) => {
    const { client, bucket } = await lockedBucket(access());
    const destination = await open(access(), bucket, { objectLock: { mode, retainUntilDays } });
    const files: readonly (readonly [string, Buffer])[] = [
      ['plan.json', Buffer.from('{}')],
      ['data/small', Buffer.from('row')],
      ['data/large', Buffer.alloc(6 * mebibyte, 'rows')],
    ];
    const beforeMs = Math.floor(Date.now() / 1_000) * 1_000;
    await destination.create('plan.json', files[0]?.[1] as Buffer);
    for (const [name, content] of files.slice(1)) await write(destination, name, content);
    for (const [name, content] of files) {
      const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: `audit/${name}` }));
      const untilMs = found.ObjectLockRetainUntilDate?.getTime() ?? 0;
      expect(found.ObjectLockMode).toBe(mode.toUpperCase());
      expect(untilMs).toBeGreaterThanOrEqual(beforeMs + retainUntilDays * dayMs);
      expect(untilMs).toBeLessThanOrEqual(Date.now() + retainUntilDays * dayMs);
      expect(sha256(content)).toEqual(sha256((await destination.read(name)) as Uint8Array));
    }
  });

  test('does not lock temporary files', async () => {
    const { client, bucket } = await lockedBucket(access());
    const destination = await open(access(), bucket);
    const upload = await destination.open('data/probe', 'temporary');
    await upload.finish();
    const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'audit/data/probe' }));
    expect(found.ObjectLockMode).toBeUndefined();
    await destination.remove('data/probe');
    expect([...(destination.lockedFiles ?? [])]).toEqual([]);
  });

  test.each([
    ['one request', 3],
    ['parts', 6 * mebibyte],
  ])('keeps a locked file that is sent in %s if the response to the last request is lost', async (_, bytes) => {
    const { client, bucket } = await lockedBucket(access());
    const proxy = await StoreProxy.start(access().endpoint);
    closed.push(() => proxy.stop());
    const destination = await open({ ...access(), endpoint: proxy.endpoint }, bucket);
    const upload = await destination.open('data/a');
    await upload.write(Buffer.alloc(bytes, 'row'));
    proxy.losesCreations = 1;
    await upload.finish();
    expect(proxy.losesCreations).toBe(0);
    expect(await destination.read('data/a')).toHaveLength(bytes);
    const { Versions } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket }));
    expect(Versions).toHaveLength(1);
  });

  test('completes an export with a locked file that belongs to no interval', async () => {
    const { client, bucket } = await lockedBucket(access());
    const counted = await StoreProxy.start(access().endpoint);
    closed.push(() => counted.stop());
    const destination = await open({ ...access(), endpoint: counted.endpoint }, bucket);
    const stored = new StoredExport(async () => destination, definition);
    const plan = await storePlanOnce(destination, definition.layout, { boundariesMs: [0, 1_000] });
    const figures = { received: 0, written: 0, outside: 0, duplicates: 0, left: 0 };
    const count = { rows: 0, source: 'Job' as const };
    const record: CommitRecord = { segment: 0, fromMs: 0, toMs: 1_000, ...figures, count, files: [] };
    await commit(destination, definition.layout, record);
    const stray = definition.layout.within('data/stray');
    await write(destination, stray, Buffer.from('row'));
    await stored.open();

    const { manifest } = await stored.finish(coverageOf(plan, [record]), []);
    for (const _ of [1, 2]) await destination.remove(stray);

    expect(manifest.intervals).toEqual([record]);
    expect(stored.lockedFiles).toBe(1);
    expect(counted.deletions).toBe(1);
    const versions = await client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: `audit/${stray}` }));
    expect(versions.Versions).toHaveLength(1);
  });

  test('that forbids object lock is reported', async () => {
    const { bucket } = await lockedBucket(access(), false);
    const destination = await open(access(), bucket);
    await expect(destination.create('plan.json', Buffer.from('{}'))).rejects.toMatchObject({
      code: 'destination.invalid',
      handling: { kind: 'stall' },
    });
  });
});

test('a file that a rule of the bucket locks stays, and is not removed again', async () => {
  const { bucket } = await lockedBucket(inject('s3Gateway'));
  const counted = await StoreProxy.start(inject('s3Gateway').endpoint);
  closed.push(() => counted.stop());
  await write(await open(inject('s3Gateway'), bucket), 'data/a', Buffer.from('row'));
  const access = { ...inject('s3Gateway'), endpoint: counted.endpoint };
  const destination = await open(access, bucket, { objectLock: undefined as never });
  for (const _ of [1, 2]) await destination.remove('data/a');
  expect([...(destination.lockedFiles ?? [])]).toEqual(['data/a']);
  expect(counted.deletions).toBe(1);
});

test('with versions, a locked file that is removed disappears from the list', async () => {
  const { client, bucket } = await lockedBucket(versioned.access);
  const destination = await open(versioned.access, bucket);
  await write(destination, 'data/a', Buffer.from('row'));
  await destination.remove('data/a');
  for await (const { name } of destination.list('')) expect.fail(`${name} is listed`);
  const { Versions } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket }));
  const [{ Key, VersionId } = {}] = Versions ?? [];
  await expect(client.send(new DeleteObjectCommand({ Bucket: bucket, Key, VersionId }))).rejects.toMatchObject({
    name: 'AccessDenied',
  });
});

describe('the checksum of an object', () => {
  let bucket: string;
  let client: S3Client;
  beforeEach(async () => {
    ({ bucket, client } = await lockedBucket(inject('s3Gateway'), false));
  });
  const stored = async (name: string) => {
    const input = { Bucket: bucket, Key: `audit/${name}`, ChecksumMode: 'ENABLED' } as const;
    return (await client.send(new HeadObjectCommand(input))).ChecksumSHA256;
  };
  const unlocked = () => open(inject('s3Gateway'), bucket, { objectLock: undefined as never });

  test('is the SHA-256 of its content, as in the manifest', async () => {
    const destination = await unlocked();
    await destination.create('plan.json', Buffer.from('{}'));
    await write(destination, 'data/a', Buffer.from('row'));
    expect(await stored('plan.json')).toBe(sha256(Buffer.from('{}')).toString('base64'));
    expect(await stored('data/a')).toBe(sha256(Buffer.from('row')).toString('base64'));
  });

  test('is the SHA-256 of the checksums of its parts for a file that is sent in parts', async () => {
    const content = Buffer.alloc(6 * mebibyte, 'rows');
    await write(await unlocked(), 'data/a', content);
    const parts = [content.subarray(0, 5 * mebibyte), content.subarray(5 * mebibyte)];
    const ofParts = sha256(...parts.map((part) => sha256(part))).toString('base64');
    expect(await stored('data/a')).toBe(`${ofParts}-2`);
  });
});

/** Proxy in front of a store. The proxy counts object removals, and can drop responses. */
class StoreProxy {
  deletions = 0;
  /** Number of responses to object creations that the proxy still has to drop. */
  losesCreations = 0;
  readonly #target: URL;
  readonly #server = createServer((request, response) => this.#forward(request, response));

  static async start(target: string): Promise<StoreProxy> {
    const proxy = new StoreProxy(target);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const { method, url: path, headers } = request;
    if (method === 'DELETE') this.deletions++;
    const { hostname, port } = this.#target;
    const isCreation =
      method === 'POST' ? path?.includes('uploadId=') : method === 'PUT' && !path?.includes('uploadId=');
    const outer = requestTo({ hostname, port, method, path, headers }, (incoming) => {
      if (isCreation && this.losesCreations > 0) {
        this.losesCreations--;
        incoming.resume().on('end', () => response.destroy());
        return;
      }
      response.writeHead(incoming.statusCode ?? 500, incoming.headers);
      incoming.pipe(response);
    });
    outer.on('error', () => response.destroy());
    request.pipe(outer);
  }
}
