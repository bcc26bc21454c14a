/**
 * Writes Parquet files. Numbers, times and booleans have typed columns. A value that does not match the type of its
 * column is stored in an extra column, so that no value is lost.
 *
 * Rows stay in memory until a row group is full.
 */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter } from 'hyparquet-writer';
import type { ByteSpool } from './byte-spool.ts';
import type { ColumnSet } from './columns.ts';
import type { Compression } from './compression.ts';
import { validText } from './json-text.ts';
import { type ParquetColumn, parquetColumn, textColumn } from './parquet-column.ts';
import { type Codec, type ColumnChunk, ParquetFooter } from './parquet-footer.ts';
import { PageMemory, type PagePacker, PageWriter } from './parquet-pages.ts';
import { RowColumns, restBytes, writeRest } from './row-columns.ts';
import type { RawRow, RowEncoder } from './row-encoder.ts';
import { WordDictionary } from './word-store.ts';

/** Memory use in bytes at which a row group counts as full. */
const usualGroupBytes = 4 * 1024 * 1024;
/** Footer size in bytes at which a file counts as full. Readers load the whole footer into memory. */
const usualFooterBytes = 4 * 1024 * 1024;

export interface ParquetOptions {
  readonly compression: Compression;
  readonly groupBytes?: number;
  readonly footerBytes?: number;
}

interface RowGroup {
  readonly columns: readonly ParquetColumn[];
  /**
   * Extra column for values that have no column of their own, and for values that do not match the type of their
   * column. Undefined if the file needs no extra column.
   */
  readonly rest: ReturnType<typeof textColumn> | undefined;
  /** All columns, including the extra column. */
  readonly all: readonly ParquetColumn[];
}

/** Buffers shared by Parquet files with the same columns, so that the buffers are not allocated again for each file. */
export class ParquetMemory {
  readonly set: ColumnSet;
  readonly row: RowColumns;
  readonly pages = new PageMemory();
  readonly dictionary = new WordDictionary();
  readonly #free: RowGroup[] = [];

  constructor(set: ColumnSet) {
    this.set = set;
    this.row = new RowColumns(set.columns.map(({ name }) => name));
  }

  takeGroup(): RowGroup {
    return this.#free.pop() ?? emptyGroup(this.set);
  }

  /** Keeps an empty row group, so that the next file can reuse it. */
  giveBack(group: RowGroup): void {
    this.#free.push(group);
  }
}

function emptyGroup({ columns: described, restName, keepsOthers }: ColumnSet): RowGroup {
  const columns = described.map(parquetColumn);
  const hasRest = keepsOthers || described.some(({ type }) => type !== 'text');
  const rest = hasRest ? textColumn(restName) : undefined;
  return { columns, rest, all: rest === undefined ? columns : [...columns, rest] };
}

export class ParquetEncoder implements RowEncoder {
  heldBytes = 0;
  misfits = 0;
  readonly #memory: ParquetMemory;
  readonly #group: RowGroup;
  readonly #spool: ByteSpool;
  /** Bytes of the file that have not been moved to the spool (the output buffer) yet. */
  readonly #out = new ByteWriter();
  readonly #pages: PageWriter;
  readonly #groups: ParquetFooter;
  readonly #groupBytes: number;
  readonly #footerBytes: number;
  #rows = 0;
  #restText: Buffer = Buffer.allocUnsafeSlow(4096);

  constructor(spool: ByteSpool, memory: ParquetMemory, options: ParquetOptions) {
    this.#memory = memory;
    this.#group = memory.takeGroup();
    this.#groupBytes = options.groupBytes ?? usualGroupBytes;
    this.#footerBytes = options.footerBytes ?? usualFooterBytes;
    const { codec, pack } = packing(options.compression);
    this.#spool = spool;
    this.#out.appendUint32(magic);
    this.#pages = new PageWriter(this.#out, spool, pack, memory.pages);
    this.#groups = new ParquetFooter(
      this.#group.all.map(({ element }) => element),
      codec,
    );
  }

  get isFull(): boolean {
    return this.#groups.bytes >= this.#footerBytes;
  }

  row({ bytes: came }: RawRow): void {
    const bytes = validText(came);
    const { row, set } = this.#memory;
    row.read(bytes);
    const rest = set.keepsOthers ? row.others : [];
    for (const [index, column] of this.#group.columns.entries()) {
      if (column.add(row, index)) continue;
      rest.push(row.nameStarts[index] as number, row.ends[index] as number);
      this.misfits++;
    }
    this.#addRest(bytes.length, rest);
    this.#rows++;
    let heldBytes = 0;
    for (const column of this.#group.all) heldBytes += column.store.bytes;
    this.heldBytes = heldBytes;
    if (this.heldBytes >= this.#groupBytes) this.#writeGroup();
  }

  end(): void {
    this.#writeGroup();
    this.#groups.write(this.#out);
    this.#out.appendUint32(magic);
    this.#spool.append(this.#out.getBytes());
    this.#memory.giveBack(this.#group);
  }

  #addRest(rowBytes: number, members: readonly number[]): void {
    const { rest } = this.#group;
    if (rest === undefined) return;
    if (this.#restText.length < rowBytes + restBytes) this.#restText = Buffer.allocUnsafeSlow(2 * rowBytes + restBytes);
    const end = writeRest(this.#restText, this.#memory.row.bytes, members);
    if (end > 0) rest.store.addText(this.#restText, 0, end);
    else rest.store.addNull();
  }

  #writeGroup(): void {
    if (this.#rows === 0) return;
    const chunks = this.#group.all.map((column) => this.#writeColumn(column));
    this.#groups.add(this.#rows, chunks);
    for (const { store } of this.#group.all) store.clear();
    this.heldBytes = 0;
    this.#rows = 0;
  }

  #writeColumn({ element, store }: ParquetColumn): ColumnChunk {
    this.#pages.begin();
    const bounds = store.write(this.#pages, this.#memory.dictionary);
    return { ...this.#pages.totals, element, bounds };
  }
}

/** The four bytes `PAR1` at the start and end of a Parquet file. */
const magic = 0x31524150;

function packing(compression: Compression): { readonly codec: Codec; readonly pack: PagePacker } {
  switch (compression.kind) {
    case 'none':
      return { codec: 'UNCOMPRESSED', pack: (page) => page };
    case 'gzip': {
      const { level } = compression;
      return { codec: 'GZIP', pack: (page) => gzipSync(page, { level }) };
    }
    case 'zstd': {
      const params = { [constants.ZSTD_c_compressionLevel]: compression.level };
      return { codec: 'ZSTD', pack: (page) => zstdCompressSync(page, { params }) };
    }
  }
}
