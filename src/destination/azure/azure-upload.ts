/**
 * Uploads a file to Azure Blob Storage, either in one request or as blocks, which a final request commits. Azure
 * removes uncommitted blocks after a week.
 */
import type { BlockBlobClient } from '@azure/storage-blob';
import { inPieces } from '../store/body-pieces.ts';
import { markName, type UploadRequests } from '../store/parted-upload.ts';
import { azureErrorCode, azureErrors, isBlobAbsent } from './azure-error.ts';

export const unlessBlobExists = { ifNoneMatch: '*' } as const;

/** Name of the metadata entry that identifies an upload. Azure does not allow hyphens in the name. */
const metadataName = markName.replaceAll('-', '_');

export class AzureUpload implements UploadRequests {
  readonly maxParts = 50_000;
  readonly isSequential = false;
  readonly #blob: BlockBlobClient;
  readonly #mark: string;
  readonly #discard: () => Promise<unknown>;
  #blockCount = 0;

  /**
   * @param mark unique value that identifies this upload in the blob's metadata
   * @param discard removes the blob's uncommitted blocks
   */
  constructor(blob: BlockBlobClient, mark: string, discard: () => Promise<unknown>) {
    this.#blob = blob;
    this.#mark = mark;
    this.#discard = discard;
  }

  get key(): string {
    return this.#blob.name;
  }

  get shown(): string {
    return `${this.#blob.name} in the container ${this.#blob.containerName}`;
  }

  putWhole(content: Uint8Array): Promise<unknown> {
    return this.#blob.upload(() => inPieces(content), content.length, {
      conditions: unlessBlobExists,
      metadata: this.#metadata,
    });
  }

  async begin(): Promise<void> {}

  async sendPart(number: number, content: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    await this.#blob.stageBlock(blockId(number), () => inPieces(content), content.length, { abortSignal });
    this.#blockCount = Math.max(this.#blockCount, number);
  }

  complete(): Promise<unknown> {
    const ids = Array.from({ length: this.#blockCount }, (_, index) => blockId(index + 1));
    return this.#blob.commitBlockList(ids, { conditions: unlessBlobExists, metadata: this.#metadata });
  }

  removeParts(): Promise<unknown> {
    return this.#discard();
  }

  async hasMark(): Promise<boolean> {
    try {
      const { metadata } = await this.#blob.getProperties();
      return metadata?.[metadataName] === this.#mark;
    } catch (cause) {
      if (isBlobAbsent(cause)) return false;
      throw cause;
    }
  }

  mayExist(cause: unknown): boolean {
    return azureErrors.mayHaveCreated(cause) || azureErrorCode(cause) === 'InvalidBlockList';
  }

  get #metadata(): Record<string, string> {
    return { [metadataName]: this.#mark };
  }
}

/** Returns the id of a block. Azure requires all block ids to have the same length. */
function blockId(number: number): string {
  return Buffer.from(String(number).padStart(6, '0')).toString('base64');
}
