/**
 * Finds and aborts unfinished multipart uploads, which object lists do not show, but which stores bill (E15).
 *
 * The name of a data file contains the process that writes it (`writer.ts`). If logfleet cannot check that process, an upload counts as
 * abandoned when no part has arrived for 15 minutes by the clock of this machine. Stores reject clients whose clocks differ by more than 15
 * minutes. A running upload that has to wait longer than that for rows is started again by its writer.
 */
import {
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListPartsCommand,
  type ListPartsCommandOutput,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Clock } from '../../base/clock.ts';
import { type LeftoverChoice, longestSilenceMs } from '../destination.ts';
import type { Writer } from '../writer.ts';
import { abortMultipart } from './s3-upload.ts';

export interface RunningUploadsOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly writer: Writer;
}

/**
 * Unfinished multipart uploads of a bucket. Errors of the SDK are thrown unchanged. The paginators of the SDK are not used, because they
 * never end if a store sends a marker after the last page.
 */
export class RunningUploads {
  readonly #options: RunningUploadsOptions;

  constructor(options: RunningUploadsOptions) {
    this.#options = options;
  }

  /** Aborts the unfinished uploads whose keys have this prefix. Returns the number of aborted uploads. */
  async abort(prefix: string, choice: LeftoverChoice): Promise<number> {
    const { client, bucket: Bucket } = this.#options;
    let aborted = 0;
    for await (const upload of this.#list(prefix)) {
      if (choice !== 'all' && !(await this.#isLeftOver(upload))) continue;
      const { Key, UploadId } = upload;
      if (await abortMultipart(client, { Bucket, Key, UploadId })) aborted++;
    }
    return aborted;
  }

  async *#list(Prefix: string): AsyncIterable<MultipartUpload> {
    const { client, bucket: Bucket } = this.#options;
    let [KeyMarker, UploadIdMarker]: (string | undefined)[] = [];
    do {
      const command = new ListMultipartUploadsCommand({ Bucket, Prefix, KeyMarker, UploadIdMarker });
      const page: ListMultipartUploadsCommandOutput = await client.send(command);
      yield* page.Uploads ?? [];
      KeyMarker = page.IsTruncated ? page.NextKeyMarker : undefined;
      UploadIdMarker = page.NextUploadIdMarker || undefined;
    } while (KeyMarker !== undefined);
  }

  async #isLeftOver(upload: MultipartUpload): Promise<boolean> {
    const state = await this.#options.writer.stateOf(upload.Key ?? '');
    if (state !== 'unknown') return state === 'ended';
    return this.#isOld(upload.Initiated) && this.#partsAreOld(upload);
  }

  async #partsAreOld({ Key, UploadId }: MultipartUpload): Promise<boolean> {
    const { client, bucket: Bucket } = this.#options;
    let PartNumberMarker: string | undefined;
    do {
      const command = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker });
      const { Parts = [], IsTruncated, NextPartNumberMarker }: ListPartsCommandOutput = await client.send(command);
      if (Parts.some(({ LastModified }) => !this.#isOld(LastModified))) return false;
      PartNumberMarker = IsTruncated ? NextPartNumberMarker : undefined;
    } while (PartNumberMarker !== undefined);
    return true;
  }

  /** Returns whether a time is at least `longestSilenceMs` ago. True if the time is missing. */
  #isOld(moment: Date | undefined): boolean {
    return this.#options.clock.now() - (moment?.getTime() ?? 0) >= longestSilenceMs;
  }
}
