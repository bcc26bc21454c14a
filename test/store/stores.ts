/** Kinds of destinations that the suites of this folder test, and what differs between them. A new kind is one more entry. */
import { inject } from 'vitest';
import { makeBucket, makeContainer, makeGcsBucket, makeVolume, type Place } from './place.ts';

export interface StoreKind {
  /** Creates a new, empty destination. */
  readonly make: () => Place | Promise<Place>;
  /** Form of the destination's address as shown to users. */
  readonly url: RegExp;
  /**
   * Size in bytes up to which an upload leaves nothing at the store when its process is killed. Infinite for a store that does not list
   * unfinished uploads and removes them itself.
   */
  readonly unseenBytes: number;
}

export const stores = {
  volume: { make: () => makeVolume(), url: /^file:\/\/\/.*\/logging\/audit$/, unseenBytes: 0 },
  // Logfleet creates the upload in an S3 store when the first part of the file is full.
  s3: {
    make: () => makeBucket(inject('s3Gateway')),
    url: /^s3:\/\/bucket-\S+\/audit\/logging$/,
    unseenBytes: 5 * 1024 * 1024,
  },
  // Logfleet sends the first block to Azure when it is full.
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

export type StoreName = keyof typeof stores;
export const storeNames = Object.keys(stores) as readonly StoreName[];
