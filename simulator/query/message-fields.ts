/**
 * The standard message fields, with their names and types. Queries cannot create fields with the names of standard
 * fields.
 */
import type { FieldDescriptor } from './row.ts';

const types = {
  _messageid: 'long',
  _sourceid: 'long',
  _sourceName: 'string',
  _sourceHost: 'string',
  _sourceCategory: 'string',
  _format: 'string',
  _size: 'long',
  _messagetime: 'long',
  _receipttime: 'long',
  _messagecount: 'int',
  _raw: 'string',
  _source: 'string',
  _collectorId: 'long',
  _collector: 'string',
  _blockid: 'long',
} as const satisfies Record<string, FieldDescriptor['fieldType']>;

/** The standard message fields, in the order of section 2.5 of docs/service.md. */
export const messageFields: readonly FieldDescriptor[] = Object.entries(types).map(([name, fieldType]) => ({
  name,
  fieldType,
  keyField: false,
}));

const byLowerName = new Map(messageFields.map((field) => [field.name.toLowerCase(), field]));

/** Returns the standard message field with the given name, ignoring case. */
export function messageField(name: string): FieldDescriptor | undefined {
  return byLowerName.get(name.toLowerCase());
}
