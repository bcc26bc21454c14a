/**
 * Finds and aborts unfinished multipart uploads, which are invisible in a store but billed (E15).
 *
 * The name of a data file contains the process that writes it (`writer.ts`). If logfleet cannot check that process, an upload counts as
 * abandoned when no part has arrived for 15 minutes by our clock. Stores reject clients whose clock differs by more than that. An upload
 * that has to wait longer for rows is started again.
 */
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Clock } from '../../base/clock.ts';
import { type LeftoverChoice, longestSilenceMs } from '../destination.ts';
import type { Writer } from '../writer.ts';
import { isAbsent } from './s3-error.ts';

export interface RunningUploadsOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly writer: Writer;
}

/** Unfinished multipart uploads of a bucket. Errors of the SDK are thrown unchanged. */
export class RunningUploads {
  readonly #options: RunningUploadsOptions;

  constructor(options: RunningUploadsOptions) {
    this.#options = options;
  }

  /** Aborts the unfinished uploads whose keys have this prefix. Returns their number. */
  async abort(prefix: string, choice: LeftoverChoice): Promise<number> {
    let aborted = 0;
    for await (const upload of this.#list(prefix)) {
      if ((choice === 'all' || (await this.#isLeftOver(upload))) && (await this.#abort(upload))) aborted++;
    }
    return aborted;
  }

  async *#list(Prefix: string): AsyncIterable<MultipartUpload> {
    const { client, bucket: Bucket } = this.#options;
    let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | undefined = {};
    while (marker) {
      const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix, ...marker });
      const { Uploads, IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(command);
      yield* Uploads ?? [];
      const goesOn = IsTruncated === true && NextKeyMarker !== undefined;
      const within = NextUploadIdMarker ? { UploadIdMarker: NextUploadIdMarker } : {};
      marker = goesOn ? { KeyMarker: NextKeyMarker, ...within } : undefined;
    }
  }

  async #isLeftOver(upload: MultipartUpload): Promise<boolean> {
    const state = await this.#options.writer.stateOf(upload.Key ?? '');
    if (state !== 'unknown') return state === 'ended';
    return this.#isOld(upload.Initiated) && this.#partsAreOld(upload);
  }

  async #partsAreOld({ Key, UploadId }: MultipartUpload): Promise<boolean> {
    const { client, bucket: Bucket } = this.#options;
    let marker: { readonly PartNumberMarker?: string } | undefined = {};
    while (marker) {
      const command: ListPartsCommand = new ListPartsCommand({ Bucket, Key, UploadId, ...marker });
      const { Parts = [], IsTruncated, NextPartNumberMarker } = await client.send(command);
      if (Parts.some(({ LastModified }) => !this.#isOld(LastModified))) return false;
      const goesOn = IsTruncated === true && NextPartNumberMarker !== undefined;
      marker = goesOn ? { PartNumberMarker: NextPartNumberMarker } : undefined;
    }
    return true;
  }

  /** Returns whether an upload's last activity is long ago. A missing time counts as long ago. */
  #isOld(moment: Date | undefined): boolean {
    return this.#options.clock.now() - (moment?.getTime() ?? 0) >= longestSilenceMs;
  }

  /** Aborts one upload. Returns false if it no longer existed. */
  async #abort({ Key, UploadId }: MultipartUpload): Promise<boolean> {
    const { client, bucket: Bucket } = this.#options;
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      return true;
    } catch (cause) {
      if (isAbsent(cause)) return false;
      throw cause;
    }
  }
}
