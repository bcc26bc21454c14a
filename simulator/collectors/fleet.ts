/**
 * All collectors of the simulated service. A new scenario affects only the collectors whose definition has changed. Ids
 * are never reused.
 */
import { dayMs } from '../../src/base/time-units.ts';
import { matchesGlob } from '../base/glob.ts';
import { durationMs } from '../base/span.ts';
import type { CollectorGroup, CollectorProperties, Scenario } from '../scenario/scenario.ts';
import { SimulatedCollector } from './collector.ts';

interface Declaration {
  readonly group: string | undefined;
  readonly properties: CollectorProperties;
}

export class SimulatedFleet {
  readonly #byName = new Map<string, SimulatedCollector>();
  readonly #byId = new Map<string, SimulatedCollector>();
  /** Collector properties, keyed by their JSON. Collectors with equal properties share an object to save memory. */
  readonly #interned = new Map<string, CollectorProperties>();
  #nextId: bigint;
  readonly #onChange: (collector: SimulatedCollector, atMs: number) => void;
  /** Times in ms of all changes to collectors, in ascending order. */
  readonly #changesMs: number[] = [];

  /** Creates the fleet. Calls `onChange` each time a collector is created or changed. */
  constructor(firstId: bigint, onChange: (collector: SimulatedCollector, atMs: number) => void) {
    this.#nextId = firstId;
    this.#onChange = onChange;
  }

  all(): Iterable<SimulatedCollector> {
    return this.#byId.values();
  }

  byId(id: string): SimulatedCollector | undefined {
    return this.#byId.get(id);
  }

  /** Returns the existing collectors whose name or id matches a pattern. */
  matching(patterns: readonly string[]): SimulatedCollector[] {
    const found = [];
    for (const collector of this.#byId.values()) {
      if (collector.now.present && matchesCollector(patterns, collector)) found.push(collector);
    }
    return found;
  }

  /**
   * Returns the number of collector changes up to `atMs`. If the numbers for two times are equal, no collector changed
   * between the two times.
   */
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

  /** Changes the `Condition` of a collector, such as its version. */
  change(collector: SimulatedCollector, changes: Parameters<SimulatedCollector['change']>[0], atMs: number): void {
    collector.change(changes, atMs);
    this.#changesMs.push(atMs);
    this.#onChange(collector, atMs);
  }

  /**
   * Applies a changed scenario to the fleet. Returns the collectors that can reach the service again after the change.
   */
  declare(scenario: Scenario, atMs: number, atStart: boolean): SimulatedCollector[] {
    const revived: SimulatedCollector[] = [];
    const declared = new Set<string>();
    for (const [name, declaration] of this.#declarations(scenario)) {
      declared.add(name);
      const collector = this.#byName.get(name);
      if (!collector) this.#add(name, declaration, atMs, atStart);
      else if (this.#adjust(collector, declaration.properties, atMs)) revived.push(collector);
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
      for (const [name, properties] of membersOf(group, declaration)) {
        const own = single.get(name);
        single.delete(name);
        yield [name, { group, properties: this.#intern(own ? { ...properties, ...own } : properties) }];
      }
    }
    for (const [name, properties] of single) yield [name, { group: undefined, properties: this.#intern(properties) }];
  }

  #intern(properties: CollectorProperties): CollectorProperties {
    const key = JSON.stringify(properties);
    const known = this.#interned.get(key);
    if (known) return known;
    this.#interned.set(key, properties);
    return properties;
  }

  #add(name: string, { group, properties }: Declaration, atMs: number, atStart: boolean): void {
    const id = String(this.#nextId++);
    const silentForMs = durationMs(properties.silentFor) ?? dayMs;
    const collector = new SimulatedCollector(id, name, group, properties, {
      version: versionOf(properties),
      running: properties.running ?? true,
      silentSinceMs: atMs - silentForMs,
      present: atStart && properties.absent !== true,
    });
    this.#byName.set(name, collector);
    this.#byId.set(id, collector);
    if (!atStart && properties.absent !== true) this.change(collector, { present: true }, atMs);
    else this.#onChange(collector, atMs);
  }

  /**
   * Applies properties from the scenario to the collector. Returns true if the new properties restart a stopped
   * collector.
   */
  #adjust(collector: SimulatedCollector, properties: CollectorProperties, atMs: number): boolean {
    const before = collector.properties;
    if (before === properties) return false;
    collector.describe(properties);
    const [ran, runs] = [before.running ?? true, properties.running ?? true];
    this.change(
      collector,
      {
        ...(versionOf(before) === versionOf(properties) ? {} : { version: versionOf(properties) }),
        ...(ran === runs ? {} : { running: runs, silentSinceMs: atMs - (durationMs(properties.silentFor) ?? 0) }),
        ...((before.absent ?? false) === (properties.absent ?? false) ? {} : { present: properties.absent !== true }),
      },
      atMs,
    );
    return runs && !ran;
  }
}

export function matchesCollector(patterns: readonly string[], collector: SimulatedCollector): boolean {
  return patterns.some((pattern) => pattern === collector.id || matchesGlob(pattern, collector.name));
}

function versionOf(properties: CollectorProperties): string {
  return properties.collectorType === 'Hosted' ? '' : (properties.version ?? '');
}

/** Yields the names and properties of the collectors in a group. */
function* membersOf(group: string, declaration: CollectorGroup): Generator<[string, CollectorProperties]> {
  const { count: _count, name: _name, versions, ...properties } = declaration;
  const variants: CollectorProperties[] = versions
    ? versions.map((version) => ({ ...properties, version }))
    : [properties];
  let index = 0;
  for (const name of memberNames(group, declaration))
    yield [name, variants[index++ % variants.length] as CollectorProperties];
}

/** Yields the names of a group's collectors: `web-0001`, `web-0002` and so on for `web-####`. */
export function* memberNames(group: string, { count, name = `${group}-####` }: CollectorGroup): Generator<string> {
  const places = /#+/.exec(name)?.[0] ?? '';
  for (let number = 1; number <= count; number++) {
    yield places ? name.replace(places, String(number).padStart(places.length, '0')) : `${name}${number}`;
  }
}
