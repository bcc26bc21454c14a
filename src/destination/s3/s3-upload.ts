/**
 * Upload of one data file to an object store. A small file is sent with a single request. A large file is sent in parts; each part is sent
 * while the next one is filled.
 *
 * `If-None-Match` prevents overwriting. After a lost answer, a second attempt can find the object of the first. A unique value in the
 * object's metadata then shows that it belongs to this upload.
 *
 * Invariant: a buffer is reused only when the SDK has finished with it, whether its part succeeded or not.
 */
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { LogfleetError } from '../../base/errors.ts';
import type { FileUpload } from '../destination.ts';
import { destinationError, nameTaken } from '../destination-error.ts';
import type { LeftUpload, LeftUploads } from './left-uploads.ts';
import { type PartBuffers, partBytes } from './part-buffers.ts';
import { httpStatus, isAbsent, isTaken, s3Error } from './s3-error.ts';
import { hasMark, markName, takeBack } from './take-back.ts';

const maxParts = 10_000;

export interface S3UploadOptions {
  readonly client: S3Client;
  /** Address of the store, as in `LeftUpload`. */
  readonly store: string;
  readonly bucket: string;
  readonly key: string;
  /** Encryption and storage class of the object. */
  readonly objectOptions: Partial<PutObjectCommandInput>;
  readonly buffers: PartBuffers;
  /** Unique value in the object's metadata that identifies this upload. */
  readonly mark: string;
  /** List of uploads of this process that must still be removed. This upload is added if its removal fails. */
  readonly left: LeftUploads;
}

export class S3Upload implements FileUpload {
  readonly #options: S3UploadOptions;
  readonly #place: { readonly Bucket: string; readonly Key: string };
  readonly #parts: CompletedPart[] = [];
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #buffer: Buffer | undefined;
  #filledBytes = 0;
  #uploadId: string | undefined;
  #partCount = 0;
  #failure: LogfleetError | undefined;
  #finishTried = false;
  #ended = false;

  constructor(options: S3UploadOptions) {
    this.#options = options;
    this.#place = { Bucket: options.bucket, Key: options.key };
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      // A full part is sent only when more data follows: the last part may be smaller, and a small file needs no parts.
      if (this.#filledBytes === partBytes) await this.#sendPart();
      this.#buffer ??= this.#options.buffers.take();
      const taken = chunk.subarray(offset, offset + partBytes - this.#filledBytes);
      this.#buffer.set(taken, this.#filledBytes);
      this.#filledBytes += taken.length;
      offset += taken.length;
    }
    this.#throwFailure();
  }

  async finish(): Promise<void> {
    this.#throwFailure();
    if (this.#uploadId === undefined) await this.#putWhole();
    else {
      if (this.#filledBytes > 0) await this.#sendPart();
      await Promise.all(this.#sending);
      this.#throwFailure();
      await this.#complete(this.#uploadId);
    }
    this.#ended = true;
    this.#releaseBuffer();
  }

  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#stop.abort();
    // All requests for parts must end before the upload is aborted. The store would keep and bill a part that arrives after the abort.
    await Promise.all(this.#sending);
    this.#releaseBuffer();
    const { client, left, store, bucket, key, mark } = this.#options;
    const upload: LeftUpload = {
      ...{ store, bucket, key, uploadId: this.#uploadId },
      mark: this.#finishTried ? mark : undefined,
    };
    try {
      await takeBack(client, upload);
    } catch (cause) {
      left.add(upload);
      throw s3Error(`take back ${this.#shown}`, cause);
    }
    left.remove(upload);
    this.#ended = true;
  }

  async #putWhole(): Promise<void> {
    const { objectOptions, mark } = this.#options;
    this.#finishTried = true;
    await this.#makeVisible(
      new PutObjectCommand({
        ...objectOptions,
        ...this.#place,
        Body: this.#buffer?.subarray(0, this.#filledBytes) ?? new Uint8Array(),
        ContentLength: this.#filledBytes,
        ChecksumAlgorithm: 'CRC32',
        IfNoneMatch: '*',
        Metadata: { [markName]: mark },
      }),
    );
  }

  async #complete(UploadId: string): Promise<void> {
    const Parts = this.#parts.toSorted((left, right) => (left.PartNumber ?? 0) - (right.PartNumber ?? 0));
    this.#finishTried = true;
    await this.#makeVisible(
      new CompleteMultipartUploadCommand({ ...this.#place, UploadId, MultipartUpload: { Parts }, IfNoneMatch: '*' }),
    );
  }

  /** Sends the command that makes the object visible. An existing object of this upload counts as success. */
  async #makeVisible(command: PutObjectCommand | CompleteMultipartUploadCommand): Promise<void> {
    try {
      if (command instanceof PutObjectCommand) await this.#options.client.send(command);
      else await this.#options.client.send(command);
    } catch (cause) {
      const { client, mark } = this.#options;
      const status = httpStatus(cause);
      // The store may have created the object although its answer is missing or unclear. Checking that costs far less than searching the
      // interval again.
      const mayStand = isTaken(cause) || isAbsent(cause) || status === undefined || status >= 500;
      if (mayStand && (await hasMark(client, this.#place, mark).catch(() => false))) return;
      if (isTaken(cause)) throw nameTaken(this.#shown);
      throw s3Error(`write ${this.#shown}`, cause);
    }
  }

  async #sendPart(): Promise<void> {
    this.#throwFailure();
    const buffer = this.#buffer;
    if (!buffer) return;
    const uploadId = this.#uploadId ?? (await this.#begin());
    if (this.#partCount === maxParts) throw tooManyParts(this.#shown);
    await this.#options.buffers.maySend();
    const content = buffer.subarray(0, this.#filledBytes);
    this.#buffer = undefined;
    this.#filledBytes = 0;
    const sending = this.#uploadPart(uploadId, ++this.#partCount, content).finally(() => {
      this.#options.buffers.giveBack(buffer);
      this.#options.buffers.sent();
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
  }

  async #begin(): Promise<string> {
    const { client, objectOptions, mark } = this.#options;
    try {
      const { UploadId } = await client.send(
        new CreateMultipartUploadCommand({
          ...objectOptions,
          ...this.#place,
          ChecksumAlgorithm: 'CRC32',
          Metadata: { [markName]: mark },
        }),
      );
      if (UploadId === undefined) throw new Error('the store gave no id for the upload');
      this.#uploadId = UploadId;
      return UploadId;
    } catch (cause) {
      throw s3Error(`write ${this.#shown}`, cause);
    }
  }

  /** Uploads one part of the file. The promise never rejects: the next call of the upload reports the failure. */
  async #uploadPart(UploadId: string, PartNumber: number, Body: Uint8Array): Promise<void> {
    try {
      const content = { UploadId, PartNumber, Body, ContentLength: Body.length };
      const { ETag, ChecksumCRC32 } = await this.#options.client.send(
        new UploadPartCommand({ ...this.#place, ...content, ChecksumAlgorithm: 'CRC32' }),
        { abortSignal: this.#stop.signal },
      );
      this.#parts.push({
        PartNumber,
        ...(ETag === undefined ? {} : { ETag }),
        ...(ChecksumCRC32 === undefined ? {} : { ChecksumCRC32 }),
      });
    } catch (cause) {
      this.#failure ??= s3Error(`write ${this.#shown}`, cause);
    }
  }

  get #shown(): string {
    return `${this.#options.key} in the bucket ${this.#options.bucket}`;
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }

  #releaseBuffer(): void {
    if (this.#buffer) this.#options.buffers.giveBack(this.#buffer);
    this.#buffer = undefined;
    this.#filledBytes = 0;
  }
}

function tooManyParts(shown: string): LogfleetError {
  return destinationError('invalid', `${shown} would have more than ${maxParts} parts: lower maxPartSize`);
}
