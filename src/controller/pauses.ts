/** Finds out whether one resource or all resources are paused, and by which setting or annotation. */
import { annotations } from '../api/annotations.ts';
import type { ObjectMeta } from '../api/kinds.ts';
import type { Host } from '../host/host.ts';

/** Name of the setting that pauses all resources, as shown to users. Undefined if no setting pauses them. */
export function pausedForAll(host: Pick<Host, 'settings'>): string | undefined {
  const { paused, pausedBy } = host.settings();
  return paused ? (pausedBy ?? 'the settings of logfleet') : undefined;
}

/** Reason, other than a pause, why no policy may start an upgrade. Undefined if policies may start upgrades (D1). */
export function upgradesBlockedOf(host: Pick<Host, 'settings'>): string | undefined {
  return host.settings().upgradesBlocked;
}

/** Name of the setting or annotation that pauses a resource, as shown to users. Undefined if the resource is not paused. */
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
