/** Tests which condition an export shows when its store refuses requests: which reason, and what the message tells people to do. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { request as send } from 'undici';
import { afterAll, describe, expect, vi } from 'vitest';
import { findCondition } from '../../src/api/conditions.ts';
import { test, writeExport } from './support/export-crashes.ts';
import { gcsPlace, type Place, s3Place, stopStores } from './support/exports.ts';

vi.setConfig({ maxConcurrency: 8 });
afterAll(() => stopStores());

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  /** Refused requests. The emulator answers all others. */
  readonly applies: (method: string, url: string) => boolean;
}

/** Starts a server that refuses some requests with the errors of Google Cloud Storage, and forwards the others to the emulator. */
async function refusingServer(emulator: string, { status, reason, message, applies }: Refusal) {
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = await buffer(request);
    if (applies(method, url)) {
      const error = { code: status, message, errors: [{ domain: 'global', reason, message }] };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      return;
    }
    const { host: _, connection: _own, 'transfer-encoding': _chunked, ...others } = headers;
    const answer = await send(`${emulator}${url}`, { method, headers: others, body: body.length > 0 ? body : null });
    response.writeHead(answer.statusCode, answer.headers).end(Buffer.from(await answer.body.arrayBuffer()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close().closeAllConnections(),
  };
}

/** Returns the place with other settings of its bucket. */
function changed(place: Place, kind: 's3' | 'gcs', settings: object): Place {
  const { [kind]: store } = place.destination as Readonly<Record<string, object>>;
  return { ...place, destination: { [kind]: { ...store, ...settings } } };
}

describe.concurrent('an export to Google Cloud Storage stalls', () => {
  const account = 'exporter@example.iam.gserviceaccount.com does not have';
  const ofObject = 'access to the Google Cloud Storage object. Permission denied on resource (or it may not exist).';

  test.for<[name: string, refusal: Refusal, reason: string, advice: string]>([
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
    await writeExport(manifests, changed(place, 'gcs', { endpoint: server.endpoint }));
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
    const [secret, ...others] = (await gcsPlace('logging')).manifests;
    const file = { type: 'service_account', client_email: 'a@example.com', private_key: 'canary' };
    const broken = { ...secret, stringData: { serviceAccountKey: JSON.stringify(file) } };
    await writeExport(manifests, { ...(await gcsPlace('logging')), manifests: [broken, ...others] });
    const { status, stdout, stderr } = await (await run()).ended;
    expect(status).toBe(1);
    const stored = await manifests.export('audit');
    expect(findCondition(stored.status?.conditions, 'Stalled')).toMatchObject({
      reason: 'DestinationCredentialsInvalid',
    });
    expect(`${stdout}${stderr}${JSON.stringify(stored)}`).not.toContain('canary');
  });
});
