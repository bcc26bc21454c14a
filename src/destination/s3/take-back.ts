/** Removes all data of an upload from a store: its parts, and its object if it exists. Errors of the SDK are thrown unchanged. */
import { AbortMultipartUploadCommand, DeleteObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { LeftUpload } from './left-uploads.ts';
import { isAbsent } from './s3-error.ts';

/** Name of the metadata entry that shows which upload created an object. */
export const markName = 'logfleet-upload';

/** Removes the parts and the object of an upload. Succeeds if neither exists. */
export async function takeBack(client: S3Client, { bucket, key, uploadId, mark }: LeftUpload): Promise<void> {
  const place = { Bucket: bucket, Key: key };
  if (uploadId !== undefined) await abortParts(client, { ...place, UploadId: uploadId });
  if (mark !== undefined && (await hasMark(client, place, mark))) await client.send(new DeleteObjectCommand(place));
}

/** Returns whether the existing object was created by this upload. */
export async function hasMark(
  client: S3Client,
  place: { readonly Bucket: string; readonly Key: string },
  mark: string,
): Promise<boolean> {
  try {
    const { Metadata } = await client.send(new HeadObjectCommand(place));
    return Metadata?.[markName] === mark;
  } catch (cause) {
    if (isAbsent(cause)) return false;
    throw cause;
  }
}

async function abortParts(
  client: S3Client,
  upload: { readonly Bucket: string; readonly Key: string; readonly UploadId: string },
): Promise<void> {
  await client.send(new AbortMultipartUploadCommand(upload)).catch((cause: unknown) => {
    if (!isAbsent(cause)) throw cause;
  });
}
