/** Converts the results of an aggregation (section 2.6 of docs/service.md) to rows, so that the encoders can treat them like messages. */
import type { RawRow } from './row-encoder.ts';

/** Converts a result of an aggregation to a row. `record` contains the values by field name. Fields without a value are missing. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
