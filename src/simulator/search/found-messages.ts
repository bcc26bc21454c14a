/**
 * A page of messages (2.5) out of a search: as they are stored, or with what the query parsed out of them and without what it hides.
 *
 * The latter are read back from the page of stored ones, since a search remembers where messages are and not what is in them.
 * Such a page is in memory until it was sent.
 */
import { Buffer } from 'node:buffer';
import { textOf } from '../body.ts';
import type { MessagePage, Search } from '../log-data/log-data.ts';
import type { Transform } from '../query/query.ts';
import type { FieldDescriptor, Row } from '../query/row.ts';
import type { PageRequest } from './search-results.ts';

export interface FoundMessages {
  readonly fields: readonly FieldDescriptor[];
  readonly page: MessagePage;
}

export const emptyPage: MessagePage = { rows: 0, bytes: 0, pieces: () => [] };

export function storedMessages(
  search: Search,
  fields: readonly FieldDescriptor[],
  { offset, limit, maxBytes, withRaw }: PageRequest,
): FoundMessages {
  return { fields: withoutRaw(fields, withRaw), page: search.page(offset, limit, maxBytes, withRaw) };
}

export function parsedMessages(
  search: Search,
  stored: readonly FieldDescriptor[],
  transform: Transform,
  { offset, limit, maxBytes, withRaw }: PageRequest,
): FoundMessages {
  const fields = new Map(withoutRaw(stored, withRaw).map((field) => [field.name, field]));
  for (const field of transform.adds) fields.set(field.name, field);
  const elements: string[] = [];
  for (const map of mapsIn(search.page(offset, limit, maxBytes, true))) {
    const row = transform.apply(rowOf(map));
    const shown = new Map([...map, ...(row?.parsed ?? [])].filter(([name]) => withRaw || name !== '_raw'));
    for (const name of shown.keys()) {
      if (!fields.has(name)) fields.set(name, { name, fieldType: 'string', keyField: false });
      if (transform.keeps?.(name) === false) shown.delete(name);
    }
    elements.push(JSON.stringify({ map: Object.fromEntries(shown) }));
  }
  const body = Buffer.from(elements.join(','));
  return {
    fields: [...fields.values()].filter(({ name }) => transform.keeps?.(name) ?? true),
    page: { rows: elements.length, bytes: body.length, pieces: () => [body] },
  };
}

function mapsIn(page: MessagePage): Map<string, string>[] {
  const messages = JSON.parse(`[${textOf(page)}]`) as { readonly map: Readonly<Record<string, string>> }[];
  return messages.map(({ map }) => new Map(Object.entries(map)));
}

function rowOf(map: ReadonlyMap<string, string>): Row {
  const byLowerName = new Map([...map].map(([name, value]) => [name.toLowerCase(), value]));
  return {
    messageTimeMs: Number(byLowerName.get('_messagetime')),
    receiptTimeMs: Number(byLowerName.get('_receipttime')),
    field: (name) => byLowerName.get(name.toLowerCase()),
  };
}

function withoutRaw(fields: readonly FieldDescriptor[], withRaw: boolean): FieldDescriptor[] {
  return fields.filter(({ name }) => withRaw || name !== '_raw');
}
