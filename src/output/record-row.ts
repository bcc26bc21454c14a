/**
 * Converts records of an aggregation (2.6) to rows, so that the encoders for messages handle them as well. Records are few, so each
 * is serialised again.
 */
import type { RawRow } from './row-encoder.ts';

/** Values by field name. A field without a value is absent. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
