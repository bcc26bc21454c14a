/**
 * The rows of a fleet as listings have shown them. Each change of a row is given to the policies that it concerns (`member-index.ts`).
 *
 * Invariant: a row's `seenAtMs` is when the request that showed it was *sent*; an older answer that comes later changes nothing.
 */
import type { Collector } from '../service/upgrade-service.ts';
import { type Anchor, fieldText, MemberIndex, type SelectorField } from './member-index.ts';

/** A collector as last seen. */
export interface Row {
  readonly collector: Collector;
  /** When the request of the newest page that showed it was sent; monotonic milliseconds. */
  readonly seenAtMs: number;
  /** Place in the list of the newest sweep, from 0; -1 where it has none. */
  readonly position: number;
  /** The version that it showed before its present one, while we watched. */
  readonly formerVersion: string | undefined;
}

type MutableRow = { -readonly [K in keyof Row]: Row[K] } & { missedSweeps: number };

export class FleetRows {
  readonly #rows = new Map<string, MutableRow>();
  /** Who stands where in the newest sweep. */
  readonly #places: string[] = [];
  /** Hears of each row that came, changed or went. */
  readonly members = new MemberIndex();
  /** Ids in the order of one field's texts; undefined once a row came, changed or went. Made when it is asked for. */
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

  /** Grows whenever rows changed places. */
  get orderRevision(): number {
    return this.#orderRevision;
  }

  /** Grows whenever a row came, changed or went. */
  get revision(): number {
    return this.#revision;
  }

  /** The ids of all rows that an anchor allows; of all rows where it is undefined. */
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
    const counts = new Map<string, number>();
    for (const { collector } of this.#rows.values()) {
      const version = collector.collectorVersion;
      if (version) counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    return counts;
  }

  /**
   * Takes in a page. `offset` is the place of its first row; undefined where places do not count. Returns the page as it is
   * kept, whose texts live on in any case.
   */
  takePage(page: readonly Collector[], sentAtMs: number, offset: number | undefined): readonly Collector[] {
    return page.map((collector, index) =>
      this.#take(collector, sentAtMs, offset === undefined ? undefined : offset + index),
    );
  }

  /** Who should be at these places and is not has moved: only a sweep finds its new place. */
  displace(offset: number, length: number, shown: readonly Collector[]): void {
    const there = new Set(shown.map(({ id }) => id));
    for (const id of this.#places.slice(offset, offset + length)) {
      const row = this.#rows.get(id);
      if (row && row.position >= offset && row.position < offset + length && !there.has(id)) row.position = -1;
    }
  }

  /** A sweep is complete: who was not in it has no place, and goes when it was not in the one before either (U7). */
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

  /** Whether someone who was in the sweep before is not in this one. */
  missesAny(seen: ReadonlySet<string>): boolean {
    for (const [id, row] of this.#rows) if (row.missedSweeps === 0 && !seen.has(id)) return true;
    return false;
  }

  #note(id: string, collector: Collector | undefined): void {
    this.#revision++;
    this.#sorted = undefined;
    this.members.note(id, collector);
  }

  /** The ids whose text begins the range at `from`, for as long as `isIn` holds. */
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
    const row = this.#rows.get(collector.id);
    if (!row) {
      this.#rows.set(collector.id, {
        collector,
        seenAtMs: sentAtMs,
        position: position ?? -1,
        formerVersion: undefined,
        missedSweeps: 0,
      });
      this.#orderRevision++;
      if (position !== undefined) this.#places[position] = collector.id;
      this.#note(collector.id, collector);
      return collector;
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

  /** What a sweep shows is mostly known: the texts that we have are kept, so that those of the page die young. */
  #renew(row: MutableRow, collector: Collector): void {
    const known = row.collector;
    const { id } = known;
    // An older sign of life is a replica's that has not heard of the newer.
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

/** Whether nothing changed that a policy looks at. A newer sign of life alone is no change. */
function sameCollector(left: Collector, right: Collector): boolean {
  return (
    left.collectorVersion === right.collectorVersion &&
    left.alive === right.alive &&
    left.name === right.name &&
    left.collectorType === right.collectorType &&
    left.osName === right.osName &&
    left.osVersion === right.osVersion &&
    left.osArch === right.osArch &&
    left.timeZone === right.timeZone &&
    left.hostName === right.hostName &&
    left.ephemeral === right.ephemeral &&
    left.sourceSyncMode === right.sourceSyncMode
  );
}
