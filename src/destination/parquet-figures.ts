/**
 * Recomputes the bytes and times of the messages in a Parquet file, if the file has these columns. It shares no code with the
 * encoder. Only the chunks of the two columns are kept in memory.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FileMetaData } from 'hyparquet';
import { FigureSum, type FileFigures, figureColumns } from './file-figures.ts';

export interface ParquetFile {
  /** Length in bytes. */
  readonly bytes: number;
  /** The last bytes of the file, with the whole footer. */
  readonly tail: Uint8Array;
  /** Reads the file from its start. */
  readonly stream: () => AsyncIterable<Uint8Array>;
}

interface Range {
  readonly startByte: number;
  readonly endByte: number;
}

/** Rejects if the file is damaged. `sliceMs` is the length of slices. */
export async function parquetFigures(file: ParquetFile, sliceMs = Number.POSITIVE_INFINITY): Promise<FileFigures> {
  // Loaded when needed, since most verifications need no Parquet.
  const { parquetMetadata, parquetReadObjects } = await import('hyparquet');
  const metadata = parquetMetadata(arrayBufferOf(file.tail));
  const columns = columnsOf(metadata);
  const names = [...columns.values()];
  // Nothing to compute: the file is not read a second time.
  if (names.length === 0 && metadata.num_rows > 0) return {};
  const sum = new FigureSum(sliceMs);
  const chunks = await readRanges(file, chunksOf(metadata, names));
  let rowStart = 0;
  for (const { num_rows: groupRows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(groupRows);
    const options = { file: chunks, metadata, columns: names, rowStart, rowEnd, compressors };
    for (const row of await parquetReadObjects(options)) {
      sum.take((name) => plainOf(row[columns.get(name) ?? '']));
    }
    rowStart = rowEnd;
  }
  return sum.figures;
}

const compressors = {
  GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)),
  ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)),
};

/** Names of the wanted columns as the file spells them. */
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

/** Reads the file once and keeps these ranges. */
async function readRanges({ bytes, stream }: ParquetFile, ranges: readonly Range[]) {
  const kept = ranges.map(({ startByte, endByte }) => ({
    startByte,
    endByte,
    content: Buffer.alloc(endByte - startByte),
  }));
  let offset = 0;
  for await (const piece of stream()) {
    for (const { startByte, endByte, content } of kept) {
      const [from, to] = [Math.max(offset, startByte), Math.min(offset + piece.length, endByte)];
      if (from < to) content.set(piece.subarray(from - offset, to - offset), from - startByte);
    }
    offset += piece.length;
  }
  // A reader may ask for several chunks at once. It ignores the bytes between them.
  const slice = (start: number, end = bytes): ArrayBuffer => {
    const wanted = new Uint8Array(end - start);
    for (const { startByte, endByte, content } of kept) {
      const [from, to] = [Math.max(start, startByte), Math.min(end, endByte)];
      if (from < to) wanted.set(content.subarray(from - startByte, to - startByte), from - start);
    }
    return wanted.buffer;
  };
  return { byteLength: bytes, slice };
}

/** Ranges of the chunks of these columns. */
function chunksOf({ row_groups: groups }: FileMetaData, names: readonly string[]): readonly Range[] {
  return groups.flatMap(({ columns }) =>
    columns.flatMap(({ meta_data: chunk }) => {
      if (!chunk || !names.includes(chunk.path_in_schema.join('.'))) return [];
      const startByte = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
      return [{ startByte, endByte: startByte + Number(chunk.total_compressed_size) }];
    }),
  );
}

function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
