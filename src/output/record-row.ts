/**
 * Converts the records of an aggregation (section 2.6 of docs/service.md) to rows, so that the encoders can treat them like messages. An
 * aggregation has few records, so writing each one as JSON again costs little.
 */
import type { RawRow } from './row-encoder.ts';

/** Converts a record to a row. `record` contains values by field name. A field without a value is missing in it. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
