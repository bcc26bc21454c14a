/**
 * The rows of a fleet as listings have shown them, and a log of what changed, so that whoever keeps an index over them
 * looks at what changed and not at everything.
 *
 * Invariant: a row's `seenAtMs` is when the request that showed it was *sent*; an older answer that comes later changes nothing.
 */
import type { Collector } from '../service/upgrade-service.ts';

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
  /** Ids whose rows came, changed or went, in order; readers keep their own place in it. */
  #changes: string[] = [];
  #changesBase = 0;
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

  /** The end of the log of changes: a place to read on from later. */
  get revision(): number {
    return this.#changesBase + this.#changes.length;
  }

  /** Ids changed since that place, or undefined where the log no longer reaches back so far. */
  changesSince(revision: number): readonly string[] | undefined {
    return revision < this.#changesBase ? undefined : this.#changes.slice(revision - this.#changesBase);
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
        this.#changes.push(id);
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

  /** Forgets the older part of the log of changes once it is long. */
  trimChanges(): void {
    const most = Math.max(4_096, 2 * this.#rows.size);
    if (this.#changes.length <= most) return;
    const dropped = this.#changes.length - (most >> 1);
    this.#changes = this.#changes.slice(dropped);
    this.#changesBase += dropped;
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
      this.#changes.push(collector.id);
      this.#orderRevision++;
      if (position !== undefined) this.#places[position] = collector.id;
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
      this.#changes.push(id);
      row.collector = { ...collector, id, lastSeenAliveMs };
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
