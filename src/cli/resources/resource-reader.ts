/**
 * Interface through which commands read and annotate resources, in a cluster or a directory. Reading takes no lock, so
 * it also works while an operator is running.
 */

import type { AnyResource, KindName } from '../../api/kinds.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { compareText } from '../../base/text-order.ts';
import type { LedgerStore, OperatorSettings, ResourceKey, SecretReader } from '../../host/host.ts';

export interface Annotation {
  readonly name: string;
  readonly value: string | undefined;
}

/**
 * Resource whose manifest was deleted, but whose state is kept. A new manifest with this name continues with this
 * state.
 */
export interface RetainedResource {
  readonly kind: KindName;
  readonly key: ResourceKey;
  /** File that contained the manifest of the resource. */
  readonly file: string;
  /** Wall-clock time in ms at which logfleet noticed that the manifest was deleted. */
  readonly sinceMs: number;
  /** Wall-clock time in ms at which the state is discarded. */
  readonly untilMs: number;
}

export interface ResourceReader {
  /**
   * True if the resources are in a directory, false if they are in a cluster. From a cluster, commands read only the
   * resources that they need, because the user may lack permissions.
   */
  readonly isDirectory: boolean;
  /** Name of the cluster or directory, such as `context kind-dev` or `./policies`. */
  readonly place: string;
  /** Context in the kubeconfig. Undefined in a pod and for a directory. */
  readonly context?: string | undefined;
  /** Namespace for names without a namespace. If undefined, such names are searched for in all namespaces. */
  readonly defaultNamespace: string | undefined;
  /** Lists resources by namespace and name. An undefined namespace means all namespaces. */
  list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]>;
  get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined>;
  readonly secrets: Pick<SecretReader, 'get'>;
  /** Ledgers (the stored rollout state of policies). A running operator can change them at any time. */
  readonly ledgers: Pick<LedgerStore, 'read'>;
  /**
   * Calls `onChange` with all resources of a kind, now and after each change, until the signal is aborted. Calls
   * `onTrouble` with a message each time changes cannot be read, for example because the connection to the cluster is
   * lost or a manifest has an error. When changes can be read again, calls `onTrouble` with undefined, possibly several
   * times.
   */
  follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
    onTrouble?: (message: string | undefined) => void,
  ): Promise<void>;
  /**
   * Reports manifests with errors on stderr, because their resources may be missing. This method is absent for a
   * cluster.
   */
  warnOfErrors?(): void;
  annotate(kind: KindName, key: ResourceKey, annotation: Annotation): Promise<void>;
  /**
   * Returns a warning if no operator process is working on the resources. Returns no warning if it is unknown whether
   * one is working.
   */
  idleNote(): Promise<string | undefined>;
  /** Returns the retained resources (manifest deleted, state kept). This method is absent for a cluster. */
  retained?(): readonly RetainedResource[];
  /**
   * Returns settings that show whether the whole operator is paused. This method is absent for a cluster, because a
   * cluster may have several operators.
   */
  pauseOfAll?(): OperatorSettings;
  close(): Promise<void>;
}

/**
 * Returns a callback for the reports of `ResourceReader.follow` about several kinds. The callback calls `onTrouble` with
 * the oldest message among the kinds whose changes cannot be read, or with undefined if the changes of all kinds can be
 * read.
 */
export function combineTroubles(
  onTrouble: (message: string | undefined) => void,
): (kind: KindName, message: string | undefined) => void {
  const troubles = new Map<KindName, string>();
  return (kind, message) => {
    if (message === undefined) troubles.delete(kind);
    else troubles.set(kind, message);
    const [oldest] = troubles.values();
    onTrouble(oldest);
  };
}

const idleCheckMs = 5_000;

/** Checks every five seconds whether an operator process is running, until the signal is aborted. */
export async function repeatIdleCheck(check: () => Promise<void>, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, idleCheckMs, signal).catch(() => {});
    if (!signal.aborted) await check();
  }
}

export function byNamespaceAndName(left: AnyResource, right: AnyResource): number {
  return (
    compareText(left.metadata.namespace, right.metadata.namespace) ||
    compareText(left.metadata.name, right.metadata.name)
  );
}
