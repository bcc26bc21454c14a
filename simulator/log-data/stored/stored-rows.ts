/**
 * Messages from log files, stored as JSON bytes and sorted newest first. Messages with equal times keep their order in
 * the files. Fields are parsed only when they are read.
 */
import { Buffer } from 'node:buffer';
import type { Piece } from '../../base/piece-memory.ts';
import type { MessageRow } from '../../query/row.ts';
import type { SearchRange } from '../log-data.ts';
import type { NextRank } from '../message-finder.ts';
import type { RowWriter } from '../message-page.ts';

/** A message with its fields as they appear on result pages. */
export interface StoredMessage {
  readonly messageTimeMs: number;
  readonly receiptTimeMs: number;
  /** Field values by name, in the order in which result pages list them. `_raw` is never the first field. */
  readonly values: ReadonlyMap<string, string>;
}

const chunkBytes = 4 * 1024 * 1024;

/** The stored messages as a table with one row per message. Each array is a column of the table. */
class Columns {
  readonly messageTimesMs: number[] = [];
  readonly receiptTimesMs: number[] = [];
  readonly rawBytes: number[] = [];
  /**
   * Position of each message's JSON. `chunks` contains the index of the chunk. `starts` and `lengths` locate the JSON
   * in the chunk, and `rawStarts` and `rawEnds` locate `_raw` in the JSON.
   */
  readonly chunks: number[] = [];
  readonly starts: number[] = [];
  readonly lengths: number[] = [];
  readonly rawStarts: number[] = [];
  readonly rawEnds: number[] = [];
}

export class StoredRowsBuilder {
  readonly #columns = new Columns();
  /** Memory chunks, each containing the JSON of whole messages. */
  readonly #chunks: Buffer[] = [];
  #used = 0;

  get rows(): number {
    return this.#columns.starts.length;
  }

  add({ messageTimeMs, receiptTimeMs, values }: StoredMessage): void {
    let [before, raw, after] = ['', '', ''];
    for (const [name, value] of values) {
      const member = `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
      if (name === '_raw') raw = member;
      else if (raw === '') before += member;
      else after += member;
    }
    const start = `{"map":{${before.slice(1)}`;
    const end = `${after}}},`;
    const columns = this.#columns;
    const length = this.#store(start + raw + end);
    columns.lengths.push(length);
    columns.rawStarts.push(Buffer.byteLength(start));
    columns.rawEnds.push(length - Buffer.byteLength(end));
    columns.messageTimesMs.push(messageTimeMs);
    columns.receiptTimesMs.push(receiptTimeMs);
    columns.rawBytes.push(Buffer.byteLength(values.get('_raw') ?? ''));
  }

  build(): StoredRows {
    const { messageTimesMs } = this.#columns;
    const order = Uint32Array.from(messageTimesMs.keys()).sort(
      (left, right) => (messageTimesMs[right] as number) - (messageTimesMs[left] as number) || left - right,
    );
    return new StoredRows(this.#columns, this.#chunks, order);
  }

  #store(json: string): number {
    const length = Buffer.byteLength(json);
    if (this.#used + length > (this.#chunks.at(-1)?.length ?? 0)) {
      this.#chunks.push(Buffer.allocUnsafeSlow(Math.max(length, chunkBytes)));
      this.#used = 0;
    }
    const chunk = this.#chunks.length - 1;
    this.#chunks[chunk]?.write(json, this.#used);
    this.#columns.chunks.push(chunk);
    this.#columns.starts.push(this.#used);
    this.#used += length;
    return length;
  }
}

/** Messages that are read by rank. The rank of a message is the number of newer messages. */
class StoredRows implements RowWriter {
  readonly count: number;

  /**
   * Ranks (numbers of newer messages) of all messages, sorted by receipt time. The message received last comes first.
   */
  readonly #byReceipt: Uint32Array;
  readonly #messageTimesMs: Float64Array;
  readonly #receiptTimesMs: Float64Array;
  readonly #rawBytes: Uint32Array;
  readonly #chunks: readonly Buffer[];
  readonly #chunkOf: Uint32Array;
  readonly #starts: Uint32Array;
  readonly #lengths: Uint32Array;
  readonly #rawStarts: Uint32Array;
  readonly #rawEnds: Uint32Array;

  /**
   * Stores the messages in `columns`, newest message first. `order` lists the messages in this order, by their indices
   * in `columns`.
   */
  constructor(columns: Columns, chunks: readonly Buffer[], order: Uint32Array) {
    const ordered = (column: readonly number[]) => Uint32Array.from(order, (index) => column[index] as number);
    const orderedTimes = (column: readonly number[]) => Float64Array.from(order, (index) => column[index] as number);
    this.count = order.length;
    this.#chunks = chunks;
    this.#messageTimesMs = orderedTimes(columns.messageTimesMs);
    this.#receiptTimesMs = orderedTimes(columns.receiptTimesMs);
    this.#rawBytes = ordered(columns.rawBytes);
    this.#chunkOf = ordered(columns.chunks);
    this.#starts = ordered(columns.starts);
    this.#lengths = ordered(columns.lengths);
    this.#rawStarts = ordered(columns.rawStarts);
    this.#rawEnds = ordered(columns.rawEnds);
    this.#byReceipt = order
      .map((_, rank) => rank)
      .sort((left, right) => this.receiptTimeOf(right) - this.receiptTimeOf(left) || left - right);
  }

  messageTimeOf(rank: number): number {
    return this.#messageTimesMs[rank] as number;
  }

  receiptTimeOf(rank: number): number {
    return this.#receiptTimesMs[rank] as number;
  }

  /** Returns the ranks (numbers of newer messages) of the messages before the end of a range, newest message first. */
  ordered({ toMs, byReceiptTime }: SearchRange): NextRank {
    const rankAt = (place: number) => (byReceiptTime ? (this.#byReceipt[place] as number) : place);
    const timesMs = byReceiptTime ? this.#receiptTimesMs : this.#messageTimesMs;
    let [next, high] = [0, this.count];
    while (next < high) {
      const middle = (next + high) >>> 1;
      if ((timesMs[rankAt(middle)] as number) >= toMs) next = middle + 1;
      else high = middle;
    }
    return () => (next < this.count ? rankAt(next++) : -1);
  }

  rawBytesOf(rank: number): number {
    return this.#rawBytes[rank] as number;
  }

  row(rank: number): MessageRow {
    return new StoredRow(this, rank);
  }

  /** Returns part of a message as a JSON object: either only the field `_raw` (`raw`), or all other fields (`rest`). */
  textOf(rank: number, part: 'raw' | 'rest'): string {
    const chunk = this.#chunks[this.#chunkOf[rank] as number] as Buffer;
    const start = this.#starts[rank] as number;
    const rawStart = start + (this.#rawStarts[rank] as number);
    const rawEnd = start + (this.#rawEnds[rank] as number);
    if (part === 'raw') return `{${chunk.toString('utf8', rawStart + 1, rawEnd)}}`;
    const end = start + (this.#lengths[rank] as number) - '},'.length;
    return chunk.toString('utf8', start + '{"map":'.length, rawStart) + chunk.toString('utf8', rawEnd, end);
  }

  bytesOf(rank: number, withRaw: boolean): number {
    const bytes = this.#lengths[rank] as number;
    return withRaw ? bytes : bytes - (this.#rawEnds[rank] as number) + (this.#rawStarts[rank] as number);
  }

  write(rank: number, withRaw: boolean, { bytes: into }: Piece, offset: number): number {
    const end = offset + this.bytesOf(rank, withRaw);
    if (end > into.length) return -1;
    const chunk = this.#chunks[this.#chunkOf[rank] as number] as Buffer;
    const start = this.#starts[rank] as number;
    const chunkEnd = start + (this.#lengths[rank] as number);
    if (withRaw) {
      chunk.copy(into, offset, start, chunkEnd);
    } else {
      const head = this.#rawStarts[rank] as number;
      chunk.copy(into, offset, start, start + head);
      chunk.copy(into, offset + head, start + (this.#rawEnds[rank] as number), chunkEnd);
    }
    return end;
  }
}

class StoredRow implements MessageRow {
  readonly messageTimeMs: number;
  readonly receiptTimeMs: number;
  readonly #rows: StoredRows;
  readonly #rank: number;
  #raw: string | undefined;
  /** Field values by lower-case name, without `_raw`. */
  #values: ReadonlyMap<string, string> | undefined;

  constructor(rows: StoredRows, rank: number) {
    this.#rows = rows;
    this.#rank = rank;
    this.messageTimeMs = rows.messageTimeOf(rank);
    this.receiptTimeMs = rows.receiptTimeOf(rank);
  }

  field(lowerName: string): string | undefined {
    if (lowerName === '_raw') {
      this.#raw ??= (JSON.parse(this.#rows.textOf(this.#rank, 'raw')) as { readonly _raw: string })._raw;
      return this.#raw;
    }
    this.#values ??= this.#read();
    return this.#values.get(lowerName);
  }

  #read(): ReadonlyMap<string, string> {
    const values = JSON.parse(this.#rows.textOf(this.#rank, 'rest')) as Readonly<Record<string, string>>;
    return new Map(Object.entries(values).map(([name, value]) => [name.toLowerCase(), value]));
  }
}
