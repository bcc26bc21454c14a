/**
 * Uploads a data file to an object store, in parts if the file is large. Never overwrites an object. If the store's
 * response is lost, a unique value in the object's metadata shows whether this upload created the object.
 */
import type { LogfleetError } from '../../base/errors.ts';
import type { FileUpload } from './destination.ts';
import { destinationError, nameTaken } from './destination-error.ts';
import { type PartBuffers, partBytes } from './part-buffers.ts';
import type { StoreErrors } from './store-error.ts';
import type { Writer } from './writer.ts';

/** Name of the metadata entry that shows which upload created an object. */
export const markName = 'logfleet-upload';

/**
 * The requests that an upload sends to one kind of object store. If a request fails, the method throws the error of the
 * store's client.
 */
export interface UploadRequests {
  /** Name of the object in its bucket or container. */
  readonly key: string;
  /** Name of the object as shown in messages. */
  readonly shown: string;
  readonly maxParts: number;
  /** Creates the object with its complete content, unless the object exists. */
  putWhole(content: Uint8Array): Promise<unknown>;
  /**
   * True if the store accepts parts only one after another. In that case, the upload of the last part completes the
   * object.
   */
  readonly isSequential: boolean;
  /** Begins an upload in parts. */
  begin(): Promise<void>;
  /** Sends a part. Parts are numbered from 1. */
  sendPart(number: number, content: Uint8Array, stop: AbortSignal): Promise<void>;
  /**
   * Creates the object from its uploaded parts, unless the object exists. If `isSequential` is true, `last` contains
   * the last part; otherwise, it is empty.
   */
  complete(last: Uint8Array): Promise<unknown>;
  /** Removes the parts of an unfinished upload. */
  removeParts(): Promise<unknown>;
  /** Reports whether this upload created the existing object. */
  hasMark(): Promise<boolean>;
  /** Reports whether the store may have created the object, even though the request failed with this error. */
  mayExist(cause: unknown): boolean;
}

interface PartedUploadOptions {
  readonly requests: UploadRequests;
  /** Removes the object, unless the store keeps it locked. */
  readonly remove: () => Promise<void>;
  readonly errors: StoreErrors;
  readonly buffers: PartBuffers;
  readonly writer: Writer;
}

export class PartedUpload implements FileUpload {
  readonly #requests: UploadRequests;
  readonly #remove: () => Promise<void>;
  readonly #errors: StoreErrors;
  readonly #buffers: PartBuffers;
  readonly #writer: Writer;
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #buffer: Buffer | undefined;
  #filledBytes = 0;
  #hasBegun = false;
  #partCount = 0;
  #failure: LogfleetError | undefined;
  #finishTried = false;
  #ended = false;

  constructor({ requests, remove, errors, buffers, writer }: PartedUploadOptions) {
    this.#requests = requests;
    this.#remove = remove;
    this.#errors = errors;
    this.#buffers = buffers;
    this.#writer = writer;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.length; ) {
      // A full part is sent only when more data follows, so a file that fits into one part needs only a single request.
      if (this.#filledBytes === partBytes) await this.#sendPart();
      this.#buffer ??= this.#buffers.take();
      const taken = chunk.subarray(offset, offset + partBytes - this.#filledBytes);
      this.#buffer.set(taken, this.#filledBytes);
      this.#filledBytes += taken.length;
      offset += taken.length;
    }
    this.#throwFailure();
  }

  async finish(): Promise<void> {
    this.#throwFailure();
    if (this.#hasBegun) {
      if (!this.#requests.isSequential) await this.#sendPart();
      await Promise.all(this.#sending);
      this.#throwFailure();
      await this.#makeVisible(() => this.#requests.complete(this.#filled));
    } else {
      await this.#makeVisible(() => this.#requests.putWhole(this.#filled));
    }
    this.#ended = true;
    this.#releaseBuffer();
  }

  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#stop.abort();
    // Waits for running requests, because a part that arrives after the abort would be stored and billed.
    await Promise.all(this.#sending);
    this.#releaseBuffer();
    const { key, shown } = this.#requests;
    try {
      if (this.#hasBegun) await this.#requests.removeParts();
      // If the response to the last request was lost, the store may have created the object.
      if (this.#finishTried && (await this.#requests.hasMark())) await this.#remove();
    } catch (cause) {
      this.#writer.abandon(key);
      throw this.#errors.error(`remove the upload of ${shown}`, cause);
    }
    this.#ended = true;
  }

  /** Sends the request that makes the object visible. Also succeeds if this upload has already created the object. */
  async #makeVisible(send: () => Promise<unknown>): Promise<void> {
    this.#finishTried = true;
    try {
      await send();
    } catch (cause) {
      // After a failed request, the object's metadata shows whether this upload created the object.
      const { shown } = this.#requests;
      if (this.#requests.mayExist(cause) && (await this.#isOurs(cause))) return;
      if (this.#errors.isTaken(cause)) throw nameTaken(shown);
      throw this.#errors.error(`write ${shown}`, cause);
    }
  }

  /** Returns true if this upload created the existing object. Throws an error if this cannot be determined. */
  async #isOurs(cause: unknown): Promise<boolean> {
    try {
      return await this.#requests.hasMark();
    } catch (problem) {
      if (this.#errors.isTaken(cause)) throw this.#errors.error(`write ${this.#requests.shown}`, problem);
      return false;
    }
  }

  async #sendPart(): Promise<void> {
    this.#throwFailure();
    const buffer = this.#buffer;
    if (!buffer) return;
    if (!this.#hasBegun) await this.#begin();
    const { maxParts, shown, isSequential } = this.#requests;
    if (this.#partCount === maxParts) {
      throw destinationError(
        'invalid',
        `the upload of ${shown} would have more than ${maxParts} parts: create another export with a smaller maxPartSize`,
      );
    }
    if (isSequential) {
      await Promise.all(this.#sending);
      this.#throwFailure();
    }
    await this.#buffers.maySend();
    const content = this.#filled;
    this.#buffer = undefined;
    this.#filledBytes = 0;
    const sending = this.#upload(++this.#partCount, content).finally(() => {
      this.#buffers.giveBack(buffer);
      this.#buffers.sent();
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
  }

  async #begin(): Promise<void> {
    try {
      await this.#requests.begin();
      this.#hasBegun = true;
    } catch (cause) {
      const { shown } = this.#requests;
      throw this.#errors.isTaken(cause) ? nameTaken(shown) : this.#errors.error(`write ${shown}`, cause);
    }
  }

  /** Uploads one part. Never rejects: if the upload fails, the next method call on this object throws. */
  async #upload(number: number, content: Uint8Array): Promise<void> {
    try {
      await this.#requests.sendPart(number, content, this.#stop.signal);
    } catch (cause) {
      this.#failure ??= this.#errors.error(`write ${this.#requests.shown}`, cause);
    }
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Bytes that have not yet been sent. */
  get #filled(): Uint8Array {
    return this.#buffer?.subarray(0, this.#filledBytes) ?? new Uint8Array();
  }

  #releaseBuffer(): void {
    if (this.#buffer) this.#buffers.giveBack(this.#buffer);
    this.#buffer = undefined;
    this.#filledBytes = 0;
  }
}
