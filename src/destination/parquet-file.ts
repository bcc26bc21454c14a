/** Reads a Parquet file to verify it, using a library that shares no code with the encoder. */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FileMetaData } from 'hyparquet';
import { type FigureSum, type FileContent, type FileFigures, figureColumns } from './file-figures.ts';

/** Maximum size of a Parquet footer in bytes. */
const maxFooterBytes = 8 * 1024 * 1024;
/** Length in bytes of the last two fields of a Parquet file: the footer's size, and the text `PAR1`. */
const trailerBytes = 8;
const mark = 'PAR1';

interface ByteRange {
  readonly startByte: number;
  readonly endByte: number;
}

export async function readParquet(file: AsyncIterable<Uint8Array>, sum: FigureSum): Promise<FileContent> {
  const { tail, bytes } = await readTail(file);
  const metadata = await metadataOf(tail);
  return { rows: Number(metadata.num_rows), figures: (again) => figuresOf(metadata, again, bytes, sum) };
}

/** Reads a whole Parquet file, but keeps only its last bytes in memory. These bytes contain the metadata (footer). */
async function readTail(file: AsyncIterable<Uint8Array>) {
  const chunks: Uint8Array[] = [];
  let [bytes, keptBytes] = [0, 0];
  for await (const chunk of file) {
    chunks.push(Uint8Array.from(chunk));
    bytes += chunk.length;
    keptBytes += chunk.length;
    while (keptBytes - (chunks[0]?.length ?? 0) >= maxFooterBytes) keptBytes -= chunks.shift()?.length ?? 0;
  }
  return { tail: Buffer.concat(chunks), bytes };
}

async function figuresOf(
  metadata: FileMetaData,
  again: () => AsyncIterable<Uint8Array>,
  bytes: number,
  sum: FigureSum,
): Promise<FileFigures> {
  const columns = columnsOf(metadata);
  const names = [...columns.values()];
  // Only a file with a column for message sizes or message times is read a second time.
  if (names.length === 0 && metadata.num_rows > 0) return {};
  const { parquetReadObjects } = await import('hyparquet');
  const file = await readRanges(again(), bytes, chunksOf(metadata, names));
  let rowStart = 0;
  for (const { num_rows: groupRows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(groupRows);
    const options = { file, metadata, columns: names, rowStart, rowEnd, compressors };
    for (const row of await parquetReadObjects(options)) {
      sum.take((name) => plainOf(row[columns.get(name) ?? '']));
    }
    rowStart = rowEnd;
  }
  return sum.figures;
}

/** Parses a Parquet file's metadata from the last bytes of the file. */
async function metadataOf(tail: Buffer): Promise<FileMetaData> {
  if (tail.length < trailerBytes || tail.toString('latin1', tail.length - mark.length) !== mark) {
    throw new Error('the file does not end like a Parquet file');
  }
  if (tail.readUInt32LE(tail.length - trailerBytes) > tail.length - trailerBytes) {
    throw new Error('the Parquet footer is too large');
  }
  // Loads the Parquet library only when needed.
  const { parquetMetadata } = await import('hyparquet');
  try {
    return parquetMetadata(new Uint8Array(tail).buffer);
  } catch (cause) {
    throw new Error('its Parquet footer is damaged', { cause });
  }
}

const compressors = {
  GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)),
  ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)),
};

/** Returns the names of the size and time columns as spelled in the file. */
function columnsOf({ schema }: FileMetaData): ReadonlyMap<string, string> {
  const found = figureColumns.flatMap((wanted) => {
    const element = schema.find(({ name, type }) => type !== undefined && name.toLowerCase() === wanted);
    return element ? [[wanted, element.name] as const] : [];
  });
  return new Map(found);
}

function plainOf(value: unknown): unknown {
  if (value instanceof Date) return value.getTime();
  return typeof value === 'bigint' ? Number(value) : value;
}

/** Reads a whole file, but keeps only the bytes of the given ranges in memory. */
async function readRanges(file: AsyncIterable<Uint8Array>, byteLength: number, ranges: readonly ByteRange[]) {
  const kept = ranges.map(({ startByte, endByte }) => ({
    startByte,
    endByte,
    content: Buffer.alloc(endByte - startByte),
  }));
  let offset = 0;
  for await (const chunk of file) {
    for (const { startByte, endByte, content } of kept) {
      const [from, to] = [Math.max(offset, startByte), Math.min(offset + chunk.length, endByte)];
      if (from < to) content.set(chunk.subarray(from - offset, to - offset), from - startByte);
    }
    offset += chunk.length;
  }
  // The bytes between the given ranges are zero, because the Parquet reader does not use them.
  const slice = (start: number, end = byteLength): ArrayBuffer => {
    const wanted = new Uint8Array(end - start);
    for (const { startByte, endByte, content } of kept) {
      const [from, to] = [Math.max(start, startByte), Math.min(end, endByte)];
      if (from < to) wanted.set(content.subarray(from - startByte, to - startByte), from - start);
    }
    return wanted.buffer;
  };
  return { byteLength, slice };
}

/** Returns the byte ranges of the file that contain these columns. */
function chunksOf({ row_groups: groups }: FileMetaData, names: readonly string[]): readonly ByteRange[] {
  return groups.flatMap(({ columns }) =>
    columns.flatMap(({ meta_data: chunk }) => {
      if (!chunk || !names.includes(chunk.path_in_schema.join('.'))) return [];
      const startByte = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
      return [{ startByte, endByte: startByte + Number(chunk.total_compressed_size) }];
    }),
  );
}
