/**
 * Implements the interface in `host.ts` on top of a Kubernetes API server. While nothing changes, the only requests are
 * watches, Lease renewals, and one list per watch every ten minutes.
 */

import { type AnyResource, type KindName, kinds, type ResourceOf } from '../../api/kinds.ts';
import { hasCode, type LogfleetError } from '../../base/errors.ts';
import type { Ports } from '../../base/ports.ts';
import type { Creation, Host, Leadership, NewResource, OperatorSettings, OwnerRef, ResourceSource } from '../host.ts';
import { ApiClient } from './api-client.ts';
import { notInstalled } from './api-error.ts';
import { resourcePath } from './api-paths.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { type EventListener, EventRecorder } from './event-recorder.ts';
import type { KubeApi } from './kube-api.ts';
import { createDeadlineMs, LeaseElection, soleLeadership } from './lease.ts';
import { KubernetesLedgerStore, LedgerStartList } from './ledger-store.ts';
import { OperatorEntries } from './operator-entries.ts';
import { PreparedLeadership } from './prepared-leadership.ts';
import { Reflector } from './reflector.ts';
import { ResourceCache } from './resource-cache.ts';
import { decodeResource } from './resource-decoding.ts';
import { createResource, removeResource, writeStatus } from './resource-writes.ts';
import { KubernetesSecretReader } from './secret-reader.ts';
import { SettingsWatch } from './settings-watch.ts';
import { KubernetesWorkerJobs } from './worker-job-store.ts';

const eventGraceMs = 2_000;
/**
 * Maximum number of concurrent status writes. With more concurrent writes, each write would take longer, and the number
 * of writes per second would not increase.
 */
const writesAtOnce = 4;
/** Maximum duration in ms of a list, a watch or a Lease renewal. A background loop that waits longer counts as hung. */
const longestStepMs = 120_000;
/**
 * Kinds that a new leader must list again before it acts on their resources. Otherwise, a schedule could repeat a run
 * (an export) that the previous leader has already created and deleted.
 */
const relistedKinds = ['SearchExport', 'SearchExportSchedule'] as const;

interface KubernetesHostOptions extends Ports {
  readonly api: KubeApi;
  /**
   * Namespaces that the operator watches. If they are listed explicitly, the operator needs only Roles in these
   * namespaces.
   */
  readonly namespaces: 'all' | readonly string[];
  /** Namespace of the operator's Lease and settings. */
  readonly operatorNamespace: string;
  /** Name of the pod or machine, shown in the Lease and in Events. */
  readonly identity: string;
  /** Version of logfleet, shown in a Lease annotation. */
  readonly version?: string;
  /** True if the leader is elected through a Lease. */
  readonly leaderElection: boolean;
  /** Image for the pods that run exports. Without an image, exports cannot run in Jobs. */
  readonly workerImage?: string;
  /** Duration of a watch in seconds; 20 by default. */
  readonly watchSeconds?: number;
  /** Called for each Event about a resource. */
  readonly onEvent?: EventListener;
}

type AnyReflector = Pick<Reflector<never>, 'run' | 'relist' | 'isAwaited' | 'steppedAtMs' | 'checkVersion' | 'problem'>;

/** Cache for one kind of resource, and the reflectors that keep the cache up to date. */
interface WatchedKind<K extends KindName> {
  readonly cache: ResourceCache<ResourceOf<K>>;
  /** Resources in the cache on which no other operator acts. */
  readonly ours: ResourceSource<ResourceOf<K>>;
  readonly reflectors: readonly AnyReflector[];
  /** Resolves when this process has listed the resources again after it last became the leader. */
  relisted: Promise<unknown>;
}

export class KubernetesHost implements Host {
  readonly isCluster = true;
  readonly ledgers: KubernetesLedgerStore;
  readonly events: EventRecorder;
  readonly secrets: KubernetesSecretReader;
  readonly leadership: Leadership;
  readonly workerJobs?: KubernetesWorkerJobs;
  readonly #options: KubernetesHostOptions;
  readonly #client: ApiClient;
  readonly #followed = new Map<KindName, WatchedKind<KindName>>();
  readonly #settings: SettingsWatch;
  readonly #writes = new ConcurrencyLimit(writesAtOnce);
  readonly #entries: OperatorEntries;
  readonly #election: LeaseElection | undefined;
  readonly #ended = new AbortController();
  /** Promises of the background loops. These promises resolve when the host is stopped. */
  readonly #running: Promise<void>[] = [];

  constructor(options: KubernetesHostOptions) {
    const { clock, metrics, operatorNamespace: namespace } = options;
    this.#options = options;
    this.#client = new ApiClient(options);
    const client = this.#client;
    this.#settings = new SettingsWatch({ ...options, client, namespace });
    this.events = new EventRecorder({ ...options, client });
    this.secrets = new KubernetesSecretReader(client);
    this.#election = options.leaderElection ? new LeaseElection({ ...options, client, namespace }) : undefined;
    const { workerImage: image } = options;
    const jobs =
      image === undefined ? undefined : new KubernetesWorkerJobs({ ...options, client, image, scopes: this.#scopes() });
    if (jobs) this.workerJobs = jobs;
    const elected = this.#election ?? soleLeadership();
    this.leadership = this.#election || jobs ? new PreparedLeadership(elected, () => this.#relistForLeader()) : elected;
    // A new leader that is still listing Jobs and pods counts as a follower, because it does no work yet.
    metrics.observedGauge('logfleet_leader', '1 if this process is the leader, otherwise 0.', [], () => [
      [{}, this.leadership.isLeader() ? 1 : 0],
    ]);
    this.#entries = new OperatorEntries({
      ...options,
      ...{ self: namespace, events: this.events, leadership: this.leadership },
      resources: () => this.#known(),
      newest: (kind, key) => this.#follow(kind).cache.get(key),
      write: (resource) => this.writeStatus(resource.kind, resource),
    });
    const startList = new LedgerStartList({
      ...{ client, clock, leadership: this.leadership },
      allNamespaces: options.namespaces === 'all',
    });
    const resourceOf = (owner: OwnerRef) => this.#follow(owner.kind).cache.get(owner);
    this.ledgers = new KubernetesLedgerStore({ client, startList, resourceOf });
  }

  resources<K extends KindName>(kind: K): ResourceSource<ResourceOf<K>> {
    return this.#follow(kind).ours;
  }

  writeStatus<K extends KindName>(kind: K, resource: ResourceOf<K>): Promise<ResourceOf<K>> {
    const { cache, reflectors } = this.#follow(kind);
    const { metadata } = resource;
    const written = this.#writes.run(() =>
      cache.write(metadata, async () => {
        const shown = await writeStatus(this.#client, this.#entries.show(resource));
        return this.#entries.hide(shown, cache.get(metadata));
      }),
    );
    written.catch((error) => {
      if (hasCode(error, 'host.conflict')) for (const reflector of reflectors) reflector.checkVersion(metadata);
    });
    return written;
  }

  create<K extends KindName>(resource: NewResource<K>): Promise<Creation> {
    return this.#writes.run(() => createResource(this.#client, resource, createDeadlineMs));
  }

  canRemove(): boolean {
    return true;
  }

  remove(resource: AnyResource): Promise<void> {
    return removeResource(this.#client, resource);
  }

  commandFlags({ namespace }: OwnerRef): string {
    return ` -n ${namespace}`;
  }

  settings(): OperatorSettings {
    return this.#settings.current();
  }

  subscribeSettings(listener: () => void): () => void {
    return this.#settings.subscribe(listener);
  }

  /** Starts watching resources and competing for the Lease. */
  start(): void {
    if (this.#running.length > 0) return;
    this.#running.push(this.#settings.run(this.#ended.signal));
    for (const { reflectors } of this.#followed.values()) this.#run(reflectors);
    if (this.workerJobs) this.#running.push(this.workerJobs.run(this.#ended.signal));
    this.#election?.start();
  }

  /**
   * Delivers the last Events, releases the Lease and closes all connections. The next leader may start immediately, so
   * no work may still be running when this method is called.
   */
  async stop(): Promise<void> {
    this.#ended.abort(new Error('the host has been stopped'));
    this.#entries.close();
    await Promise.all(this.#running);
    await this.events.stop(eventGraceMs);
    await this.#election?.release();
    await this.#client.close();
  }

  /** Reports whether all background loops are running. An unreachable API server does not make the host unhealthy. */
  healthy(): boolean {
    if (this.#running.length === 0 || this.#ended.signal.aborted) return true;
    const reflectors = [...this.#followed.values()].flatMap((each) => each.reflectors);
    const followed = [this.#settings, ...(this.#settings.isAttempted() ? reflectors : [])];
    const loops = this.#election ? [...followed, this.#election] : followed;
    const now = this.#options.clock.monotonic();
    return loops.every(({ steppedAtMs }) => now - steppedAtMs < longestStepMs);
  }

  /**
   * Returns a message for each kind of resource that has not been listed yet. Returns one more message if a new leader
   * is still waiting for a list of Jobs or pods. Each message includes the reason for the missing list, if known.
   */
  unready(): readonly string[] {
    const unlisted = [...this.#followed]
      .filter(([, { ours }]) => !ours.synced())
      .map(([kind, { reflectors }]) => renderUnlisted(kind, reflectors.find(({ problem }) => problem)?.problem));
    const jobs = this.workerJobs?.unlisted();
    return jobs === undefined ? unlisted : [...unlisted, jobs];
  }

  /**
   * Lists all kinds in `relistedKinds`, Jobs and pods again, so that a new leader knows all changes that the previous
   * leader has made (S6, B8). Resolves when Jobs and pods have been listed. Does not wait for the other kinds, because
   * each of them counts as synced only after it has been listed. A failed list does not affect the other kinds.
   */
  async #relistForLeader(): Promise<void> {
    for (const kind of relistedKinds) {
      const followed = this.#followed.get(kind);
      if (followed) followed.relisted = Promise.all(followed.reflectors.map((reflector) => reflector.relist()));
    }
    await this.workerJobs?.relist();
  }

  /** Returns the namespaces that need separate watches. `[undefined]` means a single watch for all namespaces. */
  #scopes(): readonly (string | undefined)[] {
    const { namespaces } = this.#options;
    return namespaces === 'all' ? [undefined] : [...new Set(namespaces)];
  }

  /**
   * Starts listing and watching a kind of resource only when the kind is first used. The CRD of an unused kind may be
   * missing, or the operator may not have permission to list that kind.
   */
  #follow<K extends KindName>(kind: K): WatchedKind<K> {
    const known = this.#followed.get(kind);
    if (known) return known as unknown as WatchedKind<K>;
    const { log } = this.#options;
    const scopes = this.#scopes();
    const cache = new ResourceCache<ResourceOf<K>>(scopes, log);
    const reflectors = scopes.map((scope) => {
      const decode = (value: unknown) => this.#decode(kind, value);
      const path = resourcePath(kind, scope);
      const client = this.#client;
      return new Reflector<ResourceOf<K>>({ ...this.#options, client, path, scope, cache, decode });
    });
    const ours = {
      ...this.#entries.ours(kind, cache),
      synced: () => cache.synced() && !reflectors.some(({ isAwaited }) => isAwaited),
      whenSynced: async () => void (await Promise.all([cache.whenSynced(), followed.relisted])),
    };
    const followed: WatchedKind<K> = { cache, ours, reflectors, relisted: Promise.resolve() };
    this.#followed.set(kind, followed as unknown as WatchedKind<KindName>);
    if (this.#running.length > 0) this.#run(reflectors);
    return followed;
  }

  #decode<K extends KindName>(kind: K, value: unknown): ResourceOf<K> | undefined {
    const resource = decodeResource(kind, value);
    return resource && this.#entries.hide(resource, this.#follow(kind).cache.get(resource.metadata));
  }

  *#known(): Iterable<ResourceOf<KindName>> {
    for (const { cache } of this.#followed.values()) yield* cache.list();
  }

  /**
   * Runs the reflectors, but only after the first request for the operator settings has ended. Otherwise, every
   * resource would be shown as paused for a short time.
   */
  #run(reflectors: readonly AnyReflector[]): void {
    const { signal } = this.#ended;
    const attempted = this.#settings.whenAttempted();
    this.#running.push(...reflectors.map((reflector) => attempted.then(() => reflector.run(signal))));
  }
}

/** Explains why a kind of resource has not been listed yet, for example because its CRD is missing. */
function renderUnlisted(kind: KindName, problem: LogfleetError | undefined): string {
  if (problem?.code === 'host.gone') return notInstalled(kind, 'the cluster');
  const waiting = `${kinds[kind].plural} have not been listed yet`;
  return problem ? `${waiting}: ${problem.message}` : waiting;
}
