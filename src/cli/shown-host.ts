/**
 * A directory's host whose policies and events are shown in a live view as they come.
 *
 * Invariant: what an earlier run has found is never shown as if it were news: a policy has no status to show before this run has
 * written one, or has settled without a reason to write any.
 */
import type { CollectorVersionPolicy } from '../api/kinds.ts';
import type { DirectoryHost } from '../host/directory/directory-host.ts';
import type { EventSink, Host, ResourceKey, ResourceSource } from '../host/host.ts';
import type { LiveView } from './live-view.ts';

export class ShownHost {
  /** For the operator. */
  readonly host: Host;
  readonly #view: LiveView;
  readonly #policies: ResourceSource<CollectorVersionPolicy>;
  /** By uid: whose status is of this run. */
  readonly #known = new Set<string>();

  constructor(view: LiveView, host: DirectoryHost) {
    this.#view = view;
    this.#policies = host.resources('CollectorVersionPolicy');
    for (const policy of this.#policies.list()) this.#show(policy);
    this.#policies.subscribe((key) => this.#changed(key));
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
      settings: () => host.settings(),
      subscribeSettings: (listener) => host.subscribeSettings(listener),
      ledgers: host.ledgers,
      secrets: host.secrets,
      leadership: host.leadership,
      events,
    };
  }

  /** All has settled: whatever stands there now holds. */
  settled(): void {
    for (const policy of this.#policies.list()) {
      this.#known.add(policy.metadata.uid);
      this.#show(policy);
    }
  }

  #changed(key: ResourceKey): void {
    const policy = this.#policies.get(key);
    if (policy) this.#show(policy);
    else this.#view.gone(key);
  }

  #show(policy: CollectorVersionPolicy): void {
    if (this.#known.has(policy.metadata.uid)) this.#view.policy(policy);
    else {
      const { status: _, ...unknown } = policy;
      this.#view.policy(unknown);
    }
  }
}
