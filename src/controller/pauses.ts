/** Finds the setting or annotation that pauses a resource. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';

/** Returns the name of the setting or annotation that pauses a resource, or undefined if the resource is not paused. */
export function pausedByOf({
  spec,
  metadata,
}: {
  readonly spec: { readonly paused: boolean };
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
}): string | undefined {
  if (spec.paused) return 'spec.paused';
  return metadata.annotations[annotations.paused] === 'true' ? `the annotation ${annotations.paused}` : undefined;
}
