/**
 * An API server as the host of resources: the pieces of this folder behind the one port of `host.ts`.
 *
 * Invariant: in rest, no request leaves but the watches (one for each kind and namespace followed, and one for the settings), the
 * renewal of the lease, and a list for each watch every ten minutes.
 */
import { type KindName, kinds, type ResourceOf } from '../../api/kinds.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Host, Leadership, OperatorSettings, ResourceSource } from '../host.ts';
import { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { operatorLeaseName, resourcePath } from './api-paths.ts';
import { EventRecorder } from './event-recorder.ts';
import type { KubeApi } from './kube-api.ts';
import { LeaseElection, soleLeadership } from './lease.ts';
import { ConfigMapLedgerStore } from './ledger-store.ts';
import { Reflector } from './reflector.ts';
import { ResourceCache } from './resource-cache.ts';
import { decodeResource } from './resource-decoding.ts';
import { KubernetesSecretReader } from './secret-reader.ts';
import { SettingsWatch } from './settings-watch.ts';
import { writeStatus } from './status-writer.ts';

const eventGraceMs = 2_000;
/** No step of a loop takes this long; one that does hangs. */
const longestStepMs = 120_000;

export interface KubernetesHostOptions {
  readonly api: KubeApi;
  /** Whose resources are followed. With a list, Roles in these namespaces are all that it takes. */
  readonly namespaces: 'all' | readonly string[];
  /** Where the lease lives, and the settings. */
  readonly operatorNamespace: string;
  /** Names this process in the lease and in events: the pod, or the host. */
  readonly identity: string;
  /** False where somebody else sees to it that only one process runs. */
  readonly leaderElection: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface KubernetesHost extends Host {
  /** Begins to follow resources, and to strive for the lease. */
  start(): void;
  /**
   * Delivers the last events, gives the lease back, and closes all connections. To be called when nothing that needs leadership is
   * under way any more: the next leader may begin at once.
   */
  stop(): Promise<void>;
  /** Whether everything that runs here still runs. An API server that does not answer is no reason to be restarted. */
  healthy(): boolean;
  /** Whether all resources have been listed once. */
  ready(): boolean;
}

export function createKubernetesHost(options: KubernetesHostOptions): KubernetesHost {
  return new ClusterHost(options);
}

type Caches = { readonly [K in KindName]: ResourceCache<ResourceOf<K>> };

class ClusterHost implements KubernetesHost {
  readonly ledgers: ConfigMapLedgerStore;
  readonly events: EventRecorder;
  readonly secrets: KubernetesSecretReader;
  readonly leadership: Leadership;
  readonly #clock: Clock;
  readonly #client: ApiClient;
  readonly #caches: Caches;
  readonly #settings: SettingsWatch;
  readonly #election: LeaseElection | undefined;
  readonly #reflectors: readonly Pick<Reflector<never>, 'run' | 'steppedAtMs' | 'doubt'>[];
  readonly #ended = new AbortController();
  #following: Promise<unknown> | undefined;

  constructor(options: KubernetesHostOptions) {
    const { clock, identity, operatorNamespace: namespace } = options;
    const scopes = options.namespaces === 'all' ? [undefined] : [...new Set(options.namespaces)];
    const kindNames = Object.keys(kinds) as KindName[];
    this.#clock = clock;
    this.#client = new ApiClient(options);
    const client = this.#client;
    this.#caches = Object.fromEntries(
      kindNames.map((kind) => [kind, new ResourceCache<ResourceOf<typeof kind>>(scopes, options.log)]),
    ) as unknown as Caches;
    this.#reflectors = kindNames.flatMap((kind) =>
      scopes.map((scope) => {
        const decode = (value: unknown) => decodeResource(kind, value);
        return new Reflector({
          ...options,
          client,
          path: resourcePath(kind, scope),
          scope,
          cache: this.#caches[kind],
          decode,
        });
      }),
    );
    this.#settings = new SettingsWatch({ ...options, client, namespace });
    this.ledgers = new ConfigMapLedgerStore(client);
    this.events = new EventRecorder({ ...options, client, identity });
    this.secrets = new KubernetesSecretReader(client);
    this.#election = options.leaderElection
      ? new LeaseElection({ ...options, client, namespace, name: operatorLeaseName, identity })
      : undefined;
    this.leadership = this.#election ?? soleLeadership();
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return this.#caches[kind];
  }

  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    const written = writeStatus(this.#client, this.#caches[kind], kind, resource);
    written.catch((error) => {
      if (hasCode(error, 'host.conflict')) for (const reflector of this.#reflectors) reflector.doubt(resource.metadata);
    });
    return written;
  }

  settings(): OperatorSettings {
    return this.#settings.current();
  }

  subscribeSettings(listener: () => void): () => void {
    return this.#settings.subscribe(listener);
  }

  start(): void {
    this.#following ??= Promise.all([this.#settings.run(this.#ended.signal), this.#follow()]);
    this.#election?.start();
  }

  async stop(): Promise<void> {
    this.#ended.abort(new Error('the host has been stopped'));
    await this.#following;
    await this.events.stop(eventGraceMs);
    await this.#election?.release();
    await this.#client.close();
  }

  healthy(): boolean {
    if (!this.#following || this.#ended.signal.aborted) return true;
    const followed = [this.#settings, ...(this.#settings.asked() ? this.#reflectors : [])];
    const loops = this.#election ? [...followed, this.#election] : followed;
    const now = this.#clock.monotonic();
    return loops.every(({ steppedAtMs }) => now - steppedAtMs < longestStepMs);
  }

  ready(): boolean {
    return Object.values(this.#caches).every((cache) => cache.synced());
  }

  /** The settings come first, so that no policy is told that it is paused only because they were not known yet. */
  async #follow(): Promise<void> {
    const { signal } = this.#ended;
    await this.#settings.whenAsked();
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }
}
