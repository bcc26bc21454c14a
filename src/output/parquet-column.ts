/** Column of a Parquet file: its type in the schema, and its values in the rows of the current row group. */
import type { SchemaElement } from 'hyparquet-writer';
import type { Column, ColumnType } from './columns.ts';
import type { Bounds } from './parquet-footer.ts';
import type { PageWriter } from './parquet-pages.ts';
import { type RowColumns, valueKind } from './row-columns.ts';
import { TextStore } from './text-store.ts';
import { decimalOf, instantOf, integerOf, type TypedValue, truthOf } from './typed-value.ts';
import type { WordDictionary } from './word-store.ts';
import { WordStore } from './word-store.ts';

export interface ParquetColumn {
  readonly element: SchemaElement;
  /** Memory in bytes that the rows of the column use. */
  readonly bytes: number;
  /** Adds the row's value for this column. Returns false if the value does not have the column's type. */
  add(row: RowColumns, column: number): boolean;
  /** Writes the values of all rows. The returned minimum and maximum are valid until `clear`. */
  write(pages: PageWriter, dictionary: WordDictionary): Bounds | undefined;
  clear(): void;
}

export function parquetColumn({ name, type }: Column): ParquetColumn {
  switch (type) {
    case 'text':
      return new TextColumn(name);
    case 'integer':
      return new IntegerColumn(name, type, integerOf);
    case 'instant':
      return new IntegerColumn(name, type, instantOf);
    case 'decimal':
      return new DecimalColumn(name);
    case 'truth':
      return new TruthColumn(name);
  }
}

/** Column of texts. Strings are stored without JSON escapes, other values as JSON text. */
export class TextColumn extends TextStore implements ParquetColumn {
  readonly element: SchemaElement;

  constructor(name: string) {
    super();
    this.element = elementOf(name, 'text');
  }

  add(row: RowColumns, column: number): boolean {
    const start = row.starts[column] as number;
    const end = row.ends[column] as number;
    const kind = row.kinds[column];
    if (kind === valueKind.absent || kind === valueKind.null) this.addNull();
    else if (kind === valueKind.plain) this.addText(row.bytes, start + 1, end - 1);
    else if (kind === valueKind.escaped) this.addEscaped(row.bytes, row.view, start + 1, end - 1);
    else this.addText(row.bytes, start, end);
    return true;
  }
}

/** Column of values of eight bytes each. */
abstract class WordColumn implements ParquetColumn {
  readonly element: SchemaElement;
  protected readonly store = new WordStore();

  constructor(name: string, type: ColumnType) {
    this.element = elementOf(name, type);
  }

  get bytes(): number {
    return this.store.bytes;
  }

  abstract add(row: RowColumns, column: number): boolean;
  protected abstract get bounds(): Bounds;

  write(pages: PageWriter, dictionary: WordDictionary): Bounds {
    this.store.write(pages, dictionary);
    return this.bounds;
  }

  clear(): void {
    this.store.clear();
  }
}

/** Column of integers or times. Nearly all values have few digits, and need no check whether they fit into 64 bits. */
class IntegerColumn extends WordColumn {
  readonly #read: (text: string) => TypedValue<bigint>;
  readonly #mostPlainDigits: number;

  constructor(name: string, type: 'integer' | 'instant', read: (text: string) => TypedValue<bigint>) {
    super(name, type);
    this.#read = read;
    this.#mostPlainDigits = type === 'instant' ? 13 : 20;
  }

  protected get bounds(): Bounds {
    return this.store.integerBounds;
  }

  add(row: RowColumns, column: number): boolean {
    const start = (row.starts[column] as number) + 1;
    const end = (row.ends[column] as number) - 1;
    const isShort = row.kinds[column] === valueKind.plain && end - start <= this.#mostPlainDigits;
    if (isShort && this.store.addDigits(row.bytes, start, end)) return true;
    const { value, fits } = typedValue(row, column, this.#read);
    if (value === null) this.store.addNull();
    else this.store.add(value);
    return fits;
  }
}

class DecimalColumn extends WordColumn {
  constructor(name: string) {
    super(name, 'decimal');
  }

  protected get bounds(): Bounds {
    return this.store.doubleBounds;
  }

  add(row: RowColumns, column: number): boolean {
    const { value, fits } = typedValue(row, column, decimalOf);
    if (value === null) this.store.addNull();
    else this.store.addDouble(value);
    return fits;
  }
}

/** Estimated memory in bytes of a boolean in a JavaScript array. */
const bytesPerBoolean = 8;

class TruthColumn implements ParquetColumn {
  readonly element: SchemaElement;
  readonly #values: (0 | 1 | undefined)[] = [];

  constructor(name: string) {
    this.element = elementOf(name, 'truth');
  }

  get bytes(): number {
    return bytesPerBoolean * this.#values.length;
  }

  add(row: RowColumns, column: number): boolean {
    const { value, fits } = typedValue(row, column, truthOf);
    this.#values.push(value === null ? undefined : value ? 1 : 0);
    return fits;
  }

  write(pages: PageWriter): Bounds {
    const bits = Uint8Array.from(this.#values.filter((value) => value !== undefined));
    pages.bits(
      Uint8Array.from(this.#values, (value) => (value === undefined ? 0 : 1)),
      bits,
    );
    const nulls = this.#values.length - bits.length;
    return bits.length === 0 ? { nulls } : { least: !bits.includes(0), greatest: bits.includes(1), nulls };
  }

  clear(): void {
    this.#values.length = 0;
  }
}

function typedValue<T>(row: RowColumns, column: number, read: (text: string) => TypedValue<T>): TypedValue<T> {
  const text = textOf(row, column);
  return text === undefined ? { value: null, fits: false } : read(text);
}

/** Returns a value of a row as text: empty if the row has no value, and undefined for an object or array. */
function textOf(row: RowColumns, column: number): string | undefined {
  const start = row.starts[column] as number;
  const end = row.ends[column] as number;
  switch (row.kinds[column]) {
    case valueKind.absent:
    case valueKind.null:
      return '';
    case valueKind.plain:
      return row.bytes.toString('latin1', start + 1, end - 1);
    case valueKind.escaped:
      return JSON.parse(row.bytes.toString('utf8', start, end)) as string;
    case valueKind.nested:
      return undefined;
    default:
      return row.bytes.toString('latin1', start, end);
  }
}

function elementOf(name: string, type: ColumnType): SchemaElement {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  switch (type) {
    case 'text':
      return { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } };
    case 'integer':
      return { ...optional, type: 'INT64' };
    case 'instant': {
      const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;
      return { ...optional, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', logical_type };
    }
    case 'decimal':
      return { ...optional, type: 'DOUBLE' };
    case 'truth':
      return { ...optional, type: 'BOOLEAN' };
  }
}
