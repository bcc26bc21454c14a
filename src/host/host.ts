/**
 * Interface between the reconcilers and the store of resources. The store is an API server (`kubernetes/`) or a
 * directory of manifest files (`directory/`).
 *
 * Reads come from a cache that may be outdated. A write fails with `host.conflict` (handling `backoff`) if the resource
 * has changed since it was read. A write may finish before its result is in the cache.
 */
import type { AnyResource, KindName, ResourceOf } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import { failure } from '../base/errors.ts';
import { keyText } from '../base/key-text.ts';
import type { SecretText } from '../base/secret-text.ts';
import type { WorkerJobs } from './worker-jobs.ts';

export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** Cache of all resources of one kind. The host keeps the cache up to date until the host is closed. */
export interface ResourceSource<R> {
  /**
   * True if the cache contains all resources, and all changes by the previous leader that a new leader must know. While
   * this is false, `list` and `get` may miss resources or changes.
   */
  synced(): boolean;
  /** Resolves as soon as `synced` returns true. */
  whenSynced(): Promise<void>;
  list(): Iterable<R>;
  get(key: ResourceKey): R | undefined;
  /**
   * Calls `listener` for each resource that is added, changed or removed. Returns a function that unsubscribes the
   * listener.
   */
  subscribe(listener: (key: ResourceKey) => void): () => void;
}

/** Resource that owns a ledger, an Event or another resource. */
export interface OwnerRef extends ResourceKey {
  readonly kind: KindName;
  readonly uid: string;
}

/** Resource to create. It is deleted together with its owner. */
export interface NewResource<K extends KindName> {
  readonly kind: K;
  readonly metadata: ResourceKey & {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** Spec as in a manifest: fields that have a default may be absent. */
  readonly spec: object;
  readonly owner: OwnerRef;
}

/**
 * Result of creating a resource. `exists`: the owner already owns a resource with this name. `taken`: a resource with
 * this name exists, but the owner does not own it.
 */
export type Creation = 'created' | 'exists' | 'taken';

/** Object that stores part of a resource's ledger. */
export interface LedgerShard {
  /** Text of the ledger object: at most `maxShardBytes` bytes when encoded as UTF-8. */
  readonly content: string;
  /** Opaque version that changes with every write. */
  readonly version: string;
}

/** Version of the format in which ledgers are written, as shown in a policy's status (U1). */
export const ledgerFormat = 4;

/** Maximum size of a ledger object in bytes: half the size that an API server accepts (U1). */
export const maxShardBytes = 512 * 1024;

/**
 * Stores the ledgers of resources. A ledger holds state that logfleet cannot recover from the service, such as running
 * upgrades (U1). A ledger consists of named objects, each with its own optimistic lock. A read may return an outdated
 * object. A write that is based on an outdated object fails with `host.conflict`.
 */
export interface LedgerStore {
  /** Reads one object of the owner's ledger. Returns undefined if the object does not exist. */
  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined>;
  /**
   * Writes one complete ledger object and returns its new version. Fails with `host.conflict` if the stored version is
   * not `expected`.
   * @param expected version that was last read or written, or undefined to create the object
   * @param summary short user-facing description of the content
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

/** Throws the error `ledger.full` if the content of a ledger object is too large. */
export function assertShard(owner: OwnerRef, shard: string, content: string): void {
  assert(shardForm.test(shard), `${JSON.stringify(shard)} is not a valid shard name`);
  const bytes = Buffer.byteLength(content);
  if (bytes <= maxShardBytes) return;
  const message =
    `Object ${shard} in the ledger of ${owner.kind} ${keyText(owner)} would have ${bytes} bytes, but the maximum is ${maxShardBytes}. ` +
    'Lower maxInProgress, or divide the fleet among several resources.';
  throw failure('stall', 'ledger.full', message, { reason: 'LedgerFull' });
}

/** Event about a change in a resource's state. */
export interface ResourceEvent {
  /** `Warning` if something does not work, or if a user should look at the resource. */
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** True if the resource cannot continue until a user acts (condition `Stalled`). */
  readonly stalled?: boolean;
  /**
   * True if the Event reports only that a pause or an outage began or ended, while the state of the resource is
   * unchanged.
   */
  readonly isSameState?: boolean;
}

export interface EventSink {
  /** Publishes an Event without waiting for its delivery. Never throws. Undeliverable Events are dropped. */
  publish(owner: OwnerRef, event: ResourceEvent): void;
}

export interface SecretReader {
  /** Returns the decoded keys and values of a Secret, or undefined if the Secret does not exist. */
  get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined>;
  /** Reports whether values from environment variables take the place of this Secret. */
  takesVariables?(key: ResourceKey): boolean;
}

/**
 * Leadership of this process. Only the leader may write and send requests. The leadership ends at a time on the local
 * clock, so a process that was suspended also notices that its leadership has ended.
 */
export interface Leadership {
  /** Reports whether this process is the leader. Its leadership ends before another process can become the leader. */
  isLeader(): boolean;
  /**
   * Number of times that this process has become the leader. When this number increases, data that was read earlier may
   * be outdated.
   */
  term(): number;
  /** True if the former leader did not release the Lease or lock, for example because it crashed (B6). */
  tookOverByForce(): boolean;
  /** Calls `listener` when this process becomes the leader or stops being the leader. */
  subscribe(listener: () => void): () => void;
}

/** Operator-wide settings from the ConfigMap `logfleet-settings`. */
export interface OperatorSettings {
  /**
   * User or object that paused the operator, worded to follow "paused by". Undefined if the operator is not paused. A
   * paused operator starts no new work, but work in progress continues.
   */
  readonly pausedBy?: string | undefined;
  /**
   * User-facing message about an unusable manifest that stops all upgrades. Names the manifest, and says what to do
   * (D1). Undefined if upgrades may start.
   */
  readonly upgradesBlocked?: string | undefined;
}

export interface Host {
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>>;
  /**
   * Writes a resource's status if the resource has not changed since it was read. Resolves to the resource as written.
   * Rejects with the error code `host.gone` if the resource no longer exists.
   */
  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>>;
  /** Tells the host that a reconcile has found the stored status of a resource to be up to date. */
  confirmStatus?<K extends KindName>(kind: K, resource: ResourceOf<K>): void;
  /**
   * Creates a resource in its owner's namespace. The new resource may be missing from the cache for some time. Fails
   * with `host.refused` (handling `stall`) if the spec or metadata is invalid.
   */
  create<K extends KindName>(resource: NewResource<K>): Promise<Creation>;
  /** Reports whether `remove` can delete this resource. `remove` never deletes a user's manifest file. */
  canRemove(resource: AnyResource): boolean;
  /**
   * Deletes the resource with this uid and resource version. Succeeds if the resource no longer exists. Fails with
   * `host.conflict` (handling `backoff`) if the resource has been changed or replaced.
   */
  remove(resource: AnyResource): Promise<void>;
  /**
   * Returns the current settings of the operator. Before the first read, everything is paused. After a failed read, the
   * last settings still apply. If the operator does not have permission to read the settings, nothing is paused.
   */
  settings(): OperatorSettings;
  /** Calls `listener` after each change to the settings. Returns a function that unsubscribes the listener. */
  subscribeSettings(listener: () => void): () => void;
  /**
   * Returns the flags that other commands need to find a resource, each with a leading space, for example ` -n
   * logging`.
   */
  commandFlags(resource: OwnerRef): string;
  readonly ledgers: LedgerStore;
  readonly events: EventSink;
  readonly secrets: SecretReader;
  readonly leadership: Leadership;
  /** Kubernetes Jobs of exports. Absent if exports cannot run in Jobs. */
  readonly workerJobs?: WorkerJobs;
  /** True for an API server, false for a directory. */
  readonly isCluster: boolean;
}
