/** One column of a Parquet file: its type in the schema, and its values for the rows of a row group. */
import type { ColumnSource, SchemaElement } from 'hyparquet-writer';
import type { Column, ColumnType } from './columns.ts';
import { IntegerStore } from './integer-store.ts';
import { type RowColumns, valueKind } from './row-columns.ts';
import { TextStore } from './text-store.ts';
import { decimalOf, instantOf, integerOf, type TypedValue, truthOf } from './typed-value.ts';

type ColumnWriting = Pick<ColumnSource, 'encoding' | 'statistics'>;

export interface ParquetColumn {
  readonly element: SchemaElement;
  /** Bytes of text in memory. */
  readonly bytes: number;
  /** Takes the value that a column of the row has. False where it is not of this column's type. */
  add(row: RowColumns, column: number): boolean;
  /** How the writer is to write them. */
  readonly writing: ColumnWriting;
  /** By row; good until `clear`. */
  values(): ColumnSource['data'];
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
      return new TypedColumn(name, type, decimalOf);
    case 'truth':
      return new TypedColumn(name, type, truthOf);
  }
}

/** Strings say what they say; of anything else its JSON is the text. */
export class TextColumn implements ParquetColumn {
  readonly element: SchemaElement;
  readonly #store = new TextStore();

  constructor(name: string) {
    this.element = elementOf(name, 'text');
  }

  get bytes(): number {
    return this.#store.bytes;
  }

  add(row: RowColumns, column: number): boolean {
    const start = row.starts[column] as number;
    const end = row.ends[column] as number;
    switch (row.kinds[column]) {
      case valueKind.absent:
      case valueKind.null:
        this.#store.addNull();
        return true;
      case valueKind.plain:
        this.addText(row.bytes, start + 1, end - 1);
        return true;
      case valueKind.escaped:
        this.#store.addEscaped(row.bytes, row.view, start + 1, end - 1);
        return true;
      default:
        this.addText(row.bytes, start, end);
        return true;
    }
  }

  addText(bytes: Buffer, start: number, end: number): void {
    this.#store.add(bytes, start, end);
  }

  addNull(): void {
    this.#store.addNull();
  }

  /** Bounds of texts that hardly repeat, such as whole messages, help nobody who looks for one. */
  get writing(): ColumnWriting {
    return this.#store.repeats ? {} : { encoding: 'PLAIN', statistics: false };
  }

  values(): ColumnSource['data'] {
    return this.#store.values();
  }

  clear(): void {
    this.#store.clear();
  }
}

/** Integers and times. Nearly all are plain digits, few enough that they need no look at their range. */
class IntegerColumn implements ParquetColumn {
  readonly element: SchemaElement;
  readonly bytes = 0;
  readonly writing: ColumnWriting = {};
  readonly #read: (text: string) => TypedValue<bigint>;
  readonly #mostPlainDigits: number;
  readonly #store = new IntegerStore();

  constructor(name: string, type: 'integer' | 'instant', read: (text: string) => TypedValue<bigint>) {
    this.element = elementOf(name, type);
    this.#read = read;
    this.#mostPlainDigits = type === 'instant' ? 13 : 20;
  }

  add(row: RowColumns, column: number): boolean {
    const start = (row.starts[column] as number) + 1;
    const end = (row.ends[column] as number) - 1;
    const isShort = row.kinds[column] === valueKind.plain && end - start <= this.#mostPlainDigits;
    if (isShort && this.#store.addDigits(row.bytes, start, end)) return true;
    const text = textOf(row, column);
    const { value, fits } = text === undefined ? { value: null, fits: false } : this.#read(text);
    if (value === null) this.#store.addNull();
    else this.#store.add(value);
    return fits;
  }

  values(): ColumnSource['data'] {
    return this.#store.values();
  }

  clear(): void {
    this.#store.clear();
  }
}

class TypedColumn<T extends number | boolean> implements ParquetColumn {
  readonly element: SchemaElement;
  readonly bytes = 0;
  readonly writing: ColumnWriting = {};
  readonly #read: (text: string) => TypedValue<T>;
  #values: (T | null)[] = [];

  constructor(name: string, type: ColumnType, read: (text: string) => TypedValue<T>) {
    this.element = elementOf(name, type);
    this.#read = read;
  }

  add(row: RowColumns, column: number): boolean {
    const text = textOf(row, column);
    const { value, fits } = text === undefined ? { value: null, fits: false } : this.#read(text);
    this.#values.push(value);
    return fits;
  }

  values(): ColumnSource['data'] {
    return this.#values;
  }

  clear(): void {
    this.#values = [];
  }
}

/** What a value says, '' where there is none; undefined of objects and arrays. */
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
