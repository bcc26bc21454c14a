/**
 * Parquet with typed columns: numbers, times and truth values as such, all else as text. Compression happens inside of the file, a page of
 * a column at a time, so that readers can skip what they do not need.
 *
 * Invariant: nothing of a row is lost. A value that is not what its column holds stands as it came in the column for the rest, beside
 * members without a column, and is counted. What is no UTF-8 becomes U+FFFD, since the format knows no other text.
 *
 * Rows are held back until a row group is full, which is bounded by memory and not by a number of rows.
 */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import type { ByteSpool } from './byte-spool.ts';
import type { ColumnSet } from './columns.ts';
import type { Compression } from './compression.ts';
import { validText } from './json-text.ts';
import { type ParquetColumn, parquetColumn, TextColumn } from './parquet-column.ts';
import { restBytes, writeRest } from './rest.ts';
import { RowColumns } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';

/** A row group takes so much memory at most, and a row more. */
const usualGroupBytes = 4 * 1024 * 1024;
/** What a value takes beside its text. */
const bytesOfValue = 8;

export interface ParquetOptions {
  readonly compression: Compression;
  readonly groupBytes?: number;
}

export class ParquetEncoder implements RowEncoder {
  misfits = 0;
  readonly #row: RowColumns;
  readonly #columns: readonly ParquetColumn[];
  /** Absent where fields were chosen that are all text, which anything fits. */
  readonly #rest: TextColumn | undefined;
  /** The columns of the row, and the rest. */
  readonly #all: readonly ParquetColumn[];
  readonly #keepsOthers: boolean;
  readonly #writer: ParquetWriter;
  readonly #groupBytes: number;
  #rows = 0;
  #restText: Buffer = Buffer.allocUnsafeSlow(4096);

  constructor(spool: ByteSpool, { columns, restName, keepsOthers }: ColumnSet, options: ParquetOptions) {
    this.#row = new RowColumns(columns.map(({ name }) => name));
    this.#columns = columns.map(parquetColumn);
    const hasRest = keepsOthers || columns.some(({ type }) => type !== 'text');
    this.#rest = hasRest ? new TextColumn(restName) : undefined;
    this.#all = this.#rest === undefined ? this.#columns : [...this.#columns, this.#rest];
    this.#keepsOthers = keepsOthers;
    this.#groupBytes = options.groupBytes ?? usualGroupBytes;
    const elements = this.#all.map(({ element }) => element);
    this.#writer = new ParquetWriter({
      writer: new SpoolWriter(spool),
      schema: [{ name: 'root', num_children: elements.length }, ...elements],
      createdBy: 'logfleet',
      ...codecOf(options.compression),
    });
  }

  get heldBytes(): number {
    let bytes = this.#rows * this.#all.length * bytesOfValue;
    for (const column of this.#all) bytes += column.bytes;
    return bytes;
  }

  row({ bytes: came }: RawRow): void {
    const bytes = validText(came);
    const row = this.#row;
    row.read(bytes);
    const rest = this.#keepsOthers ? row.others : [];
    for (const [index, column] of this.#columns.entries()) {
      if (column.add(row, index)) continue;
      rest.push(row.nameStarts[index] as number, row.ends[index] as number);
      this.misfits++;
    }
    this.#addRest(bytes.length, rest);
    this.#rows++;
    if (this.heldBytes >= this.#groupBytes) this.#writeGroup();
  }

  end(): void {
    this.#writeGroup();
    this.#writer.finish();
  }

  #addRest(rowBytes: number, members: readonly number[]): void {
    if (this.#rest === undefined) return;
    if (this.#restText.length < rowBytes + restBytes) this.#restText = Buffer.allocUnsafeSlow(2 * rowBytes + restBytes);
    const end = writeRest(this.#restText, this.#row.bytes, members);
    if (end > 0) this.#rest.addText(this.#restText, 0, end);
    else this.#rest.addNull();
  }

  #writeGroup(): void {
    if (this.#rows === 0) return;
    // Each is made when the writer comes to it, so that the objects of one column are gone before those of the next one come.
    const columnData = this.#all.map((column) => lazily(column));
    this.#writer.write({ columnData, rowGroupSize: this.#rows });
    this.#detachBounds();
    for (const column of this.#all) column.clear();
    this.#rows = 0;
  }

  /** The writer keeps the least and the greatest value of a column for the end of the file, and the texts are written over before. */
  #detachBounds(): void {
    for (const { meta_data } of this.#writer.row_groups.at(-1)?.columns ?? []) {
      const { statistics } = meta_data ?? {};
      if (statistics?.min_value instanceof Uint8Array) statistics.min_value = Uint8Array.from(statistics.min_value);
      if (statistics?.max_value instanceof Uint8Array) statistics.max_value = Uint8Array.from(statistics.max_value);
    }
  }
}

function lazily(column: ParquetColumn): ColumnSource {
  return {
    name: column.element.name,
    ...column.writing,
    get data() {
      return column.values();
    },
  };
}

/** Passes on what is written, so that no row group is in memory a second time. */
class SpoolWriter extends ByteWriter {
  readonly #spool: ByteSpool;

  constructor(spool: ByteSpool) {
    super(spoolWriterBytes);
    this.#spool = spool;
  }

  override ensure(size: number): void {
    if (this.index + size > spoolWriterBytes) this.#pass();
    super.ensure(size);
  }

  override finish(): void {
    this.#pass();
  }

  #pass(): void {
    this.#spool.append(this.getBytes());
    this.index = 0;
  }
}

const spoolWriterBytes = 64 * 1024;

function codecOf(compression: Compression) {
  switch (compression.kind) {
    case 'none':
      return { codec: 'UNCOMPRESSED' } as const;
    case 'gzip': {
      const { level } = compression;
      return { codec: 'GZIP', compressors: { GZIP: (page: Uint8Array) => gzipSync(page, { level }) } } as const;
    }
    case 'zstd': {
      const params = { [constants.ZSTD_c_compressionLevel]: compression.level };
      return {
        codec: 'ZSTD',
        compressors: { ZSTD: (page: Uint8Array) => zstdCompressSync(page, { params }) },
      } as const;
    }
  }
}
