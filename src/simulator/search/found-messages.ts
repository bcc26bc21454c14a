/**
 * A page of messages (2.5) out of a search: as they are stored, or with what the query parsed out of them and without what it hides.
 *
 * The latter are read back from pages of stored ones, since a search remembers where messages are and not what is in them. That is
 * done twice, once for their length and once when they are sent, and a small part at a time, so that no page is in memory as a whole.
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

/** Of one part; the last message of it makes it longer. */
const mostPartRows = 200;
const mostPartBytes = 1_000_000;

export function parsedMessages(
  search: Search,
  stored: readonly FieldDescriptor[],
  transform: Transform,
  { offset, limit, maxBytes, withRaw }: PageRequest,
): FoundMessages {
  const fields = new Map(withoutRaw(stored, withRaw).map((field) => [field.name, field]));
  for (const field of transform.adds) fields.set(field.name, field);
  const parts: MessagePage[] = [];
  let rows = 0;
  let bytes = 0;
  for (let isFull = false; !isFull && rows < limit; ) {
    const part = search.page(offset + rows, Math.min(limit - rows, mostPartRows), mostPartBytes, true);
    if (part.rows === 0) break;
    parts.push(part);
    for (const shown of shownOf(part, transform, withRaw)) {
      const length = Buffer.byteLength(elementOf(shown)) + (rows > 0 ? 1 : 0);
      isFull = rows > 0 && bytes + length > maxBytes;
      if (isFull) break;
      rows++;
      bytes += length;
      for (const name of shown.keys()) {
        if (!fields.has(name)) fields.set(name, { name, fieldType: 'string', keyField: false });
      }
    }
  }
  return {
    fields: [...fields.values()].filter(({ name }) => transform.keeps?.(name) ?? true),
    page: { rows, bytes, pieces: () => pieces(parts, rows, transform, withRaw) },
  };
}

/** The first `rows` messages of the parts. */
function* pieces(
  parts: readonly MessagePage[],
  rows: number,
  transform: Transform,
  withRaw: boolean,
): Generator<Uint8Array> {
  let left = rows;
  for (const part of parts) {
    const elements = shownOf(part, transform, withRaw).slice(0, left).map(elementOf);
    yield Buffer.from((left < rows ? ',' : '') + elements.join(','));
    left -= elements.length;
  }
}

/** What each message of a part shows. */
function shownOf(part: MessagePage, transform: Transform, withRaw: boolean): Map<string, string>[] {
  const messages = JSON.parse(`[${textOf(part)}]`) as { readonly map: Readonly<Record<string, string>> }[];
  return messages.map(({ map }) => {
    const row = transform.apply(rowOf(map));
    const shown = new Map([...Object.entries(map), ...(row?.parsed ?? [])]);
    if (!withRaw) shown.delete('_raw');
    for (const name of shown.keys()) if (transform.keeps?.(name) === false) shown.delete(name);
    return shown;
  });
}

function elementOf(shown: ReadonlyMap<string, string>): string {
  return JSON.stringify({ map: Object.fromEntries(shown) });
}

function rowOf(map: Readonly<Record<string, string>>): Row {
  const byLowerName = new Map(Object.entries(map).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    messageTimeMs: Number(byLowerName.get('_messagetime')),
    receiptTimeMs: Number(byLowerName.get('_receipttime')),
    field: (name) => byLowerName.get(name.toLowerCase()),
  };
}

function withoutRaw(fields: readonly FieldDescriptor[], withRaw: boolean): FieldDescriptor[] {
  return fields.filter(({ name }) => withRaw || name !== '_raw');
}
