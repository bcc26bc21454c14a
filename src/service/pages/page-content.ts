/**
 * Reads a page of messages (section 2.5 of docs/service.md): its rows, a warning, and descriptions of fields. Rows are
 * passed on as their original bytes.
 *
 * Unknown members are skipped. A page must contain `messages` exactly once, and each message must contain `map` exactly
 * once, because rows that were already passed on cannot be replaced.
 *
 * The positions in the page are:
 *
 * ```text
 * start ──► page ──"messages"──► messages ──► rows ──► element ──"map"──► map ──► row      and back with each end
 *             ├──"warning"──► warning                     │
 *             ├──"fields"───► fields ──► insideFields     │
 *             └──any other──► skipped ◄───────any other───┘
 * ```
 */

import { standsAt } from '../../base/json-bytes.ts';
import { DecodeError } from '../json/json-members.ts';
import { JsonReader, type Token, token, tokenNames } from '../json/json-reader.ts';
import { decodePageFields, type PageField } from './page-field.ts';
import { type FieldValue, RowFields, type RowSink } from './page-row.ts';
import { RowFinder, rowGap } from './row-finder.ts';

export interface PageLimits {
  /** Maximum size in bytes of a row or any other text on a page. */
  readonly maxRowBytes: number;
  /** Maximum depth of nested objects and arrays. */
  readonly maxDepth: number;
}

/** Part of the page that is being read: an object, an array, or the value of a member. */
type PagePosition =
  | 'start'
  | 'page'
  | 'warning'
  | 'fields'
  | 'insideFields'
  | 'messages'
  | 'rows'
  | 'element'
  | 'map'
  | 'row'
  | 'skipped'
  | 'end';

/**
 * JSON nesting depth inside the page, inside an element of `messages`, and inside a row. The depth is the number of
 * open objects and arrays.
 */
const depthOf = { page: 1, element: 3, row: 4 } as const;

const mapName = Buffer.from('"map"');

export class PageContent {
  readonly #sink: RowSink;
  readonly #limits: PageLimits;
  readonly #reader: JsonReader;
  readonly #fieldsOfRow = new RowFields();
  readonly #finder = new RowFinder(this.#fieldsOfRow);
  /** Known field whose value comes next in the row. */
  #named: FieldValue | undefined;
  #place: PagePosition = 'start';
  #bytes: Buffer = Buffer.alloc(0);
  /**
   * Index at which the current row begins. Inside the member `fields`, this is the index at which the value of `fields`
   * begins.
   */
  #start = 0;
  /** Object whose unknown member is being skipped. */
  #afterSkipped: 'page' | 'element' = 'page';
  #rows = 0;
  #hasMessages = false;
  #hasMap = false;
  #warning: string | undefined;
  #fields: readonly PageField[] = [];

  readonly #complainOfRow = (at: number, problem: string) => this.error(this.#reader.offsetOf(at), problem);

  constructor(sink: RowSink, limits: PageLimits) {
    this.#sink = sink;
    this.#limits = limits;
    this.#reader = new JsonReader(limits.maxDepth, (offset, problem) => this.error(offset, problem));
  }

  /** Number of rows of the page that were passed on. */
  get rows(): number {
    return this.#rows;
  }

  /** Warning and field descriptions that were read so far. */
  get rest(): { readonly warning: string | undefined; readonly fields: readonly PageField[] } {
    return { warning: this.#warning, fields: this.#fields };
  }

  get at(): number {
    return this.#reader.at;
  }

  /** Continues with the next bytes of the page. The parameters are those of `JsonReader.take`. */
  take(bytes: Buffer, at: number, end: number, base: number): void {
    this.#bytes = bytes;
    this.#start += this.#reader.take(bytes, at, end, base);
  }

  /**
   * Reads to the end of the chunk. If `whileHeld` is true, stops at the end of the row or text that began in an earlier
   * chunk.
   */
  read(whileHeld: boolean): void {
    for (;;) {
      const found = this.#reader.next();
      if (found === token.more) return;
      const isRowNext = this.#place === 'map';
      this.#meet(found);
      if (whileHeld) {
        if (this.heldFrom() < 0) return;
      } else if (isRowNext) this.#findRows();
    }
  }

  /**
   * Returns the index at which an incomplete row or text begins, or -1 if there is none. The bytes after this index
   * must stay in memory until the next chunk arrives.
   */
  heldFrom(): number {
    switch (this.#place) {
      case 'row':
      case 'insideFields':
        return this.#start;
      case 'page':
      case 'element':
      case 'warning':
        return this.#reader.insideToken ? this.#reader.tokenStart : -1;
      default:
        return -1;
    }
  }

  /** Throws if the incomplete row or text exceeds the maximum size. */
  checkLength(from: number, end: number): void {
    const { maxRowBytes } = this.#limits;
    if (end - from <= maxRowBytes) return;
    throw this.error(
      this.#reader.offsetOf(from) + maxRowBytes,
      `expected at most ${maxRowBytes} bytes in one row or text`,
    );
  }

  /** Throws if the page is incomplete after its last byte. */
  end(length: number): void {
    if (this.#reader.isDone) return;
    throw this.error(length, `expected ${this.#reader.expected()}, found the end of the page`);
  }

  /** Creates the error for an invalid byte, with its JSON path. */
  error(offset: number, problem: string): PageError {
    return new PageError(offset, this.#where(), problem);
  }

  #meet(found: Token): void {
    switch (this.#place) {
      case 'row':
        this.#meetInRow(found);
        return;
      case 'element':
        this.#meetInElement(found);
        return;
      case 'map':
        if (found !== token.objectStart) throw this.#wrongKind('an object', found);
        this.#beginRow(this.#reader.tokenStart);
        return;
      case 'rows':
        this.#meetInRows(found);
        return;
      case 'skipped':
        if (this.#reader.depth === depthOf[this.#afterSkipped]) this.#place = this.#afterSkipped;
        return;
      case 'start':
        if (found !== token.objectStart) throw this.#wrongKind('an object', found);
        this.#place = 'page';
        return;
      case 'page':
        this.#meetInPage(found);
        return;
      case 'messages':
        if (found !== token.arrayStart && found !== token.null) throw this.#wrongKind('an array', found);
        this.#place = found === token.null ? 'page' : 'rows';
        return;
      case 'warning':
        if (found !== token.string && found !== token.null) throw this.#wrongKind('a string', found);
        this.#warning = found === token.null ? undefined : this.#text();
        this.#place = 'page';
        return;
      case 'fields':
        this.#meetFields(found);
        return;
      case 'insideFields':
        if (this.#reader.depth === depthOf.page) this.#endFields();
        return;
      case 'end':
        return;
    }
  }

  #meetInPage(found: Token): void {
    if (found === token.objectEnd) {
      if (!this.#hasMessages) throw this.#errorAtToken('expected a member messages, found none');
      this.#place = 'end';
      return;
    }
    switch (this.#text()) {
      case 'messages':
        if (this.#hasMessages) throw this.#errorAtToken('expected messages once');
        this.#hasMessages = true;
        this.#place = 'messages';
        return;
      case 'warning':
        this.#place = 'warning';
        return;
      case 'fields':
        this.#place = 'fields';
        return;
      default:
        this.#skipValue('page');
    }
  }

  #meetFields(found: Token): void {
    if (found === token.null) {
      this.#fields = [];
      this.#place = 'page';
    } else if (found === token.arrayStart) {
      this.#start = this.#reader.tokenStart;
      this.#place = 'insideFields';
    } else {
      throw this.#wrongKind('an array', found);
    }
  }

  #endFields(): void {
    const end = this.#reader.tokenEnd;
    this.checkLength(this.#start, end);
    try {
      this.#fields = decodePageFields(JSON.parse(this.#bytes.toString('utf8', this.#start, end)));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw this.error(this.#reader.offsetOf(this.#start), error.message);
    }
    this.#place = 'page';
  }

  #meetInRows(found: Token): void {
    if (found === token.arrayEnd) this.#place = 'page';
    else if (found === token.objectStart) {
      this.#hasMap = false;
      this.#place = 'element';
    } else throw this.#wrongKind('an object', found);
  }

  #meetInElement(found: Token): void {
    if (found === token.objectEnd) {
      if (!this.#hasMap) throw this.#errorAtToken('expected a member map, found none');
      this.#place = 'rows';
    } else if (!this.#isMapName()) this.#skipValue('element');
    else if (this.#hasMap) throw this.#errorAtToken('expected map once');
    else {
      this.#hasMap = true;
      this.#place = 'map';
    }
  }

  #isMapName(): boolean {
    const { tokenStart, tokenEnd, escaped } = this.#reader;
    if (escaped) return this.#text() === 'map';
    return tokenEnd - tokenStart === mapName.length && standsAt(this.#bytes, tokenStart, mapName);
  }

  #skipValue(after: 'page' | 'element'): void {
    this.#afterSkipped = after;
    this.#place = 'skipped';
  }

  #beginRow(start: number): void {
    this.#start = start;
    this.#fieldsOfRow.begin();
    this.#place = 'row';
  }

  #meetInRow(found: Token): void {
    const { depth, tokenStart, tokenEnd } = this.#reader;
    switch (found) {
      case token.name:
        if (depth === depthOf.row) this.#named = this.#nameOfField();
        return;
      case token.objectStart:
      case token.arrayStart:
        if (depth > depthOf.row + 1) return;
        break;
      case token.objectEnd:
      case token.arrayEnd:
        if (depth < depthOf.row) this.#endRow();
        return;
      default:
        if (depth > depthOf.row) return;
    }
    this.#named?.set(found, tokenStart - this.#start, tokenEnd - this.#start);
  }

  /** Returns the known field whose name is the current token. Returns undefined for any other name. */
  #nameOfField(): FieldValue | undefined {
    const { tokenStart, tokenEnd, escaped } = this.#reader;
    if (!escaped) return this.#fieldsOfRow.named(this.#bytes, tokenStart + 1, tokenEnd - 1);
    const name = Buffer.from(JSON.parse(this.#bytes.toString('utf8', tokenStart, tokenEnd)) as string);
    return this.#fieldsOfRow.named(name, 0, name.length);
  }

  /** Passes on the next rows while `row-finder.ts` can read them, because it is faster than the JSON reader. */
  #findRows(): void {
    for (let end = this.#find(); end > 0; end = this.#find()) {
      this.#giveOut(end);
      this.#beginRow(end + rowGap);
    }
    this.#reader.skipInto(this.#start + 1);
  }

  #find(): number {
    return this.#finder.find(this.#bytes, this.#start);
  }

  #endRow(): void {
    this.#giveOut(this.#reader.tokenEnd);
    this.#place = 'element';
  }

  #giveOut(end: number): void {
    this.checkLength(this.#start, end);
    this.#sink.row(this.#fieldsOfRow.read(this.#bytes, this.#start, end, this.#complainOfRow));
    this.#rows++;
  }

  /** Returns the string that was read last. */
  #text(): string {
    const { tokenStart, tokenEnd } = this.#reader;
    this.checkLength(tokenStart, tokenEnd);
    return JSON.parse(this.#bytes.toString('utf8', tokenStart, tokenEnd)) as string;
  }

  #wrongKind(expected: string, found: Token): PageError {
    return this.#errorAtToken(`expected ${expected}, found ${tokenNames[found]}`);
  }

  #errorAtToken(problem: string): PageError {
    return this.error(this.#reader.offsetOf(this.#reader.tokenStart), problem);
  }

  /** Returns the JSON path of the current position in the page. */
  #where(): string {
    switch (this.#place) {
      case 'start':
      case 'page':
      case 'end':
        return 'the page';
      case 'warning':
      case 'messages':
        return this.#place;
      case 'fields':
      case 'insideFields':
        return 'fields';
      case 'rows':
        return `messages[${this.#rows}]`;
      case 'element':
        return this.#element();
      case 'map':
      case 'row':
        return `messages[${this.#rows}].map`;
      case 'skipped':
        return this.#afterSkipped === 'page' ? 'the page' : this.#element();
    }
  }

  /** Returns the JSON path of the current element of `messages`. */
  #element(): string {
    return `messages[${this.#hasMap ? this.#rows - 1 : this.#rows}]`;
  }
}

export class PageError extends DecodeError {
  /** Offset of the invalid byte in the page. If the page is truncated, the offset is the length of the page. */
  readonly offset: number;

  /**
   * @param place JSON path of the error
   * @param problem what was expected and what was found, without values of the page
   */
  constructor(offset: number, place: string, problem: string) {
    super(`${place}: ${problem}, at byte ${offset}`);
    this.offset = offset;
  }
}
