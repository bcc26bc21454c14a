/**
 * Stores files in Amazon S3 or a compatible store that supports the header `If-None-Match`.
 *
 * A store that ignores this header would overwrite existing objects. To detect such a store, logfleet creates its first
 * object twice, and stops if both requests succeed.
 *
 * Import this module lazily, because it loads the SDK.
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  type StorageClass,
} from '@aws-sdk/client-s3';
import { dayMs } from '../../base/time-units.ts';
import type { FileLifetime, LeftoverChoice } from '../store/destination.ts';
import { destinationError } from '../store/destination-error.ts';
import { ObjectStore, type ObjectStoreOptions } from '../store/object-store.ts';
import { abortUploads } from './running-uploads.ts';
import { createClient } from './s3-client.ts';
import { isObjectAbsent, s3ErrorCode, s3Errors, s3HttpStatus } from './s3-error.ts';
import { checkS3Settings, type S3Settings } from './s3-settings.ts';
import { type S3Place, S3Upload } from './s3-upload.ts';

/**
 * Maximum number of attempts for an upload that conflicts (HTTP status 409), or for a download that is interrupted
 * without progress.
 */
const maxTries = 4;
const nothing = new Uint8Array();

export class S3Destination extends ObjectStore<S3Settings> {
  readonly #client: S3Client;
  #respectsCondition = false;

  /**
   * Opens the destination without sending a request. Throws `destination.name` if the folder name is invalid, and
   * `destination.invalid` for other wrong settings.
   */
  constructor(options: ObjectStoreOptions<S3Settings>) {
    checkS3Settings(options.settings);
    super(options, `s3://${options.settings.bucket}`, s3Errors);
    this.#client = createClient(options.settings, options.environment);
  }

  async create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
    const result = await this.#putOnce(name, content);
    const isUnproven = result !== 'refused' && !this.#respectsCondition;
    if (isUnproven && (await this.#putOnce(name, nothing)) === 'created') {
      // The store accepted a second, empty object with the same name, so it may have overwritten the first object. The
      // stored object is removed.
      await this.remove(name).catch(() => {});
      const what = `the store at ${this.url} overwrites existing objects, although the request forbids it (If-None-Match)`;
      throw destinationError(
        'unsupported',
        `${what}: logfleet could lose rows in this store or export them twice; use another store, or a volume`,
      );
    }
    this.#respectsCondition = true;
    return result === 'created' ? 'created' : 'exists';
  }

  /**
   * Creates an object. Returns `refused` if the store responds that the object already exists. Returns `found` if the
   * connection was lost, but the object exists.
   */
  async #putOnce(name: string, content: Uint8Array): Promise<'created' | 'refused' | 'found'> {
    const options = { ...this.#encryption, ...this.#retention, ChecksumAlgorithm: 'SHA256' } as const;
    const input = { ...this.#at(name), ...options, Body: content, ContentLength: content.length };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#client.send(new PutObjectCommand({ ...input, IfNoneMatch: '*' }));
        return 'created';
      } catch (cause) {
        if (s3Errors.isTaken(cause)) return 'refused';
        // If the existing object is locked, a store may respond with status 403 instead of 412.
        if (s3HttpStatus(cause) === 403 && (await this.#isLocked(name))) return 'refused';
        if (content.length > 0 && s3Errors.isBrokenOff(cause) && (await this.#exists(name))) return 'found';
        if (s3HttpStatus(cause) !== 409 || attempt === maxTries) throw this.error('write', name, cause);
      }
    }
  }

  /** Reports whether the object exists. Also returns false if the request fails. */
  async #exists(name: string): Promise<boolean> {
    try {
      await this.#client.send(new HeadObjectCommand(this.#at(name)));
      return true;
    } catch {
      return false;
    }
  }

  protected upload(name: string, mark: string, lifetime: FileLifetime): S3Upload {
    const StorageClass = this.options.settings.storageClass as StorageClass | undefined;
    const retention = lifetime === 'permanent' ? this.#retention : {};
    return new S3Upload({
      client: this.#client,
      place: this.#at(name),
      objectOptions: { ...this.#encryption, ...retention, StorageClass },
      mark,
    });
  }

  /**
   * Reads an object as a stream. If the connection is lost, resumes at the first missing byte, unless the object has
   * changed.
   */
  async *stream(name: string): AsyncIterable<Uint8Array> {
    let offset = 0;
    let etag: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const before = offset;
      try {
        const range = offset === 0 ? {} : { Range: `bytes=${offset}-`, IfMatch: etag };
        const { Body, ETag, ContentLength } = await this.#client.send(
          new GetObjectCommand({ ...this.#at(name), ...range }),
        );
        etag ??= ETag;
        const total = ContentLength === undefined ? undefined : offset + ContentLength;
        for await (const chunk of (Body ?? []) as AsyncIterable<Uint8Array>) {
          offset += chunk.length;
          yield chunk;
        }
        // If the store does not state a length, the object is complete when the body ends.
        if (total === undefined || offset === total) return;
        throw Object.assign(new Error(`${total - offset} bytes are missing`), { code: 'ECONNRESET' });
      } catch (cause) {
        if (offset > before) attempt = 1;
        const mayPass =
          s3HttpStatus(cause) === undefined && offset > 0 && s3ErrorCode(cause) !== 'CredentialsProviderError';
        if (!mayPass || attempt >= maxTries) throw this.error('read', name, cause);
      }
    }
  }

  protected async *objects(Prefix: string) {
    const input = { Bucket: this.options.settings.bucket, Prefix };
    let ContinuationToken: string | undefined;
    do {
      const page: ListObjectsV2CommandOutput = await this.#client.send(
        new ListObjectsV2Command({ ...input, ContinuationToken }),
      );
      for (const { Key = '', Size = 0 } of page.Contents ?? []) yield { key: Key, bytes: Size };
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  /** Removes an object. If the object is locked, the store keeps its content. */
  protected async delete(name: string): Promise<void> {
    try {
      if (this.options.settings.objectLock && (await this.#isLocked(name))) this.lockedFiles.add(name);
      await this.#client.send(new DeleteObjectCommand(this.#at(name)));
    } catch (cause) {
      if (isObjectAbsent(cause)) return;
      // The request may have failed because a rule of the bucket locks the object. In that case, the failure is
      // ignored.
      if (!(await this.#isLocked(name))) throw cause;
      this.lockedFiles.add(name);
    }
  }

  /** Reports whether a retention policy or a legal hold locks the object. Also returns false if the request fails. */
  async #isLocked(name: string): Promise<boolean> {
    try {
      const found = await this.#client.send(new HeadObjectCommand(this.#at(name)));
      const untilMs = found.ObjectLockRetainUntilDate?.getTime() ?? 0;
      return untilMs > this.options.clock.now() || found.ObjectLockLegalHoldStatus === 'ON';
    } catch {
      return false;
    }
  }

  protected abortUploads(folder: string, choice: LeftoverChoice): Promise<number> {
    const { settings, clock, writer } = this.options;
    return abortUploads({ client: this.#client, bucket: settings.bucket, clock, writer }, this.prefix(folder), choice);
  }

  protected disconnect(): void {
    this.#client.destroy();
  }

  #at(name: string): S3Place {
    return { Bucket: this.options.settings.bucket, Key: this.key(name) };
  }

  get #encryption() {
    const { type, kmsKeyID } = this.options.settings.serverSideEncryption ?? {};
    return { ServerSideEncryption: type, SSEKMSKeyId: kmsKeyID };
  }

  /** Retention settings for an object that is about to be uploaded. */
  get #retention(): Partial<PutObjectCommandInput> {
    const { objectLock } = this.options.settings;
    if (!objectLock) return {};
    const { mode, retainUntilDays } = objectLock;
    return {
      ObjectLockMode: mode === 'Compliance' ? 'COMPLIANCE' : 'GOVERNANCE',
      ObjectLockRetainUntilDate: new Date(this.options.clock.now() + retainUntilDays * dayMs),
    };
  }
}
