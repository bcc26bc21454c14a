/**
 * Aborts abandoned multipart uploads (E15), because object stores charge for them. An upload is abandoned if its
 * process has ended. If the process cannot be checked, the upload counts as abandoned after 15 minutes without a new
 * part.
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
import { type LeftoverChoice, longestSilenceMs } from '../store/destination.ts';
import type { Writer } from '../store/writer.ts';
import { abortMultipart } from './s3-upload.ts';

export interface UploadOwner {
  readonly client: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly writer: Writer;
}

/** Aborts unfinished uploads whose keys have this prefix, and returns the number of aborted uploads. */
export async function abortUploads(owner: UploadOwner, prefix: string, choice: LeftoverChoice): Promise<number> {
  const { client, bucket: Bucket } = owner;
  let aborted = 0;
  for await (const upload of uploadsOf(owner, prefix)) {
    if (choice !== 'all' && !(await isLeftOver(owner, upload))) continue;
    const { Key, UploadId } = upload;
    if (await abortMultipart(client, { Bucket, Key, UploadId })) aborted++;
  }
  return aborted;
}

/** Lists unfinished uploads. Does not use the SDK's paginators, because they never end with some stores. */
async function* uploadsOf({ client, bucket: Bucket }: UploadOwner, Prefix: string): AsyncIterable<MultipartUpload> {
  let [KeyMarker, UploadIdMarker]: (string | undefined)[] = [];
  do {
    const command = new ListMultipartUploadsCommand({ Bucket, Prefix, KeyMarker, UploadIdMarker });
    const page: ListMultipartUploadsCommandOutput = await client.send(command);
    yield* page.Uploads ?? [];
    KeyMarker = page.IsTruncated ? page.NextKeyMarker : undefined;
    UploadIdMarker = page.NextUploadIdMarker || undefined;
  } while (KeyMarker !== undefined);
}

async function isLeftOver({ client, bucket: Bucket, clock, writer }: UploadOwner, upload: MultipartUpload) {
  const { Key = '', UploadId, Initiated } = upload;
  const state = await writer.stateOf(Key);
  if (state !== 'unknown') return state === 'ended';
  const isOld = (moment: Date | undefined) => clock.now() - (moment?.getTime() ?? 0) >= longestSilenceMs;
  if (!isOld(Initiated)) return false;
  let PartNumberMarker: string | undefined;
  do {
    const command = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker });
    const { Parts = [], IsTruncated, NextPartNumberMarker }: ListPartsCommandOutput = await client.send(command);
    if (Parts.some(({ LastModified }) => !isOld(LastModified))) return false;
    PartNumberMarker = IsTruncated ? NextPartNumberMarker : undefined;
  } while (PartNumberMarker !== undefined);
  return true;
}
