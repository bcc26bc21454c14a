/** Helpers for tests that export all of the simulator's messages and check the exported files. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { FaultScenario } from '../../../simulator/scenario/scenario.ts';
import type { SearchExportSpec } from '../../../src/api/generated/search-export.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { SecretText } from '../../../src/base/secret-text.ts';
import { bucketRoot, ExportLayout, volumeRoot } from '../../../src/destination/export-layout.ts';
import { verifyExport } from '../../../src/destination/export-verification.ts';
import { credentialsOfKeyFile } from '../../../src/destination/gcs/gcs-settings.ts';
import { type DestinationSettings, openDestination } from '../../../src/destination/open-destination.ts';
import type { Destination } from '../../../src/destination/store/destination.ts';
import { Writer } from '../../../src/destination/store/writer.ts';
import { createGcsBucket, FakeGcsServer } from '../../support/fake-gcs-server.ts';
import { S3Gateway } from '../../support/s3-gateway.ts';
import { logs } from './simulator.ts';

export type ExportSpecPart = { readonly [M in keyof SearchExportSpec]?: unknown };

/** Lets the service refuse all searches after the third, so that an export cannot finish. */
export const unfinished: FaultScenario = {
  ...{ kind: 'status', status: 503, operations: ['createJob'] },
  nth: Array.from({ length: 200 }, (_, index) => index + 4),
};

/** Destination of a test's exports. */
export interface ExportPlace {
  /** Value of `spec.destination` in the export manifest. */
  readonly destination: object;
  /** `logfleet run` flags that the destination needs. */
  readonly flags: readonly string[];
  /** Other resources that the destination needs, such as a Secret. */
  readonly manifests: readonly object[];
  settings(namespace: string): DestinationSettings;
  remove(): void;
}

export function volumePlace(): ExportPlace {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-exports-'));
  return {
    destination: { volume: { name: 'exports' } },
    flags: ['--volume', `exports=${directory}`],
    manifests: [],
    settings: (namespace) => ({ kind: 'volume', directory, root: volumeRoot(namespace, '') }),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

let gateway: Promise<S3Gateway> | undefined;

/** Returns a new bucket in the S3 gateway. */
export async function s3Place(namespace: string): Promise<ExportPlace> {
  gateway ??= S3Gateway.start();
  const { endpoint, accessKeyId, secretAccessKey, content } = (await gateway).access;
  const bucket = `bucket-${randomBytes(6).toString('hex')}`;
  mkdirSync(join(content, bucket));
  const common = { bucket, endpoint, forcePathStyle: true, insecure: true };
  const metadata = { name: 'export-store', namespace };
  const credentials = { accessKeyId, secretAccessKey: new SecretText(secretAccessKey) };
  return {
    destination: { s3: { ...common, credentialsSecretRef: { name: metadata.name } } },
    flags: [],
    manifests: [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { accessKeyId, secretAccessKey } }],
    settings: (of) => ({ kind: 's3', settings: { ...common, credentials, root: bucketRoot('', of) } }),
    remove: () => {},
  };
}

let gcsServer: Promise<FakeGcsServer> | undefined;

export async function gcsPlace(namespace: string): Promise<ExportPlace> {
  gcsServer ??= FakeGcsServer.start();
  const { endpoint, serviceAccountKey } = (await gcsServer).access;
  const bucket = `bucket-${randomBytes(6).toString('hex')}`;
  await createGcsBucket(endpoint, bucket);
  const common = { bucket, endpoint, insecure: true };
  const metadata = { name: 'export-store', namespace };
  const credentials = credentialsOfKeyFile(serviceAccountKey);
  if (!credentials) throw new Error('the key of the emulator is not valid');
  return {
    destination: { gcs: { ...common, credentialsSecretRef: { name: metadata.name } } },
    flags: [],
    manifests: [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { serviceAccountKey, endpoint } }],
    settings: (of) => ({ kind: 'gcs', settings: { ...common, credentials, root: bucketRoot('', of) } }),
    remove: () => {},
  };
}

/** Stops the object stores used by this test file. */
export async function stopStores(): Promise<void> {
  await (await gateway)?.stop();
  await (await gcsServer)?.stop();
  gateway = undefined;
  gcsServer = undefined;
}

export function exportManifest(place: ExportPlace, namespace = 'logging', spec: ExportSpecPart = {}): object {
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExport',
    metadata: { name: 'audit', namespace },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      query: '*',
      timeRange: { from: logs.from, to: logs.to },
      destination: place.destination,
      ...spec,
    },
  };
}

/** Checks that the exported files contain every message exactly once, and that there are no other files. */
export async function expectExported(
  place: Pick<ExportPlace, 'settings'>,
  fingerprint: string,
  namespace = 'logging',
): Promise<void> {
  const ports = { clock: systemClock, writer: await Writer.ours(systemRandom), environment: {} };
  const destination = await openDestination(place.settings(namespace), ports);
  try {
    const layout = ExportLayout.of('audit', fingerprint);
    const { differences, rows, incomplete, manifest } = await verifyExport(destination, layout);
    expect(differences).toEqual([]);
    expect({ rows, incomplete, complete: manifest.complete }).toEqual({
      rows: logs.messages,
      incomplete: [],
      complete: true,
    });
    const names = manifest.intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name)));
    const ids = (await Promise.all(names.map((name) => messageIds(destination, name)))).flat();
    expect(new Set(ids).size).toBe(logs.messages);
    expect(await destination.abortLeftovers(layout.folder, 'all')).toBe(0);
  } finally {
    await destination.close();
  }
}

async function messageIds(destination: Destination, name: string): Promise<readonly string[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of destination.stream(name)) pieces.push(Uint8Array.from(piece));
  const text = gunzipSync(Buffer.concat(pieces)).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { readonly _messageid: string })._messageid);
}
