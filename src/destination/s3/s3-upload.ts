/**
 * Upload of one data file to an object store. A small file is sent with a single request. A large file is sent in parts: each part is sent
 * while the next one is filled.
 *
 * The header `If-None-Match` prevents overwriting. If the answer to the first attempt was lost, the second attempt may find the object that
 * the first created. A unique value in the object's metadata shows that the object belongs to this upload.
 *
 * Invariant: a buffer is reused only when the SDK has finished with it, whether the upload of its part succeeded or not.
 */
import {
  AbortMultipartUploadCommand,
  type AbortMultipartUploadCommandInput,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { LogfleetError } from '../../base/errors.ts';
import type { FileUpload } from '../destination.ts';
import { destinationError, nameTaken } from '../destination-error.ts';
import type { Writer } from '../writer.ts';
import { type PartBuffers, partBytes } from './part-buffers.ts';
import { httpStatus, isAbsent, isTaken, s3Error } from './s3-error.ts';

const maxParts = 10_000;
/** Name of the metadata entry that shows which upload created an object. */
const markName = 'logfleet-upload';

export interface S3Place {
  readonly Bucket: string;
  readonly Key: string;
}

export interface S3UploadOptions {
  readonly client: S3Client;
  readonly place: S3Place;
  /** Encryption and storage class of the object. */
  readonly objectOptions: Partial<PutObjectCommandInput>;
  readonly buffers: PartBuffers;
  /** Unique value in the object's metadata, by which this upload recognizes the object that it created. */
  readonly mark: string;
  readonly writer: Writer;
}

export class S3Upload implements FileUpload {
  readonly #options: S3UploadOptions;
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
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      // A full part is sent only when more data follows. The last part may be smaller than the others, and a small file is sent without
      // parts.
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
    // The upload is aborted only after all requests for its parts have ended. Otherwise the store would keep and bill a part that arrives
    // after the abort.
    await Promise.all(this.#sending);
    this.#releaseBuffer();
    const { client, place, mark, writer } = this.#options;
    try {
      if (this.#uploadId !== undefined) await abortMultipart(client, { ...place, UploadId: this.#uploadId });
      // The object may exist although the request that creates it has failed.
      if (this.#finishTried && (await hasMark(client, place, mark))) await client.send(new DeleteObjectCommand(place));
    } catch (cause) {
      writer.abandon(place.Key);
      throw s3Error(`remove the upload of ${this.#shown}`, cause);
    }
    this.#ended = true;
  }

  async #putWhole(): Promise<void> {
    const { client, objectOptions, place, mark } = this.#options;
    await this.#makeVisible(() =>
      client.send(
        new PutObjectCommand({
          ...objectOptions,
          ...place,
          Body: this.#buffer?.subarray(0, this.#filledBytes) ?? new Uint8Array(),
          ContentLength: this.#filledBytes,
          ChecksumAlgorithm: 'CRC32',
          IfNoneMatch: '*',
          Metadata: { [markName]: mark },
        }),
      ),
    );
  }

  async #complete(UploadId: string): Promise<void> {
    const { client, place } = this.#options;
    const input = { ...place, UploadId, MultipartUpload: { Parts: this.#parts }, IfNoneMatch: '*' };
    await this.#makeVisible(() => client.send(new CompleteMultipartUploadCommand(input)));
  }

  /** Sends the request that makes the object visible. If an object that this upload created already exists, the call succeeds. */
  async #makeVisible(send: () => Promise<unknown>): Promise<void> {
    this.#finishTried = true;
    try {
      await send();
    } catch (cause) {
      const { client, place, mark } = this.#options;
      const status = httpStatus(cause);
      // The store may have created the object although its answer is missing or unclear. Checking the existing object costs far less than
      // searching the interval again.
      const mayExist = isTaken(cause) || isAbsent(cause) || status === undefined || status >= 500;
      if (mayExist && (await hasMark(client, place, mark).catch(() => false))) return;
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
    const { client, objectOptions, place, mark } = this.#options;
    const input = { ...objectOptions, ...place, ChecksumAlgorithm: 'CRC32', Metadata: { [markName]: mark } } as const;
    try {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(input));
      if (UploadId === undefined) throw new Error('the store gave no id for the upload');
      this.#uploadId = UploadId;
      return UploadId;
    } catch (cause) {
      throw s3Error(`write ${this.#shown}`, cause);
    }
  }

  /** Uploads one part of the file. The promise never rejects; instead, the next call on this upload throws the error. */
  async #uploadPart(UploadId: string, PartNumber: number, Body: Uint8Array): Promise<void> {
    const { client, place } = this.#options;
    const content = { UploadId, PartNumber, Body, ContentLength: Body.length };
    const command = new UploadPartCommand({ ...place, ...content, ChecksumAlgorithm: 'CRC32' });
    try {
      const { ETag, ChecksumCRC32 } = await client.send(command, { abortSignal: this.#stop.signal });
      this.#parts[PartNumber - 1] = { PartNumber, ETag, ChecksumCRC32 };
    } catch (cause) {
      this.#failure ??= s3Error(`write ${this.#shown}`, cause);
    }
  }

  get #shown(): string {
    const { Bucket, Key } = this.#options.place;
    return `${Key} in the bucket ${Bucket}`;
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

/** Aborts a multipart upload. Returns false if the upload did not exist any more. Errors of the SDK are thrown unchanged. */
export async function abortMultipart(client: S3Client, input: AbortMultipartUploadCommandInput): Promise<boolean> {
  try {
    await client.send(new AbortMultipartUploadCommand(input));
    return true;
  } catch (cause) {
    if (isAbsent(cause)) return false;
    throw cause;
  }
}

/** Returns whether the existing object was created by this upload. */
async function hasMark(client: S3Client, place: S3Place, mark: string): Promise<boolean> {
  try {
    const { Metadata } = await client.send(new HeadObjectCommand(place));
    return Metadata?.[markName] === mark;
  } catch (cause) {
    if (isAbsent(cause)) return false;
    throw cause;
  }
}

function tooManyParts(shown: string): LogfleetError {
  return destinationError('invalid', `${shown} would have more than ${maxParts} parts: lower maxPartSize`);
}
