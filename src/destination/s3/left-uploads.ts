/**
 * Uploads of this process that were given up and could not be taken back, as while the store was away or credentials had expired. They
 * would stay, and be billed, as long as the process lives (E15): whoever speaks to the same store next takes them back, by whatever
 * credentials.
 */

/** An upload as everybody can take it back (`take-back.ts`). */
export interface LeftUpload {
  /** The address of the store; empty where that is Amazon's. */
  readonly store: string;
  readonly bucket: string;
  readonly key: string;
  /** Undefined where it was never more than one put. */
  readonly uploadId: string | undefined;
  /** What is in the metadata of its object, where that may stand. */
  readonly mark: string | undefined;
}

export class LeftUploads {
  readonly #uploads = new Map<string, LeftUpload>();

  add(upload: LeftUpload): void {
    this.#uploads.set(idOf(upload), upload);
  }

  remove(upload: LeftUpload): void {
    this.#uploads.delete(idOf(upload));
  }

  /** `prefix` is of keys. */
  below({ store, bucket }: Pick<LeftUpload, 'store' | 'bucket'>, prefix: string): readonly LeftUpload[] {
    return [...this.#uploads.values()].filter(
      (upload) => upload.store === store && upload.bucket === bucket && upload.key.startsWith(prefix),
    );
  }
}

function idOf({ store, bucket, key, uploadId }: LeftUpload): string {
  return JSON.stringify([store, bucket, key, uploadId]);
}
