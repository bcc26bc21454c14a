/**
 * Converts records of an aggregation (2.6) to rows, so that the encoders for messages handle them as well. Records are few, so each
 * is serialised again.
 */
import type { RawRow } from './row-encoder.ts';

/** Converts a record to a row. `record` contains values by field name; a field without a value is absent. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
