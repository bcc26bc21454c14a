/**
 * Interface through which commands read and annotate resources. `cluster-access.ts` and `directory-access.ts` implement
 * it. Neither takes a lock or a Lease, so commands work beside a running operator.
 */

import type { AnyResource, KindName } from '../../api/kinds.ts';
import { compareText } from '../../base/text-order.ts';
import type { ResourceKey } from '../../host/host.ts';

export interface Annotation {
  readonly name: string;
  /** Value of the annotation. Undefined removes the annotation. */
  readonly value: string | undefined;
}

/**
 * A retained resource: its manifest was deleted, but its state is kept. A new manifest with the same name continues it.
 */
export interface RetainedResource {
  readonly kind: KindName;
  readonly key: ResourceKey;
  /** File that contained the manifest of the resource. */
  readonly file: string;
  /** Wall time in ms at which the deletion of the manifest was noticed. */
  readonly sinceMs: number;
  /** Wall time in ms at which the kept state is discarded. */
  readonly untilMs: number;
}

export interface ResourceReader {
  /** Place of the resources, for messages: `context kind-dev`, `./policies`. */
  readonly place: string;
  /** Namespace for a resource name without a namespace. Undefined if all namespaces are searched. */
  readonly defaultNamespace: string | undefined;
  /** Lists resources ordered by namespace and name. The namespace undefined means all namespaces. */
  list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]>;
  /** Returns a resource, or undefined if it does not exist. */
  get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined>;
  /**
   * Calls `onChange` with all resources of a kind, first with the current ones and then after each change. Resolves
   * when the signal is aborted. Calls `onTrouble` with each failure after the first list, and with undefined when
   * changes are received again.
   */
  follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
    onTrouble?: (message: string | undefined) => void,
  ): Promise<void>;
  /** Sets or removes one annotation of an existing resource, and changes nothing else. */
  annotate(kind: KindName, key: ResourceKey, annotation: Annotation): Promise<void>;
  /**
   * Sentence that no operator process works on the resources, with the command that starts one. Undefined if a process
   * works on them. The method is absent if this cannot be known.
   */
  idleNote?(): Promise<string | undefined>;
  /**
   * Retained resources (manifest deleted, state kept) in the order of namespace and name. Absent for a cluster, where no
   * resource is ever retained.
   */
  retained?(): readonly RetainedResource[];
  /** Cause of a pause of the whole operator. Absent for a cluster, where no flag names the operator. */
  pauseOfAll?(): { readonly pausedBy: string | undefined };
  close(): Promise<void>;
}

/** Compares resources by namespace and name. */
export function byNamespaceAndName(left: AnyResource, right: AnyResource): number {
  return (
    compareText(left.metadata.namespace, right.metadata.namespace) ||
    compareText(left.metadata.name, right.metadata.name)
  );
}
