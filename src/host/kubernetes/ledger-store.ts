/**
 * Stores each ledger object (*shard* in code) as a Kubernetes resource of kind `Ledger` (U1). Ledger names have this
 * form:
 *
 *   <owner>-<hash of uid>-<shard>      e.g. production-3fa1b2c3d4-head
 *
 * Invariants:
 * - Kubernetes deletes a Ledger together with the resource that owns it.
 * - A Ledger contains its owner's uid. A resource that is deleted and created again has another uid, so it starts
 *   without a ledger.
 * - Each write is one request with an optimistic lock.
 */
import { createHash } from 'node:crypto';
import { reasons } from '../../api/conditions.ts';
import { type AnyResource, apiVersion, ledgerKind } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import type { Clock } from '../../base/clock.ts';
import { failure, hasCode, isExpected, LogfleetError } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import { assertShard, type Leadership, type LedgerShard, type LedgerStore, type OwnerRef } from '../host.ts';
import type { ApiClient, KubeObject } from './api-client.ts';
import { notInstalled } from './api-error.ts';
import { objectPath } from './api-paths.ts';
import { fieldManager, metadataOnly } from './resource-writes.ts';

/** Maximum length of the owner's name within a Ledger's name. Kubernetes allows 253 characters for the whole name. */
const maxOwnerNameLength = 190;
const maxSummaryLength = 200;

interface KubernetesLedgerStoreOptions {
  readonly client: ApiClient;
  /**
   * List of all Ledgers, which is read once after the operator starts. Without this list, each Ledger is read by name.
   */
  readonly startList?: LedgerStartList;
  /** Looks up a ledger's owner in the cache. */
  readonly resourceOf?: (owner: OwnerRef) => AnyResource | undefined;
}

export class KubernetesLedgerStore implements LedgerStore {
  readonly #options: KubernetesLedgerStoreOptions;

  constructor(options: KubernetesLedgerStoreOptions) {
    this.#options = options;
  }

  async read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined> {
    const name = ledgerName(owner, shard);
    const stored = await this.#find(owner, name);
    if (stored) assertOwned(owner, stored);
    else assertNoOlderLedger(owner, this.#options.resourceOf?.(owner));
    return stored;
  }

  async write(
    owner: OwnerRef,
    shard: string,
    content: string,
    expected: string | undefined,
    summary = '',
  ): Promise<string> {
    assertShard(owner, shard, content);
    this.#options.startList?.outdate(owner);
    const { kind, namespace, name: ownerName, uid } = owner;
    const name = ledgerName(owner, shard);
    const body = {
      apiVersion,
      kind: ledgerKind,
      metadata: {
        name,
        namespace,
        labels: { 'app.kubernetes.io/managed-by': 'logfleet' },
        ownerReferences: [{ apiVersion, kind, name: ownerName, uid, controller: true, blockOwnerDeletion: false }],
        ...(expected !== undefined && { resourceVersion: expected }),
      },
      owner: { kind, name: ownerName, uid },
      shard,
      summary: summary.slice(0, maxSummaryLength),
      bytes: Buffer.byteLength(content),
      content,
    };
    const target =
      expected === undefined
        ? ({ method: 'POST', path: objectPath('ledgers', namespace) } as const)
        : ({ method: 'PUT', path: objectPath('ledgers', namespace, name) } as const);
    const call = { ...target, query: { fieldManager }, body, accept: metadataOnly };
    try {
      const { metadata } = await crossing('ledger.write', () => this.#options.client.callForObject(call));
      return metadata.resourceVersion;
    } catch (error) {
      if (!hasCode(error, 'host.gone')) throw asInaccessible(error, 'written');
      throw expected === undefined ? ledgersNotInstalled(error) : deletedMeanwhile(namespace, name, error);
    }
  }

  /** Reads the Ledger with this name. Returns undefined if the Ledger does not exist. */
  async #find(owner: OwnerRef, name: string): Promise<StoredShard | undefined> {
    const { client, startList } = this.#options;
    try {
      const listed = startList ? await startList.take(owner, name) : 'unknown';
      if (listed !== 'unknown') return listed;
      const ledger = await client.findObject<LedgerObject>(objectPath('ledgers', owner.namespace, name));
      return ledger && decodeLedger(ledger);
    } catch (error) {
      throw asInaccessible(error, 'read');
    }
  }
}

function ledgerName(owner: OwnerRef, shard: string): string {
  const hash = createHash('sha256').update(owner.uid).digest('hex').slice(0, 10);
  return `${owner.name.slice(0, maxOwnerNameLength).replace(/[^a-z0-9]+$/, '')}-${hash}-${shard}`;
}

function assertOwned({ kind, namespace, name, uid }: OwnerRef, stored: StoredShard): void {
  if (stored.ownerUid === uid) return;
  const message =
    `Ledger ${namespace}/${stored.name} belongs to an earlier ${kind} ${name} with the uid ${stored.ownerUid}, but the current ${kind} has the uid ${uid}. ` +
    'Delete this Ledger.';
  throw failure('stall', 'ledger.foreign', message, { reason: 'LedgerForeign' });
}

/**
 * Throws if a policy's ledger may still be in ConfigMaps, where older versions of logfleet stored ledgers (U1). This
 * version cannot read ledgers from ConfigMaps.
 */
function assertNoOlderLedger(owner: OwnerRef, resource: AnyResource | undefined): void {
  if (resource?.kind !== 'CollectorVersionPolicy' || !resource.status) return;
  const { ledgerFormat, rollout } = resource.status;
  if (ledgerFormat !== undefined || rollout === undefined) return;
  const message =
    `The status of CollectorVersionPolicy ${keyText(owner)} shows a rollout that an older version of logfleet started. This version cannot read the ledger of that rollout. ` +
    'Run the older version until the rollout has ended, or delete the policy and create it again when no upgrade is in progress.';
  throw failure('stall', 'ledger.missing', message, { reason: 'LedgerMissing' });
}

/** Returns the error for a Ledger that was deleted after it was read. */
function deletedMeanwhile(namespace: string, name: string, cause: unknown): LogfleetError {
  const message = `Ledger ${namespace}/${name} was deleted while logfleet was using it. logfleet will read the ledger again.`;
  return failure('backoff', 'host.conflict', message, { cause });
}

/**
 * Returns an error with the reason `LedgerInaccessible` if the API server has rejected a request for a Ledger, or has
 * not answered it. Returns all other errors unchanged, such as a conflict with another process.
 * @param access last word of the message "The ledger cannot be …"
 */
function asInaccessible(error: unknown, access: 'read' | 'written'): unknown {
  if (!isExpected(error) || error.code === 'host.conflict' || !error.code.startsWith('host.')) return error;
  const { code, handling } = error;
  const message = `The ledger of upgrade attempts cannot be ${access}: ${error.message}`;
  return new LogfleetError({ code, handling, message, reason: reasons.ledgerInaccessible, cause: error });
}

/** Ledger fields that logfleet reads. */
interface LedgerObject extends KubeObject {
  readonly owner: { readonly uid: string };
  readonly content: string;
}

/** Ledger fields that logfleet keeps in memory. */
interface StoredShard extends LedgerShard {
  readonly name: string;
  readonly ownerUid: string;
}

/** Decodes a Ledger. The CRD's schema requires all fields. */
function decodeLedger({ metadata, owner, content }: LedgerObject): StoredShard {
  return { name: metadata.name, ownerUid: owner.uid, content, version: metadata.resourceVersion };
}

/** Returns the error that reports a missing Ledger CRD. */
function ledgersNotInstalled(cause: unknown): LogfleetError {
  return failure('stall', 'ledger.notInstalled', notInstalled(ledgerKind, 'the API server'), {
    reason: 'LedgerNotInstalled',
    cause,
  });
}

const retentionMs = 600_000;
const pageDeadlineMs = 15_000;
/**
 * Maximum length of a ledger object that is kept in memory, in characters. Longer objects are read by name when needed.
 */
const maxCachedLength = 64 * 1024;
/**
 * Maximum total length of the ledger objects kept in memory, in characters. Any further objects are read by name when
 * needed.
 */
const maxCachedTotal = 32 * 1024 * 1024;
/**
 * Number of Ledgers on the first page of a list. This number is low because the size of the Ledgers is not known yet,
 * and a Ledger can be as large as 512 KiB.
 */
const firstPageLimit = 50;
const maxPageLimit = 500;
const smallPageLength = 1024 * 1024;

interface LedgerStartListOptions {
  readonly client: ApiClient;
  /** True if one list contains the Ledgers from all namespaces. False if each namespace has its own list. */
  readonly allNamespaces: boolean;
  readonly leadership: Pick<Leadership, 'term'>;
  readonly clock: Clock;
}

/** Contents of Ledgers by API path. */
type Shards = Map<string, StoredShard>;

interface Listing {
  readonly term: number;
  readonly endsAtMs: number;
  /** Ledgers in the list. Dropped (undefined) after `endsAtMs` to free memory. */
  shards: Promise<Shards> | undefined;
  /**
   * Ledgers that must be read by name, because the list may not contain their current content. An entry is either the
   * API path of one Ledger, or the uid of an owner, which stands for all Ledgers of this owner.
   */
  readonly byName: Set<string>;
}

/**
 * Lists all Ledgers in pages once, because reading ten thousand Ledgers by name would take too long.
 *
 * The list is requested by the first read of a Ledger after this process has become the leader. Each Ledger in the list
 * serves one read only. Later reads of the same Ledger request it by name.
 *
 * Invariants:
 * - The list contains all writes of earlier leaders.
 * - Memory is bounded: large Ledgers are not kept, and the list is dropped after ten minutes.
 */
export class LedgerStartList {
  readonly #options: LedgerStartListOptions;
  /** Lists of Ledgers, by namespace. The list with the key `undefined` contains the Ledgers from all namespaces. */
  readonly #listings = new Map<string | undefined, Listing>();

  constructor(options: LedgerStartListOptions) {
    this.#options = options;
  }

  /**
   * Returns a Ledger from the list, or undefined if the Ledger does not exist. Returns `unknown` if the Ledger must be
   * read by name.
   */
  async take(owner: OwnerRef, name: string): Promise<StoredShard | undefined | 'unknown'> {
    const listing = this.#current(owner);
    const shards = await listing?.shards;
    const path = objectPath('ledgers', owner.namespace, name);
    if (!listing || !shards || listing.byName.has(owner.uid)) return 'unknown';
    if (listing.byName.has(path)) {
      this.outdate(owner);
      return 'unknown';
    }
    listing.byName.add(path);
    const shard = shards.get(path);
    shards.delete(path);
    return shard;
  }

  /**
   * Called when the list may no longer contain the current content of an owner's Ledgers. From then on, these Ledgers
   * are read by name.
   */
  outdate(owner: OwnerRef): void {
    this.#listings.get(this.#scopeOf(owner))?.byName.add(owner.uid);
  }

  #scopeOf({ namespace }: OwnerRef): string | undefined {
    return this.#options.allNamespaces ? undefined : namespace;
  }

  /**
   * Returns the list of Ledgers for the current term as the leader, and starts to read it if necessary. Returns
   * undefined if this process has never been the leader.
   */
  #current(owner: OwnerRef): Listing | undefined {
    const { leadership, clock } = this.#options;
    const term = leadership.term();
    if (term === 0) return undefined;
    const scope = this.#scopeOf(owner);
    const known = this.#listings.get(scope);
    if (known?.term !== term) return this.#begin(scope, term);
    if (clock.monotonic() >= known.endsAtMs) known.shards = undefined;
    return known;
  }

  #begin(scope: string | undefined, term: number): Listing {
    const byName = new Set<string>();
    const shards = this.#list(scope, byName);
    const listing: Listing = { term, endsAtMs: this.#options.clock.monotonic() + retentionMs, shards, byName };
    this.#listings.set(scope, listing);
    shards.catch(() => {
      // If the list of Ledgers could not be read, the next read of a Ledger requests the list again.
      if (this.#listings.get(scope) === listing) this.#listings.delete(scope);
    });
    return listing;
  }

  async #list(scope: string | undefined, byName: Set<string>): Promise<Shards> {
    const shards: Shards = new Map();
    let freeLength = maxCachedTotal;
    for await (const ledger of this.#pages(scope)) {
      const { metadata, owner, content } = ledger;
      if (content.length > Math.min(freeLength, maxCachedLength)) {
        byName.add(owner.uid);
        continue;
      }
      freeLength -= content.length;
      shards.set(objectPath('ledgers', metadata.namespace, metadata.name), decodeLedger(ledger));
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
    const call = { method: 'GET', path: objectPath('ledgers', scope), query, deadlineMs: pageDeadlineMs } as const;
    try {
      return (await this.#options.client.call(call)) as LedgerPage;
    } catch (error) {
      throw hasCode(error, 'host.gone') ? ledgersNotInstalled(error) : error;
    }
  }
}

interface LedgerPage {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly LedgerObject[];
}
