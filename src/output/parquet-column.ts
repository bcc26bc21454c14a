/** A column of a Parquet file, with the values of the current row group. */
import type { SchemaElement } from 'hyparquet-writer';
import type { Column, ColumnType } from './columns.ts';
import type { Bounds } from './parquet-footer.ts';
import type { PageWriter } from './parquet-pages.ts';
import { type RowColumns, valueKind } from './row-columns.ts';
import { TextStore } from './text-store.ts';
import { decimalOf, instantOf, integerOf, misfit, type TypedValue, truthOf } from './typed-value.ts';
import { type WordDictionary, WordStore } from './word-store.ts';

/** Values of one column for the rows of a row group. */
interface ColumnStore {
  /** Memory in bytes used by the column's rows. */
  readonly bytes: number;
  addNull(): void;
  /** Writes all values of the column, and returns the smallest and largest value. */
  write(pages: PageWriter, dictionary: WordDictionary): Bounds | undefined;
  clear(): void;
}

export interface ParquetColumn {
  readonly element: SchemaElement;
  readonly store: ColumnStore;
  /** Adds a row's value to this column. Returns false if the value does not match the column's type. */
  add(row: RowColumns, column: number): boolean;
}

export function parquetColumn({ name, type }: Column): ParquetColumn {
  const element = elementOf(name, type);
  switch (type) {
    case 'text':
      return textColumn(name);
    case 'integer': {
      const store = new WordStore();
      return { element, store, add: integerAdder(store, 20, integerOf) };
    }
    case 'instant': {
      const store = new WordStore();
      return { element, store, add: integerAdder(store, 13, instantOf) };
    }
    case 'decimal': {
      const store = new WordStore('doubles');
      const doubles = { addNull: () => store.addNull(), add: (value: number) => store.addDouble(value) };
      return { element, store, add: (row, column) => addTyped(doubles, row, column, decimalOf) };
    }
    case 'truth': {
      const store = new TruthStore();
      return { element, store, add: (row, column) => addTyped(store, row, column, truthOf) };
    }
  }
}

/** Creates a text column. Values other than strings are stored as JSON. */
export function textColumn(name: string): ParquetColumn & { readonly store: TextStore } {
  const store = new TextStore();
  const add = (row: RowColumns, column: number) => {
    const start = row.starts[column] as number;
    const end = row.ends[column] as number;
    const kind = row.kinds[column];
    if (kind === valueKind.absent || kind === valueKind.null) store.addNull();
    else if (kind === valueKind.plain) store.addText(row.bytes, start + 1, end - 1);
    else if (kind === valueKind.escaped) store.addEscaped(row.bytes, row.view, start + 1, end - 1);
    else store.addText(row.bytes, start, end);
    return true;
  };
  return { element: elementOf(name, 'text'), store, add };
}

/**
 * Returns a function that adds integers or times to a column. Values with at most `maxPlainDigits` plain digits are
 * parsed directly. All other values are parsed with `read`, which is slow.
 */
function integerAdder(store: WordStore, maxPlainDigits: number, read: (text: string) => TypedValue<bigint>) {
  return (row: RowColumns, column: number) => {
    const start = (row.starts[column] as number) + 1;
    const end = (row.ends[column] as number) - 1;
    const isShort = row.kinds[column] === valueKind.plain && end - start <= maxPlainDigits;
    return (isShort && store.addDigits(row.bytes, start, end)) || addTyped(store, row, column, read);
  };
}

/**
 * Parses a value with `read`, and adds it to the column. Returns false if the value does not match the column's type.
 */
function addTyped<T>(
  store: { addNull(): void; add(value: T): void },
  row: RowColumns,
  column: number,
  read: (text: string) => TypedValue<T>,
): boolean {
  const text = textOf(row, column);
  const { value, fits } = text === undefined ? misfit : read(text);
  if (value === null) store.addNull();
  else store.add(value);
  return fits;
}

/** Returns a value as text: '' if it is missing, and undefined if it is an object or array. */
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

/** Estimated memory in bytes per boolean. */
const bytesPerBoolean = 8;

class TruthStore implements ColumnStore {
  readonly #values: (0 | 1 | undefined)[] = [];

  get bytes(): number {
    return bytesPerBoolean * this.#values.length;
  }

  addNull(): void {
    this.#values.push(undefined);
  }

  add(value: boolean): void {
    this.#values.push(value ? 1 : 0);
  }

  write(pages: PageWriter): Bounds {
    const bits = Uint8Array.from(this.#values.filter((value) => value !== undefined));
    pages.bits(
      Uint8Array.from(this.#values, (value) => (value === undefined ? 0 : 1)),
      bits,
    );
    const nulls = this.#values.length - bits.length;
    return bits.length === 0 ? { nulls } : { min: !bits.includes(0), max: bits.includes(1), nulls };
  }

  clear(): void {
    this.#values.length = 0;
  }
}

const elementTypes: Readonly<Record<ColumnType, Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  decimal: { type: 'DOUBLE' },
  truth: { type: 'BOOLEAN' },
};

function elementOf(name: string, type: ColumnType): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...elementTypes[type] };
}
