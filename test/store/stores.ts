/**
 * The destinations covered by the store tests. Each entry states how a test creates the destination, and how it differs
 * from the other destinations.
 */
import { inject } from 'vitest';
import { makeBucket, makeContainer, makeGcsBucket, makeVolume, type StorePlace } from './place.ts';

export interface StoreKind {
  /** Creates a new, empty destination of this kind. */
  readonly make: () => StorePlace | Promise<StorePlace>;
  /** Pattern for the destination's address in user-facing messages. */
  readonly url: RegExp;
  /**
   * Size in bytes at which the store starts to list an unfinished upload. Infinity if the store never lists unfinished
   * uploads.
   */
  readonly unseenBytes: number;
}

export const stores = {
  volume: { make: () => makeVolume(), url: /^file:\/\/\/.*\/logging\/audit$/, unseenBytes: 0 },
  // S3 lists an unfinished upload as soon as its first part is complete.
  s3: {
    make: () => makeBucket(inject('s3Gateway')),
    url: /^s3:\/\/bucket-\S+\/audit\/logging$/,
    unseenBytes: 5 * 1024 * 1024,
  },
  // The client sends data to Azure in blocks of 5 MiB, so an unfinished upload is listed once its first block is
  // complete.
  azureBlob: {
    make: () => makeContainer(inject('azurite')),
    url: /^http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1\/container-\S+\/audit\/logging$/,
    unseenBytes: 5 * 1024 * 1024,
  },
  gcs: {
    make: () => makeGcsBucket(inject('fakeGcsServer')),
    url: /^gs:\/\/bucket-\S+\/audit\/logging$/,
    unseenBytes: Number.POSITIVE_INFINITY,
  },
} satisfies Record<string, StoreKind>;

/** Reads all items. */
export async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

export type StoreName = keyof typeof stores;
export const storeNames = Object.keys(stores) as readonly StoreName[];
