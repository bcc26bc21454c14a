/**
 * Predicts the position of each collector in the service's list after the collector's upgrade. The list for a build
 * omits the collectors that run this build. If each build runs on at least one collector, no single list shows all
 * collectors, so the lists for two builds are merged.
 *
 * The prediction may be wrong, because the service does not document the order of its lists (section 4.6 of
 * docs/service.md).
 */
import type { Collector } from '../service/collectors/upgrade-service.ts';

/** Fields of a collector by which the service may sort a listing. */
export type Listed = Pick<Collector, 'id' | 'name'>;

export class ListOrder {
  readonly #listed: readonly Listed[];
  readonly #places = new Map<string, number>();
  /** For each index of the merged order, how many of the collectors before this index the first list shows. */
  #shownBefore: Readonly<Int32Array> = new Int32Array();
  #revision = -1;

  /**
   * Merges two lists of collectors into one order. A collector that is only in `former` keeps its position.
   * @param present returns whether a collector of `former` still exists
   */
  constructor(
    former: ListOrder | undefined,
    first: readonly Listed[],
    second: readonly Listed[],
    present: (id: string) => boolean,
  ) {
    const both = merge(first, second);
    const kept = former ? former.#listed.filter(({ id }) => present(id)) : [];
    // A list may show a collector twice, because collectors can move to a later page while the list is read.
    this.#listed = [...new Map(merge(kept, both).map((one) => [one.id, one])).values()];
    for (const [place, { id }] of this.#listed.entries()) this.#places.set(id, place);
  }

  /**
   * Returns the index of a collector in the merged order of both lists. Returns undefined if the collector is not in
   * this order.
   */
  place(id: string): number | undefined {
    return this.#places.get(id);
  }

  /**
   * Computes the position of each collector in the first list.
   * @param shows returns whether the first list shows a collector
   * @param revision counter that changes whenever results of `shows` may have changed
   */
  locate(shows: (id: string) => boolean, revision: number): void {
    if (revision === this.#revision) return;
    this.#shownBefore = this.#count(shows);
    this.#revision = revision;
  }

  /**
   * Returns the position of a collector in the first list, as `locate` last computed it. If the first list does not
   * show the collector yet, returns its future position. Returns undefined if neither list has shown the collector.
   */
  position(id: string): number | undefined {
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.#shownBefore[place];
  }

  #count(shows: (id: string) => boolean): Int32Array {
    const counts = new Int32Array(this.#listed.length);
    let shown = 0;
    for (const [place, { id }] of this.#listed.entries()) {
      counts[place] = shown;
      if (shows(id)) shown++;
    }
    return counts;
  }
}

/** Merges two lists of collectors that are sorted in the same order. */
function merge(first: readonly Listed[], second: readonly Listed[]): readonly Listed[] {
  const inFirst = new Set(first.map(({ id }) => id));
  const inSecond = new Set(second.map(({ id }) => id));
  const goesBefore = sortKey(first, second);
  const merged: Listed[] = [];
  const passed = new Set<string>();
  let right = 0;
  for (const one of first) {
    // Adds the collectors that are only in the second list and sort before this collector of the first list.
    while (right < second.length) {
      const other = second[right] as Listed;
      const own = !inFirst.has(other.id);
      if (own && !(inSecond.has(one.id) && !passed.has(one.id)) && !goesBefore(other, one)) break;
      if (!own && !passed.has(other.id)) break;
      if (own) merged.push(other);
      right++;
    }
    merged.push(one);
    passed.add(one.id);
  }
  for (const other of second.slice(right)) if (!inFirst.has(other.id)) merged.push(other);
  return merged;
}

type Before = (left: Listed, right: Listed) => boolean;

const byId: Before = (left, right) =>
  left.id.length === right.id.length ? left.id < right.id : left.id.length < right.id.length;
const byName: Before = (left, right) => left.name < right.name;

/** Returns the comparison function by which the two lists are sorted: by id or by name. */
function sortKey(first: readonly Listed[], second: readonly Listed[]): Before {
  return [byId, byName].find((before) => isSorted(first, before) && isSorted(second, before)) ?? (() => false);
}

function isSorted(list: readonly Listed[], before: Before): boolean {
  for (let index = 1; index < list.length; index++) {
    if (before(list[index] as Listed, list[index - 1] as Listed)) return false;
  }
  return true;
}
