/**
 * Port through which commands read and annotate resources. `cluster-access.ts` and `directory-access.ts` implement it. Neither takes a lock
 * or a lease, so commands work beside a running operator.
 */

import type { AnyResource, KindName } from '../../api/kinds.ts';
import { compareText } from '../../base/text-order.ts';
import type { ResourceKey } from '../../host/host.ts';

export interface Annotation {
  readonly name: string;
  /** Undefined removes the annotation. */
  readonly value: string | undefined;
}

/** A resource without a manifest whose state is kept: a manifest of the same name continues it. */
export interface ParkedResource {
  readonly kind: KindName;
  readonly key: ResourceKey;
  /** The file that contained the manifest. */
  readonly file: string;
  /** Wall time at which the manifest counted as deleted. */
  readonly sinceMs: number;
  /** Wall time at which the state is discarded. */
  readonly untilMs: number;
}

export interface ResourceReader {
  /** Place of the resources for messages: `context kind-dev`, `./policies`. */
  readonly place: string;
  /** Namespace of a name without a namespace. Undefined if the name can be in any namespace. */
  readonly defaultNamespace: string | undefined;
  /** Resources ordered by namespace and name. `namespace` undefined means all namespaces. */
  list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]>;
  /** Undefined if the resource does not exist. */
  get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined>;
  /**
   * Calls `onChange` with all resources, first with the current ones and then after each change. Resolves when the signal is aborted. Calls
   * `onTrouble` with each failure after the first list, and with undefined when following works again.
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
   * Sentence that no process works on the resources, with the command that starts one. Undefined otherwise. Absent if this cannot be known.
   */
  idleNote?(): Promise<string | undefined>;
  /** Parked resources, in the order of namespace and name. Absent where nothing is ever parked. */
  parked?(): readonly ParkedResource[];
  /** Cause of the pause of everything. Absent for a cluster, where no flag names the operator. */
  readonly pauseOfAll?: { readonly pausedBy: string | undefined };
  close(): Promise<void>;
}

/** Order by namespace and name. */
export function byNamespaceAndName(left: AnyResource, right: AnyResource): number {
  return (
    compareText(left.metadata.namespace, right.metadata.namespace) ||
    compareText(left.metadata.name, right.metadata.name)
  );
}
