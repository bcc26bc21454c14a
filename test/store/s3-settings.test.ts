/** Tests object store settings, such as encryption, storage class, region and proxies. */
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { SecretText } from '../../src/base/secret-text.ts';
import { openDestination } from '../../src/destination/open-destination.ts';
import { createClient } from '../../src/destination/s3/s3-client.ts';
import type { S3Settings } from '../../src/destination/s3/s3-settings.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import { serve } from '../support/loopback.ts';
import { RefusingProxy } from '../support/refusing-proxy.ts';
import { makeBucket, openPlace, settingsOf, systemPorts } from './place.ts';

const credentials = { accessKeyId: 'key', secretAccessKey: new SecretText('secret') };

const opened: Destination[] = [];
afterEach(async () => {
  for (const destination of opened.splice(0)) await destination.close();
  vi.unstubAllEnvs();
});

async function open(settings: S3Settings, environment: Record<string, string> = {}): Promise<Destination> {
  const destination = await openDestination({ kind: 's3', settings }, { ...(await systemPorts()), environment });
  opened.push(destination);
  return destination;
}

/**
 * Sets the environment variables that EKS injects for the IAM role of a ServiceAccount, and removes other credentials.
 */
function stubIdentity(tokenService: string): void {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/no/such/file');
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/exporter');
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', import.meta.filename);
  vi.stubEnv('AWS_ENDPOINT_URL_STS', tokenService);
}

describe('requests to a store', () => {
  let endpoint: string;
  const sent: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  beforeEach(async () => {
    sent.length = 0;
    const multipart = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>';
    endpoint = await serve((request, response) => {
      const { method = '', url = '', headers } = request;
      const stands = sent.some((earlier) => earlier.method === method && earlier.url === url);
      sent.push({ method, url, headers });
      request.resume().on('end', () => {
        if (method === 'PUT' && stands) response.writeHead(412).end();
        else response.setHeader('etag', '"e"').end(url.includes('uploads') ? multipart : '<x/>');
      });
    });
  });

  const settings = (): S3Settings => ({
    bucket: 'audit-logs',
    root: 'exports/logging',
    endpoint,
    insecure: true,
    forcePathStyle: true,
    region: 'eu-central-1',
    credentials,
    serverSideEncryption: { type: 'aws:kms', kmsKeyID: 'key-1' },
    storageClass: 'STANDARD_IA',
  });
  const encrypted = {
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'key-1',
  };

  test('for small objects have conditions, checksum, encryption and region, and no storage class that delays reads', async () => {
    await (await open(settings())).create('plan.json', Buffer.from('x'));
    const { url, headers } = sent[0]!;
    expect(url).toMatch(/^\/audit-logs\/exports\/logging\/plan\.json(?:\?|$)/);
    expect(headers).toMatchObject({ ...encrypted, 'if-none-match': '*', 'x-amz-checksum-sha256': expect.any(String) });
    expect(headers.authorization).toContain('/eu-central-1/s3/');
    expect(headers).not.toHaveProperty('x-amz-storage-class');
  });

  test('for a data file have its storage class as well', async () => {
    const upload = await (await open(settings())).open('data/a');
    await upload.write(Buffer.from('row'));
    await upload.finish();
    expect(sent[0]?.headers).toMatchObject({
      ...encrypted,
      'if-none-match': '*',
      'x-amz-storage-class': 'STANDARD_IA',
    });
  });

  test('for a data file in parts have these headers at the start, and the condition at the end', async () => {
    const upload = await (await open(settings())).open('data/a');
    await upload.write(Buffer.alloc(6 * 1024 * 1024));
    await upload.finish();
    const [begin, end] = sent.filter(({ method }) => method === 'POST');
    expect(begin?.headers).toMatchObject({ ...encrypted, 'x-amz-storage-class': 'STANDARD_IA' });
    expect(end?.headers).toMatchObject({ 'if-none-match': '*' });
    expect(sent.filter(({ method }) => method === 'PUT')).toHaveLength(2);
  });

  test('have names that are escaped once', async () => {
    await (await open(settings())).create('a b/c+d=(1),ü.gz', Buffer.from('x'));
    const path = sent[0]?.url.split('?')[0] ?? '';
    expect(decodeURIComponent(path)).toBe('/audit-logs/exports/logging/a b/c+d=(1),ü.gz');
  });
});

describe('credentials of the environment', () => {
  const place = () => makeBucket(inject('s3Gateway'));
  const ambient = (data: ReturnType<typeof place>['data']): S3Settings => {
    const chosen = settingsOf(data);
    if (chosen.kind !== 's3') throw new Error('a bucket is in a store');
    return { ...chosen.settings, credentials: 'ambient' };
  };
  beforeEach(() => {
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/no/such/file');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  });

  test('are used if the caller allows them', async () => {
    const bucket = place();
    const { accessKeyId, secretAccessKey } = inject('s3Gateway');
    vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
    expect(await (await open(ambient(bucket.data))).create('plan', Buffer.from('x'))).toBe('created');
  });

  test('that are missing are reported', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '');
    await expect((await open(ambient(place().data))).read('plan')).rejects.toMatchObject({
      code: 'destination.credentials',
      message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
    });
  });

  test('never replace given credentials', async () => {
    const bucket = place();
    const { accessKeyId, secretAccessKey } = inject('s3Gateway');
    vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
    const other = await openPlace({ ...bucket.data, secretAccessKey: 'wrong' } as typeof bucket.data);
    opened.push(other);
    await expect(other.read('plan')).rejects.toMatchObject({ code: 'destination.credentials' });
  });
});

describe('an error response', () => {
  const settings = (endpoint: string): S3Settings => {
    return { bucket: 'audit-logs', root: '', endpoint, insecure: true, forcePathStyle: true, credentials };
  };
  const body = (code: string) => `<Error><Code>${code}</Code><Message>so it is</Message></Error>`;

  const respond = (status: number, body: string, headers: Record<string, string> = {}) =>
    serve((request, response) => {
      request.resume().on('end', () => response.writeHead(status, headers).end(body));
    });

  test.each([
    [403, 'AccessDenied', 'destination.credentials', "the role's trust policy"],
    [400, 'InvalidIdentityToken', 'destination.credentials', "the role's trust policy"],
    [400, 'ExpiredTokenException', 'destination.credentials', "the role's trust policy"],
    [400, 'Throttling', 'destination.away', 'logfleet will try again'],
    [400, 'IDPCommunicationError', 'destination.away', 'logfleet will try again'],
    [503, 'ServiceUnavailable', 'destination.away', 'logfleet will try again'],
  ])('of the token service, %d %s, is not taken for an error of the store', async (status, code, expected, advice) => {
    stubIdentity(await respond(status, `<ErrorResponse>${body(code)}</ErrorResponse>`));
    const destination = await open({ ...settings('http://store.invalid'), credentials: 'ambient' });
    const error = await destination.read('plan').catch((cause: Error) => cause);
    expect(error).toMatchObject({ code: expected, message: expect.stringContaining(`${code}: so it is; `) });
    expect((error as Error).message).toContain(advice);
  });

  test.each([
    [301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-1' }, "set region to the bucket's region, eu-west-1"],
    [307, 'TemporaryRedirect', {}, "set region to the bucket's region"],
  ])('for a bucket in another region, %d %s, names the region', async (status, code, headers, advice) => {
    const destination = await open(settings(await respond(status, body(code), headers)));
    await expect(destination.read('plan')).rejects.toMatchObject({
      code: 'destination.invalid',
      message: `cannot read plan in s3://audit-logs: ${code}: so it is; ${advice}`,
    });
  });
});

describe('a request', () => {
  async function send(silenceMs: number, listener: RequestListener): Promise<unknown> {
    const client = createClient(
      { bucket: 'audit-logs', root: '', endpoint: await serve(listener), forcePathStyle: true, credentials },
      {},
      silenceMs,
    );
    onTestFinished(() => client.destroy());
    return client.send(new HeadBucketCommand({ Bucket: 'audit-logs' }));
  }

  test('may take longer than the limit on silence, as long as data arrives', async () => {
    // The limit is long, because a busy machine can delay the data by seconds.
    const silenceMs = 5_000;
    const response = send(silenceMs, (_, response) => {
      let sent = 0;
      const timer = setInterval(() => {
        response.writeProcessing();
        if (++sent * 100 <= silenceMs + 500) return;
        clearInterval(timer);
        response.end();
      }, 100);
    });
    await expect(response).resolves.toMatchObject({ $metadata: { httpStatusCode: 200 } });
  });

  test('fails if the store is silent', async () => {
    await expect(send(1_000, () => {})).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('a proxy', () => {
  let proxy: RefusingProxy;
  beforeEach(async () => {
    proxy = new RefusingProxy();
    await proxy.start();
  });
  afterEach(() => proxy.stop());

  const settings: S3Settings = {
    bucket: 'audit-logs',
    root: '',
    endpoint: 'https://store.invalid:9000',
    forcePathStyle: true,
    credentials,
  };
  const address = () => `http://${proxy.address}`;
  const asked = () => proxy.requests.map(({ url }) => url);

  test('of the environment is used for requests to the store', async () => {
    const destination = await open(settings, { HTTPS_PROXY: address() });
    await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.away' });
    expect(new Set(asked())).toEqual(new Set(['store.invalid:9000']));
  });

  test('is not used for hosts in NO_PROXY', async () => {
    const destination = await open(settings, { HTTPS_PROXY: address(), NO_PROXY: 'store.invalid' });
    await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.away' });
    expect(asked()).toEqual([]);
  });

  test('is used for large uploads', async () => {
    const destination = await open(settings, { HTTPS_PROXY: address() });
    const content = Buffer.alloc(3 * 1024 * 1024);
    await expect(destination.create('plan', content)).rejects.toMatchObject({ code: 'destination.away' });
    expect(new Set(asked())).toEqual(new Set(['store.invalid:9000']));
  });

  test('is used for the token service of an identity, although the store is in NO_PROXY', async () => {
    stubIdentity('https://sts.invalid');
    const environment = { HTTPS_PROXY: address(), NO_PROXY: 'store.invalid' };
    const destination = await open({ ...settings, credentials: 'ambient' }, environment);
    await expect(destination.read('plan')).rejects.toMatchObject({ code: 'destination.away' });
    expect(new Set(asked())).toEqual(new Set(['sts.invalid:443']));
  });
});
