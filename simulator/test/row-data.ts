/** Simple log data for tests: a list of messages. */
import type { JsonPage, LogData, MatchListener, MessageSearch, SearchRange } from '../log-data/log-data.ts';
import { messageFields } from '../query/message-fields.ts';
import type { MessageFilter, MessageRow } from '../query/row.ts';

/**
 * A test message. `at` is the message time in ms since the epoch. `received` is the receipt time, which defaults to
 * `at`.
 */
export interface Message {
  readonly at: number;
  readonly received?: number;
  readonly raw: string;
  /** Other fields of the message, by name. */
  readonly fields?: Readonly<Record<string, string>>;
}

interface PlainRow {
  readonly row: MessageRow;
  readonly map: Readonly<Record<string, string>>;
}

export class RowData implements LogData {
  readonly fields = messageFields;
  readonly #messages: readonly PlainRow[];

  constructor(messages: readonly Message[]) {
    this.#messages = messages.map(stored).sort((left, right) => right.row.messageTimeMs - left.row.messageTimeMs);
  }

  search(range: SearchRange, filter: MessageFilter): MessageSearch {
    return new RowSearch(this.#messages, range, filter);
  }
}

function stored({ at, received = at, raw, fields = {} }: Message, index: number): PlainRow {
  const map = {
    _messageid: String(index),
    _messagetime: String(at),
    _receipttime: String(received),
    _size: String(raw.length),
    _raw: raw,
    ...fields,
  };
  const byLowerName = new Map(Object.entries(map).map(([name, value]) => [name.toLowerCase(), value]));
  const field = (name: string) => byLowerName.get(name.toLowerCase());
  return { row: { messageTimeMs: at, receiptTimeMs: received, field }, map };
}

class RowSearch implements MessageSearch {
  readonly isGivenUp = false;
  scannedBytes = 0;
  reachedMs: number;
  readonly #left: PlainRow[];
  readonly #found: PlainRow[] = [];
  readonly #timeOf: (message: PlainRow) => number;
  readonly #filter: MessageFilter;

  constructor(messages: readonly PlainRow[], { fromMs, toMs, byReceiptTime }: SearchRange, filter: MessageFilter) {
    this.#timeOf = ({ row }) => (byReceiptTime ? row.receiptTimeMs : row.messageTimeMs);
    this.#left = messages
      .filter((message) => this.#timeOf(message) >= fromMs && this.#timeOf(message) < toMs)
      .sort((left, right) => this.#timeOf(left) - this.#timeOf(right));
    this.#filter = filter;
    this.reachedMs = toMs;
  }

  get found(): number {
    return this.#found.length;
  }

  advance(downToMs: number, maxMatches: number, listener?: MatchListener): void {
    for (let next = this.#left.at(-1); next && this.#timeOf(next) >= downToMs; next = this.#left.at(-1)) {
      if (this.found >= maxMatches) return;
      this.#left.pop();
      this.reachedMs = this.#timeOf(next);
      this.scannedBytes += Number(next.map['_size']);
      if (!this.#filter.matches(next.row)) continue;
      this.#found.push(next);
      listener?.each(next.row, 1);
    }
    this.#found.sort((left, right) => right.row.messageTimeMs - left.row.messageTimeMs);
    if (this.found < maxMatches) this.reachedMs = Math.min(this.reachedMs, downToMs);
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): JsonPage {
    const elements: string[] = [];
    let bytes = 0;
    for (const { map } of this.#found.slice(offset, offset + limit)) {
      const { _raw, ...rest } = map as Record<string, string>;
      const element = JSON.stringify({ map: withRaw ? map : rest });
      bytes += Buffer.byteLength(element);
      if (bytes > maxBytes && elements.length > 0) break;
      elements.push(element);
    }
    const body = Buffer.from(elements.join(','));
    return { rows: elements.length, bytes: body.length, pieces: () => [body] };
  }
}
