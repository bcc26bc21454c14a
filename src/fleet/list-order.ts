/**
 * Where a collector will show in a list that leaves some out. Where every build is run by someone, the list towards any build hides
 * its runners, and who leaves that build appears between the others. Two lists together show everybody; merged, they give
 * the order of all, and with it the place that each will have once it shows.
 *
 * An estimate: lists shift, and their order is not documented (4.6). Whoever reads a page by it must look whether it holds
 * what was expected.
 */
import type { Collector } from '../service/upgrade-service.ts';

/** What a place in a list may go by. */
export type Listed = Pick<Collector, 'id' | 'name'>;

export class ListOrder {
  readonly #listed: readonly Listed[];
  readonly #places = new Map<string, number>();
  /** How many of those before each place show, as of the revision. */
  #shownBefore: Int32Array | undefined;
  #revision = -1;

  private constructor(listed: readonly Listed[]) {
    this.#listed = listed;
    for (const [place, { id }] of listed.entries()) this.#places.set(id, place);
  }

  /**
   * The order after a sweep of both lists. Who moved from one to the other while they were read may be in neither: the former
   * order still knows its place.
   * @param present whether a collector of the former order is still there
   */
  static after(
    former: ListOrder | undefined,
    first: readonly Listed[],
    second: readonly Listed[],
    present: (id: string) => boolean,
  ): ListOrder {
    const both = merge(first, second);
    if (!former) return new ListOrder(both);
    const kept = former.#listed.filter(({ id }) => present(id));
    return new ListOrder(merge(kept, both));
  }

  /** The place among all, or undefined where it was in neither list. */
  place(id: string): number | undefined {
    return this.#places.get(id);
  }

  /**
   * The expected position of a collector, counted among those that show, or undefined where it was in neither list.
   * @param revision changes whenever `shows` may answer otherwise
   */
  position(id: string, revision: number, shows: (id: string) => boolean): number | undefined {
    const place = this.#places.get(id);
    if (place === undefined) return undefined;
    if (!this.#shownBefore || revision !== this.#revision) {
      this.#shownBefore = this.#count(shows);
      this.#revision = revision;
    }
    return this.#shownBefore[place];
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

/**
 * Both lists are parts of one order: what they share holds them together, the rest goes by the key that they are sorted by. Where
 * they contradict each other, the first is right.
 */
function merge(first: readonly Listed[], second: readonly Listed[]): readonly Listed[] {
  const inFirst = new Set(first.map(({ id }) => id));
  const inSecond = new Set(second.map(({ id }) => id));
  const goesBefore = sortKey(first, second);
  const merged: Listed[] = [];
  const passed = new Set<string>();
  let right = 0;
  for (const one of first) {
    // Of the second list, what stands before this one there, or what goes before it by the key.
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

/** The key by which both lists are sorted; where there is none, the first list goes first. */
function sortKey(first: readonly Listed[], second: readonly Listed[]): Before {
  return [byId, byName].find((before) => isSorted(first, before) && isSorted(second, before)) ?? (() => false);
}

function isSorted(list: readonly Listed[], before: Before): boolean {
  for (let index = 1; index < list.length; index++) {
    if (before(list[index] as Listed, list[index - 1] as Listed)) return false;
  }
  return true;
}
