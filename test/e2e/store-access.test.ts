/** Tests an export's condition when its object store refuses requests. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { request as send } from 'undici';
import { afterAll, describe, expect, vi } from 'vitest';
import { findCondition } from '../../src/api/conditions.ts';
import { sendPodToken } from '../support/fake-gcs-server.ts';
import { httpsServer, selfSigned } from '../support/loopback.ts';
import { test, writeExport } from './support/export-crashes.ts';
import { type ExportPlace, gcsPlace, s3Place, stopStores } from './support/exports.ts';
import { logs } from './support/simulator.ts';

vi.setConfig({ maxConcurrency: 8 });
afterAll(() => stopStores());

interface StoreRefusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  /** Returns true if the server must refuse the request. The server forwards all other requests to the emulator. */
  readonly applies: (method: string, url: string) => boolean;
}

/** Forwards a request to the emulator. If this fails, for example because the client has ended, ends the connection. */
async function forward(emulator: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await exchange(emulator, request, response).catch(() => response.destroy());
}

async function exchange(emulator: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = request;
  const body = await buffer(request);
  const { host: _, connection: _own, 'transfer-encoding': _chunked, ...others } = headers;
  const forwarded = await send(`${emulator}${url}`, { method, headers: others, body: body.length > 0 ? body : null });
  response.writeHead(forwarded.statusCode, forwarded.headers).end(Buffer.from(await forwarded.body.arrayBuffer()));
}

/** Starts a server that refuses some requests with Google Cloud Storage errors. */
async function refusingServer(emulator: string, { status, reason, message, applies }: StoreRefusal) {
  const server = createServer(async (request, response) => {
    if (!applies(request.method ?? '', request.url ?? '')) {
      await forward(emulator, request, response);
      return;
    }
    // A client that has ended needs no response.
    await buffer(request).catch(() => {});
    const error = { code: status, message, errors: [{ domain: 'global', reason, message }] };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close().closeAllConnections(),
  };
}

function changed(place: ExportPlace, kind: 's3' | 'gcs', settings: object): ExportPlace {
  const { [kind]: store } = place.destination as Readonly<Record<string, object>>;
  return { ...place, destination: { [kind]: { ...store, ...settings } } };
}

/** Returns a copy of `place` whose Secret has these additional or changed values. */
function withSecret(place: ExportPlace, values: object): ExportPlace {
  const [secret, ...others] = place.manifests;
  const { stringData } = secret as { readonly stringData: object };
  return { ...place, manifests: [{ ...secret, stringData: { ...stringData, ...values } }, ...others] };
}

describe.concurrent('an export to Google Cloud Storage stalls', () => {
  const account = 'exporter@example.iam.gserviceaccount.com does not have';
  const ofObject = 'access to the Google Cloud Storage object. Permission denied on resource (or it may not exist).';

  test.for<[name: string, refusal: StoreRefusal, reason: string, advice: string]>([
    [
      'with a key that was revoked',
      { status: 401, reason: 'authError', message: 'Invalid Credentials', applies: () => true },
      'DestinationCredentialsInvalid',
      'credentialsSecretRef',
    ],
    [
      'without the right to write',
      {
        ...{ status: 403, reason: 'forbidden', message: `${account} storage.objects.create ${ofObject}` },
        applies: (method) => method === 'POST',
      },
      'DestinationAccessDenied',
      'storage.objects.create',
    ],
    [
      'without the right to list',
      {
        ...{ status: 403, reason: 'forbidden', message: `${account} storage.objects.list ${ofObject}` },
        applies: (method, url) => method === 'GET' && url.includes('/o?'),
      },
      'DestinationAccessDenied',
      'storage.objects.list',
    ],
  ])('%s', async ([, refusal, reason, advice], { manifests, run }) => {
    const place = await gcsPlace('logging');
    const { gcs } = place.destination as { readonly gcs: { readonly endpoint: string } };
    await using server = await refusingServer(gcs.endpoint, refusal);
    const { endpoint } = server;
    await writeExport(manifests, withSecret(changed(place, 'gcs', { endpoint }), { endpoint }));
    const { status, stderr } = await (await run()).ended;
    expect({ status, stderr }).toMatchObject({ status: 1 });
    const { conditions } = (await manifests.export('audit')).status ?? {};
    expect(findCondition(conditions, 'Stalled')).toMatchObject({ status: 'True', reason });
    expect(findCondition(conditions, 'Ready')).toMatchObject({
      ...{ status: 'False', reason },
      message: expect.stringContaining(refusal.message.replace(/\.$/, '')),
    });
    expect(findCondition(conditions, 'Ready')?.message).toContain(advice);
  });
});

describe.concurrent.each([
  ['s3', s3Place],
  ['gcs', gcsPlace],
] as const)('an export to a destination of the kind %s', (kind, makePlace) => {
  test('stalls if its bucket does not exist', async ({ manifests, run }) => {
    await writeExport(manifests, changed(await makePlace('logging'), kind, { bucket: 'no-such-bucket' }));
    expect(await (await run()).ended).toMatchObject({ status: 1 });
    const { conditions } = (await manifests.export('audit')).status ?? {};
    expect(findCondition(conditions, 'Stalled')).toMatchObject({
      reason: 'DestinationNotFound',
      message: expect.stringContaining('create the bucket'),
    });
  });
});

describe.concurrent('a key that cannot be read', () => {
  test('stalls the export, and no message contains the key', async ({ manifests, run }) => {
    const file = { type: 'service_account', client_email: 'a@example.com', private_key: 'canary' };
    const place = withSecret(await gcsPlace('logging'), { serviceAccountKey: JSON.stringify(file) });
    await writeExport(manifests, place);
    const { status, stdout, stderr } = await (await run()).ended;
    expect(status).toBe(1);
    const stored = await manifests.export('audit');
    expect(findCondition(stored.status?.conditions, 'Stalled')).toMatchObject({
      reason: 'DestinationCredentialsInvalid',
    });
    expect(`${stdout}${stderr}${JSON.stringify(stored)}`).not.toContain('canary');
  });
});

describe.concurrent('an export to Google Cloud Storage without a Secret', () => {
  test('uses tokens from the metadata server, as provided by workload identity', async ({
    tenant,
    start,
    manifests,
  }) => {
    const { gcs } = (await gcsPlace('default')).destination as {
      readonly gcs: { readonly endpoint: string; readonly bucket: string };
    };
    const seen = new Set<string>();
    const certificate = await selfSigned(['127.0.0.1']);
    await using store = await httpsServer(certificate, (request, response) => {
      seen.add(String(request.headers.authorization));
      void forward(gcs.endpoint, request, response);
    });
    const metadata = createServer((_, response) => {
      sendPodToken(response);
    }).listen(0, '127.0.0.1');
    await once(metadata, 'listening');
    try {
      const caFile = join(manifests.path, 'store-ca.crt');
      writeFileSync(caFile, certificate.cert);
      const env = {
        ...tenant.env,
        NODE_EXTRA_CA_CERTS: caFile,
        // These variables make Google's library wait for the metadata server, as it does in a pod on Google Cloud.
        // Without them, the library gives up after 3 s, which is too early on a busy machine.
        K_SERVICE: 'logfleet',
        GCE_METADATA_HOST: `127.0.0.1:${(metadata.address() as AddressInfo).port}`,
        HOME: manifests.path,
      };
      const options = { cwd: manifests.path, env };
      const flags = ['--endpoint', `https://127.0.0.1:${store.port}`];
      const request = ['--query', '*', '--from', logs.from, '--to', logs.to, '-o', `gs://${gcs.bucket}/audit`];
      const { status, stdout, stderr } = await (await start(['export', ...request, ...flags], options)).ended;
      expect(status, stderr).toBe(0);
      expect(stdout).toMatch(new RegExp(`^gs://${gcs.bucket}/audit/default/export/[0-9a-f]{64}/manifest\\.json\n$`));
      const verified = await (await start(['verify', stdout.trim(), ...flags], options)).ended;
      expect(verified.status, verified.stderr).toBe(0);
      expect(verified.stdout).toContain(`Proven: ${logs.messages} rows`);
      expect([...seen]).toEqual(['Bearer token-of-the-pod']);
    } finally {
      metadata.close().closeAllConnections();
    }
  });

  test('reports that there are no credentials', async ({ tenant, start, manifests }) => {
    const env = { ...tenant.env, METADATA_SERVER_DETECTION: 'none', HOME: manifests.path };
    const request = ['--query', '*', '--from', logs.from, '--to', logs.to, '-o', 'gs://log-exports/audit'];
    const { status, stderr } = await (await start(['export', ...request], { cwd: manifests.path, env })).ended;
    expect(status).toBe(1);
    expect(stderr).toContain('DestinationCredentialsInvalid');
    expect(stderr).toContain('GOOGLE_APPLICATION_CREDENTIALS');
  });
});
