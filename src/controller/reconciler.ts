/** The contract between the controller loop and a kind. */
import type { ResourceKey } from '../host/host.ts';

/**
 * What a reconcile says when it is done. Errors are thrown instead: the loop reads their `handling`.
 * - `settled`: nothing to do until something changes. A directory run may end.
 * - `requeueAfter`: look again after `delayMs`; `settled` says whether a directory run may end meanwhile.
 */
export type Result =
  | { readonly kind: 'settled' }
  | { readonly kind: 'requeueAfter'; readonly delayMs: number; readonly settled: boolean };

export interface Reconciler {
  /**
   * Brings one resource nearer to what it asks for. Level-based: looks at what is, never at what just happened; called for a
   * resource that is gone, too. Never called twice at once for one key. Returns early when `signal` is aborted.
   */
  reconcile(key: ResourceKey, signal: AbortSignal): Promise<Result>;
}
