/**
 * Detects rows of a search that were received before (E9): same `_messageid` and same bytes. Intervals share no millisecond, so only rows
 * of the same search matter:
 *
 * - `InOrder` remembers the rows of the current millisecond of `_messagetime`. Pages come newest first (4.3), and equal bytes imply equal
 *   times. So while rows arrive in this order, a repeated row follows within its own millisecond. The id and bytes of each row are kept. In a large
 *   millisecond, a hash replaces the bytes of further rows.
 * - `AnyOrder` remembers hashes of all rows, for a search with rows out of order. It takes about 100 bytes per row. The service's message
 *   limit bounds the number of rows.
 *
 * `isSure` is true while every repeated row is certainly recognized.
 */
import { hash } from 'node:crypto';
import type { PageRow } from '../../service/pages/page-row.ts';

export type KnownRow = Pick<PageRow, 'bytes' | 'messageTimeMs' | 'messageId'>;

export interface Duplicates {
  /** False if a repeated row may have been missed. The pages are then read again with `AnyOrder`. */
  readonly isSure: boolean;
  /** Records one row. Returns true if the same row was received before. */
  comesAgain(row: KnownRow): boolean;
}

/** Maximum number of bytes of rows that are kept for a millisecond. Of further rows in the millisecond, only hashes are kept. */
const maxKeptBytes = 4 * 1_024 * 1_024;

type KeptRow = { readonly start: number; readonly end: number } | { readonly digest: string };

export class InOrder implements Duplicates {
  /**
   * First row of the current millisecond. Most milliseconds have only one row, so its bytes are kept without its id.
   */
  #first: KeptRow | undefined;
  readonly #byId = new Map<string, KeptRow | KeptRow[]>();
  readonly #maxKeptBytes: number;
  #bytes = Buffer.allocUnsafe(4_096);
  #used = 0;
  #timeMs = Number.POSITIVE_INFINITY;
  #isSure = true;

  constructor(maxBytes = maxKeptBytes) {
    this.#maxKeptBytes = maxBytes;
  }

  get isSure(): boolean {
    return this.#isSure;
  }

  comesAgain(row: KnownRow): boolean {
    const { messageTimeMs, bytes, messageId } = row;
    if (messageTimeMs !== this.#timeMs) {
      this.#begin(messageTimeMs);
      this.#first = this.#keep(bytes);
      return false;
    }
    if (this.#first && this.#isSame(this.#first, bytes)) return true;
    const known = this.#byId.get(messageId);
    if (known === undefined) {
      this.#byId.set(messageId, this.#keep(bytes));
      return false;
    }
    const all = Array.isArray(known) ? known : [known];
    if (all.some((kept) => this.#isSame(kept, bytes))) return true;
    this.#byId.set(messageId, [...all, this.#keep(bytes)]);
    return false;
  }

  #begin(timeMs: number): void {
    if (timeMs > this.#timeMs) this.#isSure = false;
    this.#timeMs = timeMs;
    this.#used = 0;
    if (this.#byId.size > 0) this.#byId.clear();
  }

  #keep(bytes: Uint8Array): KeptRow {
    const start = this.#used;
    const end = start + bytes.length;
    if (end > this.#maxKeptBytes) return { digest: digestOf(bytes) };
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxKeptBytes, Math.max(end, 2 * this.#bytes.length)));
      this.#bytes.copy(larger, 0, 0, start);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, start);
    this.#used = end;
    return { start, end };
  }

  #isSame(kept: KeptRow, bytes: Uint8Array): boolean {
    if ('digest' in kept) return kept.digest === digestOf(bytes);
    if (kept.end - kept.start !== bytes.length) return false;
    return this.#bytes.subarray(kept.start, kept.end).equals(bytes);
  }
}

export class AnyOrder implements Duplicates {
  readonly isSure = true;
  readonly #digests = new Set<string>();

  /** The hash covers all bytes of a row, which contain its id. */
  comesAgain({ bytes }: KnownRow): boolean {
    const before = this.#digests.size;
    return this.#digests.add(digestOf(bytes)).size === before;
  }
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}
