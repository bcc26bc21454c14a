/** Base class for S3, Azure Blob Storage and Google Cloud Storage. */
import type { LogfleetError } from '../../base/errors.ts';
import type {
  Destination,
  DestinationPorts,
  FileLifetime,
  FileUpload,
  LeftoverChoice,
  ListedObject,
} from './destination.ts';
import { folderSegments, keyPrefix, objectKey } from './object-name.ts';
import { PartBuffers } from './part-buffers.ts';
import { PartedUpload, type UploadRequests } from './parted-upload.ts';
import { readObject } from './read-object.ts';
import type { StoreErrors } from './store-error.ts';

export interface ObjectStoreOptions<S> extends DestinationPorts {
  readonly settings: S;
}

export abstract class ObjectStore<S extends { readonly root: string }> implements Destination {
  readonly url: string;
  readonly lockedFiles: Set<string> = new Set();
  protected readonly options: ObjectStoreOptions<S>;
  readonly #errors: StoreErrors;
  readonly #buffers = new PartBuffers();

  /** `address` is the bucket's or container's address as shown in messages. */
  protected constructor(options: ObjectStoreOptions<S>, address: string, errors: StoreErrors) {
    this.options = options;
    this.#errors = errors;
    this.url = [address, ...folderSegments(options.settings.root)].join('/');
  }

  abstract create(name: string, content: Uint8Array): Promise<'created' | 'exists'>;
  abstract stream(name: string): AsyncIterable<Uint8Array>;
  /** Removes an object. If the store refuses because the object is locked, adds its name to `lockedFiles`. */
  protected abstract delete(name: string): Promise<void>;
  /** Creates the requests for an upload. `mark` is a unique value that identifies the upload. */
  protected abstract upload(name: string, mark: string, lifetime: FileLifetime): UploadRequests;
  /** Lists the objects whose keys have this prefix. */
  protected abstract objects(prefix: string): AsyncIterable<{ readonly key: string; readonly bytes: number }>;
  protected abstract abortUploads(folder: string, choice: LeftoverChoice): Promise<number>;
  protected abstract disconnect(): void | Promise<void>;

  read(name: string, maxBytes?: number): Promise<Uint8Array | undefined> {
    return readObject(this.stream(name), name, maxBytes);
  }

  async open(name: string, lifetime: FileLifetime = 'permanent'): Promise<FileUpload> {
    const { writer } = this.options;
    const requests = this.upload(name, writer.newToken(), lifetime);
    const remove = () => this.remove(name);
    return new PartedUpload({ requests, remove, errors: this.#errors, buffers: this.#buffers, writer });
  }

  async remove(name: string): Promise<void> {
    if (this.lockedFiles.has(name)) return;
    try {
      await this.delete(name);
    } catch (cause) {
      throw this.error('remove', name, cause);
    }
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const rootLength = this.prefix('').length;
    for await (const { key, bytes } of this.listing(folder, this.objects(this.prefix(folder)))) {
      // A key that ends with a slash is a folder, not a file of the export.
      if (!key.endsWith('/')) yield { name: key.slice(rootLength), bytes };
    }
  }

  async abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number> {
    try {
      return await this.abortUploads(folder, choice);
    } catch (cause) {
      throw this.error('look for unfinished uploads in', folder, cause);
    }
  }

  async close(): Promise<void> {
    await this.disconnect();
    this.#buffers.clear();
  }

  /** Lists objects, and converts store errors into user-facing errors. */
  protected async *listing<T>(folder: string, objects: AsyncIterable<T>): AsyncIterable<T> {
    try {
      yield* objects;
    } catch (cause) {
      throw this.error('list', folder, cause);
    }
  }

  /**
   * Handles a failed request to create an object. Returns `exists` if the object exists. Otherwise, throws the error.
   * After a lost connection, checks whether the object exists, because a store may reject a request by closing the
   * connection.
   */
  protected async afterFailedPut(name: string, cause: unknown, exists: () => Promise<boolean>): Promise<'exists'> {
    if (this.#errors.isTaken(cause)) return 'exists';
    if (this.#errors.isBrokenOff(cause) && (await exists().catch(() => false))) return 'exists';
    throw this.error('write', name, cause);
  }

  protected key(name: string): string {
    return objectKey(this.options.settings.root, name);
  }

  protected prefix(folder: string): string {
    return keyPrefix(this.options.settings.root, folder);
  }

  protected error(act: string, name: string, cause: unknown): LogfleetError {
    return this.#errors.error(`${act} ${name === '' ? '' : `${name} in `}${this.url}`, cause);
  }
}
