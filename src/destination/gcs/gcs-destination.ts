/** Destination in a bucket of Google Cloud Storage. Import this module lazily, because it loads Google's library for tokens. */
import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import type { Environment } from '../../base/proxy-environment.ts';
import {
  type Destination,
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
import { GcsClient } from './gcs-client.ts';
import { gcsError, httpStatus, isBrokenOff, isRetained, isTaken, mayPass } from './gcs-error.ts';
import { checkSettings, type GcsSettings } from './gcs-settings.ts';
import { GcsUpload, insertPath, objectPath, unlessTaken } from './gcs-upload.ts';

/** Maximum number of objects in an answer to a listing, as the store limits it. */
const pageSize = 1_000;

export interface GcsOptions {
  readonly settings: GcsSettings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly writer: Writer;
}

interface Page {
  readonly items?: readonly { readonly name: string; readonly size?: string }[];
  readonly nextPageToken?: string;
}

export class GcsDestination implements Destination {
  readonly url: string;
  readonly #settings: GcsSettings;
  readonly #client: GcsClient;
  readonly #writer: Writer;
  readonly #buffers = new PartBuffers();
  readonly #lockedFiles = new Set<string>();

  /** Opens the destination without sending a request. Throws an error for wrong settings or an invalid key. */
  constructor({ settings, environment, clock, writer }: GcsOptions) {
    checkSettings(settings);
    this.#settings = settings;
    this.#client = new GcsClient({ settings, environment, clock });
    this.#writer = writer;
    this.url = [`gs://${settings.bucket}`, ...folderSegments(settings.root)].join('/');
  }

  get lockedFiles(): ReadonlySet<string> {
    return this.#lockedFiles;
  }

  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined> {
    return readObject(this.stream(name), name, mostBytes);
  }

  async create(name: string, content: Uint8Array, mostBytes = largestObjectBytes): Promise<'created' | 'exists'> {
    const key = this.#key(name);
    if (content.length > mostBytes) throw tooLarge(name, String(content.length), mostBytes);
    const query = `uploadType=media&name=${encodeURIComponent(key)}&${unlessTaken}`;
    try {
      await this.#client.send({
        method: 'POST',
        path: `${insertPath(this.#settings.bucket)}?${query}`,
        headers: { 'content-type': 'application/octet-stream' },
        body: content,
      });
      return 'created';
    } catch (cause) {
      if (isTaken(cause)) return 'exists';
      // A store that rejects a request may close the connection before it has read the whole body, so this error can mean that the object
      // exists.
      if (isBrokenOff(cause) && (await this.#exists(key).catch(() => false))) return 'exists';
      throw this.#error('write', name, cause);
    }
  }

  async open(name: string): Promise<FileUpload> {
    const { bucket } = this.#settings;
    const requests = new GcsUpload({
      client: this.#client,
      bucket,
      key: this.#key(name),
      mark: this.#writer.newToken(),
    });
    return new PartedUpload({ requests, buffers: this.#buffers, writer: this.#writer });
  }

  /** Reads an object as a stream. Continues a broken download where it ended, unless the object has changed. */
  async *stream(name: string): AsyncIterable<Uint8Array> {
    const path = `${objectPath(this.#settings.bucket, this.#key(name))}?alt=media`;
    let version = '';
    for (let offset = 0; ; ) {
      const before = offset;
      try {
        const range = offset === 0 ? {} : { range: `bytes=${offset}-` };
        const { headers, body } = await this.#client.begin({
          method: 'GET',
          path: `${path}${version}`,
          headers: range,
        });
        const generation = headers['x-goog-generation'];
        if (typeof generation === 'string') version = `&generation=${generation}`;
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          offset += chunk.length;
          yield chunk;
        }
        return;
      } catch (cause) {
        if (httpStatus(cause) === 404) throw await this.#absent(name, cause);
        if (offset === before || !mayPass(cause)) throw this.#error('read', name, cause);
      }
    }
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const rootLength = this.#prefix('').length;
    let next: string | undefined = '';
    do {
      const page: Page = await this.#page(folder, pageSize, next).catch((cause) => {
        throw this.#error('list', folder, cause);
      });
      for (const { name, size } of page.items ?? []) {
        // Names that end with a slash are folders that other programs created, not files of an export.
        if (!name.endsWith('/')) yield { name: name.slice(rootLength), bytes: Number(size) };
      }
      next = page.nextPageToken;
    } while (next);
  }

  async remove(name: string): Promise<void> {
    if (this.#lockedFiles.has(name)) return;
    try {
      await this.#client.send({ method: 'DELETE', path: objectPath(this.#settings.bucket, this.#key(name)) });
    } catch (cause) {
      if (isRetained(cause)) this.#lockedFiles.add(name);
      else if (httpStatus(cause) === 404) await this.#absent(name, cause);
      else throw this.#error('remove', name, cause);
    }
  }

  /** Removes nothing, because the store cannot list unfinished uploads and removes them itself after a week (E15). */
  async abortLeftovers(folder: string, _: LeftoverChoice): Promise<number> {
    folderSegments(folder);
    return 0;
  }

  async close(): Promise<void> {
    await this.#client.close();
    this.#buffers.clear();
  }

  async #exists(key: string): Promise<boolean> {
    await this.#client.send({ method: 'GET', path: `${objectPath(this.#settings.bucket, key)}?fields=name` });
    return true;
  }

  async #page(folder: string, maxResults: number, pageToken: string): Promise<Page> {
    const query = new URLSearchParams({
      prefix: this.#prefix(folder),
      maxResults: String(maxResults),
      fields: 'items(name,size),nextPageToken',
      ...(pageToken === '' ? {} : { pageToken }),
    });
    const path = `/storage/v1/b/${encodeURIComponent(this.#settings.bucket)}/o?${query}`;
    const { text } = await this.#client.send({ method: 'GET', path });
    return JSON.parse(text) as Page;
  }

  /** Returns the error for a missing object. If the whole bucket is missing, throws the error of the bucket. */
  async #absent(name: string, cause: unknown): Promise<LogfleetError> {
    await this.#page('', 1, '').catch((problem) => {
      throw this.#error('read', name, problem);
    });
    return destinationError('absent', `cannot read ${name} in ${this.url}: it does not exist`, cause);
  }

  #key(name: string): string {
    return objectKey(this.#settings.root, name);
  }

  #prefix(folder: string): string {
    return keyPrefix(this.#settings.root, folder);
  }

  #error(act: string, name: string, cause: unknown): LogfleetError {
    return gcsError(`${act} ${name === '' ? '' : `${name} in `}${this.url}`, cause);
  }
}
