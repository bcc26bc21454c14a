/**
 * Destination in an object store: Amazon S3, or a compatible store that supports the header `If-None-Match`.
 *
 * A store that ignores this header would overwrite objects. As a test, logfleet therefore creates its first object twice. If the store
 * accepts the second request, logfleet writes nothing more.
 *
 * Import this module lazily, because it loads the SDK.
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  type StorageClass,
} from '@aws-sdk/client-s3';
import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import {
  type Destination,
  type FileLifetime,
  type FileUpload,
  type LeftoverChoice,
  type ListedObject,
  largestObjectBytes,
} from '../destination.ts';
import { destinationError, tooLarge } from '../destination-error.ts';
import { folderSegments, keyPrefix, objectKey } from '../object-name.ts';
import { PartBuffers } from '../part-buffers.ts';
import { PartedUpload } from '../parted-upload.ts';
import { readObject } from '../read-object.ts';
import type { Writer } from '../writer.ts';
import { abortUploads } from './running-uploads.ts';
import { createClient, type Environment } from './s3-client.ts';
import { errorCode, httpStatus, isAbsent, isBrokenOff, isTaken, s3Error } from './s3-error.ts';
import { checkSettings, type S3Settings } from './s3-settings.ts';
import { type S3Place, S3Upload } from './s3-upload.ts';

/** Maximum number of attempts of an upload that conflicts with a concurrent upload (HTTP status 409), and of a broken download. */
const maxTries = 4;
const nothing = new Uint8Array();
const dayMs = 86_400_000;

export interface S3Options {
  readonly settings: S3Settings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly writer: Writer;
}

export class S3Destination implements Destination {
  readonly url: string;
  readonly #settings: S3Settings;
  readonly #client: S3Client;
  readonly #clock: Clock;
  readonly #writer: Writer;
  readonly #buffers = new PartBuffers();
  readonly #lockedFiles = new Set<string>();
  #respectsCondition = false;

  /** Opens the destination without sending a request. Throws `destination.invalid` or `destination.name` for wrong settings. */
  constructor({ settings, environment, clock, writer }: S3Options) {
    checkSettings(settings);
    this.#settings = settings;
    this.#client = createClient(settings, environment);
    this.#clock = clock;
    this.#writer = writer;
    this.url = `s3://${[settings.bucket, ...folderSegments(settings.root)].join('/')}`;
  }

  get lockedFiles(): ReadonlySet<string> {
    return this.#lockedFiles;
  }

  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined> {
    return readObject(this.stream(name), name, mostBytes);
  }

  async create(name: string, content: Uint8Array, mostBytes = largestObjectBytes): Promise<'created' | 'exists'> {
    if (content.length > mostBytes) throw tooLarge(name, String(content.length), mostBytes);
    const outcome = await this.#putOnce(name, content);
    const isUnproven = outcome !== 'refused' && !this.#respectsCondition;
    if (isUnproven && (await this.#putOnce(name, nothing)) === 'created') {
      // The store overwrites objects although the request forbids it, so the empty test object may have replaced the first object. The
      // object is now useless and is removed.
      await this.remove(name).catch(() => {});
      const what = `the store of ${this.url} overwrites existing objects although the request forbids it (If-None-Match)`;
      throw destinationError(
        'unsupported',
        `${what}: rows could be exported twice or lost; use another store, or a volume`,
      );
    }
    this.#respectsCondition = true;
    return outcome === 'created' ? 'created' : 'exists';
  }

  /**
   * Creates an object unless one of this name exists. Returns `refused` if the store answered that the object exists (HTTP status 412).
   * Returns `found` if the connection ended without an answer and the object exists, because a store that rejects a request may close the
   * connection before it has read the whole body.
   */
  async #putOnce(name: string, content: Uint8Array): Promise<'created' | 'refused' | 'found'> {
    const options = { ...this.#encryption, ...this.#retention, ChecksumAlgorithm: 'SHA256' } as const;
    const input = { ...this.#at(name), ...options, Body: content, ContentLength: content.length };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#client.send(new PutObjectCommand({ ...input, IfNoneMatch: '*' }));
        return 'created';
      } catch (cause) {
        if (isTaken(cause)) return 'refused';
        // If the object exists and is locked, a store may refuse the request because of the lock (403), and not with status 412.
        if (httpStatus(cause) === 403 && (await this.#isLocked(name))) return 'refused';
        if (content.length > 0 && isBrokenOff(cause) && (await this.#exists(name))) return 'found';
        if (httpStatus(cause) !== 409 || attempt === maxTries) throw this.#error('write', name, cause);
      }
    }
  }

  /** Returns whether the object exists, or false if the request fails. */
  async #exists(name: string): Promise<boolean> {
    try {
      await this.#client.send(new HeadObjectCommand(this.#at(name)));
      return true;
    } catch {
      return false;
    }
  }

  async open(name: string, lifetime: FileLifetime = 'permanent'): Promise<FileUpload> {
    const StorageClass = this.#settings.storageClass as StorageClass | undefined;
    const retention = lifetime === 'permanent' ? this.#retention : {};
    const requests = new S3Upload({
      client: this.#client,
      place: this.#at(name),
      objectOptions: { ...this.#encryption, ...retention, StorageClass },
      mark: this.#writer.newToken(),
      remove: () => this.remove(name),
    });
    return new PartedUpload({ requests, buffers: this.#buffers, writer: this.#writer });
  }

  /** Reads an object as a stream. Continues a broken download where it ended, unless the object has changed. */
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
        // If the store's answer has no length, the object is complete when its body ends without an error.
        if (total === undefined || offset === total) return;
        throw Object.assign(new Error(`${total - offset} bytes are missing`), { code: 'ECONNRESET' });
      } catch (cause) {
        if (offset > before) attempt = 1;
        const mayPass =
          httpStatus(cause) === undefined && offset > 0 && errorCode(cause) !== 'CredentialsProviderError';
        if (!mayPass || attempt >= maxTries) throw this.#error('read', name, cause);
      }
    }
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const rootLength = this.#prefix('').length;
    const input = { Bucket: this.#settings.bucket, Prefix: this.#prefix(folder) };
    let ContinuationToken: string | undefined;
    do {
      const page = await this.#client.send(new ListObjectsV2Command({ ...input, ContinuationToken })).catch((cause) => {
        throw this.#error('list', folder, cause);
      });
      for (const { Key = '', Size = 0 } of page.Contents ?? []) {
        // Keys that end with a slash are folders that other programs created, not files of an export.
        if (!Key.endsWith('/')) yield { name: Key.slice(rootLength), bytes: Size };
      }
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  /**
   * Removes an object. The content of a locked object stays: in a bucket with versions, only its name disappears, and in other buckets the
   * store refuses the request.
   */
  async remove(name: string): Promise<void> {
    if (this.#lockedFiles.has(name)) return;
    try {
      if (this.#settings.objectLock && (await this.#isLocked(name))) this.#lockedFiles.add(name);
      await this.#client.send(new DeleteObjectCommand(this.#at(name)));
    } catch (cause) {
      if (isAbsent(cause)) return;
      // The object may be locked although the export's spec has no `objectLock`, because the bucket can have a rule for locks.
      if (!(await this.#isLocked(name))) throw this.#error('remove', name, cause);
      this.#lockedFiles.add(name);
    }
  }

  /** Returns whether a retention or a legal hold locks the object, or false if the request fails. */
  async #isLocked(name: string): Promise<boolean> {
    try {
      const found = await this.#client.send(new HeadObjectCommand(this.#at(name)));
      const untilMs = found.ObjectLockRetainUntilDate?.getTime() ?? 0;
      return untilMs > this.#clock.now() || found.ObjectLockLegalHoldStatus === 'ON';
    } catch {
      return false;
    }
  }

  async abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number> {
    const owner = { client: this.#client, bucket: this.#settings.bucket, clock: this.#clock, writer: this.#writer };
    try {
      return await abortUploads(owner, this.#prefix(folder), choice);
    } catch (cause) {
      throw this.#error('look for unfinished uploads in', folder, cause);
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
    this.#buffers.clear();
  }

  #at(name: string): S3Place {
    return { Bucket: this.#settings.bucket, Key: objectKey(this.#settings.root, name) };
  }

  #prefix(folder: string): string {
    return keyPrefix(this.#settings.root, folder);
  }

  get #encryption() {
    const { type, kmsKeyID } = this.#settings.serverSideEncryption ?? {};
    return { ServerSideEncryption: type, SSEKMSKeyId: kmsKeyID };
  }

  /** Retention for an object that is uploaded now. It ends the configured number of days from now. */
  get #retention(): Partial<PutObjectCommandInput> {
    const { objectLock } = this.#settings;
    if (!objectLock) return {};
    const { mode, retainUntilDays } = objectLock;
    return {
      ObjectLockMode: mode === 'Compliance' ? 'COMPLIANCE' : 'GOVERNANCE',
      ObjectLockRetainUntilDate: new Date(this.#clock.now() + retainUntilDays * dayMs),
    };
  }

  #error(act: string, name: string, cause: unknown): LogfleetError {
    return s3Error(`${act} ${name === '' ? '' : `${name} in `}${this.url}`, cause);
  }
}
