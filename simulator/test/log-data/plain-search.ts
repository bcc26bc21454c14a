/** The simplest possible search, on a list of messages. Tests compare all other searches with it. */

import { textOf } from '../../base/body.ts';
import type { LogData, MessageSearch, SearchRange } from '../../log-data/log-data.ts';
import type { MessageFilter, MessageRow } from '../../query/row.ts';

export interface PlainMessage {
  readonly row: MessageRow;
  /** Values of a message by field name. */
  readonly map: Readonly<Record<string, string>>;
  /** JSON of the message with and without `_raw`. */
  readonly whole: string;
  readonly withoutRaw: string;
}

export const everything: MessageFilter = { reads: new Set(), matches: () => true };

/** Returns all messages in a time range, newest first. */
export function messagesOf(data: LogData, fromMs: number, toMs: number): PlainMessage[] {
  const search = data.search({ fromMs, toMs, byReceiptTime: false }, everything);
  search.advance(fromMs, Number.POSITIVE_INFINITY);
  return Array.from({ length: search.found }, (_, index) => {
    const whole = textOf(search.page(index, 1, 1, true));
    const { map } = JSON.parse(whole) as { readonly map: Readonly<Record<string, string>> };
    return { row: rowOf(map), map, whole, withoutRaw: textOf(search.page(index, 1, 1, false)) };
  });
}

function rowOf(map: Readonly<Record<string, string>>): MessageRow {
  const byLowerName = new Map(Object.entries(map).map(([name, value]) => [name.toLowerCase(), value]));
  const field = (lowerName: string) => byLowerName.get(lowerName);
  return { messageTimeMs: Number(field('_messagetime')), receiptTimeMs: Number(field('_receipttime')), field };
}

/** A simple search without optimizations. Tests compare the results of all other searches with its results. */
export class PlainSearch {
  readonly #timeOf: (message: PlainMessage) => number;
  readonly #filter: MessageFilter;
  readonly #fromMs: number;
  /** Messages that have not been searched yet, latest first. */
  #left: readonly PlainMessage[];
  readonly #looked: PlainMessage[] = [];
  #found: readonly PlainMessage[] = [];
  readonly #all: readonly PlainMessage[];

  constructor(all: readonly PlainMessage[], { fromMs, toMs, byReceiptTime }: SearchRange, filter: MessageFilter) {
    this.#timeOf = ({ row }) => (byReceiptTime ? row.receiptTimeMs : row.messageTimeMs);
    this.#filter = filter;
    this.#fromMs = fromMs;
    this.#all = all;
    this.#left = all
      .filter((message) => this.#timeOf(message) >= fromMs && this.#timeOf(message) < toMs)
      .toSorted((left, right) => this.#timeOf(right) - this.#timeOf(left));
  }

  advance(downToMs: number, maxMatches: number): readonly PlainMessage[] {
    const found = new Set(this.#found);
    const fresh: PlainMessage[] = [];
    let index = 0;
    for (; index < this.#left.length && found.size < maxMatches; index++) {
      const message = this.#left[index] as PlainMessage;
      if (this.#timeOf(message) < Math.max(downToMs, this.#fromMs)) break;
      this.#looked.push(message);
      if (!this.#filter.matches(message.row)) continue;
      found.add(message);
      fresh.push(message);
    }
    this.#left = this.#left.slice(index);
    this.#found = this.#all.filter((message) => found.has(message));
    return fresh;
  }

  get found(): readonly PlainMessage[] {
    return this.#found;
  }

  get scannedBytes(): number {
    return this.#looked.reduce((sum, { row }) => sum + Number(row.field('_size')), 0);
  }

  /**
   * Returns the matches that `search` should have found when it has reached `reachedMs`, but that this simple search
   * has not found yet.
   */
  missed({ reachedMs }: MessageSearch): readonly PlainMessage[] {
    return this.#left.filter((message) => this.#timeOf(message) >= reachedMs && this.#filter.matches(message.row));
  }

  page(
    offset: number,
    limit: number,
    maxBytes: number,
    withRaw: boolean,
  ): { readonly rows: number; readonly text: string } {
    const elements: string[] = [];
    let bytes = -1;
    for (const { whole, withoutRaw } of this.#found.slice(offset, offset + limit)) {
      const element = withRaw ? whole : withoutRaw;
      bytes += Buffer.byteLength(element) + 1;
      if (elements.length > 0 && bytes > maxBytes) break;
      elements.push(element);
    }
    return { rows: elements.length, text: elements.join(',') };
  }
}
