/** File formats and compression methods. Creates encoders and compressors. */
import type { ByteSpool } from './byte-spool.ts';
import type { ColumnSet } from './columns.ts';
import type { Compression } from './compression.ts';
import { CsvEncoder } from './csv-encoder.ts';
import { NdjsonEncoder, NdjsonFieldsEncoder } from './ndjson-encoder.ts';
import { ParquetEncoder, ParquetMemory } from './parquet-encoder.ts';
import type { RowEncoder } from './row-encoder.ts';

export type OutputFormat =
  /** NDJSON with the selected fields. If `fields` is empty, rows are written as received. */
  | { readonly kind: 'ndjson'; readonly fields: readonly string[] }
  | { readonly kind: 'csv'; readonly columns: ColumnSet; readonly formulaGuard: boolean }
  | { readonly kind: 'parquet'; readonly columns: ColumnSet };

export interface FileForm {
  readonly encoder: (spool: ByteSpool) => RowEncoder;
  /** Compression of the whole file. It is `none` for Parquet, where each page is compressed separately. */
  readonly compression: Compression;
}

export function fileForm(format: OutputFormat, compression: Compression): FileForm {
  switch (format.kind) {
    case 'ndjson': {
      const { fields } = format;
      const encoder = (spool: ByteSpool) =>
        fields.length > 0 ? new NdjsonFieldsEncoder(spool, fields) : new NdjsonEncoder(spool);
      return { encoder, compression };
    }
    case 'csv': {
      const { columns, formulaGuard } = format;
      return { encoder: (spool) => new CsvEncoder(spool, columns, { formulaGuard }), compression };
    }
    case 'parquet': {
      const memory = new ParquetMemory(format.columns);
      const encoder = (spool: ByteSpool) => new ParquetEncoder(spool, memory, { compression });
      return { encoder, compression: { kind: 'none' } };
    }
  }
}
