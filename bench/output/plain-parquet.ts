/**
 * A simple script that writes messages to a Parquet file with hyparquet-writer. Each page becomes a row group. It does
 * not check the rows.
 */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter, type ColumnSource, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import { type ColumnType, messageColumns } from '../../src/output/columns.ts';
import type { Compression } from '../../src/output/compression.ts';

type Message = Readonly<Record<string, string>>;

const { columns } = messageColumns([], []);
const codecs = { none: 'UNCOMPRESSED', gzip: 'GZIP', zstd: 'ZSTD' } as const;

/** Converts pages of messages, and returns the size of the file in bytes. */
export function writePlainParquet(pages: Iterable<string>, compression: Compression): number {
  const out = new ByteWriter();
  let writer: ParquetWriter | undefined;
  for (const body of pages) {
    const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly map: Message }[] };
    const columnData = columns.map(({ name, type }) => columnOf(name, type, messages));
    writer ??= new ParquetWriter({
      writer: out,
      schema: schemaFromColumnData({ columnData }),
      codec: codecs[compression.kind],
      compressors: compressorsOf(compression),
    });
    writer.write({ columnData, rowGroupSize: messages.length });
  }
  writer?.finish();
  return out.offset;
}

function columnOf(name: string, type: ColumnType, messages: readonly { readonly map: Message }[]): ColumnSource {
  const isNumber = type === 'integer' || type === 'instant';
  const data = messages.map(({ map }) => {
    const value = map[name];
    return isNumber && value !== undefined ? BigInt(value) : value;
  });
  return { name, data, type: isNumber ? 'INT64' : 'STRING', nullable: true };
}

function compressorsOf(compression: Compression) {
  switch (compression.kind) {
    case 'none':
      return {};
    case 'gzip':
      return { GZIP: (bytes: Uint8Array) => gzipSync(bytes, { level: compression.level }) };
    case 'zstd':
      return {
        ZSTD: (bytes: Uint8Array) =>
          zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: compression.level } }),
      };
  }
}
