/**
 * All Ledgers in a few pages, for the reads after a start: ten thousand policies then cost twenty requests and not ten thousand.
 *
 * The first read in a term of leadership begins the list, and all reads wait for it. An operator for some namespaces lists each of them
 * by itself, so that a namespace that it may not list does no harm to the others. Each shard is handed out once and then
 * forgotten. A shard that is read again, or whose owner was written to, is read by name, since the list is too old for it.
 *
 * Invariants:
 * - The list begins after the term has begun, so that it holds everything that this process must know.
 * - Memory is bounded: large shards are not kept, and ten minutes after the list everything is forgotten.
 */
import type { Clock } from '../../base/clock.ts';
import type { Leadership, OwnerRef } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { ledgerPath } from './api-paths.ts';
import { decodeLedger, type LedgerObject, ledgersNotInstalled, type StoredShard } from './ledger-store.ts';

const keptForMs = 600_000;
const pageDeadlineMs = 15_000;
/** Shards above this size are read by name. */
const maxKeptLength = 64 * 1024;
/** The size of all kept shards of a list in characters; shards beyond it are read by name. */
const maxKeptTotal = 32 * 1024 * 1024;
/** Pages begin small and grow while their contents are small: 500 shards may have 250 MiB. */
const firstPageLimit = 50;
const maxPageLimit = 500;
const smallPageLength = 1024 * 1024;

export interface LedgerStartListOptions {
  readonly client: ApiClient;
  /** Whether all namespaces come in one list, or each namespace in a list of its own. */
  readonly allNamespaces: boolean;
  readonly leadership: Pick<Leadership, 'term'>;
  readonly clock: Clock;
}

/** A shard as the list has it; undefined when the list has none. */
export interface Listed {
  readonly shard: StoredShard | undefined;
}

/** Shards by the path of their Ledger; `tooLarge` for one that the list has and that was not kept. */
type Shards = Map<string, StoredShard | 'tooLarge'>;

interface Listing {
  readonly term: number;
  readonly endsAtMs: number;
  readonly shards: Promise<Shards>;
  /** Paths of shards that were handed out. */
  readonly taken: Set<string>;
  /** Owners, by uid, for whose shards the list is too old. */
  readonly outdated: Set<string>;
}

export class LedgerStartList {
  readonly #options: LedgerStartListOptions;
  /** By namespace; undefined stands for all of them. */
  readonly #listings = new Map<string | undefined, Listing>();

  constructor(options: LedgerStartListOptions) {
    this.#options = options;
  }

  /** The shard with this name as the list has it, or undefined when it has to be read by name. Rejects when the list fails. */
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

  /** The shards of this owner are read by name from now on. */
  outdate(owner: OwnerRef): void {
    const listing = this.#listings.get(this.#scopeOf(owner));
    if (listing && this.#options.clock.monotonic() < listing.endsAtMs) listing.outdated.add(owner.uid);
  }

  #scopeOf({ namespace }: OwnerRef): string | undefined {
    return this.#options.allNamespaces ? undefined : namespace;
  }

  /** The list of this term; undefined when it was forgotten, or while this process does not lead. */
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
      // The next read begins another list.
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

/** What is left of a list whose time is over. */
const nothing: Promise<Shards> = Promise.resolve(new Map());

interface LedgerPage {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly LedgerObject[];
}

function pathOf({ metadata: { namespace = '', name } }: LedgerObject): string {
  return ledgerPath(namespace, name);
}
