/**
 * Computes the fingerprint: a hash of all settings that determine an export's rows and files. The name of the export's
 * folder contains the fingerprint, so exports with different settings never share a folder (E1).
 */
import { createHash } from 'node:crypto';
import { canonicalText } from '../base/canonical-text.ts';
import { boolean, choice, integer, list, moment, object, optional, type Stored, storedText } from './stored-json.ts';

/** Version of the code that writes data files. Increment this number whenever the written bytes change. */
const generation = 1;

const exportOutput = object({
  format: choice(['NDJSON', 'CSV', 'Parquet']),
  compression: choice(['None', 'Gzip', 'Zstd']),
  /** Fields that the user selected. An empty list means all fields. */
  fields: list(storedText()),
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
  serviceHost: storedText(),
  query: storedText(),
  /** Start (inclusive) and end (exclusive) of the export in ms since the epoch. */
  fromMs: moment,
  toMs: moment,
  /** Time zone for query functions and partition names. */
  timeZone: storedText(),
  byReceiptTime: boolean,
  autoParsingMode: choice(['Manual', 'AutoParse']),
  results: choice(['Messages', 'Records']),
  requiresRawMessages: boolean,
  output: exportOutput,
});
export type ExportIdentity = Stored<typeof exportIdentity>;

/** Returns the SHA-256 of the settings that identify an export, in hexadecimal. */
export function fingerprintOf(identity: ExportIdentity): string {
  return createHash('sha256').update(canonicalText({ generation, identity })).digest('hex');
}
