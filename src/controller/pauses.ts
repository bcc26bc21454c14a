/** Sources of pauses: of one resource, or of all resources. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import type { Host } from '../host/host.ts';

/** Setting that pauses everything, for display; undefined when nothing is paused. */
export function pausedForAll(host: Pick<Host, 'settings'>): string | undefined {
  const { paused, pausedBy } = host.settings();
  return paused ? (pausedBy ?? 'the settings of logfleet') : undefined;
}

/** Reason why no policy may start an upgrade although no person paused it; undefined when policies may start (protocol D1). */
export function policiesHoldOf(host: Pick<Host, 'settings'>): string | undefined {
  return host.settings().policiesHold;
}

/** Source of a resource's pause, for display; undefined when the resource is not paused. */
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
