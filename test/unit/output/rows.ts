/** Helpers for encoder tests: rows, and sinks that keep the encoded data. */
import fc from 'fast-check';
import { ByteSpool } from '../../../src/output/byte-spool.ts';
import type { PartSink } from '../../../src/output/part-writer.ts';
import type { RawRow, RowEncoder } from '../../../src/output/row-encoder.ts';

function rowOf(text: string): RawRow {
  return { bytes: Buffer.from(text) };
}

export function rowWith(members: Readonly<Record<string, unknown>>): RawRow {
  return rowOf(JSON.stringify(members));
}

/**
 * Passes rows to an encoder as the page reader does. Each row is a slice of a larger buffer, which is overwritten
 * afterwards.
 */
export class PassingRow {
  readonly #memory = Buffer.alloc(2 ** 20, '"');

  hand(text: string | Buffer, take: (row: RawRow) => void): void {
    const bytes = Buffer.from(text);
    bytes.copy(this.#memory, 13);
    take({ bytes: this.#memory.subarray(13, 13 + bytes.length) });
    this.#memory.fill('"', 13, 13 + bytes.length);
  }
}

/** Sink that keeps a copy of all data, and records the order of calls to it. */
export class KeepingSink implements PartSink {
  readonly calls: ('write' | 'finish' | 'abort')[] = [];
  readonly #chunks: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.calls.push('write');
    this.#chunks.push(Buffer.from(chunk));
  }

  async finish(): Promise<void> {
    this.calls.push('finish');
  }

  async abort(): Promise<void> {
    this.calls.push('abort');
  }
}

/** Returns an encoder's output. The memory of each row is overwritten after the encoder has used it. */
export function encoded(
  encoder: (spool: ByteSpool) => RowEncoder,
  texts: readonly (string | Buffer)[],
  chunkBytes?: number,
): Buffer {
  const spool = new ByteSpool(chunkBytes);
  const encoding = encoder(spool);
  const passing = new PassingRow();
  const chunks: Buffer[] = [];
  const take = () => {
    for (let chunk = spool.take(); chunk !== undefined; chunk = spool.take()) {
      chunks.push(Buffer.from(chunk));
      chunk.fill('"');
      spool.recycle(chunk);
    }
  };
  for (const text of texts) {
    passing.hand(text, (row) => encoding.row(row));
    take();
  }
  encoding.end();
  spool.flush();
  take();
  return Buffer.concat(chunks);
}

/** Style of JSON text: the whitespace between tokens, and which characters are escaped. */
export interface Writing {
  readonly space: string;
  readonly escapes: 'needed' | 'all' | 'slashes';
}

export const writings: fc.Arbitrary<Writing> = fc.record({
  space: fc.constantFrom('', '', ' ', '\n  ', '\r\n\t'),
  escapes: fc.constantFrom('needed', 'needed', 'all', 'slashes'),
});

/** Names and values of a row's members. A row can have two members with the same name. */
export type RowMembers = readonly (readonly [name: string, value: unknown])[];

export function writtenRow(members: RowMembers, { space, escapes }: Writing): string {
  const text = (value: unknown): string => {
    if (typeof value === 'string') return writtenString(value, escapes);
    if (Array.isArray(value)) return `[${space}${value.map(text).join(`${space},${space}`)}${space}]`;
    return typeof value === 'object' && value !== null ? object(Object.entries(value)) : JSON.stringify(value);
  };
  const object = (entries: RowMembers): string =>
    `{${space}${entries.map(([name, value]) => `${text(name)}${space}:${space}${text(value)}`).join(`${space},${space}`)}${space}}`;
  return object(members);
}

function writtenString(value: string, escapes: Writing['escapes']): string {
  if (escapes === 'needed') return JSON.stringify(value);
  if (escapes === 'slashes') return JSON.stringify(value).replaceAll('/', '\\/');
  const units = Array.from({ length: value.length }, (_, index) => value.charCodeAt(index));
  return `"${units.map((unit, index) => `\\u${index % 2 ? hex(unit).toUpperCase() : hex(unit)}`).join('')}"`;
}

function hex(unit: number): string {
  return unit.toString(16).padStart(4, '0');
}

/** Characters that have a special meaning in a file format, or different lengths in UTF-8 and UTF-16. */
const letters = [...'abc019 ,;"\'\\/{}[]:=+-@\t\r\n\b\f\u0000\u007f\u0085é߿ࠀ＝＋－＠\u2028😀\ud800\udfff'];

export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: fc.constantFrom(...letters), maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.double({ noNaN: true }).map(String),
  fc.constantFrom('', '-5', '+5', '-5.5e-3', '-5x', '=1+1', '-2+3', '@SUM(A1)', '1.788E12', 'true', '1788000000000'),
);

export const values: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: texts },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, 0, -17, 1.5e300) },
  { weight: 1, arbitrary: fc.array(texts, { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(texts, fc.oneof(texts, fc.constant(null)), { maxKeys: 3, noNullPrototype: true }),
  },
);

export const fieldNames: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '_messageid',
    '_messagetime',
    '_messageTime',
    '_raw',
    '_Raw',
    'status',
    'Status',
    'a,b',
    '=x',
    '_rest',
  ),
  texts,
);

export const rowMembers: fc.Arbitrary<RowMembers> = fc.array(fc.tuple(fieldNames, values), { maxLength: 12 });

/** Returns the expected value of each column, and the JSON members that do not have their own column. */
export function sorted(
  names: readonly string[],
  members: RowMembers,
): { values: Map<string, unknown>; others: RowMembers } {
  const columnOf = (name: string) =>
    names.find((each) => each === name || (/^_[a-z]+$/i.test(each) && equalIgnoringCase(each, name)));
  const filled = new Map<string, { by: string; value: unknown }>();
  const others: [string, unknown][] = [];
  for (const [name, value] of members) {
    const column = columnOf(name);
    if (column === undefined) {
      others.push([name, value]);
      continue;
    }
    const before = filled.get(column);
    if (before && before.by !== name) others.push([before.by, before.value]);
    filled.set(column, { by: name, value });
  }
  return { values: new Map([...filled].map(([column, { value }]) => [column, value])), others };
}

function equalIgnoringCase(left: string, right: string): boolean {
  return /^_[a-z]+$/i.test(right) && left.toLowerCase() === right.toLowerCase();
}
