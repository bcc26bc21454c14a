/** By what work is paused: for one resource, or for all of them. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import type { Host } from '../host/host.ts';

/** By what everything is paused, for people; undefined where nothing pauses it. */
export function pausedForAll(host: Pick<Host, 'settings'>): string | undefined {
  const { paused, pausedBy } = host.settings();
  return paused ? (pausedBy ?? 'the settings of logfleet') : undefined;
}

/** Why no policy may start an upgrade although nobody paused it; undefined where policies may (protocol D1). */
export function policiesHoldOf(host: Pick<Host, 'settings'>): string | undefined {
  return host.settings().policiesHold;
}

/** By what a resource is paused, for people; undefined where it is not. */
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
