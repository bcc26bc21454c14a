/** Finds the setting or annotation that pauses a resource. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import type { Host } from '../host/host.ts';

interface Pausable {
  readonly spec: { readonly paused: boolean };
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
}

/**
 * Returns the name of what pauses a resource: a setting for all resources, or a setting or annotation of the resource
 * itself. Returns undefined if the resource is not paused.
 */
export function pauseOf(resource: Pausable, host: Pick<Host, 'settings'>): string | undefined {
  return host.settings().pausedBy ?? pausedByOf(resource);
}

/** Returns the name of the setting or annotation of a resource that pauses it, or undefined if there is none. */
export function pausedByOf({ spec, metadata }: Pausable): string | undefined {
  if (spec.paused) return 'spec.paused';
  return metadata.annotations[annotations.paused] === 'true' ? `the annotation ${annotations.paused}` : undefined;
}
