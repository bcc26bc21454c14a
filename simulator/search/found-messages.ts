/**
 * Creates pages of the messages found by a search. A page is read twice: first to compute its length, and again while
 * it is being sent. No page is ever held in memory as a whole.
 */
import { Buffer } from 'node:buffer';
import { textOf } from '../base/body.ts';
import type { JsonPage, MessageSearch } from '../log-data/log-data.ts';
import type { FieldDescriptor, MessageRow, Transform } from '../query/row.ts';

export interface MessagePageOptions {
  readonly offset: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly withRaw: boolean;
}

export interface FoundMessages {
  readonly fields: readonly FieldDescriptor[];
  readonly page: JsonPage;
}

export function storedMessages(
  search: MessageSearch,
  fields: readonly FieldDescriptor[],
  { offset, limit, maxBytes, withRaw }: MessagePageOptions,
): FoundMessages {
  return { fields: withoutRaw(fields, withRaw), page: search.page(offset, limit, maxBytes, withRaw) };
}

const maxPartRows = 200;
const maxPartBytes = 1_000_000;

export function parsedMessages(
  search: MessageSearch,
  stored: readonly FieldDescriptor[],
  transform: Transform,
  { offset, limit, maxBytes, withRaw }: MessagePageOptions,
): FoundMessages {
  const added = new AddedFields(stored, transform);
  const parts: JsonPage[] = [];
  let rows = 0;
  let bytes = 0;
  for (let isFull = false; !isFull && rows < limit; ) {
    const part = search.page(offset + rows, Math.min(limit - rows, maxPartRows), maxPartBytes, true);
    if (part.rows === 0) break;
    parts.push(part);
    for (const shown of shownOf(part, transform, withRaw)) {
      const length = Buffer.byteLength(elementOf(shown, [])) + (rows > 0 ? 1 : 0);
      isFull = rows > 0 && bytes + length > maxBytes;
      if (isFull) break;
      rows++;
      bytes += length;
      added.count(shown);
    }
  }
  const { names } = added;
  const shownFields = withoutRaw(stored, withRaw).filter(({ name }) => transform.keeps?.(name) ?? true);
  return {
    fields: [...shownFields, ...added.descriptors],
    page: {
      rows,
      bytes: bytes + added.fillBytes(rows),
      pieces: () =>
        pieces(parts, rows, (part) => shownOf(part, transform, withRaw).map((shown) => elementOf(shown, names))),
    },
  };
}

/**
 * Fields that the query parsed from only some of the messages on a page. The page shows these fields with the value
 * `""` in all its other messages.
 */
class AddedFields {
  readonly #stored: ReadonlySet<string>;
  readonly #types: ReadonlyMap<string, FieldDescriptor>;
  readonly #counts = new Map<string, number>();
  /** Number of messages on the page that have no visible fields. */
  #bare = 0;

  constructor(stored: readonly FieldDescriptor[], { adds, keeps }: Transform) {
    this.#stored = new Set(stored.map(({ name }) => name));
    this.#types = new Map(adds.map((field) => [field.name, field]));
    for (const { name } of adds) if (keeps?.(name) ?? true) this.#counts.set(name, 0);
  }

  count(shown: ReadonlyMap<string, string>): void {
    if (shown.size === 0) this.#bare++;
    for (const name of shown.keys()) {
      if (!this.#stored.has(name)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
  }

  get names(): readonly string[] {
    return [...this.#counts.keys()];
  }

  get descriptors(): FieldDescriptor[] {
    return this.names.map((name) => this.#types.get(name) ?? { name, fieldType: 'string', keyField: false });
  }

  /**
   * Returns the number of bytes by which a page grows when each of its messages gets an empty value for each field that
   * it lacks. `rows` is the number of messages on the page.
   */
  fillBytes(rows: number): number {
    let bytes = this.#counts.size > 0 ? -this.#bare : 0;
    for (const [name, count] of this.#counts) bytes += (rows - count) * (Buffer.byteLength(JSON.stringify(name)) + 4);
    return bytes;
  }
}

/** Yields the first `rows` messages of `parts`. */
function* pieces(
  parts: readonly JsonPage[],
  rows: number,
  elementsOf: (part: JsonPage) => string[],
): Generator<Uint8Array> {
  let left = rows;
  for (const part of parts) {
    const elements = elementsOf(part).slice(0, left);
    yield Buffer.from((left < rows ? ',' : '') + elements.join(','));
    left -= elements.length;
  }
}

function shownOf(part: JsonPage, transform: Transform, withRaw: boolean): Map<string, string>[] {
  const messages = JSON.parse(`[${textOf(part)}]`) as { readonly map: Readonly<Record<string, string>> }[];
  return messages.map(({ map }) => {
    const row = transform.apply(rowOf(map));
    const shown = new Map([...Object.entries(map), ...(row?.parsed ?? [])]);
    if (!withRaw) shown.delete('_raw');
    for (const name of shown.keys()) if (transform.keeps?.(name) === false) shown.delete(name);
    return shown;
  });
}

/** Returns a message as JSON. A field listed in `names` that the message does not have is added as an empty field. */
function elementOf(shown: ReadonlyMap<string, string>, names: readonly string[]): string {
  const lacking = names.filter((name) => !shown.has(name)).map((name) => [name, ''] as const);
  return JSON.stringify({ map: Object.fromEntries([...shown, ...lacking]) });
}

function rowOf(map: Readonly<Record<string, string>>): MessageRow {
  const byLowerName = new Map(Object.entries(map).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    messageTimeMs: Number(byLowerName.get('_messagetime')),
    receiptTimeMs: Number(byLowerName.get('_receipttime')),
    field: (lowerName) => byLowerName.get(lowerName),
  };
}

function withoutRaw(fields: readonly FieldDescriptor[], withRaw: boolean): FieldDescriptor[] {
  return fields.filter(({ name }) => withRaw || name !== '_raw');
}
