/**
 * Abandoned uploads of this process that could not be removed, for example because the store was unavailable or credentials had
 * expired. They would be billed as long as the process lives (E15). The next destination on the same store removes them with its
 * own credentials.
 */

/** Data needed to remove an upload (`take-back.ts`). */
export interface LeftUpload {
  /** Address of the object store; empty for Amazon S3. */
  readonly store: string;
  readonly bucket: string;
  readonly key: string;
  /** Id of a multipart upload; undefined if the file was sent with a single request. */
  readonly uploadId: string | undefined;
  /** Unique value in the metadata of the object, if the object may exist. */
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

  /** Uploads that could not be removed and whose keys have this prefix. */
  below({ store, bucket }: Pick<LeftUpload, 'store' | 'bucket'>, prefix: string): readonly LeftUpload[] {
    return [...this.#uploads.values()].filter(
      (upload) => upload.store === store && upload.bucket === bucket && upload.key.startsWith(prefix),
    );
  }
}

function idOf({ store, bucket, key, uploadId }: LeftUpload): string {
  return JSON.stringify([store, bucket, key, uploadId]);
}
