/**
 * Computes the fingerprint: a hash of all settings that decide an export's rows and files. The name of the export's
 * folder contains it, so exports with different settings never share a folder (E1).
 */
import { createHash } from 'node:crypto';
import { canonicalText } from '../base/canonical-text.ts';
import { boolean, choice, integer, list, moment, object, optional, type Stored, text } from './stored-json.ts';

/** Version of the code that writes data files. Increase this number when the written bytes change. */
const generation = 1;

const exportOutput = object({
  format: choice(['NDJSON', 'CSV', 'Parquet']),
  compression: choice(['None', 'Gzip', 'Zstd']),
  /** Fields that the user chose. An empty list means all fields. */
  fields: list(text()),
  maxPartBytes: integer(1),
  csv: object({ formulaGuard: boolean }),
  /** Compression level. Absent for the default level. */
  compressionLevel: optional(integer(1)),
  /** Partitioning by day or hour. Absent if files are not partitioned. */
  partitionBy: optional(choice(['Day', 'Hour'])),
});
export type ExportOutput = Stored<typeof exportOutput>;

/** Stored form of the settings that identify an export. */
export const exportIdentity = object({
  serviceHost: text(),
  query: text(),
  /** Start (included) and end (excluded) of the export in ms since the epoch. */
  fromMs: moment,
  toMs: moment,
  /** Time zone for functions of the query and for the names of partitions. */
  timeZone: text(),
  byReceiptTime: boolean,
  autoParsingMode: choice(['Manual', 'AutoParse']),
  results: choice(['Messages', 'Records']),
  requiresRawMessages: boolean,
  output: exportOutput,
});
export type ExportIdentity = Stored<typeof exportIdentity>;

/** Returns the SHA-256 of the settings that identify an export, in hexadecimal digits. */
export function fingerprintOf(identity: ExportIdentity): string {
  return createHash('sha256').update(canonicalText({ generation, identity })).digest('hex');
}
