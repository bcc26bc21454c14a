/**
 * Measures the time from a change to a resource until the resource's status shows the new generation. A long time means
 * that the operator is not reconciling the resource.
 */
import { keyText } from '../base/key-text.ts';
import type { ResourceKey } from '../host/host.ts';

/** Resource with its current generation, and the generation that its status describes. */
export interface ObservableResource {
  readonly metadata: ResourceKey & { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly status?: { readonly observedGeneration?: number } | undefined;
}

interface Unobserved {
  readonly key: ResourceKey;
  /** Generation of the resource after the change. */
  readonly generation: number | undefined;
  readonly sinceMs: number;
}

export class UnobservedChanges {
  readonly #read: (key: ResourceKey) => ObservableResource | undefined;
  readonly #unobserved = new Map<string, Unobserved>();

  /** @param read returns the newest known content of a resource; undefined if the resource does not exist */
  constructor(read: (key: ResourceKey) => ObservableResource | undefined) {
    this.#read = read;
  }

  /** Records that a resource or its status has changed. `nowMs` is monotonic time. */
  changed({ namespace, name }: ResourceKey, nowMs: number): void {
    const text = keyText({ namespace, name });
    const resource = this.#read({ namespace, name });
    const { generation: earlier = Number.POSITIVE_INFINITY } = this.#unobserved.get(text) ?? {};
    // Forgets the earlier change if the status already shows its generation. This is checked here, because the host
    // (cluster or directory) does not report a status that this process wrote.
    if (!isUnobserved(resource) || (resource?.status?.observedGeneration ?? 0) >= earlier)
      this.#unobserved.delete(text);
    if (!isUnobserved(resource) || this.#unobserved.has(text)) return;
    const generation = resource?.metadata.generation;
    this.#unobserved.set(text, { key: { namespace, name }, generation, sinceMs: nowMs });
  }

  /**
   * Returns the age in ms of the oldest change that is not yet reflected in `observedGeneration`. Returns 0 if every
   * `observedGeneration` is up to date.
   */
  oldestMs(nowMs: number): number {
    for (const [text, { key, sinceMs }] of this.#unobserved) {
      if (isUnobserved(this.#read(key))) return nowMs - sinceMs;
      this.#unobserved.delete(text);
    }
    return 0;
  }
}

/**
 * Returns true if the status shows an earlier generation than the resource has. Returns false for a resource that is
 * being deleted: the deletion raises the generation, but logfleet might not write the status again.
 */
function isUnobserved(resource: ObservableResource | undefined): boolean {
  if (!resource || resource.metadata.deletionTimestamp !== undefined) return false;
  return resource.metadata.generation !== resource.status?.observedGeneration;
}
