/**
 * Finds the policies that select a changed collector, so that only these policies are evaluated. Most selectors contain
 * an anchor: a condition on one field that every matching collector meets. A table lookup finds the selectors whose
 * anchor the changed collector meets. Selectors without an anchor are evaluated after each change.
 */
import { getOrAdd } from '../base/get-or-add.ts';
import { Multimap } from '../base/multimap.ts';
import type { Collector } from '../service/collectors/upgrade-service.ts';

/** Collector field that selectors can compare. */
export type SelectorField = Exclude<keyof Collector, 'lastSeenAliveMs'>;

/**
 * Condition on a field of a collector. The value of the field must be one of `texts`, or begin with one of `prefixes`.
 */
export interface Anchor {
  readonly field: SelectorField;
  readonly texts: readonly string[];
  readonly prefixes: readonly string[];
}

export interface Selection {
  /** Condition that every matching collector meets; undefined if any collector may match. */
  readonly anchor: Anchor | undefined;
  readonly matches: (collector: Collector) => boolean;
  /**
   * Called when a selected collector changes. It is not called again until the policy has fetched the changes with
   * `takeChanged`.
   */
  readonly onChange: () => void;
}

/** Policies whose selectors have a condition on the same field. */
interface FieldIndex {
  readonly texts: Multimap;
  readonly prefixes: Multimap;
  /** Number of stored prefixes, by the length of the prefix. A lookup tries only prefixes of these lengths. */
  readonly lengths: Map<number, number>;
}

export class MemberIndex {
  readonly #selections = new Map<string, Selection>();
  readonly #fields = new Map<SelectorField, FieldIndex>();
  /** Policies whose selectors have no anchor. These selectors must be checked for each changed collector. */
  readonly #unanchored = new Set<string>();
  /** For each collector id, the policies that observe the collector even if their selectors do not match it. */
  readonly #followers = new Multimap();
  /** For each policy, the collectors that have changed since the policy last called `takeChanged`. */
  readonly #changed = new Multimap();
  #concerned = new Set<string>();

  /** Sets the selector of a policy. Drops the changes that were recorded for its previous selector. */
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

  /**
   * Removes the selector of a policy. The caller must first call `unfollow` for each collector that the policy
   * observes.
   */
  leave(policy: string): void {
    this.#remove(policy);
    this.#concerned.delete(policy);
  }

  /**
   * Makes a policy observe a collector. Each change to the collector is then recorded for this policy, even if the
   * policy does not select the collector.
   */
  follow(policy: string, id: string): void {
    this.#followers.add(id, policy);
  }

  unfollow(policy: string, id: string): void {
    this.#followers.delete(id, policy);
  }

  /**
   * Records that a collector has changed, for every policy that selects or observes it. `collector` is undefined if the
   * collector was removed from the list.
   */
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

  /** Returns the changed collectors that were recorded for this policy, and clears the record. */
  takeChanged(policy: string): Iterable<string> {
    return this.#changed.take(policy);
  }

  /** Returns the policies with changes to their collectors since the last call of this method. */
  takeConcerned(): ReadonlySet<string> {
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
    const create = () => ({ texts: new Multimap(), prefixes: new Multimap(), lengths: new Map<number, number>() });
    return getOrAdd(this.#fields, field, create);
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

/** Returns a field of a collector as text, or undefined if the field is absent or empty. */
export function fieldText(collector: Collector, field: SelectorField): string | undefined {
  const value = collector[field];
  return value === undefined || value === '' ? undefined : String(value);
}

function addTo(counts: Map<number, number>, key: number, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
