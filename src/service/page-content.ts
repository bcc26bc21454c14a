/**
 * What the tokens of a page of messages (2.5) mean: rows, which are given out as the bytes that they came as, a warning, and fields.
 *
 * Members may come in any order, and unknown ones may hold anything. `messages`, and `map` in each of its elements, stand once: which of
 * two counts would be known only after rows of the first were given out. Of other members that stand twice the last one
 * counts, as JSON.parse has it.
 *
 * ```text
 * start ──► page ──"messages"──► messages ──► rows ──► element ──"map"──► map ──► row      and back with each end
 *             ├──"warning"──► warning                     │
 *             ├──"fields"───► fields ──► insideFields     │
 *             └──any other──► skipped ◄───────any other───┘
 * ```
 */
import { standsAt } from '../base/json-bytes.ts';
import { sharedFoundRows } from './found-rows.ts';
import { DecodeError } from './json-members.ts';
import { JsonReader, type Token, token, tokenNames } from './json-reader.ts';
import { PageError } from './page-error.ts';
import { decodePageFields, type PageField } from './page-field.ts';
import { nameLengths, RowFields, type RowTaker } from './page-row.ts';

export interface PageLimits {
  /** A row may have so many bytes, and so may each of the other texts that are read. */
  readonly maxRowBytes: number;
  /** Of objects and arrays, the page among them. */
  readonly maxDepth: number;
}

/** Where the next token stands: inside of what, or as the value of which member. */
type Place =
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

/** How many objects and arrays are open directly inside of each. */
const depthOf = { page: 1, element: 3, row: 4 } as const;

const mapName = Buffer.from('"map"');
const betweenRows = Buffer.from('}},{"map":{');

export class PageContent {
  readonly #taker: RowTaker;
  readonly #limits: PageLimits;
  readonly #reader: JsonReader;
  readonly #fieldsOfRow = new RowFields();
  readonly #found = sharedFoundRows();
  #place: Place = 'start';
  #bytes: Buffer = Buffer.alloc(0);
  #end = 0;
  /** Where the row, or the value of `fields`, begins in `#bytes`. */
  #start = 0;
  /** Where to go on after what is skipped. */
  #afterSkipped: 'page' | 'element' = 'page';
  #rows = 0;
  #hasMessages = false;
  #hasMap = false;
  #warning: string | undefined;
  #fields: readonly PageField[] = [];

  readonly #count = (rows: number) => {
    this.#rows += rows;
  };
  readonly #complainOfRow = (at: number, problem: string) => this.error(this.#reader.offsetOf(at), problem);

  constructor(taker: RowTaker, limits: PageLimits) {
    this.#taker = taker;
    this.#limits = limits;
    this.#reader = new JsonReader(limits.maxDepth, (offset, problem) => this.error(offset, problem));
  }

  /** Rows given out. */
  get rows(): number {
    return this.#rows;
  }

  /** What the page says beside its rows, as far as it has come. */
  get rest(): { readonly warning: string | undefined; readonly fields: readonly PageField[] } {
    return { warning: this.#warning, fields: this.#fields };
  }

  /** The next byte to be looked at, as an index of the bytes taken. */
  get at(): number {
    return this.#reader.at;
  }

  /** Goes on in other bytes, as `JsonReader.take`. */
  take(bytes: Buffer, at: number, end: number, base: number): void {
    this.#bytes = bytes;
    this.#end = end;
    this.#start += this.#reader.take(bytes, at, end, base);
  }

  /** Reads to the end of the bytes taken; or, with `whileHeld`, no further than they have to stay in one piece. */
  read(whileHeld: boolean): void {
    for (;;) {
      if (this.#place === 'row') {
        if (!whileHeld) this.#giveOutFound();
        if (this.#readMembers() && !whileHeld && this.#passToNextRow()) continue;
      }
      const found = this.#reader.next();
      if (found === token.more) return;
      this.#meet(found);
      if (whileHeld && this.heldFrom() < 0) return;
    }
  }

  /** From which index on the bytes taken have to stay in one piece: of a row, or of a text that is read; -1 where they need not. */
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

  /** Throws where what is held has become too long. */
  checkLength(from: number, end: number): void {
    const { maxRowBytes } = this.#limits;
    if (end - from <= maxRowBytes) return;
    throw this.error(this.#reader.offsetOf(from) + maxRowBytes, `expected at most ${maxRowBytes} bytes in one piece`);
  }

  /** Throws where a page of `length` bytes is not whole. */
  end(length: number): void {
    if (this.#reader.isDone) return;
    throw this.error(length, `expected ${this.#reader.expected()}, found the end of the page`);
  }

  /** At a byte of the page, and at the place in it where the reader is. */
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
    const { depth, tokenStart, tokenEnd, escaped } = this.#reader;
    switch (found) {
      case token.name:
        if (depth === depthOf.row) this.#fieldsOfRow.name(this.#bytes, tokenStart, tokenEnd, escaped);
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
    this.#fieldsOfRow.value(found, tokenStart - this.#start, tokenEnd - this.#start, escaped);
  }

  /** Members of a row that are written as the service writes them; what else comes is for `#meetInRow`. False inside of a value. */
  #readMembers(): boolean {
    const reader = this.#reader;
    if (reader.depth > depthOf.row) return false;
    while (reader.nextStringMember(nameLengths)) {
      const { nameStart, nameEnd, tokenStart, tokenEnd, escaped } = reader;
      this.#fieldsOfRow.name(this.#bytes, nameStart, nameEnd, false);
      this.#fieldsOfRow.value(token.string, tokenStart - this.#start, tokenEnd - this.#start, escaped);
    }
    return true;
  }

  /** At the beginning of a row: those rows from there on that can be found at once, and into the next one. */
  #giveOutFound(): void {
    if (this.#reader.at !== this.#start + 1) return;
    const rows = this.#found;
    rows.find(this.#bytes, this.#start, this.#end);
    if (rows.left === 0) return;
    while (rows.left > 0) {
      rows.take(this.#limits.maxRowBytes);
      rows.giveTo(this.#taker, this.#count);
      if (rows.left === 0) break;
      const { start, end } = rows.pass(this.#fieldsOfRow);
      this.#start = start;
      this.#giveOut(end);
    }
    this.#reader.moveInto(rows.next + 1);
    this.#beginRow(rows.next);
  }

  /** From the last member of a row into the row of the next element, where nothing else is between them. */
  #passToNextRow(): boolean {
    const end = this.#reader.at + 1;
    if (!this.#reader.passInto(betweenRows)) return false;
    this.#giveOut(end);
    this.#beginRow(this.#reader.at - 1);
    return true;
  }

  #endRow(): void {
    this.#giveOut(this.#reader.tokenEnd);
    this.#place = 'element';
  }

  #giveOut(end: number): void {
    this.checkLength(this.#start, end);
    this.#taker.row(this.#fieldsOfRow.read(this.#bytes, this.#start, end, this.#complainOfRow));
    this.#rows++;
  }

  /** What the name or string says that was found last. */
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

  /** The place as a JSON path. */
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

  /** Each has one row, which may have been given out already. */
  #element(): string {
    return `messages[${this.#hasMap ? this.#rows - 1 : this.#rows}]`;
  }
}
