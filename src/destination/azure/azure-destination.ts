/** Destination in a container of Azure Blob Storage. Import this module lazily, because it loads the SDK. */
import type { BlobItem, BlockBlobClient } from '@azure/storage-blob';
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
import { tooLarge } from '../destination-error.ts';
import { folderSegments, keyPrefix, objectKey } from '../object-name.ts';
import { PartBuffers } from '../part-buffers.ts';
import { PartedUpload } from '../parted-upload.ts';
import { readObject } from '../read-object.ts';
import type { Writer } from '../writer.ts';
import { type AzureConnection, connect } from './azure-client.ts';
import { azureError, isAbsent, isBrokenOff, isTaken } from './azure-error.ts';
import { type AzureSettings, checkSettings, serviceAddress } from './azure-settings.ts';
import { AzureUpload, discardBlocks, unlessTaken } from './azure-upload.ts';

/** Maximum number of times that a broken download is continued. */
const maxRetryRequests = 4;
/** Maximum time in ms between two chunks of a download. */
const silenceTimeoutMs = 60_000;

export interface AzureOptions {
  readonly settings: AzureSettings;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly writer: Writer;
}

export class AzureDestination implements Destination {
  readonly url: string;
  readonly #settings: AzureSettings;
  readonly #connection: AzureConnection;
  readonly #clock: Clock;
  readonly #writer: Writer;
  readonly #buffers = new PartBuffers();

  /** Opens the destination without sending a request. Throws `destination.invalid` or `destination.name` for wrong settings. */
  static async open(options: AzureOptions): Promise<AzureDestination> {
    checkSettings(options.settings);
    return new AzureDestination(options, await connect(options.settings, options.environment));
  }

  private constructor({ settings, clock, writer }: AzureOptions, connection: AzureConnection) {
    this.#settings = settings;
    this.#connection = connection;
    this.#clock = clock;
    this.#writer = writer;
    this.url = [serviceAddress(settings), settings.container, ...folderSegments(settings.root)].join('/');
  }

  read(name: string, mostBytes?: number): Promise<Uint8Array | undefined> {
    return readObject(this.stream(name), name, mostBytes);
  }

  async create(name: string, content: Uint8Array, mostBytes = largestObjectBytes): Promise<'created' | 'exists'> {
    if (content.length > mostBytes) throw tooLarge(name, String(content.length), mostBytes);
    const blob = this.#blob(name);
    try {
      await blob.upload(content, content.length, { conditions: unlessTaken });
      return 'created';
    } catch (cause) {
      if (isTaken(cause)) return 'exists';
      // A store that rejects a request may close the connection before it has read the whole body, so this error can mean that the blob
      // exists.
      if (isBrokenOff(cause) && (await blob.exists().catch(() => false))) return 'exists';
      throw this.#error('write', name, cause);
    }
  }

  async open(name: string): Promise<FileUpload> {
    const requests = new AzureUpload({ blob: this.#blob(name), mark: this.#writer.newToken() });
    return new PartedUpload({ requests, buffers: this.#buffers, writer: this.#writer });
  }

  /** Reads a blob as a stream. Continues a broken download where it ended, unless the blob has changed. */
  async *stream(name: string): AsyncIterable<Uint8Array> {
    const blob = this.#blob(name);
    const silence = new AbortController();
    const watch = () => this.#clock.after(silenceTimeoutMs, () => silence.abort());
    let timer = watch();
    try {
      const options = { maxRetryRequests, abortSignal: silence.signal };
      const { readableStreamBody } = await blob.download(0, undefined, options);
      for await (const chunk of (readableStreamBody ?? []) as AsyncIterable<Uint8Array>) {
        timer.cancel();
        yield chunk;
        timer = watch();
      }
    } catch (cause) {
      throw this.#error('read', name, cause);
    } finally {
      timer.cancel();
    }
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const rootLength = this.#prefix('').length;
    for await (const item of this.#items(folder, false)) {
      yield { name: item.name.slice(rootLength), bytes: item.properties.contentLength ?? 0 };
    }
  }

  async remove(name: string): Promise<void> {
    try {
      await this.#blob(name).delete();
    } catch (cause) {
      if (!isAbsent(cause)) throw this.#error('remove', name, cause);
    }
  }

  /**
   * Removes uploads that the store has not committed. Uploads of processes that logfleet cannot check are kept, because the store does not
   * say how old they are. The store removes them after a week (E15).
   */
  async abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number> {
    let removed = 0;
    try {
      for await (const { name, properties } of this.#items(folder, true)) {
        if ((properties.contentLength ?? 0) > 0) continue;
        if (choice !== 'all' && (await this.#writer.stateOf(name)) !== 'ended') continue;
        if (await discardBlocks(this.#connection.container.getBlockBlobClient(name))) removed++;
      }
    } catch (cause) {
      throw this.#error('look for unfinished uploads in', folder, cause);
    }
    return removed;
  }

  async close(): Promise<void> {
    this.#connection.close();
    this.#buffers.clear();
  }

  async *#items(folder: string, includeUncommitedBlobs: boolean): AsyncIterable<BlobItem> {
    const options = { prefix: this.#prefix(folder), includeMetadata: true, includeUncommitedBlobs };
    try {
      for await (const item of this.#connection.container.listBlobsFlat(options)) {
        // Skips folders. Accounts with a hierarchical namespace list them as blobs without content; other accounts use names that end with
        // a slash.
        if (item.metadata?.['hdi_isfolder'] !== 'true' && !item.name.endsWith('/')) yield item;
      }
    } catch (cause) {
      throw this.#error('list', folder, cause);
    }
  }

  #blob(name: string): BlockBlobClient {
    return this.#connection.container.getBlockBlobClient(objectKey(this.#settings.root, name));
  }

  #prefix(folder: string): string {
    return keyPrefix(this.#settings.root, folder);
  }

  #error(act: string, name: string, cause: unknown): LogfleetError {
    return azureError(`${act} ${name === '' ? '' : `${name} in `}${this.url}`, cause);
  }
}
