/**
 * Which rows of a search came before (E9): those with the same `_messageid` and the same bytes. Intervals share no millisecond, so that
 * only the rows of one search have to be known, and of these not all:
 *
 * - `InOrder` knows the rows of the millisecond of `_messagetime` that is being read. Pages come newest first (4.3), and what has
 *   the same bytes has the same time, so that a row that comes again comes in its own millisecond as long as the order holds. Of a
 *   row its id and its bytes are kept, or a digest where a millisecond has many; which is compared only where an id comes again.
 * - `AnyOrder` knows digests of all rows, for a search whose rows were seen out of order: some 100 bytes a row, and no search has
 *   more rows than the limit of the service.
 *
 * `isSure` says whether everything that came before was known.
 */
import { hash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import type { PageRow } from '../service/page-row.ts';

export type KnownRow = Pick<PageRow, 'bytes' | 'messageTimeMs' | 'messageId' | 'nextTimeMs'>;

export interface Duplicates {
  /** False once rows may have come again unnoticed; then pages are read again, with `AnyOrder`. */
  readonly isSure: boolean;
  /** Takes one row; true when it came before. */
  comesAgain(row: KnownRow): boolean;
}

/** So many bytes of one millisecond are kept as they came; of further rows digests are. */
const maxKeptBytes = 4 * 1_024 * 1_024;

type Kept = { readonly start: number; readonly end: number } | { readonly digest: string };

export class InOrder implements Duplicates {
  /** The first row of the millisecond, whose id nobody has to know; undefined of the only one. */
  #first: Kept | undefined;
  readonly #byId = new Map<string, Kept | Kept[]>();
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
    const { messageTimeMs, nextTimeMs = messageTimeMs } = row;
    if (messageTimeMs !== this.#timeMs) {
      this.#begin(messageTimeMs);
      this.#first = nextTimeMs === messageTimeMs ? this.#keep(row.bytes) : undefined;
      return false;
    }
    const { bytes, messageId } = row;
    assert(this.#first !== undefined, 'the row behind another one has the time that was said');
    if (this.#isSame(this.#first, bytes)) return true;
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

  #keep(bytes: Uint8Array): Kept {
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

  #isSame(kept: Kept, bytes: Uint8Array): boolean {
    if ('digest' in kept) return kept.digest === digestOf(bytes);
    if (kept.end - kept.start !== bytes.length) return false;
    return this.#bytes.subarray(kept.start, kept.end).equals(bytes);
  }
}

export class AnyOrder implements Duplicates {
  readonly isSure = true;
  readonly #digests = new Set<string>();

  /** The id stands among the bytes. */
  comesAgain({ bytes }: KnownRow): boolean {
    const before = this.#digests.size;
    return this.#digests.add(digestOf(bytes)).size === before;
  }
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}
