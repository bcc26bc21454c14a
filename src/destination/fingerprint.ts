/**
 * What an export is, as far as it decides rows or bytes, and the fingerprint under which its files lie (E1): files of another query,
 * range or format can never be counted as its own.
 */
import { createHash } from 'node:crypto';
import { canonicalText } from '../base/canonical-text.ts';
import type { StoredMembers } from './stored-json.ts';

/** Raised when the same identity gives other rows or bytes than before. */
const generation = 1;

export interface ExportOutput {
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  readonly compression: 'None' | 'Gzip' | 'Zstd';
  /** Empty: all of them. */
  readonly fields: readonly string[];
  readonly maxPartBytes: number;
  readonly csv: { readonly formulaGuard: boolean };
}

export interface ExportIdentity {
  readonly serviceHost: string;
  readonly query: string;
  /** Milliseconds since the epoch; `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
  /** What the query does with days and hours depends on it. */
  readonly timeZone: string;
  readonly byReceiptTime: boolean;
  readonly autoParsingMode: 'Manual' | 'AutoParse';
  readonly results: 'Messages' | 'Records';
  readonly requiresRawMessages: boolean;
  readonly output: ExportOutput;
}

/** SHA-256 in hexadecimal digits. */
export function fingerprintOf(identity: ExportIdentity): string {
  return createHash('sha256')
    .update(canonicalText({ generation, identity: plainIdentity(identity) }))
    .digest('hex');
}

/** Its own members alone, so that nothing that an object brings along besides decides. */
export function plainIdentity(identity: ExportIdentity): ExportIdentity {
  const { serviceHost, query, fromMs, toMs, timeZone } = identity;
  const { byReceiptTime, autoParsingMode, results, requiresRawMessages } = identity;
  const { format, compression, fields, maxPartBytes, csv } = identity.output;
  const output = { format, compression, fields, maxPartBytes, csv: { formulaGuard: csv.formulaGuard } };
  const modes = { byReceiptTime, autoParsingMode, results, requiresRawMessages };
  return { serviceHost, query, fromMs, toMs, timeZone, ...modes, output };
}

export function readIdentity(members: StoredMembers): ExportIdentity {
  return {
    serviceHost: members.text('serviceHost'),
    query: members.text('query'),
    fromMs: members.moment('fromMs'),
    toMs: members.moment('toMs'),
    timeZone: members.text('timeZone'),
    byReceiptTime: members.boolean('byReceiptTime'),
    autoParsingMode: members.choice('autoParsingMode', ['Manual', 'AutoParse']),
    results: members.choice('results', ['Messages', 'Records']),
    requiresRawMessages: members.boolean('requiresRawMessages'),
    output: members.object('output', (output) => ({
      format: output.choice('format', ['NDJSON', 'CSV', 'Parquet']),
      compression: output.choice('compression', ['None', 'Gzip', 'Zstd']),
      fields: output.texts('fields'),
      maxPartBytes: output.integer('maxPartBytes', 1),
      csv: output.object('csv', (csv) => ({ formulaGuard: csv.boolean('formulaGuard') })),
    })),
  };
}
