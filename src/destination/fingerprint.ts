/**
 * Identity of an export: all settings that decide its rows or the bytes of its files. The hash of the identity (fingerprint) is part of the
 * folder name of the export, so that exports with different settings never share a folder (E1).
 */
import { createHash } from 'node:crypto';
import { canonicalText } from '../base/canonical-text.ts';
import { boolean, choice, integer, list, moment, object, optional, type Stored, text } from './stored-json.ts';

/** Version of the code that writes data files. Raise it when the same settings no longer produce the same rows or bytes. */
const generation = 1;

const exportOutput = object({
  format: choice(['NDJSON', 'CSV', 'Parquet']),
  compression: choice(['None', 'Gzip', 'Zstd']),
  /** Fields that the user chose for the export. An empty list means all fields. */
  fields: list(text()),
  maxPartBytes: integer(1),
  csv: object({ formulaGuard: boolean }),
  /** Compression level. Absent for the default level, so that older exports keep their fingerprint. */
  compressionLevel: optional(integer(1)),
  /** Partitioning of the data files by day or hour. Absent if they are not divided, so that older exports keep their fingerprint. */
  partitionBy: optional(choice(['Day', 'Hour'])),
});
export type ExportOutput = Stored<typeof exportOutput>;

/** Stored form of an export's identity in a manifest. */
export const exportIdentity = object({
  serviceHost: text(),
  query: text(),
  /** Time range of the export: its start (included) and end (excluded) in milliseconds since the epoch. */
  fromMs: moment,
  toMs: moment,
  /** Time zone of the days and hours in functions of the query and in names of partitions. */
  timeZone: text(),
  byReceiptTime: boolean,
  autoParsingMode: choice(['Manual', 'AutoParse']),
  results: choice(['Messages', 'Records']),
  requiresRawMessages: boolean,
  output: exportOutput,
});
export type ExportIdentity = Stored<typeof exportIdentity>;

/** Returns the fingerprint of an export: the SHA-256 of its identity, in hexadecimal digits. */
export function fingerprintOf(identity: ExportIdentity): string {
  return createHash('sha256').update(canonicalText({ generation, identity })).digest('hex');
}
