/** Creates destinations for tests, and lists a destination's objects without using logfleet. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { SecretText } from '../../src/base/secret-text.ts';
import { credentialsOfKeyFile } from '../../src/destination/gcs/gcs-settings.ts';
import { type DestinationSettings, openDestination } from '../../src/destination/open-destination.ts';
import type { Destination, DestinationPorts } from '../../src/destination/store/destination.ts';
import { Writer } from '../../src/destination/store/writer.ts';
import type { AzuriteAccess } from '../support/azurite.ts';
import { createGcsBucket, type FakeGcsServerAccess } from '../support/fake-gcs-server.ts';
import type { S3GatewayAccess } from '../support/s3-gateway.ts';

/** Address of a destination that another process can open. */
export type PlaceData =
  | { readonly kind: 'volume'; readonly directory: string; readonly root: string }
  | {
      readonly kind: 's3';
      readonly bucket: string;
      readonly root: string;
      readonly endpoint: string;
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
    }
  | ({ readonly kind: 'azureBlob'; readonly container: string; readonly root: string } & AzuriteAccess)
  | ({ readonly kind: 'gcs'; readonly bucket: string; readonly root: string } & FakeGcsServerAccess);

export interface StorePlace {
  readonly data: PlaceData;
  /** Returns the paths of all files, including unfinished uploads. */
  files(): readonly string[] | Promise<readonly string[]>;
  remove(): void | Promise<void>;
}

export interface FolderPlace extends StorePlace {
  files(): readonly string[];
  remove(): void;
}

let buckets = 0;

export function makeVolume(parent = tmpdir()): FolderPlace {
  const directory = mkdtempSync(join(parent, 'logfleet-volume-'));
  return {
    data: { kind: 'volume', directory, root: 'logging/audit' },
    files: () => filesBelow(directory),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** The S3 gateway treats each folder as a bucket. */
export function makeBucket({ content, ...access }: S3GatewayAccess): FolderPlace {
  const bucket = `bucket-${process.pid}-${buckets++}`;
  const directory = join(content, bucket);
  mkdirSync(directory);
  return {
    data: { kind: 's3', bucket, root: 'audit/logging', ...access },
    files: () => filesBelow(directory),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export async function makeContainer(access: AzuriteAccess): Promise<StorePlace> {
  // The Azure library is imported only here. Child processes that do not use Azure therefore start without it.
  const { BlobServiceClient, StorageSharedKeyCredential } = await import('@azure/storage-blob');
  const credential = new StorageSharedKeyCredential(access.accountName, access.accountKey);
  const container = `container-${process.pid}-${buckets++}`;
  const client = new BlobServiceClient(access.endpoint, credential).getContainerClient(container);
  await client.create();
  return {
    data: { kind: 'azureBlob', container, root: 'audit/logging', ...access },
    async files() {
      const names: string[] = [];
      for await (const { name } of client.listBlobsFlat({ includeUncommitedBlobs: true })) names.push(name);
      return names.sort();
    },
    async remove() {
      await client.delete();
    },
  };
}

/** Creates a Google Cloud Storage bucket. Its object list does not contain unfinished uploads. */
export async function makeGcsBucket(access: FakeGcsServerAccess): Promise<StorePlace> {
  const bucket = `bucket-${process.pid}-${buckets++}`;
  const send = async (path: string, options: RequestInit = {}) => {
    const response = await fetch(`${access.endpoint}/storage/v1/b${path}`, options);
    if (!response.ok) throw new Error(`${path} returned ${response.status}`);
    return (await response.json().catch(() => undefined)) as { readonly items?: readonly { readonly name: string }[] };
  };
  const files = async () => ((await send(`/${bucket}/o?maxResults=10000`)).items ?? []).map(({ name }) => name).sort();
  await createGcsBucket(access.endpoint, bucket);
  return {
    data: { kind: 'gcs', bucket, root: 'audit/logging', ...access },
    files,
    async remove() {
      for (const name of await files()) await send(`/${bucket}/o/${encodeURIComponent(name)}`, { method: 'DELETE' });
      await send(`/${bucket}`, { method: 'DELETE' });
    },
  };
}

export async function openPlace(data: PlaceData): Promise<Destination> {
  return openDestination(settingsOf(data), await systemPorts());
}

/**
 * Returns the real clock, a writer identity, and no environment variables, so that the machine's variables have no
 * effect.
 */
export async function systemPorts(): Promise<DestinationPorts> {
  return { clock: systemClock, writer: await Writer.ours(systemRandom), environment: {} };
}

export function settingsOf(data: PlaceData): DestinationSettings {
  if (data.kind === 'volume') return data;
  if (data.kind === 'azureBlob') {
    const { container, root, endpoint, accountName, accountKey } = data;
    const credentials = { kind: 'key', accountName, accountKey: new SecretText(accountKey) } as const;
    return { kind: 'azureBlob', settings: { endpoint, container, root, credentials, insecure: true } };
  }
  if (data.kind === 'gcs') {
    const { bucket, root, endpoint, serviceAccountKey } = data;
    const credentials = credentialsOfKeyFile(serviceAccountKey);
    if (!credentials) throw new Error('the key of the emulator is not valid');
    return { kind: 'gcs', settings: { bucket, root, endpoint, credentials, insecure: true } };
  }
  const { bucket, root, endpoint, accessKeyId, secretAccessKey } = data;
  const credentials = { accessKeyId, secretAccessKey: new SecretText(secretAccessKey) };
  return { kind: 's3', settings: { bucket, root, endpoint, credentials, forcePathStyle: true, insecure: true } };
}

function filesBelow(directory: string): readonly string[] {
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return entries.filter((entry) => !statSync(join(directory, entry), { throwIfNoEntry: false })?.isDirectory()).sort();
}
