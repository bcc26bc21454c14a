/** Stores files in a Google Cloud Storage bucket. Import this module lazily, because it loads Google's library. */
import type { LogfleetError } from '../../base/errors.ts';
import { destinationError } from '../store/destination-error.ts';
import { ObjectStore, type ObjectStoreOptions } from '../store/object-store.ts';
import { GcsClient } from './gcs-client.ts';
import { gcsErrors, gcsHttpStatus, isRetained, isTransient } from './gcs-error.ts';
import { checkGcsSettings, type GcsSettings } from './gcs-settings.ts';
import { GcsUpload, gcsObjectPath, insertPath, unlessObjectExists } from './gcs-upload.ts';

/** Maximum number of objects per page of a listing. The store sets this limit. */
const pageSize = 1_000;

interface ObjectPage {
  readonly items?: readonly { readonly name: string; readonly size?: string }[];
  readonly nextPageToken?: string;
}

export class GcsDestination extends ObjectStore<GcsSettings> {
  readonly #client: GcsClient;

  /** Opens the destination without sending a request. Throws if the settings are wrong or the key is invalid. */
  constructor(options: ObjectStoreOptions<GcsSettings>) {
    checkGcsSettings(options.settings);
    super(options, `gs://${options.settings.bucket}`, gcsErrors);
    this.#client = new GcsClient(options);
  }

  /**
   * Reads an object as a stream. If the connection is lost, resumes at the first missing byte, unless the object has
   * changed.
   */
  async *stream(name: string): AsyncIterable<Uint8Array> {
    const path = `${gcsObjectPath(this.options.settings.bucket, this.key(name))}?alt=media`;
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
        if (gcsHttpStatus(cause) === 404) throw await this.#absent(name, cause);
        if (offset === before || !isTransient(cause)) throw this.error('read', name, cause);
      }
    }
  }

  protected async delete(name: string): Promise<void> {
    try {
      await this.#client.send({ method: 'DELETE', path: gcsObjectPath(this.options.settings.bucket, this.key(name)) });
    } catch (cause) {
      if (isRetained(cause)) this.lockedFiles.add(name);
      else if (gcsHttpStatus(cause) === 404) await this.#absent(name, cause);
      else throw cause;
    }
  }

  async create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
    const key = this.key(name);
    const query = `uploadType=media&name=${encodeURIComponent(key)}&${unlessObjectExists}`;
    try {
      await this.#client.send({
        method: 'POST',
        path: `${insertPath(this.options.settings.bucket)}?${query}`,
        headers: { 'content-type': 'application/octet-stream' },
        body: content,
      });
      return 'created';
    } catch (cause) {
      return this.afterFailedPut(name, cause, () => this.#exists(key));
    }
  }

  protected upload(name: string, mark: string): GcsUpload {
    return new GcsUpload({ client: this.#client, bucket: this.options.settings.bucket, key: this.key(name), mark });
  }

  protected async *objects(prefix: string) {
    let next: string | undefined = '';
    do {
      const page: ObjectPage = await this.#page(prefix, pageSize, next);
      for (const { name, size } of page.items ?? []) yield { key: name, bytes: Number(size) };
      next = page.nextPageToken;
    } while (next);
  }

  /** Does nothing, because Google Cloud Storage itself removes unfinished uploads after a week (E15). */
  protected async abortUploads(folder: string): Promise<number> {
    this.prefix(folder);
    return 0;
  }

  protected disconnect(): Promise<void> {
    return this.#client.close();
  }

  async #exists(key: string): Promise<boolean> {
    await this.#client.send({ method: 'GET', path: `${gcsObjectPath(this.options.settings.bucket, key)}?fields=name` });
    return true;
  }

  async #page(prefix: string, maxResults: number, pageToken: string): Promise<ObjectPage> {
    const query = new URLSearchParams({
      prefix,
      maxResults: String(maxResults),
      fields: 'items(name,size),nextPageToken',
      ...(pageToken === '' ? {} : { pageToken }),
    });
    const path = `/storage/v1/b/${encodeURIComponent(this.options.settings.bucket)}/o?${query}`;
    const { text } = await this.#client.send({ method: 'GET', path });
    return JSON.parse(text) as ObjectPage;
  }

  /** Returns the error to report for a missing object. Throws if the bucket itself is missing. */
  async #absent(name: string, cause: unknown): Promise<LogfleetError> {
    await this.#page(this.prefix(''), 1, '').catch((problem) => {
      throw this.error('read', name, problem);
    });
    return destinationError('absent', `cannot read ${name} in ${this.url}: it does not exist`, cause);
  }
}
