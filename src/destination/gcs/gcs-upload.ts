/**
 * Uploads a file to Google Cloud Storage, either in one request or in chunks through an upload session. The store
 * removes unfinished sessions after a week.
 */
import type { JsonObject } from '../../base/record.ts';
import { markName, type UploadRequests } from '../store/parted-upload.ts';
import { type GcsClient, type GcsResponse, sessionIncomplete } from './gcs-client.ts';
import { GcsError, gcsErrors, gcsHttpStatus, isRetained, sessionError } from './gcs-error.ts';

/** Query parameter that prevents the store from overwriting an existing object. */
export const unlessObjectExists = 'ifGenerationMatch=0';

const contentType = 'application/octet-stream';
/** HTTP status that confirms the cancellation of an upload session. */
const sessionCancelled = 499;

interface GcsUploadOptions {
  readonly client: GcsClient;
  readonly bucket: string;
  readonly key: string;
  /** Unique value in the object's metadata that identifies this upload. */
  readonly mark: string;
}

export class GcsUpload implements UploadRequests {
  readonly maxParts = Number.POSITIVE_INFINITY;
  readonly isSequential = true;
  readonly key: string;
  readonly #options: GcsUploadOptions;
  /** Path and query of the upload session's URL. */
  #session = '';
  #storedBytes = 0;
  /** Size of the file in bytes. Undefined until the last chunk is sent. */
  #totalBytes: number | undefined;

  constructor(options: GcsUploadOptions) {
    this.key = options.key;
    this.#options = options;
  }

  get shown(): string {
    return `${this.key} in the bucket ${this.#options.bucket}`;
  }

  putWhole(content: Uint8Array): Promise<GcsResponse> {
    // `mark` separates the parts of the multipart request. It is random, so it does not occur in the file.
    const boundary = this.#options.mark;
    const parts = [
      `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${this.#metadata}\r\n`,
      `--${boundary}\r\ncontent-type: ${contentType}\r\n\r\n`,
      content,
      `\r\n--${boundary}--\r\n`,
    ];
    return this.#options.client.send({
      method: 'POST',
      path: `${insertPath(this.#options.bucket)}?uploadType=multipart&${unlessObjectExists}`,
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))),
    });
  }

  async begin(): Promise<void> {
    const { headers } = await this.#options.client.send({
      method: 'POST',
      path: `${insertPath(this.#options.bucket)}?uploadType=resumable&${unlessObjectExists}`,
      headers: { 'content-type': 'application/json; charset=UTF-8', 'x-upload-content-type': contentType },
      body: Buffer.from(this.#metadata),
    });
    const { pathname, search } = new URL(String(headers['location']));
    this.#session = `${pathname}${search}`;
  }

  async sendPart(_: number, content: Uint8Array, stop: AbortSignal): Promise<void> {
    await this.#send(content, '*', stop);
  }

  async complete(last: Uint8Array): Promise<void> {
    this.#totalBytes = this.#storedBytes + last.length;
    await this.#send(last, this.#totalBytes);
  }

  async removeParts(): Promise<void> {
    // If no size is expected, `hasMark` ignores the size of the object. Therefore, an object of the wrong size is
    // removed too.
    this.#totalBytes = undefined;
    try {
      await this.#options.client.send({ method: 'DELETE', path: this.#session });
    } catch (cause) {
      if (gcsHttpStatus(cause) !== sessionCancelled && !isGone(cause)) throw cause;
    }
  }

  async hasMark(): Promise<boolean> {
    try {
      const path = `${gcsObjectPath(this.#options.bucket, this.key)}?fields=metadata,size`;
      const { text } = await this.#options.client.send({ method: 'GET', path });
      const { metadata } = JSON.parse(text) as { readonly metadata?: JsonObject };
      return metadata?.[markName] === this.#options.mark && this.#isWhole(text);
    } catch (cause) {
      if (gcsHttpStatus(cause) === 404) return false;
      throw cause;
    }
  }

  mayExist(cause: unknown): boolean {
    return gcsErrors.mayHaveCreated(cause) || isRetained(cause) || isGone(cause);
  }

  /**
   * Sends the next bytes of the file. If the store accepts only some of these bytes, sends the remaining bytes in
   * another request.
   */
  async #send(content: Uint8Array, totalBytes: number | '*', stop?: AbortSignal): Promise<void> {
    const start = this.#storedBytes;
    const end = start + content.length;
    while (this.#storedBytes < end) {
      const { status, headers, text } = await this.#options.client
        .send({
          method: 'PUT',
          path: this.#session,
          headers: { 'content-range': `bytes ${this.#storedBytes}-${end - 1}/${totalBytes}` },
          body: content.subarray(this.#storedBytes - start),
          ...(stop && { stop }),
        })
        .catch((cause: unknown) => {
          throw cause instanceof GcsError && isGone(cause) ? sessionError(cause) : cause;
        });
      if (status !== sessionIncomplete && !this.#isWhole(text)) throw wrongSize();
      const storedBytes = status === sessionIncomplete ? storedBytesOf(headers['range']) : end;
      if (storedBytes <= this.#storedBytes || storedBytes > end) throw unexpected(storedBytes);
      this.#storedBytes = storedBytes;
      if (storedBytes === end && totalBytes !== '*' && status === sessionIncomplete) throw unexpected(storedBytes);
    }
  }

  /**
   * Returns true if the store has the whole file. Returns false if the size in the store's response differs from the
   * file size.
   */
  #isWhole(text: string): boolean {
    const [, size] = /"size":\s*"(\d+)"/.exec(text) ?? [];
    return this.#totalBytes === undefined || size === undefined || Number(size) === this.#totalBytes;
  }

  get #metadata(): string {
    return JSON.stringify({ name: this.key, contentType, metadata: { [markName]: this.#options.mark } });
  }
}

/** Returns the URL path for creating objects in a bucket. */
export function insertPath(bucket: string): string {
  return `/upload/storage/v1/b/${encodeURIComponent(bucket)}/o`;
}

/** Returns the URL path for requests about one object. */
export function gcsObjectPath(bucket: string, key: string): string {
  return `/storage/v1/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(key)}`;
}

/** Reads the number of stored bytes from a `Range` header such as `bytes=0-1023`. */
function storedBytesOf(range: unknown): number {
  const [, last] = /^bytes=0-(\d+)$/.exec(String(range ?? '')) ?? [];
  return last === undefined ? 0 : Number(last) + 1;
}

function isGone(cause: unknown): boolean {
  return gcsHttpStatus(cause) === 404 || gcsHttpStatus(cause) === 410;
}

/**
 * Returns the error for an unexpected number of stored bytes. Its status is 503, which makes the caller retry the
 * upload.
 */
function unexpected(storedBytes: number): GcsError {
  return new GcsError(
    'UploadIncomplete',
    `the store reports ${storedBytes} stored bytes for the upload, but logfleet sent a different number`,
    503,
  );
}

/**
 * Returns the error for a stored object of the wrong size. Its status is 409, which makes the caller retry the upload.
 */
function wrongSize(): GcsError {
  return new GcsError(
    'UploadIncomplete',
    'the size of the object in the store differs from the size of the uploaded file',
    409,
  );
}
