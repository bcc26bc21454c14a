/**
 * Interface between the reconcilers and the place that stores resources. Two adapters implement it: `kubernetes/` (an
 * API server) and `directory/` (manifest files). Reconcilers depend on this file only and treat both places alike.
 *
 * Resources are read from a local cache that may lag behind. Writes use optimistic locking: a write fails with
 * `host.conflict` (handling `backoff`) if the resource changed since it was read. No method waits until the cache
 * contains a write.
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

/** Cache of all resources of one kind. The adapter updates the cache until the host is closed. */
export interface ResourceSource<R> {
  /**
   * True once the cache has been filled for the first time. Until then, `list` and `get` may miss resources. The value
   * is already true when listeners are called for the last resource of the first list.
   */
  synced(): boolean;
  list(): Iterable<R>;
  get(key: ResourceKey): R | undefined;
  /**
   * Calls `listener` for each resource that is added, changed or removed, also when the cache is filled again from a
   * complete list. Returns the function that unsubscribes the listener.
   */
  subscribe(listener: (key: ResourceKey) => void): () => void;
}

/** Resource that owns a ledger, an Event or another resource, identified by kind, name and uid. */
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
  /** Spec as a person would write it: fields with a default value may be absent. */
  readonly spec: object;
  readonly owner: OwnerRef;
}

/**
 * Result of the creation of a resource. `exists`: the owner has a resource of this kind and name already. `taken`:
 * a resource of this kind and name exists, and the owner does not own it.
 */
export type Creation = 'created' | 'exists' | 'taken';

/** Ledger object: one of the stored parts of a resource's ledger. */
export interface LedgerShard {
  /** Text of the ledger object, at most `maxShardBytes` bytes of UTF-8. */
  readonly content: string;
  /** Opaque version of the ledger object, which changes with every write. */
  readonly version: string;
}

/** Version of the format in which ledgers are written. The status of a policy shows the version of its ledger (U1). */
export const ledgerFormat = 2;

/** Maximum size of a ledger object in bytes: 512 KiB, half of the size that an API server accepts (U1). */
export const maxShardBytes = 512 * 1024;

/**
 * Stores the ledgers of resources: facts that cannot be observed again, such as upgrade attempts in flight (U1). A
 * ledger consists of named objects, each with its own optimistic lock. A read may return an outdated object. This does
 * no harm, because a write that is based on an outdated object fails with `host.conflict`.
 */
export interface LedgerStore {
  /** Reads one ledger object of the resource `owner`. `shard` is the name of the object. Returns undefined if the object does not exist. */
  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined>;
  /**
   * Writes one complete ledger object. `expected` is the version that was last read or written, or undefined to create
   * the object. If the stored version differs, the write fails with `host.conflict`. Resolves to the new version when
   * the object is stored durably. `summary` describes the content to users in a few words.
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

/**
 * Checks the size of a ledger object before the object is written. Fails with `ledger.full` if the object is too
 * large.
 */
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
  /** `Warning` if a person should look at the resource, or if something does not work. */
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** True if the resource cannot continue until a person acts (condition `Stalled`). */
  readonly stalled?: boolean;
}

export interface EventSink {
  /**
   * Publishes an Event. Never throws and never waits. Events that cannot be
   * delivered are dropped.
   */
  publish(owner: OwnerRef, event: ResourceEvent): void;
}

export interface SecretReader {
  /** Decoded keys and values of a Secret, or undefined if the Secret does not exist. */
  get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined>;
  /** True if environment variables can replace the Secret. Undefined on a host that never uses environment variables. */
  takesVariables?(key: ResourceKey): boolean;
}

/**
 * Tells whether this process may act, because only one operator process (the leader) may write and send requests. A host
 * without other processes always leads. The local clock decides whether leadership is still valid. So after a long
 * suspension, a process notices without a request that its leadership has ended.
 */
export interface Leadership {
  /**
   * True while this process leads, by the monotonic clock and not the wall clock. Its leadership ends some time before
   * another process may take over.
   */
  isLeader(): boolean;
  /**
   * Number of times that this process became leader; 0 before the first time. Facts learned in an earlier term may be
   * outdated.
   */
  term(): number;
  /** True if the last takeover happened without a release by the former leader, for example after a crash (B6). */
  tookOverByForce(): boolean;
  /** Calls `listener` when leadership of this process begins or ends. */
  subscribe(listener: () => void): () => void;
}

/** Operator-wide settings of the ConfigMap `logfleet-settings`. */
export interface OperatorSettings {
  /**
   * Person or object that paused the operator, worded to follow "paused by". Undefined while the operator is not
   * paused. While the operator is paused, no policy or export starts new work. Upgrades and searches in flight
   * continue to their end.
   */
  readonly pausedBy?: string | undefined;
  /**
   * Message that explains why an unusable manifest stops all policies from starting upgrades (D1), and what to do. Undefined
   * if there is no such manifest.
   */
  readonly upgradesBlocked?: string | undefined;
}

export interface Host {
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>>;
  /**
   * Writes the status of a resource, with an optimistic lock on the resource version that was read. All other fields must be
   * the same as when the resource was read. Resolves to the written resource. Fails with `host.gone` (handling `wait`) if the
   * resource no longer exists.
   */
  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>>;
  /** Called when a resource was checked and its status needs no write, so that live views can show the check. */
  confirmStatus?<K extends KindName>(kind: K, resource: ResourceOf<K>): void;
  /**
   * Creates a resource in the namespace of its owner. The cache contains the new resource some time later. Fails with
   * `host.refused` (handling `stall`) if its spec or metadata is invalid.
   */
  create<K extends KindName>(resource: NewResource<K>): Promise<Creation>;
  /** Returns whether `remove` can delete this resource. Resources whose manifests are files of users cannot be deleted. */
  canRemove(resource: AnyResource): boolean;
  /**
   * Deletes the resource with this uid and resource version. Succeeds if the resource is gone. Fails with
   * `host.conflict` (handling `backoff`) if it was changed or replaced.
   */
  remove(resource: AnyResource): Promise<void>;
  /**
   * Current settings of the operator. Until the settings are read for the first time, everything is paused. If a later
   * read fails, the last settings apply. If the operator lacks the right to read the settings, nothing is paused.
   */
  settings(): OperatorSettings;
  /**
   * Calls `listener` after each change of the operator settings. Returns the function that unsubscribes the listener.
   */
  subscribeSettings(listener: () => void): () => void;
  /** Returns the flags with which other logfleet commands find a resource, each with a space before it, as in ` -n logging`. */
  commandFlags(resource: OwnerRef): string;
  readonly ledgers: LedgerStore;
  readonly events: EventSink;
  readonly secrets: SecretReader;
  readonly leadership: Leadership;
  /** Kubernetes Jobs of exports. Absent if exports cannot run in Jobs. */
  readonly workerJobs?: WorkerJobs;
  /** True if the resources are in an API server, and false for a directory, where no Kubernetes Job can run. */
  readonly isCluster: boolean;
}
