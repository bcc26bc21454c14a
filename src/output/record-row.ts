/** Converts aggregation records to rows. */
import type { RawRow } from './row-encoder.ts';

/** Converts a record to a row. `record` contains the values by field name. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
