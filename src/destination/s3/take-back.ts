/** Takes back what an upload has brought into a store: its parts, and its object where that stands. Raw errors of the SDK. */
import { AbortMultipartUploadCommand, DeleteObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { LeftUpload } from './left-uploads.ts';
import { isAbsent } from './s3-error.ts';

/** The name of the metadata by which an object is told from those of others. */
export const markName = 'logfleet-upload';

/** Fine when there is nothing any more. */
export async function takeBack(client: S3Client, { bucket, key, uploadId, mark }: LeftUpload): Promise<void> {
  const place = { Bucket: bucket, Key: key };
  if (uploadId !== undefined) await abortParts(client, { ...place, UploadId: uploadId });
  if (mark !== undefined && (await hasMark(client, place, mark))) await client.send(new DeleteObjectCommand(place));
}

/** Whether the object that stands there is that of the upload. */
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
