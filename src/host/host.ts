/**
 * The port to where resources live. Two adapters stand behind it: `kubernetes/` (an API server) and `directory/` (manifests,
 * with files beside them). Reconcilers know this page only, and have no line of their own for either.
 *
 * Reads of resources are from a local cache that may lag; writes are optimistic and fail with code `host.conflict`
 * (handling `backoff`) when what was read is no longer the newest. Nothing here waits for the cache to follow a write.
 */
import type { KindName, ResourceOf } from '../api/kinds.ts';
import type { SecretText } from '../base/secret-text.ts';

export interface ResourceKey {
  readonly namespace: string;
  readonly name: string;
}

/** A cache of all resources of one kind, kept fresh by its adapter until the host is closed. */
export interface ResourceSource<R> {
  /**
   * Whether the cache has been filled once; before that `list` and `get` may miss what is there. Turns true before listeners hear
   * of the last resource of the first list, so that nobody has to poll for it.
   */
  synced(): boolean;
  list(): Iterable<R>;
  get(key: ResourceKey): R | undefined;
  /** Calls `listener` for each resource that came, changed or went, also through a relist. Returns how to stop. */
  subscribe(listener: (key: ResourceKey) => void): () => void;
}

/** Whom a ledger or an event belongs to. */
export interface OwnerRef extends ResourceKey {
  readonly kind: KindName;
  readonly uid: string;
}

/** One shard of an owner's ledger. */
export interface LedgerShard {
  /** Text that the owner's kind alone understands; at most `maxShardBytes` UTF-8 bytes. */
  readonly content: string;
  /** Opaque; changes with every write. */
  readonly version: string;
}

/** How ledgers are kept, as the status of their owner says (U1). Format 1, which no status names, was ConfigMaps. */
export const ledgerFormat = 2;

/** 512 KiB, half of what an API server accepts (U1). */
export const maxShardBytes = 512 * 1024;

/**
 * The store of what cannot be observed again (U1). A ledger consists of named shards of text, each under its own optimistic lock.
 *
 * A read may be as old as the beginning of this term of leadership. A decision on an old shard does no harm: its write fails
 * with `host.conflict`, and the shard is then read from the source itself.
 */
export interface LedgerStore {
  /** One shard of the resource with this uid, or undefined when it has none. */
  read(owner: OwnerRef, shard: string): Promise<LedgerShard | undefined>;
  /**
   * Writes one shard whole. `expected` is the version that was read or written last, or undefined to create the shard; anything
   * else there fails with `host.conflict`. Resolves to the new version once it is durable.
   * @param summary the content in a few words, for people
   */
  write(
    owner: OwnerRef,
    shard: string,
    content: string,
    expected: string | undefined,
    summary?: string,
  ): Promise<string>;
}

export type EventType = 'Normal' | 'Warning';

export interface EventSink {
  /** Tells people about a transition; never throws, never waits, drops what it cannot deliver. */
  publish(
    owner: OwnerRef,
    event: { readonly type: EventType; readonly reason: string; readonly message: string },
  ): void;
}

export interface SecretReader {
  /** The decoded members of a Secret, or undefined when there is none. Other failures throw. */
  get(key: ResourceKey): Promise<ReadonlyMap<string, SecretText> | undefined>;
  /**
   * Whether variables of the environment stand in for this Secret, or would if they were set: messages name these then. Absent where
   * there are Secrets and nothing else.
   */
  takesVariables?(key: ResourceKey): boolean;
}

/**
 * Whether this process may act. Where there is nobody to share with, it always may.
 * "By our clock": a process that slept past its lease finds out here, without asking anybody.
 */
export interface Leadership {
  /** True while we lead and the lease is valid by our monotonic clock, with its margin. */
  isLeader(): boolean;
  /** Counts our acquisitions from 1; 0 before the first. What was learnt in an earlier term is stale. */
  term(): number;
  /** Whether the last takeover came without a release by the one before (protocol B6). */
  tookOverByForce(): boolean;
  /** Called when we begin or cease to lead, also when the lease ran out by our clock and was won back afterwards. */
  subscribe(listener: () => void): () => void;
}

/** What is said to the operator as a whole, by the ConfigMap `logfleet-settings`. */
export interface OperatorSettings {
  /** Nothing new is started for any resource; what is in flight ends by itself. */
  readonly paused: boolean;
  /** Who or what pauses, to go on from "paused by"; undefined while nothing does. */
  readonly pausedBy: string | undefined;
  /**
   * Why no policy may start an upgrade although nobody paused it, in sentences with what to do. A directory has a manifest then that
   * cannot be used and has no former version (protocol D1). Exports go on.
   */
  readonly policiesHold?: string;
}

export interface Host {
  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>>;
  /**
   * Writes the status of a resource, under optimistic lock on the resource version it was read at. Resolves to the resource
   * as written. `host.gone` (handling `wait`) when it no longer exists.
   */
  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>>;
  /** Told where the status of a resource is found to be true as it stands, so that nothing is written. For views of a run. */
  confirmStatus?<K extends KindName>(kind: K, resource: ResourceOf<K>): void;
  /**
   * Deletes this very resource (by uid and version), and is fine where it is gone already or another by now. Absent where resources are files of people, which stay.
   */
  remove?<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<void>;
  /**
   * As they are known now; the same object until they change. Paused while they have never been read, so that a start does not slip
   * through; what was read last holds while they cannot be read; where they may not be read at all, they pause nothing.
   */
  settings(): OperatorSettings;
  /** Calls `listener` after each change of the settings. Returns how to stop. */
  subscribeSettings(listener: () => void): () => void;
  readonly ledgers: LedgerStore;
  readonly events: EventSink;
  readonly secrets: SecretReader;
  readonly leadership: Leadership;
}
