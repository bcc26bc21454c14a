/**
 * Keeps the resources of `logfleet ui` in memory, sorted and searchable. Resources that need a user to act come first.
 * Resources in the same state are sorted by namespace and name.
 */
import { type AnyResource, type KindName, kindNames } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import { Listeners } from '../../base/listeners.ts';
import { compareText } from '../../base/text-order.ts';
import type { Tone } from '../render/condition-lines.ts';
import type { ListPage, ListRow } from './page-data.ts';
import { idOf, rowOf } from './resource-row.ts';

/** Tones (states as a user sees them), in the order in which the list of resources sorts them. */
export const tones: readonly Tone[] = ['stalled', 'waiting', 'working', 'ready'];

export interface ListFilter {
  readonly kind?: KindName | undefined;
  readonly tone?: Tone | undefined;
  /** Words to search for. A row matches if it contains all of them, in any order and any case. */
  readonly text: string;
}

interface ListedResource {
  readonly resource: AnyResource;
  readonly row: ListRow;
  /** Searchable text of the row, in lower case. */
  readonly searched: string;
}

export class ResourceModel {
  readonly #entries = new Map<KindName, ReadonlyMap<string, ListedResource>>();
  readonly #listeners = new Listeners<readonly string[]>();
  readonly #complete = Promise.withResolvers<void>();
  #sorted: readonly ListedResource[] | undefined;

  /** Resolves when the resources of all kinds have been read at least once. */
  whenComplete(): Promise<void> {
    return this.#complete.promise;
  }

  /** Replaces all resources of one kind, and reports which resources are new, changed or deleted. */
  replace(kind: KindName, resources: readonly AnyResource[]): void {
    const before = this.#entries.get(kind);
    const after = new Map<string, ListedResource>();
    const changed: string[] = [];
    for (const resource of resources) {
      const id = idOf(resource);
      const known = before?.get(id);
      const isSame = known !== undefined && (known.resource === resource || sameValue(known.resource, resource));
      // Stores the new object even if it equals the old one. The resource cache holds the new object anyway, so keeping
      // the old one here would take additional memory.
      after.set(id, isSame ? { ...known, resource } : entryOf(resource));
      if (!isSame) changed.push(id);
    }
    for (const id of before?.keys() ?? []) if (!after.has(id)) changed.push(id);
    this.#entries.set(kind, after);
    if (this.#entries.size === kindNames.length) this.#complete.resolve();
    if (before && changed.length === 0) return;
    this.#sorted = undefined;
    this.#listeners.notify(changed);
  }

  subscribe(listener: (changed: readonly string[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  find(id: string): AnyResource | undefined {
    const found = this.#entries.values().map((entries) => entries.get(id));
    return found.find((entry) => entry !== undefined)?.resource;
  }

  list({ kind, tone, text }: ListFilter, offset: number, limit: number): ListPage {
    this.#sorted ??= [...this.#entries.values()].flatMap((entries) => [...entries.values()]).sort(byUrgency);
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const byKind = Object.fromEntries(kindNames.map((name) => [name, 0])) as Record<KindName, number>;
    const byTone = Object.fromEntries(tones.map((name) => [name, 0])) as Record<Tone, number>;
    const matching: ListRow[] = [];
    for (const { row, searched } of this.#sorted) {
      if (!words.every((word) => searched.includes(word))) continue;
      const [hasKind, hasTone] = [kind === undefined || row.kind === kind, tone === undefined || row.tone === tone];
      if (hasTone) byKind[row.kind]++;
      if (hasKind) byTone[row.tone]++;
      if (hasKind && hasTone) matching.push(row);
    }
    const rows = matching.slice(offset, offset + limit);
    return { total: matching.length, offset, rows, kinds: byKind, tones: byTone };
  }
}

function entryOf(resource: AnyResource): ListedResource {
  const row = rowOf(resource);
  return { resource, row, searched: `${row.id} ${row.kind} ${row.state} ${row.note}`.toLowerCase() };
}

function byUrgency({ row: left }: ListedResource, { row: right }: ListedResource): number {
  return (
    tones.indexOf(left.tone) - tones.indexOf(right.tone) ||
    compareText(left.namespace, right.namespace) ||
    compareText(left.name, right.name) ||
    compareText(left.kind, right.kind)
  );
}
