/**
 * Lists all Ledgers in pages for the reads after a start. Ten thousand policies then take twenty requests instead of ten thousand.
 *
 * The first read in a term of leadership starts the list, and all reads wait for it. An operator for some namespaces lists each one
 * separately, so that a forbidden namespace does not affect others. Each shard is returned once and then dropped. A shard is read by name
 * if it is read again, or if its owner was written to, because the list is too old for it.
 *
 * Invariants:
 * - The list starts after the term began, so it contains everything that this process must know.
 * - Memory is bounded: large shards are not kept, and the list is dropped after ten minutes.
 */
import type { Clock } from '../../base/clock.ts';
import type { Leadership, OwnerRef } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { ledgerPath } from './api-paths.ts';
import { decodeLedger, type LedgerObject, ledgersNotInstalled, type StoredShard } from './ledger-object.ts';

const keptForMs = 600_000;
const pageDeadlineMs = 15_000;
/** Maximum length of a kept shard in characters. Larger shards are read by name. */
const maxKeptLength = 64 * 1024;
/** Maximum total length of kept shards of one list in characters. Further shards are read by name. */
const maxKeptTotal = 32 * 1024 * 1024;
/** Page sizes. They start small and grow while the content is small, because 500 shards may have 250 MiB. */
const firstPageLimit = 50;
const maxPageLimit = 500;
const smallPageLength = 1024 * 1024;

interface LedgerStartListOptions {
  readonly client: ApiClient;
  /** True to list all namespaces at once, false to list each namespace separately. */
  readonly allNamespaces: boolean;
  readonly leadership: Pick<Leadership, 'term'>;
  readonly clock: Clock;
}

/** A shard in the list; undefined if the list does not contain it. */
interface Listed {
  readonly shard: StoredShard | undefined;
}

/** Shards by the path of their Ledger; `tooLarge` marks a listed shard that was not kept. */
type Shards = Map<string, StoredShard | 'tooLarge'>;

interface Listing {
  readonly term: number;
  readonly endsAtMs: number;
  readonly shards: Promise<Shards>;
  /** Paths of shards that were already returned. */
  readonly taken: Set<string>;
  /** Uids of owners for whose shards the list is too old. */
  readonly outdated: Set<string>;
}

export class LedgerStartList {
  readonly #options: LedgerStartListOptions;
  /** Lists by namespace; undefined stands for all namespaces. */
  readonly #listings = new Map<string | undefined, Listing>();

  constructor(options: LedgerStartListOptions) {
    this.#options = options;
  }

  /** Returns the listed shard with this name, or undefined if it must be read by name. Rejects if the list fails. */
  async take(owner: OwnerRef, name: string): Promise<Listed | undefined> {
    const scope = this.#scopeOf(owner);
    const listing = this.#current(scope);
    if (!listing) return undefined;
    const shards = await listing.shards;
    const { outdated, taken } = listing;
    if (listing !== this.#listings.get(scope) || outdated.has(owner.uid)) return undefined;
    const path = ledgerPath(owner.namespace, name);
    if (taken.has(path)) {
      this.outdate(owner);
      return undefined;
    }
    taken.add(path);
    const shard = shards.get(path);
    shards.delete(path);
    return shard === 'tooLarge' ? undefined : { shard };
  }

  /** Makes later reads of this owner's shards go by name. */
  outdate(owner: OwnerRef): void {
    const listing = this.#listings.get(this.#scopeOf(owner));
    if (listing && this.#options.clock.monotonic() < listing.endsAtMs) listing.outdated.add(owner.uid);
  }

  #scopeOf({ namespace }: OwnerRef): string | undefined {
    return this.#options.allNamespaces ? undefined : namespace;
  }

  /** The list of this term; undefined if it was dropped or this process does not lead. */
  #current(scope: string | undefined): Listing | undefined {
    const { leadership, clock } = this.#options;
    const term = leadership.term();
    if (term === 0) return undefined;
    const known = this.#listings.get(scope);
    if (known?.term !== term) return this.#begin(scope, term);
    if (clock.monotonic() < known.endsAtMs) return known;
    this.#listings.set(scope, { ...known, shards: nothing, taken: new Set(), outdated: new Set() });
    return undefined;
  }

  #begin(scope: string | undefined, term: number): Listing {
    const listing: Listing = {
      term,
      endsAtMs: this.#options.clock.monotonic() + keptForMs,
      shards: this.#list(scope),
      taken: new Set(),
      outdated: new Set(),
    };
    this.#listings.set(scope, listing);
    listing.shards.catch(() => {
      // The next read starts another list.
      if (this.#listings.get(scope) === listing) this.#listings.delete(scope);
    });
    return listing;
  }

  async #list(scope: string | undefined): Promise<Shards> {
    const shards: Shards = new Map();
    let room = maxKeptTotal;
    for await (const ledger of this.#pages(scope)) {
      const isKept = ledger.content.length <= Math.min(room, maxKeptLength);
      if (isKept) room -= ledger.content.length;
      shards.set(pathOf(ledger), isKept ? decodeLedger(ledger) : 'tooLarge');
    }
    return shards;
  }

  async *#pages(scope: string | undefined): AsyncGenerator<LedgerObject, void> {
    let limit = firstPageLimit;
    let next: string | undefined;
    do {
      const page = await this.#page(scope, limit, next);
      yield* page.items;
      const length = page.items.reduce((sum, { content }) => sum + content.length, 0);
      limit = length <= smallPageLength ? Math.min(2 * limit, maxPageLimit) : firstPageLimit;
      next = page.metadata.continue;
    } while (next);
  }

  async #page(scope: string | undefined, limit: number, next: string | undefined): Promise<LedgerPage> {
    const query = { limit: String(limit), ...(next && { continue: next }) };
    const call = { method: 'GET', path: ledgerPath(scope), query, deadlineMs: pageDeadlineMs } as const;
    try {
      return (await this.#options.client.call(call)) as LedgerPage;
    } catch (error) {
      throw hasCode(error, 'host.gone') ? ledgersNotInstalled(error) : error;
    }
  }
}

/** Empty content of an expired list. */
const nothing: Promise<Shards> = Promise.resolve(new Map());

interface LedgerPage {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly LedgerObject[];
}

function pathOf({ metadata: { namespace = '', name } }: LedgerObject): string {
  return ledgerPath(namespace, name);
}
