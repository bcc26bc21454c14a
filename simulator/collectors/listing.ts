/**
 * Pages of the list of upgradable collectors. The list is filtered and sorted again only when the fleet has changed.
 */
import { parseBuildVersion } from '../../src/base/build-version.ts';
import { drawFor } from '../base/chance.ts';
import type { AccessKey, Settings } from '../scenario/settings.ts';
import type { Condition, SimulatedCollector } from './collector.ts';
import type { SimulatedFleet } from './fleet.ts';

export interface CollectorPageQuery {
  readonly toVersion: string;
  readonly offset: number;
  readonly limit: number;
}

interface CachedList {
  readonly epoch: number;
  readonly collectors: readonly SimulatedCollector[];
}

const maxCachedLists = 16;

export class CollectorLists {
  readonly #fleet: SimulatedFleet;
  readonly #lists = new Map<string, CachedList>();

  constructor(fleet: SimulatedFleet) {
    this.#fleet = fleet;
  }

  /**
   * Drops the cached lists. Must be called after each change of the settings, because the lists depend on the settings.
   */
  clear(): void {
    this.#lists.clear();
  }

  /** Returns the body of one page of the collector list, as of `atMs`. */
  page(query: CollectorPageQuery, key: AccessKey, settings: Settings, atMs: number): string {
    const collectors = this.#list(query.toVersion, key, settings, atMs);
    const end = Math.min(query.offset + query.limit, collectors.length);
    const rendered: string[] = [];
    for (let index = query.offset; index < end; index++) {
      rendered.push((collectors[index] as SimulatedCollector).render(atMs, settings.aliveForMs));
    }
    return `{"collectors":[${rendered.join(',')}]}`;
  }

  #list(toVersion: string, key: AccessKey, settings: Settings, atMs: number): readonly SimulatedCollector[] {
    const name = JSON.stringify([toVersion, key.groups]);
    const epoch = this.#fleet.epochAt(atMs);
    const known = this.#lists.get(name);
    if (known?.epoch === epoch) return known.collectors;
    const collectors = this.#gather(toVersion, key, settings, atMs);
    this.#lists.delete(name);
    this.#lists.set(name, { epoch, collectors });
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > maxCachedLists && oldest !== undefined) this.#lists.delete(oldest);
    return collectors;
  }

  #gather(toVersion: string, key: AccessKey, settings: Settings, atMs: number): SimulatedCollector[] {
    const found: SimulatedCollector[] = [];
    for (const collector of this.#fleet.all()) {
      const condition = collector.at(atMs);
      if (isListed(collector, condition, toVersion, settings.list) && maySee(key, collector)) found.push(collector);
    }
    return sorted(found, settings, atMs);
  }
}

/** Reports whether the user can see the collector. */
export function maySee(key: AccessKey, collector: SimulatedCollector): boolean {
  return key.groups === undefined || (collector.group !== undefined && key.groups.includes(collector.group));
}

function isListed(
  collector: SimulatedCollector,
  condition: Condition,
  toVersion: string,
  list: Settings['list'],
): boolean {
  if (!condition.present) return false;
  if (collector.hosted) return list.hosted;
  return list.atTarget || condition.version !== toVersion;
}

function sorted(collectors: SimulatedCollector[], settings: Settings, atMs: number): SimulatedCollector[] {
  switch (settings.list.order) {
    case 'id':
      return collectors;
    case 'name':
      return collectors.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
    case 'version':
      return sortedBy(collectors, (collector) => versionRank(collector.at(atMs).version));
    case 'shuffled':
      return sortedBy(collectors, ({ id }) => drawFor(settings.seed, 'order', id));
  }
}

function sortedBy(
  collectors: SimulatedCollector[],
  rankOf: (collector: SimulatedCollector) => number,
): SimulatedCollector[] {
  const ranked = collectors.map((collector) => ({ collector, rank: rankOf(collector) }));
  return ranked.sort((left, right) => left.rank - right.rank).map(({ collector }) => collector);
}

/**
 * Returns a sort key for a version. Newer versions have larger keys. Text that is not a version has the smallest key.
 */
function versionRank(text: string): number {
  const version = parseBuildVersion(text);
  return version ? (version.major * 1e6 + version.minor) * 1e6 + version.build : -1;
}
