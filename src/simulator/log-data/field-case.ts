/** How the names of message fields (2.5) are spelt in pages: services differ in the case of letters, and mean the same (10.3). */
import { messageFields } from '../query/message-fields.ts';
import type { FieldDescriptor } from '../query/row.ts';

/**
 * - `specified`: as 2.5 has them, `_messagetime` and `_sourceName`.
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

/** `name` as 2.5 has it. */
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

/** All fields of 2.5, in its order. */
export function speltFields(fieldCase: FieldCase): readonly FieldDescriptor[] {
  return messageFields.map((field) => ({ ...field, name: spelt(field.name, fieldCase) }));
}
