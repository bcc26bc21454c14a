/** Converts message field names to the spelling set in a scenario (section 2.5 of docs/service.md). */
import { messageFields } from '../query/message-fields.ts';
import type { FieldDescriptor } from '../query/row.ts';

/**
 * Spellings of field names:
 * - `specified`: `_messagetime` and `_sourceName`, as in section 2.5 of docs/service.md.
 * - `camel`: `_messageTime` and `_sourceName`.
 * - `lower`: `_messagetime` and `_sourcename`.
 */
export const fieldCases = ['specified', 'camel', 'lower'] as const;
export type FieldCase = (typeof fieldCases)[number];

const camelNames: Readonly<Record<string, string>> = {
  _messageid: '_messageId',
  _sourceid: '_sourceId',
  _messagetime: '_messageTime',
  _receipttime: '_receiptTime',
  _messagecount: '_messageCount',
  _blockid: '_blockId',
};

/** Returns a field name in the given spelling. */
export function spelt(name: string, fieldCase: FieldCase): string {
  switch (fieldCase) {
    case 'specified':
      return name;
    case 'camel':
      return camelNames[name] ?? name;
    case 'lower':
      return name.toLowerCase();
  }
}

/** Returns the standard message fields in the order of section 2.5 of docs/service.md. */
export function speltFields(fieldCase: FieldCase): readonly FieldDescriptor[] {
  return messageFields.map((field) => ({ ...field, name: spelt(field.name, fieldCase) }));
}
