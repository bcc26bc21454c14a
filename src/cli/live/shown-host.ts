/**
 * Passes resources and Events of a host to a live view.
 *
 * Invariant: the stored status of an earlier run is never shown as current. A resource is shown without status until
 * this run has written or confirmed its status.
 */
import type { AnyResource } from '../../api/kinds.ts';
import { type KindName, kinds } from '../../api/kinds.ts';
import type { EventSink, Host, ResourceKey } from '../../host/host.ts';
import type { LiveView } from './live-view.ts';

const kindNames = Object.keys(kinds) as KindName[];

export class ShownHost {
  /** Host that the operator uses, with the live view attached. */
  readonly host: Host;
  readonly #view: LiveView;
  readonly #below: Host;
  /** UIDs of resources whose status this run has written or confirmed. */
  readonly #known = new Set<string>();

  constructor(view: LiveView, host: Host) {
    this.#view = view;
    this.#below = host;
    for (const kind of kindNames) {
      for (const resource of host.resources(kind).list()) this.#show(resource);
      host.resources(kind).subscribe((key) => this.#changed(kind, key));
    }
    const events: EventSink = {
      publish: (owner, event) => {
        host.events.publish(owner, event);
        view.event(owner, event);
      },
    };
    this.host = {
      resources: (kind) => host.resources(kind),
      writeStatus: (kind, resource) => {
        this.#known.add(resource.metadata.uid);
        return host.writeStatus(kind, resource);
      },
      confirmStatus: (kind, { metadata }) => {
        if (!this.#known.has(metadata.uid)) this.#knownFrom(kind, metadata);
      },
      settings: () => host.settings(),
      subscribeSettings: (listener) => host.subscribeSettings(listener),
      ledgers: host.ledgers,
      secrets: host.secrets,
      leadership: host.leadership,
      events,
    };
  }

  /** Shows the status of every resource. All resources are settled, so each stored status is current. */
  settled(): void {
    for (const kind of kindNames) {
      for (const { metadata } of this.#below.resources(kind).list()) this.#knownFrom(kind, metadata);
    }
  }

  #knownFrom(kind: KindName, metadata: AnyResource['metadata']): void {
    this.#known.add(metadata.uid);
    this.#changed(kind, metadata);
  }

  #changed(kind: KindName, key: ResourceKey): void {
    const resource = this.#below.resources(kind).get(key);
    if (resource) this.#show(resource);
    else this.#view.gone({ kind, ...key });
  }

  #show(resource: AnyResource): void {
    if (this.#known.has(resource.metadata.uid)) this.#view.show(resource);
    else {
      const { status: _, ...unknown } = resource;
      this.#view.show(unknown as AnyResource);
    }
  }
}
