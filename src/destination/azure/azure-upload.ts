/**
 * Requests of an upload to Azure Blob Storage: one `Put Blob`, or blocks that are staged and then committed. Staged blocks are not visible.
 * The store removes them a week after the last one.
 */
import type { BlockBlobClient } from '@azure/storage-blob';
import { markName, type UploadRequests } from '../parted-upload.ts';
import { azureError, errorCode, httpStatus, isAbsent, isTaken } from './azure-error.ts';

/** Condition under which a request never overwrites a blob. */
export const unlessTaken = { ifNoneMatch: '*' } as const;

/** Name of the metadata entry. The store allows only letters, digits and underscores. */
const metadataName = markName.replaceAll('-', '_');

export interface AzureUploadOptions {
  readonly blob: BlockBlobClient;
  /** Unique value in the blob's metadata that identifies this upload. */
  readonly mark: string;
}

export class AzureUpload implements UploadRequests {
  readonly maxParts = 50_000;
  readonly isSequential = false;
  readonly isTaken = isTaken;
  readonly error = azureError;
  readonly #blob: BlockBlobClient;
  readonly #mark: string;
  #blockCount = 0;

  constructor({ blob, mark }: AzureUploadOptions) {
    this.#blob = blob;
    this.#mark = mark;
  }

  get key(): string {
    return this.#blob.name;
  }

  get shown(): string {
    return `${this.#blob.name} in the container ${this.#blob.containerName}`;
  }

  putWhole(content: Uint8Array): Promise<unknown> {
    return this.#blob.upload(content, content.length, { conditions: unlessTaken, metadata: this.#metadata });
  }

  /** Sends no request: the first staged block begins the upload. */
  async begin(): Promise<void> {}

  async sendPart(number: number, content: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    await this.#blob.stageBlock(blockId(number), content, content.length, { abortSignal });
    this.#blockCount = Math.max(this.#blockCount, number);
  }

  complete(): Promise<unknown> {
    const ids = Array.from({ length: this.#blockCount }, (_, index) => blockId(index + 1));
    return this.#blob.commitBlockList(ids, { conditions: unlessTaken, metadata: this.#metadata });
  }

  removeParts(): Promise<unknown> {
    return discardBlocks(this.#blob);
  }

  async hasMark(): Promise<boolean> {
    try {
      const { metadata } = await this.#blob.getProperties();
      return metadata?.[metadataName] === this.#mark;
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw cause;
    }
  }

  removeObject(): Promise<unknown> {
    return this.#blob.deleteIfExists();
  }

  mayExist(cause: unknown): boolean {
    const status = httpStatus(cause);
    return isTaken(cause) || errorCode(cause) === 'InvalidBlockList' || status === undefined || status >= 500;
  }

  get #metadata(): Record<string, string> {
    return { [metadataName]: this.#mark };
  }
}

/** Returns the id of a block. All ids of a blob must have the same length. */
function blockId(number: number): string {
  return Buffer.from(String(number).padStart(6, '0')).toString('base64');
}

/**
 * Removes the staged blocks of a blob that does not exist yet. Returns false if the blob exists, which means that its upload is complete.
 * Errors of the SDK are thrown unchanged.
 *
 * The store has no request that removes staged blocks. A blob without blocks is therefore committed, which discards them, and is deleted. A
 * commit of a running upload then fails. If this process ends between the two requests, an empty file remains, which no record lists; the
 * next start of the export removes such files.
 */
export async function discardBlocks(blob: BlockBlobClient): Promise<boolean> {
  try {
    const { etag } = await blob.commitBlockList([], { conditions: unlessTaken });
    await blob.deleteIfExists({ conditions: { ifMatch: etag ?? '*' } });
    return true;
  } catch (cause) {
    if (isTaken(cause)) return false;
    throw cause;
  }
}
