/** Stores files in an Azure Blob Storage container. Import this module lazily, because it loads the SDK. */
import type { BlobItem, BlobRequestConditions, BlockBlobClient } from '@azure/storage-blob';
import { inPieces } from '../store/body-pieces.ts';
import type { LeftoverChoice } from '../store/destination.ts';
import { ObjectStore, type ObjectStoreOptions } from '../store/object-store.ts';
import { SilenceTimer } from '../store/silence-timer.ts';
import { type AzureConnection, connect } from './azure-client.ts';
import { azureErrors, isBlobAbsent, isBlobLocked } from './azure-error.ts';
import { type AzureSettings, checkAzureSettings, serviceAddress } from './azure-settings.ts';
import { AzureUpload, unlessBlobExists } from './azure-upload.ts';

/** Maximum number of times that an interrupted download is resumed. */
const maxRetryRequests = 4;
/**
 * Maximum number of blobs per page of a listing. Azure's own maximum is 5,000, but such a page could be larger than
 * `maxResponseBytes`.
 */
const pageSize = 1_000;

export class AzureDestination extends ObjectStore<AzureSettings> {
  readonly #connection: AzureConnection;

  /**
   * Opens the destination without sending a request. Throws `destination.name` if the folder name is invalid, and
   * `destination.invalid` for other wrong settings.
   */
  static async open(options: ObjectStoreOptions<AzureSettings>): Promise<AzureDestination> {
    checkAzureSettings(options.settings);
    return new AzureDestination(options, await connect(options.settings, options.environment, options.clock));
  }

  private constructor(options: ObjectStoreOptions<AzureSettings>, connection: AzureConnection) {
    super(options, `${serviceAddress(options.settings)}/${options.settings.container}`, azureErrors);
    this.#connection = connection;
  }

  /**
   * Reads a blob as a stream. If the connection is lost, resumes at the first missing byte, unless the blob has
   * changed.
   */
  async *stream(name: string): AsyncIterable<Uint8Array> {
    const blob = this.#blob(name);
    const silence = new SilenceTimer(this.options.clock);
    try {
      const options = { maxRetryRequests, abortSignal: silence.signal };
      const { readableStreamBody } = await blob.download(0, undefined, options);
      for await (const chunk of (readableStreamBody ?? []) as AsyncIterable<Uint8Array>) {
        silence.stop();
        yield chunk;
        silence.restart();
      }
    } catch (cause) {
      throw this.error('read', name, cause);
    } finally {
      silence.stop();
    }
  }

  async create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
    const blob = this.#blob(name);
    try {
      await blob.upload(() => inPieces(content), content.length, { conditions: unlessBlobExists });
      return 'created';
    } catch (cause) {
      return this.afterFailedPut(name, cause, () => blob.exists());
    }
  }

  protected upload(name: string, mark: string): AzureUpload {
    return new AzureUpload(this.#blob(name), mark, () => this.#discardBlocks(name));
  }

  protected async *objects(prefix: string) {
    for await (const { name, properties } of this.#items(prefix, false)) {
      yield { key: name, bytes: properties.contentLength ?? 0 };
    }
  }

  /**
   * Removes unfinished uploads, except those whose process may still be running (E15). Azure itself removes unfinished
   * uploads after a week.
   */
  protected async abortUploads(folder: string, choice: LeftoverChoice): Promise<number> {
    let removed = 0;
    const rootLength = this.prefix('').length;
    for await (const { name, properties } of this.listing(folder, this.#items(this.prefix(folder), true))) {
      if ((properties.contentLength ?? 0) > 0) continue;
      if (choice !== 'all' && (await this.options.writer.stateOf(name)) !== 'ended') continue;
      if (await this.#discardBlocks(name.slice(rootLength))) removed++;
    }
    return removed;
  }

  /**
   * Removes the uncommitted blocks of a blob. If the blob itself already exists, does nothing and returns false.
   *
   * Azure cannot remove blocks directly. Therefore, this function commits an empty blob, which discards the blocks, and
   * then deletes the empty blob. If the container has refused to delete a blob before, this function does nothing,
   * because the empty blob would remain.
   */
  async #discardBlocks(name: string): Promise<boolean> {
    if (this.lockedFiles.size > 0) return false;
    try {
      const { etag } = await this.#blob(name).commitBlockList([], { conditions: unlessBlobExists });
      await this.delete(name, { ifMatch: etag ?? '*' });
      return true;
    } catch (cause) {
      if (azureErrors.isTaken(cause)) return false;
      throw cause;
    }
  }

  /** Deletes a blob, unless the container keeps it locked. */
  protected async delete(name: string, conditions: BlobRequestConditions = {}): Promise<void> {
    try {
      await this.#blob(name).delete({ conditions });
    } catch (cause) {
      if (isBlobLocked(cause)) this.lockedFiles.add(name);
      else if (!isBlobAbsent(cause)) throw cause;
    }
  }

  protected disconnect(): void {
    this.#connection.close();
  }

  async *#items(prefix: string, includeUncommitedBlobs: boolean): AsyncIterable<BlobItem> {
    const options = { prefix, includeMetadata: true, includeUncommitedBlobs };
    const pages = this.#connection.container.listBlobsFlat(options).byPage({ maxPageSize: pageSize });
    for await (const { segment } of pages) {
      for (const item of segment.blobItems) {
        // Skips folder markers, which Azure may list as blobs without content.
        if (item.metadata?.['hdi_isfolder'] !== 'true' && !item.name.endsWith('/')) yield item;
      }
    }
  }

  #blob(name: string): BlockBlobClient {
    return this.#connection.container.getBlockBlobClient(this.key(name));
  }
}
