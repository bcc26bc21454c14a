/**
 * Reads a page of messages (section 2.5 of docs/service.md): its rows, warning and field descriptions. Rows are passed
 * on as their original bytes.
 *
 * Unknown fields are skipped. A page must contain `messages` exactly once, and each message must contain `map` exactly
 * once, because rows that have already been passed on cannot be replaced.
 */
import { DecodeError } from '../json/json-members.ts';
import { isContainer, type JsonKind, type JsonReader, type Reading, valueTypeNames } from '../json/json-reader.ts';
import { decodePageFields, type PageField } from './page-field.ts';
import { type FieldValue, RowFields, type RowSink } from './page-row.ts';
import { RowFinder, rowGap } from './row-finder.ts';

export class PageContent {
  /** Number of the page's rows that have been passed on. */
  rows = 0;
  /** Warning and field descriptions that have been read so far. */
  warning: string | undefined;
  fields: readonly PageField[] = [];

  readonly #sink: RowSink;
  readonly #reader: JsonReader;
  readonly #maxRowBytes: number;
  readonly #fieldsOfRow = new RowFields();
  readonly #finder = new RowFinder(this.#fieldsOfRow);
  /**
   * Part of the page that is being read. Error messages name this part. `element` is an item of the page's array
   * `messages`.
   */
  #place: 'the page' | 'warning' | 'fields' | 'messages' | 'element' | 'map' = 'the page';
  /** True if the row of the current element has been passed on. */
  #hasMap = false;

  /**
   * @param maxRowBytes maximum size in bytes of a row, or of any other text on a page
   */
  constructor(sink: RowSink, reader: JsonReader, maxRowBytes: number) {
    this.#sink = sink;
    this.#reader = reader;
    this.#maxRowBytes = maxRowBytes;
  }

  /** Reads the page. Throws a `PageError` at the first invalid byte. */
  *read(): Reading<never> {
    const reader = this.#reader;
    yield* reader.startOfDocument();
    this.#expect('object', yield* reader.value());
    let hasMessages = false;
    while (yield* reader.next(true)) {
      const name = this.#keptValue() as string;
      switch (name) {
        case 'messages':
          if (hasMessages) throw this.#errorAt(reader.start, 'expected messages once');
          hasMessages = true;
          this.#place = name;
          yield* this.#messages();
          break;
        case 'warning':
          this.#place = name;
          yield* this.#warning();
          break;
        case 'fields':
          this.#place = name;
          yield* this.#fields();
          break;
        default:
          yield* reader.skipValue();
      }
      this.#place = 'the page';
    }
    if (!hasMessages) throw this.#errorAt(reader.at - 1, 'expected a field named messages, found none');
    return yield* reader.endOfDocument();
  }

  /** Throws if the incomplete row or text exceeds the maximum size. */
  checkLength(from: number, end: number): void {
    const max = this.#maxRowBytes;
    if (end - from > max) throw this.#errorAt(from + max, `expected at most ${max} bytes in a row or string`);
  }

  /** Creates the error for an invalid byte, with its JSON path. */
  error(offset: number, problem: string): PageError {
    return new PageError(offset, this.#path(), problem);
  }

  *#messages(): Reading<void> {
    const reader = this.#reader;
    const kind = yield* reader.value();
    if (kind === 'null') return;
    this.#expect('array', kind);
    this.#place = 'element';
    while (yield* reader.next()) {
      this.#expect('object', yield* reader.value());
      while (yield* reader.next(true)) {
        if (this.#keptValue() !== 'map') yield* reader.skipValue();
        else if (this.#hasMap) throw this.#errorAt(reader.start, 'expected map once');
        else yield* this.#map();
      }
      if (!this.#hasMap) throw this.#errorAt(reader.at - 1, 'expected a field named map, found none');
      this.#hasMap = false;
    }
  }

  /** Reads an element's row, and any following rows that `row-finder.ts` can read. */
  *#map(): Reading<void> {
    const reader = this.#reader;
    this.#place = 'map';
    this.#expect('object', yield* reader.value());
    this.#beginRow(reader.start);
    for (;;) {
      this.#findRows();
      if (!(yield* reader.next())) break;
      const field = this.#namedField();
      const kind = yield* reader.value();
      field?.set(kind, reader.start - reader.kept, reader.at - reader.kept);
      if (isContainer(kind)) yield* reader.skipRest();
    }
    this.#passOn(reader.at);
    reader.kept = -1;
    this.#hasMap = true;
    this.#place = 'element';
  }

  /** Passes on the rows that `row-finder.ts` can read, because that code is faster than the JSON reader. */
  #findRows(): void {
    const reader = this.#reader;
    for (let { at } = reader; ; at = reader.kept + 1) {
      const end = this.#finder.find(reader.bytes, reader.view, reader.kept, at, reader.end);
      if (end < 0) break;
      this.#passOn(end);
      this.#beginRow(end + rowGap);
    }
    reader.continueObject(reader.kept, this.#finder.stoppedAt);
  }

  /** Begins the row at index `start`. Its bytes are kept in memory until the row ends. */
  #beginRow(start: number): void {
    this.#reader.kept = start;
    this.#fieldsOfRow.begin();
  }

  /** Passes on the row that ends at index `end`. */
  #passOn(end: number): void {
    const { bytes, kept } = this.#reader;
    this.checkLength(kept, end);
    this.#sink.row(this.#fieldsOfRow.read(bytes, kept, end, this.#errorInRow));
    this.rows++;
  }

  readonly #errorInRow = (at: number, problem: string) => this.#errorAt(at, problem);

  /** Returns the known field whose name was just read, or undefined for any other name. */
  #namedField(): FieldValue | undefined {
    const { bytes, start, at, hasEscape } = this.#reader;
    if (!hasEscape) return this.#fieldsOfRow.named(bytes, start + 1, at - 1);
    const name = Buffer.from(JSON.parse(bytes.toString('utf8', start, at)) as string);
    return this.#fieldsOfRow.named(name, 0, name.length);
  }

  *#warning(): Reading<void> {
    const reader = this.#reader;
    const kind = yield* reader.value(true);
    if (kind !== 'null') this.#expect('string', kind);
    this.warning = (this.#keptValue() as string | null) ?? undefined;
  }

  *#fields(): Reading<void> {
    const reader = this.#reader;
    const kind = yield* reader.value();
    if (kind === 'null') {
      this.fields = [];
      return;
    }
    this.#expect('array', kind);
    reader.kept = reader.start;
    yield* reader.skipRest();
    const start = reader.kept;
    const value = this.#keptValue();
    try {
      this.fields = decodePageFields(value);
    } catch (error) {
      if (error instanceof DecodeError) throw this.#errorAt(start, error.message);
      throw error;
    }
  }

  /** Parses the bytes that have been kept. */
  #keptValue(): unknown {
    const { bytes, kept, at } = this.#reader;
    this.checkLength(kept, at);
    this.#reader.kept = -1;
    return JSON.parse(bytes.toString('utf8', kept, at));
  }

  #expect(expected: JsonKind, found: JsonKind): void {
    if (found === expected) return;
    throw this.#errorAt(this.#reader.start, `expected ${valueTypeNames[expected]}, found ${valueTypeNames[found]}`);
  }

  /** Creates the error for the byte at the given index in the chunk. */
  #errorAt(at: number, problem: string): PageError {
    return this.error(this.#reader.offsetOf(at), problem);
  }

  /** Returns the JSON path of the current position in the page. */
  #path(): string {
    if (this.#place === 'map') return `messages[${this.rows}].map`;
    if (this.#place === 'element') return `messages[${this.#hasMap ? this.rows - 1 : this.rows}]`;
    return this.#place;
  }
}

export class PageError extends DecodeError {
  /** Offset of the invalid byte in the page, or the length of the page if it is truncated. */
  readonly offset: number;

  /**
   * @param place JSON path of the error
   * @param problem what was expected and what was found, without values from the page
   */
  constructor(offset: number, place: string, problem: string) {
    super(`${place}: ${problem}, at byte ${offset}`);
    this.offset = offset;
  }
}
