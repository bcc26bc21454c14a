/** Messages for query tests. */
import type { MessageRow } from '../../query/row.ts';

/** Returns a message with exactly these fields. `_messagetime` is 0 by default. */
export function message(fields: Readonly<Record<string, string>>): MessageRow {
  const byLowerName = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  const messageTimeMs = Number(fields['_messagetime'] ?? 0);
  return { messageTimeMs, receiptTimeMs: messageTimeMs, field: (lowerName) => byLowerName.get(lowerName) };
}
