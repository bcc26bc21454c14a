/**
 * Writes the pages of one column of a Parquet row group. Memory is reused, and no object is created for a value.
 *
 * For comparison, a simple script that uses `ParquetWriter` of hyparquet-writer takes 1.4 times (gzip) to 1.9 times
 * (zstd, or no compression) the CPU time, and more than twice the memory. `npm run bench -- output` measures this code
 * and the script.
 */
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import type { ByteSpool } from './byte-spool.ts';

/** Function that compresses a page. */
export type PagePacker = (page: Uint8Array) => Uint8Array;

/** Encoding of a page's values. The names come from the Parquet specification. */
export type PageEncoding = 'PLAIN' | 'RLE' | 'RLE_DICTIONARY';

/** Values of consecutive rows, written as one page. */
export interface DataPage {
  readonly encoding: PageEncoding;
  /** One byte for each row: 1 if the row has a value, otherwise 0. */
  readonly present: Uint8Array;
  readonly nulls: number;
  /** Encoded values of the rows that have a value. */
  readonly values: Uint8Array;
}

/** Approximate size of a page in bytes. Smaller pages compress worse. */
export const usualPageBytes: number = 1024 * 1024;

/** Totals for a column's pages. */
export interface PageTotals {
  readonly start: number;
  /** Position of the column's dictionary in the file. Undefined if the column has no dictionary. */
  readonly dictionaryAt: number | undefined;
  readonly dataAt: number;
  readonly rows: number;
  /**
   * Size of the column's pages in bytes after compression. `unpackedBytes` is the size of these pages before
   * compression.
   */
  readonly bytes: number;
  readonly unpackedBytes: number;
  readonly encoding: PageEncoding;
  readonly dataPages: number;
}

export class PageMemory {
  /** Buffer for the definition levels of a page. The definition levels show which rows have a value. */
  readonly levels = new ByteWriter();
  /** Encoded values. */
  readonly values = new ByteWriter();
  #texts = Buffer.alloc(0);

  texts(bytes: number): Buffer {
    if (this.#texts.length < bytes) this.#texts = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#texts.length));
    return this.#texts;
  }
}

export class PageWriter {
  readonly #out: ByteWriter;
  readonly #spool: ByteSpool;
  readonly #pack: PagePacker;
  readonly #memory: PageMemory;
  #start = 0;
  #dictionaryAt: number | undefined;
  #dataAt: number | undefined;
  #rows = 0;
  #unpackedBytes = 0;
  #encoding: PageEncoding = 'PLAIN';
  #dataPages = 0;

  constructor(out: ByteWriter, spool: ByteSpool, pack: PagePacker, memory: PageMemory) {
    this.#out = out;
    this.#spool = spool;
    this.#pack = pack;
    this.#memory = memory;
  }

  /** Begins the pages of another column. */
  begin(): void {
    this.#start = this.#out.offset;
    this.#dictionaryAt = undefined;
    this.#dataAt = undefined;
    this.#rows = 0;
    this.#unpackedBytes = 0;
    this.#dataPages = 0;
  }

  /** Totals for all pages since `begin`. */
  get totals(): PageTotals {
    return {
      start: this.#start,
      dictionaryAt: this.#dictionaryAt,
      dataAt: this.#dataAt ?? this.#out.offset,
      rows: this.#rows,
      bytes: this.#out.offset - this.#start,
      unpackedBytes: this.#unpackedBytes,
      encoding: this.#encoding,
      dataPages: this.#dataPages,
    };
  }

  /** Returns memory for the values of one page. */
  memory(bytes: number): Buffer {
    return this.#memory.texts(bytes);
  }

  /** Writes a dictionary page with `count` values. */
  dictionary(values: Uint8Array, count: number): void {
    const start = this.#out.offset;
    this.#dictionaryAt = start;
    const packed = this.#pack(values);
    writePageHeader(this.#out, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: values.length,
      compressed_page_size: packed.length,
      dictionary_page_header: { num_values: count, encoding: 'PLAIN' },
    });
    this.#unpackedBytes += this.#out.offset - start + values.length;
    this.#pass(packed);
  }

  data({ encoding, present, nulls, values }: DataPage): void {
    const start = this.#out.offset;
    this.#dataAt ??= start;
    const rows = present.length;
    rewind(this.#memory.levels);
    writeRleBitPackedHybrid(this.#memory.levels, present, 1);
    const levels = this.#memory.levels.getBytes();
    const packed = this.#pack(values);
    writePageHeader(this.#out, {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: levels.length + values.length,
      compressed_page_size: levels.length + packed.length,
      data_page_header_v2: {
        num_values: rows,
        num_nulls: nulls,
        num_rows: rows,
        encoding,
        definition_levels_byte_length: levels.length,
        repetition_levels_byte_length: 0,
        is_compressed: true,
      },
    });
    this.#out.appendBytes(levels);
    this.#unpackedBytes += this.#out.offset - start + values.length;
    this.#pass(packed);
    this.#rows += rows;
    this.#encoding = encoding;
    this.#dataPages++;
  }

  /** Each finished page is immediately passed to the spool (the output buffer), to save memory. */
  #pass(packed: Uint8Array): void {
    this.#spool.append(this.#out.getBytes());
    this.#spool.append(packed);
    this.#out.index = 0;
    this.#out.offset += packed.length;
  }

  /** Writes pages of dictionary indexes. The dictionary has `dictionarySize` values. */
  indexes(present: Uint8Array, indexes: Int32Array, dictionarySize: number): void {
    const bits = Math.ceil(Math.log2(dictionarySize));
    const { values } = this.#memory;
    for (const page of evenPages(present, Int32Array.BYTES_PER_ELEMENT)) {
      rewind(values);
      values.appendUint8(bits);
      writeRleBitPackedHybrid(values, indexes.subarray(page.from, page.to), bits);
      this.data({ encoding: 'RLE_DICTIONARY', ...page, values: values.getBytes() });
    }
  }

  /** Writes pages of integers or doubles. The bytes in `words` are already in the layout that Parquet requires. */
  words(present: Uint8Array, words: Uint8Array): void {
    for (const page of evenPages(present, bytesPerWord)) {
      this.data({
        encoding: 'PLAIN',
        ...page,
        values: words.subarray(bytesPerWord * page.from, bytesPerWord * page.to),
      });
    }
  }

  bits(present: Uint8Array, bits: Uint8Array): void {
    const { values } = this.#memory;
    for (const page of evenPages(present, 1)) {
      rewind(values);
      values.appendUint32(0);
      const length = writeRleBitPackedHybrid(values, bits.subarray(page.from, page.to), 1);
      values.view.setUint32(0, length, true);
      this.data({ encoding: 'RLE', ...page, values: values.getBytes() });
    }
  }
}

const bytesPerWord = 8;

/**
 * Divides the rows into pages with equal numbers of rows. `from` and `to` are the indexes at which the values of a page
 * start and end.
 */
function* evenPages(present: Uint8Array, bytesOfValue: number) {
  const rowsOfPage = usualPageBytes / bytesOfValue;
  let from = 0;
  for (let row = 0; row < present.length; row += rowsOfPage) {
    const ofPage = present.subarray(row, row + rowsOfPage);
    let values = 0;
    for (const one of ofPage) values += one;
    yield { present: ofPage, nulls: ofPage.length - values, from, to: from + values };
    from += values;
  }
}

function rewind(writer: ByteWriter): void {
  writer.index = 0;
  writer.offset = 0;
}
