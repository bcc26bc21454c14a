/** Records of an aggregation (2.6) as rows, so that whatever encodes messages encodes them, too. There are few of them, and each is written out anew. */
import type { RawRow } from './row-encoder.ts';

/** From field name to value; a field without a value is absent. */
export function recordRow(record: ReadonlyMap<string, string>): RawRow {
  const members = Array.from(record, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return { bytes: Buffer.from(`{${members.join(',')}}`) };
}
