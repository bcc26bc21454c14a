/**
 * Keeps the last known row (entry in the service's list) of each collector in an account. Reports each changed row to
 * the policies that select its collector. An older response never overwrites a newer row.
 */
import type { Collector } from '../service/collectors/upgrade-service.ts';
import { type Anchor, fieldText, MemberIndex, type SelectorField } from './member-index.ts';

export interface Row {
  readonly collector: Collector;
  /** Monotonic time in ms of the newest request whose response showed the collector. */
  readonly seenAtMs: number;
  /** Position of the collector in the whole list, from 0; -1 if unknown. */
  readonly position: number;
  /**
   * Version of the collector before the last version change that logfleet has observed. Undefined if logfleet has
   * observed no version change.
   */
  readonly formerVersion: string | undefined;
}

type MutableRow = { -readonly [K in keyof Row]: Row[K] } & { missedSweeps: number };

export class FleetRows {
  readonly #rows = new Map<string, MutableRow>();
  /** Collector id at each position of the list. */
  readonly #places: string[] = [];
  /** Finds the policies that select or observe a changed collector. */
  readonly members = new MemberIndex();
  /**
   * Collector ids sorted by the text of a field, with one list for each field. The lists are created when needed, and
   * dropped after a change.
   */
  #sorted: Map<SelectorField, readonly string[]> | undefined;
  #revision = 0;
  #orderRevision = 0;

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  entries(): IterableIterator<[string, Row]> {
    return this.#rows.entries();
  }

  /** Counter that changes whenever a row may have moved to another position in the list. */
  get orderRevision(): number {
    return this.#orderRevision;
  }

  /** Counter that increases whenever a row is added, changed or removed. */
  get revision(): number {
    return this.#revision;
  }

  /** Yields the ids of the collectors that meet the condition `anchor`, or all ids if `anchor` is undefined. */
  *anchored(anchor: Anchor | undefined): IterableIterator<string> {
    if (!anchor) {
      yield* this.#rows.keys();
      return;
    }
    const { field, texts, prefixes } = anchor;
    for (const text of texts) yield* this.#range(field, text, (found) => found === text);
    for (const prefix of prefixes) yield* this.#range(field, prefix, (found) => found.startsWith(prefix));
  }

  countVersions(): ReadonlyMap<string, number> {
    return countVersions(this.#rows.values(), ({ collector }) => collector.collectorVersion);
  }

  /**
   * Stores the rows of a page. `offset` is the position of the page's first row in the whole list. If `offset` is
   * undefined, the stored positions do not change.
   */
  takePage(page: readonly Collector[], sentAtMs: number, offset: number | undefined): readonly Collector[] {
    return page.map((collector, index) =>
      this.#take(collector, sentAtMs, offset === undefined ? undefined : offset + index),
    );
  }

  /**
   * Removes the list position of each collector that was on a page but is missing from the new response for that page.
   */
  displace(offset: number, length: number, shown: readonly Collector[]): void {
    const there = new Set(shown.map(({ id }) => id));
    for (const id of this.#places.slice(offset, offset + length)) {
      const row = this.#rows.get(id);
      if (row && row.position >= offset && row.position < offset + length && !there.has(id)) row.position = -1;
    }
  }

  /**
   * Removes the rows that were missing from two successive reads of the whole list (U7). Must be called after each
   * read. `seen` contains the ids of all collectors that the read showed.
   */
  endSweep(seen: ReadonlySet<string>): void {
    for (const [id, row] of this.#rows) {
      if (seen.has(id)) {
        row.missedSweeps = 0;
      } else if (++row.missedSweeps >= 2) {
        this.#rows.delete(id);
        this.#note(id, undefined);
      } else {
        row.position = -1;
      }
    }
  }

  /** Reports whether the previous read of the list showed a collector that is missing from `seen`. */
  missesAny(seen: ReadonlySet<string>): boolean {
    for (const [id, row] of this.#rows) if (row.missedSweeps === 0 && !seen.has(id)) return true;
    return false;
  }

  #note(id: string, collector: Collector | undefined): void {
    this.#revision++;
    this.#sorted = undefined;
    this.members.note(id, collector);
  }

  /**
   * Yields collector ids, sorted by the text of a field. Starts at the first text that is equal to or greater than
   * `from`, and stops before the first text for which `isIn` returns false.
   */
  *#range(field: SelectorField, from: string, isIn: (text: string) => boolean): IterableIterator<string> {
    const ids = this.#sortedBy(field);
    const textAt = (index: number) => this.#textOf(ids[index] as string, field);
    let [low, high] = [0, ids.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (textAt(middle) < from) low = middle + 1;
      else high = middle;
    }
    for (let index = low; index < ids.length && isIn(textAt(index)); index++) yield ids[index] as string;
  }

  #sortedBy(field: SelectorField): readonly string[] {
    this.#sorted ??= new Map();
    const known = this.#sorted.get(field);
    if (known) return known;
    const keyed = Array.from(this.#rows.keys(), (id) => ({ id, text: this.#textOf(id, field) }));
    keyed.sort((left, right) => (left.text < right.text ? -1 : left.text > right.text ? 1 : 0));
    const ids = keyed.map(({ id }) => id);
    this.#sorted.set(field, ids);
    return ids;
  }

  #textOf(id: string, field: SelectorField): string {
    const row = this.#rows.get(id);
    return (row && fieldText(row.collector, field)) ?? '';
  }

  #take(collector: Collector, sentAtMs: number, position: number | undefined): Collector {
    let row = this.#rows.get(collector.id);
    if (!row) {
      row = { collector, seenAtMs: sentAtMs, position: -1, formerVersion: undefined, missedSweeps: 0 };
      this.#rows.set(collector.id, row);
      this.#orderRevision++;
      this.#note(collector.id, collector);
    }
    if (sentAtMs < row.seenAtMs) return row.collector;
    this.#renew(row, collector);
    row.seenAtMs = sentAtMs;
    row.missedSweeps = 0;
    if (position !== undefined && row.position !== position) {
      row.position = position;
      this.#orderRevision++;
      this.#places[position] = row.collector.id;
    }
    return row.collector;
  }

  /**
   * Updates the row of a collector. If a string has not changed, the stored string is kept, because a string from the
   * new page may be a slice of the page's text, and would keep the whole page in memory.
   */
  #renew(row: MutableRow, collector: Collector): void {
    const known = row.collector;
    const { id } = known;
    // A later response may contain an older `lastSeenAliveMs` than an earlier response. The row keeps the newest value.
    const isNewer = (collector.lastSeenAliveMs ?? 0) > (known.lastSeenAliveMs ?? 0);
    const { lastSeenAliveMs } = isNewer ? collector : known;
    if (!sameCollector(known, collector)) {
      if (known.collectorVersion !== collector.collectorVersion) row.formerVersion = known.collectorVersion;
      row.collector = { ...collector, id, lastSeenAliveMs };
      this.#note(id, row.collector);
    } else if (isNewer) {
      row.collector = { ...known, lastSeenAliveMs };
    }
  }
}

/** Reports whether two rows are equal in all fields except `lastSeenAliveMs`, which changes constantly. */
function sameCollector(left: Collector, right: Collector): boolean {
  const fields = Object.keys(right) as (keyof Collector)[];
  return fields.every((field) => field === 'lastSeenAliveMs' || left[field] === right[field]);
}

/** Returns the number of collectors by version. Collectors without a version are not counted. */
export function countVersions<T>(all: Iterable<T>, versionOf: (one: T) => string | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) {
    const version = versionOf(one);
    if (version) counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  return counts;
}
