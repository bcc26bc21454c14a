/**
 * Which policies a changed row concerns, and which rows a selection may match. Each policy enters its selection; each changed row is
 * given to the policies that select it or follow it, and to no other. So the cost of a change grows with the policies that it concerns,
 * and not with the policies that there are.
 *
 * A selection has an anchor where possible: texts or prefixes of one field. A collector that matches the selection has one of them, so
 * that a policy is found by a lookup. A selection without an anchor is evaluated for each changed row.
 *
 * `ownership.ts` says which policy owns a collector.
 */
import { Multimap } from '../base/multimap.ts';
import type { Collector } from '../service/upgrade-service.ts';

/** A field of a collector that selectors compare. */
export type SelectorField = Exclude<keyof Collector, 'lastSeenAliveMs'>;

/** A collector that matches the selection has one of these texts in the field, or a text that begins with one of the prefixes. */
export interface Anchor {
  readonly field: SelectorField;
  readonly texts: readonly string[];
  readonly prefixes: readonly string[];
}

export interface Selection {
  /** Undefined where any collector may match. */
  readonly anchor: Anchor | undefined;
  readonly matches: (collector: Collector) => boolean;
  /** Called when the first change comes after `takeChanged`. */
  readonly onChange: () => void;
}

/** Policies by what they select in one field. */
interface FieldIndex {
  readonly texts: Multimap;
  readonly prefixes: Multimap;
  /** How many anchors have a prefix of this length. */
  readonly lengths: Map<number, number>;
}

export class MemberIndex {
  readonly #selections = new Map<string, Selection>();
  readonly #fields = new Map<SelectorField, FieldIndex>();
  /** Policies whose selection has no anchor. */
  readonly #unanchored = new Set<string>();
  /** Policies by the collectors that they follow. */
  readonly #followers = new Multimap();
  /** Collectors by the policies that have not taken their change yet. */
  readonly #changed = new Multimap();
  #concerned = new Set<string>();

  /** Enters the selection of a policy in place of its former one. Changes that the policy has not taken are dropped. */
  enter(policy: string, selection: Selection): void {
    this.#remove(policy);
    this.#selections.set(policy, selection);
    const { anchor } = selection;
    if (!anchor) {
      this.#unanchored.add(policy);
      return;
    }
    const index = this.#field(anchor.field);
    for (const text of anchor.texts) index.texts.add(text, policy);
    for (const prefix of anchor.prefixes) {
      if (index.prefixes.add(prefix, policy)) addTo(index.lengths, prefix.length, 1);
    }
  }

  /** The policy has no selection any more. It must have unfollowed what it followed. */
  leave(policy: string): void {
    this.#remove(policy);
    this.#concerned.delete(policy);
  }

  /** Gives the policy every change of this collector's row, whatever its selection. */
  follow(policy: string, id: string): void {
    this.#followers.add(id, policy);
  }

  unfollow(policy: string, id: string): void {
    this.#followers.delete(id, policy);
  }

  /** A row came, changed, or went (undefined). */
  note(id: string, collector: Collector | undefined): void {
    for (const policy of this.#followers.get(id)) this.#mark(policy, id);
    if (!collector) return;
    for (const policy of this.#unanchored) this.#offer(policy, collector);
    for (const [field, { texts, prefixes, lengths }] of this.#fields) {
      const text = fieldText(collector, field);
      if (text === undefined) continue;
      for (const policy of texts.get(text)) this.#offer(policy, collector);
      for (const length of lengths.keys()) {
        if (length > text.length) continue;
        for (const policy of prefixes.get(text.slice(0, length))) this.#offer(policy, collector);
      }
    }
  }

  /** The collectors whose rows changed since the last call, as far as they concern this policy. */
  takeChanged(policy: string): Iterable<string> {
    return this.#changed.take(policy);
  }

  /** The policies that any change has concerned since the last call, whether they have taken it or not. */
  takeConcerned(): Iterable<string> {
    const concerned = this.#concerned;
    this.#concerned = new Set();
    return concerned;
  }

  #offer(policy: string, collector: Collector): void {
    if (this.#changed.has(policy, collector.id)) this.#concerned.add(policy);
    else if (this.#selections.get(policy)?.matches(collector)) this.#mark(policy, collector.id);
  }

  #mark(policy: string, id: string): void {
    const selection = this.#selections.get(policy);
    if (!selection) return;
    const isFirst = !this.#changed.hasKey(policy);
    this.#changed.add(policy, id);
    this.#concerned.add(policy);
    if (isFirst) selection.onChange();
  }

  #field(field: SelectorField): FieldIndex {
    const known = this.#fields.get(field);
    if (known) return known;
    const index = { texts: new Multimap(), prefixes: new Multimap(), lengths: new Map<number, number>() };
    this.#fields.set(field, index);
    return index;
  }

  #remove(policy: string): void {
    const anchor = this.#selections.get(policy)?.anchor;
    this.#selections.delete(policy);
    this.#unanchored.delete(policy);
    this.#changed.take(policy);
    if (!anchor) return;
    const { texts, prefixes, lengths } = this.#field(anchor.field);
    for (const text of anchor.texts) texts.delete(text, policy);
    for (const prefix of anchor.prefixes) {
      if (prefixes.delete(prefix, policy)) addTo(lengths, prefix.length, -1);
    }
    if (texts.size === 0 && prefixes.size === 0) this.#fields.delete(anchor.field);
  }
}

/** A field of a collector as text; an absent or empty one is undefined. */
export function fieldText(collector: Collector, field: SelectorField): string | undefined {
  const value = collector[field];
  return value === undefined || value === '' ? undefined : String(value);
}

function addTo(counts: Map<number, number>, key: number, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
