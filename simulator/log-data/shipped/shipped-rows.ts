/**
 * Fields and JSON of the messages sent by collectors. Messages are numbered by rank, with smaller ranks for newer
 * messages.
 */
import { Buffer } from 'node:buffer';
import type { Piece } from '../../base/piece-memory.ts';
import { messageField, messageFields } from '../../query/message-fields.ts';
import type { MessageRow } from '../../query/row.ts';
import { blockId, defaultFormat } from '../message-defaults.ts';
import type { SearchedRows } from '../message-finder.ts';
import { MessageIds } from '../message-ids.ts';
import type { RowWriter } from '../message-page.ts';
import type { Stream } from './streams.ts';

/**
 * Maximum number of collectors that send messages. With more collectors, some numbers could exceed
 * `Number.MAX_SAFE_INTEGER`.
 */
export const maxStreams = 2 ** 17;
/** Maximum time from the oldest to the newest message, in ms: about a year. */
const maxSpanMs = 2 ** 35;
const blockMs = 60_000;

/** Lower-case names of the fields that have the same value in all messages of a collector. */
export const streamFields: ReadonlySet<string> = new Set([
  '_sourceid',
  '_sourcename',
  '_sourcehost',
  '_sourcecategory',
  '_source',
  '_format',
  '_size',
  '_collectorid',
  '_collector',
]);

export class ShippedRows implements RowWriter, SearchedRows {
  readonly #streams: readonly Stream[];
  readonly #endMs: number;
  readonly #ids: MessageIds;
  /** JSON of the most recently requested message. */
  #last = { rank: -1, withRaw: false, json: Buffer.alloc(0) };

  /** Creates the messages that the given collectors send at or after `startMs`. */
  constructor(streams: readonly Stream[], startMs: number, seed: number) {
    this.#streams = streams;
    this.#endMs = startMs + maxSpanMs;
    this.#ids = new MessageIds(seed);
  }

  rankOf(timeMs: number, stream: Stream): number {
    return (this.#endMs - timeMs) * maxStreams + stream.index;
  }

  row(rank: number): MessageRow {
    const stream = this.#streams[rank % maxStreams] as Stream;
    const messageTimeMs = this.#endMs - Math.floor(rank / maxStreams);
    return {
      messageTimeMs,
      receiptTimeMs: messageTimeMs + stream.delayMs,
      field: (lowerName) => {
        const known = messageField(lowerName)?.name;
        return known === undefined ? undefined : this.#value(known, rank, stream, messageTimeMs);
      },
    };
  }

  rawBytesOf(rank: number): number {
    return rawBytesOf(this.#streams[rank % maxStreams] as Stream);
  }

  bytesOf(rank: number, withRaw: boolean): number {
    return this.#json(rank, withRaw).length;
  }

  write(rank: number, withRaw: boolean, { bytes: into }: Piece, offset: number): number {
    const json = this.#json(rank, withRaw);
    const end = offset + json.length;
    if (end > into.length) return -1;
    json.copy(into, offset);
    return end;
  }

  #json(rank: number, withRaw: boolean): Buffer {
    if (this.#last.rank !== rank || this.#last.withRaw !== withRaw) {
      const row = this.row(rank);
      const names = messageFields.map(({ name }) => name).filter((name) => withRaw || name !== '_raw');
      const map = Object.fromEntries(names.map((name) => [name, row.field(name.toLowerCase())]));
      this.#last = { rank, withRaw, json: Buffer.from(`${JSON.stringify({ map })},`) };
    }
    return this.#last.json;
  }

  #value(name: string, rank: number, stream: Stream, timeMs: number): string | undefined {
    switch (name) {
      case '_messageid':
        return `1${this.#ids.digits(rank)}`;
      case '_messagetime':
        return String(timeMs);
      case '_receipttime':
        return String(timeMs + stream.delayMs);
      case '_messagecount':
        return String(Math.floor(timeMs / 1_000) % 1_000_000);
      case '_blockid':
        return blockId(Math.floor(timeMs / blockMs));
      case '_raw':
        return rawText(stream, timeMs, this.#ids.digits(rank));
      default:
        return streamValue(name, stream);
    }
  }
}

/** Returns the value of a field that is the same in all messages of a collector. */
function streamValue(name: string, stream: Stream): string | undefined {
  const { collectorId, collector, host, category } = stream.shipper;
  switch (name) {
    case '_sourceid':
      return String(300_000_001 + stream.index);
    case '_sourceName':
      return 'system';
    case '_sourceHost':
      return host;
    case '_sourceCategory':
      return category;
    case '_format':
      return defaultFormat;
    case '_source':
      return '/var/log/system.log';
    case '_collectorId':
      return collectorId;
    case '_collector':
      return collector;
    case '_size':
      return String(rawBytesOf(stream));
    default:
      return undefined;
  }
}

/** Returns the text of a message. All message texts of a collector have the same length. */
function rawText({ shipper }: Stream, timeMs: number, digits: string): string {
  return `${new Date(timeMs).toISOString()} INFO ${shipper.host} request ${digits} handled by ${shipper.collector}`;
}

const anyDigits = '0'.repeat(18);

export function rawBytesOf(stream: Stream): number {
  return Buffer.byteLength(rawText(stream, 0, anyDigits));
}
