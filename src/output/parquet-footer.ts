/**
 * Builds the footer of a Parquet file. The footer describes the columns, and contains an entry for each row group with
 * its position in the file. Each entry is encoded as soon as its row group has been written, to save memory.
 */
import { ByteWriter, type SchemaElement } from 'hyparquet-writer';
import { logicalType } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';
import { unconvertStatistics } from 'hyparquet-writer/src/unconvert.js';
import type { PageEncoding, PageTotals } from './parquet-pages.ts';

/** Smallest or largest value of a column. Text is stored as its bytes. */
export type ValueBound = bigint | number | boolean | Uint8Array;

/** Minimum and maximum values of a column. */
export interface Bounds {
  readonly min?: ValueBound | undefined;
  readonly max?: ValueBound | undefined;
  readonly nulls: number;
  /** Number of NaN values in a column of doubles. Absent for other columns. */
  readonly nans?: number;
}

export type Codec = 'UNCOMPRESSED' | 'GZIP' | 'ZSTD';
export type ValueType = 'BOOLEAN' | 'INT64' | 'DOUBLE' | 'BYTE_ARRAY';

/** Pages of one column in one row group. */
export interface ColumnChunk extends PageTotals {
  readonly element: SchemaElement;
  /** Minimum and maximum of the column in this row group. Absent if the column contains mostly distinct texts. */
  readonly bounds: Bounds | undefined;
}

/** Compression codes (parquet.thrift). */
const codecs: Readonly<Record<Codec, number>> = { UNCOMPRESSED: 0, GZIP: 2, ZSTD: 6 };
const valueTypes: Readonly<Record<ValueType, number>> = { BOOLEAN: 0, INT64: 2, DOUBLE: 5, BYTE_ARRAY: 6 };
const encodings: Readonly<Record<PageEncoding, number>> = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 };
const convertedTypes: Readonly<Record<string, number>> = { UTF8: 0, TIMESTAMP_MILLIS: 9 };
const pageTypes = { dictionary: 2, data: 3 } as const;
const formatVersion = 2;
const optional = 1;
const listOfStructs = { fieldHeader: 0x19, short: 0x0c, long: 0xfc, longest: 14 } as const;

export class ParquetFooter {
  readonly #elements: readonly SchemaElement[];
  readonly #codec: Codec;
  readonly #groups = new ByteWriter();
  #count = 0;
  #rows = 0;

  constructor(elements: readonly SchemaElement[], codec: Codec) {
    this.#elements = elements;
    this.#codec = codec;
  }

  /** Size of the encoded row groups in bytes. */
  get bytes(): number {
    return this.#groups.offset;
  }

  add(rows: number, chunks: readonly ColumnChunk[]): void {
    const sum = (bytesOf: (chunk: ColumnChunk) => number) =>
      BigInt(chunks.reduce((bytes, chunk) => bytes + bytesOf(chunk), 0));
    serializeTCompactProtocol(this.#groups, {
      field_1: chunks.map((chunk) => this.#chunk(chunk)),
      field_2: sum(({ unpackedBytes }) => unpackedBytes),
      field_3: BigInt(rows),
      field_6: sum(({ bytes }) => bytes),
    });
    this.#count++;
    this.#rows += rows;
  }

  /** Writes the footer as one Thrift structure. */
  write(out: ByteWriter): void {
    const start = out.offset;
    serializeTCompactProtocol(out, {
      field_1: formatVersion,
      field_2: [{ field_4: 'root', field_5: this.#elements.length }, ...this.#elements.map(columnOf)],
      field_3: BigInt(this.#rows),
    });
    // Removes the end marker of the Thrift structure, because more fields follow.
    out.index--;
    out.offset--;
    out.appendUint8(listOfStructs.fieldHeader);
    if (this.#count <= listOfStructs.longest) {
      out.appendUint8((this.#count << 4) | listOfStructs.short);
    } else {
      out.appendUint8(listOfStructs.long);
      out.appendVarInt(this.#count);
    }
    out.appendBytes(this.#groups.getBytes());
    // Thrift encodes a field number as its difference from the previous field number. The previous field is field 4, so
    // `field_2` becomes field 6, and `field_3` becomes field 7.
    serializeTCompactProtocol(out, { field_2: 'logfleet', field_3: this.#elements.map(() => ({ field_1: {} })) });
    out.appendUint32(out.offset - start);
  }

  #chunk(chunk: ColumnChunk) {
    const { element, bytes, bounds, start, dictionaryAt, dataAt, rows, unpackedBytes, encoding, dataPages } = chunk;
    const hasDictionary = dictionaryAt !== undefined;
    const dictionaryPage = { field_1: pageTypes.dictionary, field_2: encodings.PLAIN, field_3: 1 };
    const pages = { field_1: pageTypes.data, field_2: encodings[encoding], field_3: dataPages };
    return {
      field_2: BigInt(start),
      field_3: {
        field_1: valueTypes[element.type as ValueType],
        field_2: hasDictionary ? [encodings.PLAIN, encodings[encoding]] : [encodings[encoding]],
        field_3: [element.name],
        field_4: codecs[this.#codec],
        field_5: BigInt(rows),
        field_6: BigInt(unpackedBytes),
        field_7: BigInt(bytes),
        field_9: BigInt(dataAt),
        field_11: hasDictionary ? BigInt(dictionaryAt) : undefined,
        field_12: bounds && statisticsOf(bounds, element),
        field_13: hasDictionary ? [dictionaryPage, pages] : [pages],
      },
    };
  }
}

function statisticsOf({ min, max, nulls, nans }: Bounds, element: SchemaElement) {
  const statistics = {
    ...(min === undefined ? {} : { min_value: min }),
    ...(max === undefined ? {} : { max_value: max }),
    ...(nans === undefined ? {} : { nan_count: BigInt(nans) }),
    null_count: BigInt(nulls),
  };
  return unconvertStatistics(statistics, element);
}

function columnOf({ name, type, converted_type, logical_type }: SchemaElement) {
  return {
    field_1: valueTypes[type as ValueType],
    field_3: optional,
    field_4: name,
    field_6: converted_type && convertedTypes[converted_type],
    field_10: logicalType(logical_type),
  };
}
