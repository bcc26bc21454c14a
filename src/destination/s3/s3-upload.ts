/** Uploads a file to an S3 store, either in one request or as a multipart upload. Never overwrites an object. */
import {
  AbortMultipartUploadCommand,
  type AbortMultipartUploadCommandInput,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { markName, type UploadRequests } from '../store/parted-upload.ts';
import { isObjectAbsent, s3Errors, s3HttpStatus } from './s3-error.ts';

export interface S3Place {
  readonly Bucket: string;
  readonly Key: string;
}

interface S3UploadOptions {
  readonly client: S3Client;
  readonly place: S3Place;
  readonly objectOptions: Partial<PutObjectCommandInput>;
  /** Unique value in the object's metadata that identifies this upload. */
  readonly mark: string;
}

export class S3Upload implements UploadRequests {
  readonly maxParts = 10_000;
  readonly isSequential = false;
  readonly #options: S3UploadOptions;
  readonly #parts: CompletedPart[] = [];
  #uploadId: string | undefined;

  constructor(options: S3UploadOptions) {
    this.#options = options;
  }

  get key(): string {
    return this.#options.place.Key;
  }

  get shown(): string {
    const { Bucket, Key } = this.#options.place;
    return `${Key} in the bucket ${Bucket}`;
  }

  async putWhole(Body: Uint8Array): Promise<void> {
    const { client, objectOptions, place, mark } = this.#options;
    await client.send(
      new PutObjectCommand({
        ...objectOptions,
        ...place,
        Body,
        ContentLength: Body.length,
        ChecksumAlgorithm: 'SHA256',
        IfNoneMatch: '*',
        Metadata: { [markName]: mark },
      }),
    );
  }

  async begin(): Promise<void> {
    const { client, objectOptions, place, mark } = this.#options;
    const input = { ...objectOptions, ...place, ChecksumAlgorithm: 'SHA256', Metadata: { [markName]: mark } } as const;
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(input));
    if (UploadId === undefined) throw new Error('the store returned no id for the upload');
    this.#uploadId = UploadId;
  }

  async sendPart(PartNumber: number, Body: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    const { client, place } = this.#options;
    const content = { UploadId: this.#uploadId, PartNumber, Body, ContentLength: Body.length };
    const command = new UploadPartCommand({ ...place, ...content, ChecksumAlgorithm: 'SHA256' });
    const { ETag, ChecksumSHA256 } = await client.send(command, { abortSignal });
    this.#parts[PartNumber - 1] = { PartNumber, ETag, ChecksumSHA256 };
  }

  async complete(): Promise<void> {
    const { client, place } = this.#options;
    const parts = { UploadId: this.#uploadId, MultipartUpload: { Parts: this.#parts } };
    await client.send(new CompleteMultipartUploadCommand({ ...place, ...parts, IfNoneMatch: '*' }));
  }

  async removeParts(): Promise<void> {
    const { client, place } = this.#options;
    await abortMultipart(client, { ...place, UploadId: this.#uploadId });
  }

  async hasMark(): Promise<boolean> {
    const { client, place, mark } = this.#options;
    try {
      const { Metadata } = await client.send(new HeadObjectCommand(place));
      return Metadata?.[markName] === mark;
    } catch (cause) {
      if (isObjectAbsent(cause)) return false;
      throw cause;
    }
  }

  mayExist(cause: unknown): boolean {
    // Status 403 can mean that the object exists and is locked. In that case, an earlier request created the object,
    // but the response was lost.
    return s3Errors.mayHaveCreated(cause) || isObjectAbsent(cause) || s3HttpStatus(cause) === 403;
  }
}

/** Aborts a multipart upload. Returns false if the upload does not exist. */
export async function abortMultipart(client: S3Client, input: AbortMultipartUploadCommandInput): Promise<boolean> {
  try {
    await client.send(new AbortMultipartUploadCommand(input));
    return true;
  } catch (cause) {
    if (isObjectAbsent(cause)) return false;
    throw cause;
  }
}
