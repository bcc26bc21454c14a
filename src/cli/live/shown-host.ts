/**
 * Passes the resources and Events of a host to a live view. A resource is shown without its status until this run of logfleet has written
 * or confirmed the status, because the status of an earlier run may be outdated.
 */
import { type AnyResource, type KindName, kindNames } from '../../api/kinds.ts';
import type { Host, ResourceKey } from '../../host/host.ts';
import type { LiveView } from './live-view.ts';

interface ShownHost {
  /** Host for the operator, which does the same as the given host and also updates the live view. */
  readonly host: Host;
  /** Shows the stored status of every resource. Call it when nothing is left to do, because every stored status is current then. */
  settled(): void;
}

export function showHost(view: LiveView, host: Host): ShownHost {
  /** UIDs of resources whose status this run has written or confirmed. */
  const known = new Set<string>();
  const show = (kind: KindName, key: ResourceKey) => {
    const resource = host.resources(kind).get(key);
    if (!resource) return view.gone({ kind, ...key });
    const { status: _, ...unknown } = resource;
    view.show(known.has(resource.metadata.uid) ? resource : (unknown as AnyResource));
  };
  const showKnown = (kind: KindName, { metadata }: AnyResource) => {
    known.add(metadata.uid);
    show(kind, metadata);
  };
  for (const kind of kindNames) {
    for (const { metadata } of host.resources(kind).list()) show(kind, metadata);
    host.resources(kind).subscribe((key) => show(kind, key));
  }
  return {
    settled: () => {
      for (const kind of kindNames) for (const resource of host.resources(kind).list()) showKnown(kind, resource);
    },
    host: {
      resources: (kind) => host.resources(kind),
      writeStatus: (kind, resource) => {
        known.add(resource.metadata.uid);
        return host.writeStatus(kind, resource);
      },
      confirmStatus: (kind, resource) => {
        if (!known.has(resource.metadata.uid)) showKnown(kind, resource);
      },
      create: (resource) => host.create(resource),
      canRemove: (resource) => host.canRemove(resource),
      remove: (resource) => host.remove(resource),
      commandFlags: (resource) => host.commandFlags(resource),
      isCluster: host.isCluster,
      settings: () => host.settings(),
      subscribeSettings: (listener) => host.subscribeSettings(listener),
      ledgers: host.ledgers,
      secrets: host.secrets,
      leadership: host.leadership,
      events: {
        publish: (owner, event) => {
          host.events.publish(owner, event);
          view.event(owner, event);
        },
      },
    },
  };
}
