/** Messages as the tests of queries write them. */
import type { Row } from '../../../../src/simulator/query/row.ts';

/** A row with these fields and no others; `_messagetime` is 0 where it is not given. */
export function message(fields: Readonly<Record<string, string>>): Row {
  const byLowerName = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  const messageTimeMs = Number(fields['_messagetime'] ?? 0);
  return { messageTimeMs, receiptTimeMs: messageTimeMs, field: (name) => byLowerName.get(name.toLowerCase()) };
}
