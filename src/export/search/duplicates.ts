/**
 * Detects repeated rows: rows with the same `_messageid` and the same bytes as an earlier row of the search (E9).
 *
 * - `InOrder` compares rows of the same millisecond, and needs little memory.
 * - `AnyOrder` compares all rows, and needs about 100 bytes of memory per row.
 */
import { hash } from 'node:crypto';
import type { PageRow } from '../../service/pages/page-row.ts';

export type KnownRow = Pick<PageRow, 'bytes' | 'messageTimeMs' | 'messageId'>;

export interface Duplicates {
  /** False if rows arrived out of order, so that repeated rows may have been overlooked. */
  readonly isSure: boolean;
  /** Stores a row. Returns true if the same row has been received before. */
  isDuplicate(row: KnownRow): boolean;
}

/**
 * Maximum memory in bytes for storing complete rows of one millisecond. Beyond this limit, only the hashes of rows are
 * stored.
 */
const maxStoredBytes = 4 * 1_024 * 1_024;

type SeenRow = { readonly start: number; readonly end: number } | { readonly digest: string };

export class InOrder implements Duplicates {
  isSure = true;
  /** First row of the current millisecond. Most milliseconds have only one row, so this row is not added to `#byId`. */
  #first: SeenRow | undefined;
  /**
   * Other rows of the current millisecond, by message id. If different rows have the same id, only the digests of these
   * rows are stored, because a query can turn one message into thousands of rows.
   */
  readonly #byId = new Map<string, SeenRow | Set<string>>();
  readonly #maxStoredBytes: number;
  #bytes = Buffer.allocUnsafe(4_096);
  #used = 0;
  #timeMs = Number.POSITIVE_INFINITY;

  constructor(maxBytes = maxStoredBytes) {
    this.#maxStoredBytes = maxBytes;
  }

  isDuplicate(row: KnownRow): boolean {
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
    if (known instanceof Set) return !isAdded(known, digestOf(bytes));
    if (this.#isSame(known, bytes)) return true;
    this.#byId.set(messageId, new Set([this.#digestOf(known), digestOf(bytes)]));
    return false;
  }

  #begin(timeMs: number): void {
    if (timeMs > this.#timeMs) this.isSure = false;
    this.#timeMs = timeMs;
    this.#used = 0;
    if (this.#byId.size > 0) this.#byId.clear();
  }

  #keep(bytes: Uint8Array): SeenRow {
    const start = this.#used;
    const end = start + bytes.length;
    if (end > this.#maxStoredBytes) return { digest: digestOf(bytes) };
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#maxStoredBytes, Math.max(end, 2 * this.#bytes.length)));
      this.#bytes.copy(larger, 0, 0, start);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, start);
    this.#used = end;
    return { start, end };
  }

  #isSame(stored: SeenRow, bytes: Uint8Array): boolean {
    if ('digest' in stored) return stored.digest === digestOf(bytes);
    if (stored.end - stored.start !== bytes.length) return false;
    return this.#bytes.subarray(stored.start, stored.end).equals(bytes);
  }

  #digestOf(stored: SeenRow): string {
    return 'digest' in stored ? stored.digest : digestOf(this.#bytes.subarray(stored.start, stored.end));
  }
}

export class AnyOrder implements Duplicates {
  readonly isSure = true;
  readonly #digests = new Set<string>();

  isDuplicate({ bytes }: KnownRow): boolean {
    return !isAdded(this.#digests, digestOf(bytes));
  }
}

/** Adds a digest to a set. Returns false if the set already contained the digest. */
function isAdded(digests: Set<string>, digest: string): boolean {
  const { size } = digests;
  return digests.add(digest).size > size;
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}
