/**
 * All collectors, from the scenario and from later changes.
 *
 * Invariant: a new scenario changes only what differs from the former one. Ids are assigned once, in the order of the scenario, and never
 * reused.
 */

import { matchesGlob } from '../glob.ts';
import type { CollectorGroup, CollectorTraits, Scenario } from '../scenario.ts';
import { durationMs } from '../span.ts';
import { Collector } from './collector.ts';

const dayMs = 86_400_000;

interface Declaration {
  readonly group: string | undefined;
  readonly traits: CollectorTraits;
}

export class Fleet {
  readonly #byName = new Map<string, Collector>();
  readonly #byId = new Map<string, Collector>();
  /** Traits by their JSON. Equal traits are one object, which makes comparisons cheap. */
  readonly #interned = new Map<string, CollectorTraits>();
  #nextId: bigint;
  /** Times of all changes that lists can show, ascending. */
  readonly #changesMs: number[] = [];

  constructor(firstId: bigint) {
    this.#nextId = firstId;
  }

  /** Returns the collectors in the order of their creation, with removed ones, which are not present. */
  all(): Iterable<Collector> {
    return this.#byId.values();
  }

  byId(id: string): Collector | undefined {
    return this.#byId.get(id);
  }

  /** Returns the present collectors with a matching name or id. */
  matching(patterns: readonly string[]): Collector[] {
    const found = [];
    for (const collector of this.#byId.values()) {
      if (collector.now.present && matchesCollector(patterns, collector)) found.push(collector);
    }
    return found;
  }

  /** Returns the number of changes up to `atMs`. An equal number means an equal list. */
  epochAt(atMs: number): number {
    let low = 0;
    let high = this.#changesMs.length;
    if (high === 0 || (this.#changesMs[high - 1] as number) <= atMs) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changesMs[middle] as number) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Changes the condition of a collector. No other code changes it. */
  change(collector: Collector, changes: Parameters<Collector['change']>[0], atMs: number): void {
    collector.change(changes, atMs);
    this.#changesMs.push(atMs);
  }

  /** Applies the scenario. Returns the collectors that resume contact with the service. */
  declare(scenario: Scenario, atMs: number, atStart: boolean): Collector[] {
    const revived: Collector[] = [];
    const declared = new Set<string>();
    for (const [name, declaration] of this.#declarations(scenario)) {
      declared.add(name);
      const collector = this.#byName.get(name);
      if (!collector) this.#add(name, declaration, atMs, atStart);
      else if (this.#adjust(collector, declaration.traits, atMs)) revived.push(collector);
    }
    for (const [name, collector] of this.#byName) {
      if (declared.has(name)) continue;
      if (collector.now.present) this.change(collector, { present: false }, atMs);
      this.#byName.delete(name);
    }
    return revived;
  }

  *#declarations(scenario: Scenario): Generator<[string, Declaration]> {
    const single = new Map(Object.entries(scenario.collectors ?? {}));
    for (const [group, declaration] of Object.entries(scenario.groups ?? {})) {
      for (const [name, traits] of membersOf(group, declaration)) {
        const own = single.get(name);
        single.delete(name);
        yield [name, { group, traits: this.#intern(own ? { ...traits, ...own } : traits) }];
      }
    }
    for (const [name, traits] of single) yield [name, { group: undefined, traits: this.#intern(traits) }];
  }

  #intern(traits: CollectorTraits): CollectorTraits {
    const key = JSON.stringify(traits);
    const known = this.#interned.get(key);
    if (known) return known;
    this.#interned.set(key, traits);
    return traits;
  }

  #add(name: string, { group, traits }: Declaration, atMs: number, atStart: boolean): void {
    const id = String(this.#nextId++);
    const silentForMs = durationMs(traits.silentFor) ?? dayMs;
    const collector = new Collector(id, name, group, traits, {
      version: versionOf(traits),
      running: traits.running ?? true,
      silentSinceMs: atMs - silentForMs,
      present: atStart && traits.absent !== true,
    });
    this.#byName.set(name, collector);
    this.#byId.set(id, collector);
    if (!atStart && traits.absent !== true) this.change(collector, { present: true }, atMs);
  }

  /** Returns whether the collector resumes contact. */
  #adjust(collector: Collector, traits: CollectorTraits, atMs: number): boolean {
    const before = collector.traits;
    if (before === traits) return false;
    collector.describe(traits);
    const [ran, runs] = [before.running ?? true, traits.running ?? true];
    this.change(
      collector,
      {
        ...(versionOf(before) === versionOf(traits) ? {} : { version: versionOf(traits) }),
        ...(ran === runs ? {} : { running: runs, silentSinceMs: atMs - (durationMs(traits.silentFor) ?? 0) }),
        ...((before.absent ?? false) === (traits.absent ?? false) ? {} : { present: traits.absent !== true }),
      },
      atMs,
    );
    return runs && !ran;
  }
}

export function matchesCollector(patterns: readonly string[], collector: Collector): boolean {
  return patterns.some((pattern) => pattern === collector.id || matchesGlob(pattern, collector.name));
}

function versionOf(traits: CollectorTraits): string {
  return traits.collectorType === 'Hosted' ? '' : (traits.version ?? '');
}

/** Yields names and traits of a group's members. */
function* membersOf(group: string, declaration: CollectorGroup): Generator<[string, CollectorTraits]> {
  const { count: _count, name: _name, versions, ...traits } = declaration;
  const variants: CollectorTraits[] = versions ? versions.map((version) => ({ ...traits, version })) : [traits];
  let index = 0;
  for (const name of memberNames(group, declaration))
    yield [name, variants[index++ % variants.length] as CollectorTraits];
}

/** Yields `web-0001`, `web-0002`, … for `web-####`. A pattern without `#` gets the number at its end. */
export function* memberNames(group: string, { count, name = `${group}-####` }: CollectorGroup): Generator<string> {
  const places = /#+/.exec(name)?.[0] ?? '';
  for (let number = 1; number <= count; number++) {
    yield places ? name.replace(places, String(number).padStart(places.length, '0')) : `${name}${number}`;
  }
}
