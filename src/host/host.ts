/**
 * Interface between the reconcilers and the store of resources: an API server (`kubernetes/`) or manifest files
 * (`directory/`).
 *
 * Reads come from a cache that may be outdated. A write fails with `host.conflict` (handling `backoff`) if the resource
 * has changed since it was read. A write may end before the cache contains its result.
 */
import type { AnyResource, KindName, ResourceOf } from '../api/kinds.ts';
import { assert } from '../base/assert.ts';
import { failure } from '../base/errors.ts';
import type { SecretText } from '../base/secret-text.ts';
import type { WorkerJobs } from './worker-jobs.ts';

export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** Cache of all resources of one kind. The host keeps it up to date until the host is closed. */
export interface ResourceSource<R> {
  /** True when the cache contains all resources. Until then, `list` and `get` may miss resources. */
  synced(): boolean;
  /** Resolves when the cache contains all resources. */
  whenSynced(): Promise<void>;
  list(): Iterable<R>;
  get(key: ResourceKey): R | undefined;
  /** Calls `listener` for each resource that is added, changed or removed. Returns the function that unsubscribes. */
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
  /** Spec in the form of a manifest: fields that have a default may be absent. */
  readonly spec: object;
  readonly owner: OwnerRef;
}

/**
 * Result of the creation of a resource. `exists`: the owner already owns a resource of this name. `taken`: a resource
 * of this name exists, but the owner does not own it.
 */
export type Creation = 'created' | 'exists' | 'taken';

/** Object that stores a part of a resource's ledger. */
export interface LedgerShard {
  /** Text of the ledger object, at most `maxShardBytes` bytes of UTF-8. */
  readonly content: string;
  /** Opaque version that changes with every write. */
  readonly version: string;
}

/** Version of the format in which ledgers are written, as shown in the status of a policy (U1). */
export const ledgerFormat = 2;

/** Maximum size of a ledger object in bytes: half of what an API server accepts (U1). */
export const maxShardBytes = 512 * 1024;

/**
 * Stores the ledgers of resources: state that logfleet cannot read from the service again, such as running upgrades
 * (U1). A ledger consists of named objects, each with its own optimistic lock. A read may return an outdated object. A
 * write based on an outdated object fails with `host.conflict`.
 */
export interface LedgerStore {
  /** Reads one object of the ledger that belongs to `owner`. Returns undefined if the object does not exist. */
  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined>;
  /**
   * Writes one complete ledger object and returns its new version. Fails with `host.conflict` if the stored version is
   * not `expected`.
   * @param expected version that was last read or written; undefined to create the object
   * @param summary short description of the content, for users
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

/** Throws `ledger.full` if the content of a ledger object is too large. */
export function assertShard({ kind, namespace, name }: OwnerRef, shard: string, content: string): void {
  assert(shardForm.test(shard), `a shard cannot be called ${JSON.stringify(shard)}`);
  const bytes = Buffer.byteLength(content);
  if (bytes <= maxShardBytes) return;
  const message =
    `The object ${shard} of the ledger of ${kind} ${namespace}/${name} would have ${bytes} bytes, but the maximum is ${maxShardBytes}. ` +
    'Lower maxInProgress, or divide the fleet among several resources.';
  throw failure('stall', 'ledger.full', message, { reason: 'LedgerFull' });
}

/** Event about a change of a resource's state. */
export interface ResourceEvent {
  /** `Warning` if a user should examine the resource, or if something does not work. */
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** True if the resource cannot continue until a user acts (condition `Stalled`). */
  readonly stalled?: boolean;
}

export interface EventSink {
  /** Publishes an Event. Never throws and never waits. Undeliverable Events are dropped. */
  publish(owner: OwnerRef, event: ResourceEvent): void;
}

export interface SecretReader {
  /** Returns the decoded keys and values of a Secret, or undefined if the Secret does not exist. */
  get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined>;
  /** Returns whether values from environment variables are used instead of this Secret. */
  takesVariables?(key: ResourceKey): boolean;
}

/**
 * Tells whether this process is the leader. Only the leader may write and send requests. The leadership ends by the
 * local clock, so a process also notices this after it was suspended.
 */
export interface Leadership {
  /** True while this process leads. The leadership ends before another process can become the leader. */
  isLeader(): boolean;
  /**
   * Number of times that this process has become the leader. If the number has increased, earlier data may be outdated.
   */
  term(): number;
  /** True if the former leader did not release the Lease or lock, for example because it crashed (B6). */
  tookOverByForce(): boolean;
  /** Calls `listener` when this process becomes leader or stops leading. */
  subscribe(listener: () => void): () => void;
}

/** Settings of the whole operator, from the ConfigMap `logfleet-settings`. */
export interface OperatorSettings {
  /**
   * User or object that paused the operator, as text after "paused by"; undefined without a pause. A paused operator
   * starts no new work, but running work continues.
   */
  readonly pausedBy?: string | undefined;
  /** Explains that an unusable manifest stops all upgrades (D1), and what to do. Undefined if upgrades may start. */
  readonly upgradesBlocked?: string | undefined;
}

export interface Host {
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>>;
  /**
   * Writes the status of a resource if the resource has not changed since it was read. Resolves to the written
   * resource. Rejects with the error code `host.gone` if the resource no longer exists.
   */
  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>>;
  /** Called when a reconcile finds that the stored status of a resource is already up to date. */
  confirmStatus?<K extends KindName>(kind: K, resource: ResourceOf<K>): void;
  /**
   * Creates a resource in the namespace of its owner. The new resource may be missing in the cache for some time. Fails
   * with `host.refused` (handling `stall`) if the spec or metadata is invalid.
   */
  create<K extends KindName>(resource: NewResource<K>): Promise<Creation>;
  /** Returns whether `remove` can delete this resource. It never deletes a user's manifest file. */
  canRemove(resource: AnyResource): boolean;
  /**
   * Deletes the resource with this uid and resource version. Succeeds if the resource no longer exists. Fails with
   * `host.conflict` (handling `backoff`) if it was changed or replaced.
   */
  remove(resource: AnyResource): Promise<void>;
  /**
   * Current settings of the operator. Before the first read, everything is paused. After a failed read, the last
   * settings apply. If the operator has no right to read settings, nothing is paused.
   */
  settings(): OperatorSettings;
  /** Calls `listener` after each change of the settings. Returns the function that unsubscribes. */
  subscribeSettings(listener: () => void): () => void;
  /** Returns the flags that other commands need to find a resource, each after a space, as in ` -n logging`. */
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
