/**
 * The rows of an export that is complete, on their way to stdout in order of time: intervals from the oldest to the newest, and the rows of
 * each so, too. Records keep the order in which the service gave them.
 *
 * Invariant: nothing goes out before the manifest stands, so that whoever reads has all rows or none.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '../destination/manifest.ts';
import { headerOf, type RecordFormat, reversedRecords } from './record-pieces.ts';

/** Pieces of rows, with one header where the format has one. `folder` is that of the export. */
export async function* provenRows(folder: string, manifest: Manifest): AsyncGenerator<Uint8Array> {
  const { output, results } = manifest.export;
  const format: RecordFormat = output.format === 'CSV' ? 'CSV' : 'NDJSON';
  const files = manifest.intervals.flatMap((interval) => {
    const paths = interval.files.map(({ name }) => join(folder, name));
    return results === 'Messages' ? paths.reverse() : paths;
  });
  const [first] = files;
  if (format === 'CSV' && first !== undefined) yield await headerOf(first);
  for (const file of files) yield* results === 'Messages' ? reversedRecords(file, format) : records(file, format);
}

async function* records(file: string, format: RecordFormat): AsyncGenerator<Uint8Array> {
  const start = format === 'CSV' ? (await headerOf(file)).length : 0;
  yield* createReadStream(file, { start });
}
