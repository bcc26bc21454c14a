/**
 * The port to the place where resources are stored. Two adapters implement it: `kubernetes/` (an API server) and `directory/` (manifest
 * files). Reconcilers depend on this file only and treat both alike.
 *
 * Resources are read from a local cache that may lag. Writes use optimistic locking and fail with `host.conflict` (handling `backoff`) if
 * the resource changed since it was read. No method waits until the cache contains a write.
 */
import type { KindName, ResourceOf } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import { failure } from '../base/errors.ts';
import type { SecretText } from '../base/secret-text.ts';

export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** Cache of all resources of one kind. The adapter keeps it up to date until the host is closed. */
export interface ResourceSource<R> {
  /**
   * True after the cache was filled once. Before that, `list` and `get` may miss resources. Becomes true before listeners are called for
   * the last resource of the first list, so that no caller has to poll.
   */
  synced(): boolean;
  list(): Iterable<R>;
  get(key: ResourceKey): R | undefined;
  /** Calls `listener` for each resource that is added, changed or removed, also by a relist. Returns the function that unsubscribes it. */
  subscribe(listener: (key: ResourceKey) => void): () => void;
}

/** The owner of a ledger or an Event. */
export interface OwnerRef extends ResourceKey {
  readonly kind: KindName;
  readonly uid: string;
}

/** One shard of an owner's ledger. */
export interface LedgerShard {
  /** Text in a format of the owner's kind; at most `maxShardBytes` bytes of UTF-8. */
  readonly content: string;
  /** Opaque version, which changes with every write. */
  readonly version: string;
}

/** Format of stored ledgers, as recorded in the owner's status (U1). Format 1 used ConfigMaps and was not recorded. */
export const ledgerFormat = 2;

/** Maximum size of a shard: 512 KiB, half of what an API server accepts (U1). */
export const maxShardBytes = 512 * 1024;

/**
 * Store for facts that cannot be observed again (U1). A ledger consists of named text shards, each with its own optimistic lock.
 *
 * A read may be as old as the start of this term of leadership. A decision based on an old shard is harmless: its write fails with
 * `host.conflict`, and the shard is then read from its source.
 */
export interface LedgerStore {
  /** Reads one shard of the resource with this uid. Undefined if the shard does not exist. */
  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined>;
  /**
   * Writes one complete shard. `expected` is the version that was last read or written, or undefined to create the shard. Another current
   * version fails with `host.conflict`. Resolves to the new version when the shard is durable.
   * @param summary the content in a few words, for users
   */
  write(
    owner: OwnerRef,
    shard: string,
    content: string,
    expected: string | undefined,
    summary?: string,
  ): Promise<string>;
}

const shardForm = /^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/;

/** Checks a shard before it is written. Fails with `ledger.full` if it is too large. */
export function assertShard({ kind, namespace, name }: OwnerRef, shard: string, content: string): void {
  assert(shardForm.test(shard), `a shard cannot be called ${JSON.stringify(shard)}`);
  const bytes = Buffer.byteLength(content);
  if (bytes <= maxShardBytes) return;
  const message =
    `Shard ${shard} of the ledger of ${kind} ${namespace}/${name} would have ${bytes} bytes, and ${maxShardBytes} are the maximum. ` +
    'Lower maxInProgress, or divide the fleet among several resources.';
  throw failure('stall', 'ledger.full', message, { reason: 'LedgerFull' });
}

export type EventType = 'Normal' | 'Warning';

export interface EventSink {
  /** Publishes an Event about a transition. Never throws and never waits. Drops Events that cannot be delivered. */
  publish(
    owner: OwnerRef,
    event: { readonly type: EventType; readonly reason: string; readonly message: string },
  ): void;
}

export interface SecretReader {
  /** Decoded members of a Secret, or undefined if it does not exist. Throws on other failures. */
  get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined>;
  /**
   * True if environment variables can take the place of this Secret, so that messages mention them. Absent on hosts that only have Secrets.
   */
  takesVariables?(key: ResourceKey): boolean;
}

/**
 * Tells whether this process may act. Hosts without other processes always lead. The lease is checked by the local clock, so a process that
 * was suspended beyond its lease notices without a request.
 */
export interface Leadership {
  /** True while this process leads and the lease is valid by its monotonic clock, minus a margin. */
  isLeader(): boolean;
  /** Number of times that this process became leader, 0 before the first. Knowledge from an earlier term is stale. */
  term(): number;
  /** True if the former leader did not release the lease before the last takeover (B6). */
  tookOverByForce(): boolean;
  /** Calls `listener` when leadership begins or ends, also when the lease expired by the clock and was regained. */
  subscribe(listener: () => void): () => void;
}

/** Operator-wide settings of the ConfigMap `logfleet-settings`. */
export interface OperatorSettings {
  /** True if no resource may start new work. Work in flight continues to its end. */
  readonly paused: boolean;
  /** The person or object that pauses, worded to follow "paused by". Undefined while nothing is paused. */
  readonly pausedBy: string | undefined;
  /**
   * Why no policy may start upgrades although nobody paused them, and what to do. Set when a directory has an unusable manifest without a
   * former version (D1). Exports continue.
   */
  readonly policiesHold?: string;
}

export interface Host {
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>>;
  /**
   * Writes the status of a resource, with an optimistic lock on the resource version that was read. Resolves to the written resource. Fails
   * with `host.gone` (handling `wait`) if the resource no longer exists.
   */
  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>>;
  /** Called when a resource's status is found to be up to date, so that no write is needed. Used by views of a run. */
  confirmStatus?<K extends KindName>(kind: K, resource: ResourceOf<K>): void;
  /**
   * Deletes exactly this resource (by uid and version). Succeeds if it is gone or was replaced. Absent on hosts whose resources are users'
   * files.
   */
  remove?<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<void>;
  /**
   * The current settings; the same object until they change. Everything is paused until they were read once, so that no start slips
   * through. The last settings hold while they cannot be read. If reading is forbidden, nothing is paused.
   */
  settings(): OperatorSettings;
  /** Calls `listener` after each change of the settings. Returns the function that unsubscribes it. */
  subscribeSettings(listener: () => void): () => void;
  readonly ledgers: LedgerStore;
  readonly events: EventSink;
  readonly secrets: SecretReader;
  readonly leadership: Leadership;
}
