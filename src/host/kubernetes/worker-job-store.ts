/**
 * Lists and watches the Kubernetes Jobs of exports, and their pods, by label. If the operator does not have the
 * permissions in `manifests/export-jobs`, `problem` returns the API server's error.
 */

import { hasCode, type LogfleetError } from '../../base/errors.ts';
import { getOrAdd } from '../../base/get-or-add.ts';
import { keyText } from '../../base/key-text.ts';
import { Listeners } from '../../base/listeners.ts';
import type { Ports } from '../../base/ports.ts';
import { defined } from '../../base/record.ts';
import type { ResourceKey } from '../host.ts';
import { exportLabel, type WorkerJob, type WorkerJobs, type WorkerPod } from '../worker-jobs.ts';
import { type ApiClient, isKubeObject, type KubeObject } from './api-client.ts';
import { objectPath } from './api-paths.ts';
import { createDeadlineMs } from './lease.ts';
import { Reflector } from './reflector.ts';
import { ResourceCache } from './resource-cache.ts';
import { decodeMetadata } from './resource-decoding.ts';
import { fieldManager } from './resource-writes.ts';

interface WorkerJobStoreOptions extends Ports {
  readonly client: ApiClient;
  readonly image: string;
  /** Namespaces that need separate watches. `[undefined]` means a single watch for all namespaces. */
  readonly scopes: readonly (string | undefined)[];
  readonly watchSeconds?: number;
}

export class KubernetesWorkerJobs implements WorkerJobs {
  readonly image: string;
  readonly #client: ApiClient;
  readonly #jobs: WatchedResources<WorkerJob>;
  readonly #pods: WatchedResources<WorkerPod>;
  readonly #listeners = new Listeners<string>();

  constructor(options: WorkerJobStoreOptions) {
    this.image = options.image;
    this.#client = options.client;
    const announce = (uid: string) => this.#listeners.notify(uid);
    this.#jobs = new WatchedResources<WorkerJob>(options, 'jobs', announce);
    this.#pods = new WatchedResources<WorkerPod>(options, 'pods', announce);
  }

  /** Lists and watches Jobs and pods until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#jobs.run(signal), this.#pods.run(signal)]);
  }

  /**
   * Lists Jobs and pods again. Resolves when the cache contains all changes made before this call. Leaves out
   * namespaces in which the operator does not have permission to list Jobs, because it cannot have created Jobs in
   * these namespaces.
   */
  async relist(): Promise<void> {
    await Promise.all([this.#jobs.relist(), this.#pods.relist()]);
  }

  /**
   * Returns a message if a new leader is still waiting for a list of Jobs or pods. Returns undefined if all lists are
   * complete.
   */
  unlisted(): string | undefined {
    const awaited = this.#jobs.awaited ?? this.#pods.awaited;
    if (!awaited) return undefined;
    const { path, problem } = awaited;
    const reason = problem ? `. The last attempt failed: ${problem.message}` : '';
    return `The leader is waiting for a list of the Jobs and pods of exports (${path}) before it sends requests to the log service${reason}`;
  }

  synced(): boolean {
    return this.#jobs.cache.synced() && this.#pods.cache.synced();
  }

  problem(): LogfleetError | undefined {
    return this.#jobs.problem ?? this.#pods.problem;
  }

  jobs(): Iterable<WorkerJob> {
    return this.#jobs.cache.list();
  }

  pods(): Iterable<WorkerPod> {
    return this.#pods.cache.list();
  }

  jobsOf(exportUid: string): readonly WorkerJob[] {
    return this.#jobs.of(exportUid);
  }

  podsOf(exportUid: string): readonly WorkerPod[] {
    return this.#pods.of(exportUid);
  }

  subscribe(listener: (exportUid: string) => void): () => void {
    return this.#listeners.add(listener);
  }

  async exists({ namespace, name }: ResourceKey): Promise<boolean> {
    return (await this.#client.find(objectPath('jobs', namespace, name))) !== undefined;
  }

  async create({ namespace }: ResourceKey, manifest: object): Promise<'created' | 'exists'> {
    try {
      await this.#client.call({
        ...{ method: 'POST', path: objectPath('jobs', namespace), query: { fieldManager }, body: manifest },
        deadlineMs: createDeadlineMs,
      });
      return 'created';
    } catch (error) {
      if (hasCode(error, 'host.conflict')) return 'exists';
      throw error;
    }
  }

  async remove({ metadata: { namespace, name, uid } }: WorkerJob): Promise<void> {
    try {
      await this.#client.remove(objectPath('jobs', namespace, name), { uid });
    } catch (error) {
      // A conflict means that the Job has already been deleted, and another Job with the same name has been created.
      if (!hasCode(error, 'host.conflict')) throw error;
    }
  }

  async serviceAccountLabels({ namespace, name }: ResourceKey): Promise<Readonly<Record<string, string>> | undefined> {
    const found = await this.#client.findObject(objectPath('serviceaccounts', namespace, name));
    return found && (found.metadata.labels ?? {});
  }

  async claimAccessModes({ namespace, name }: ResourceKey): Promise<readonly string[] | undefined> {
    const found = await this.#client.findObject<ClaimObject>(objectPath('persistentvolumeclaims', namespace, name));
    return found && (found.spec?.accessModes ?? []);
  }
}

interface ClaimObject extends KubeObject {
  readonly spec?: { readonly accessModes?: readonly string[] };
}

/** Lists and watches all Jobs or all pods that have the export label. */
class WatchedResources<R extends WorkerJob | WorkerPod> {
  readonly cache: ResourceCache<R>;
  /** One reflector per scope. */
  readonly #reflectors: readonly Reflector<R>[];
  /**
   * For each Job or pod, the uid of the export to which it belongs. When a Job or pod is deleted, listeners are called
   * with this uid.
   */
  readonly #uids = new Map<string, string>();
  /** Jobs or pods by the uid of their export, and then by their own namespace and name. */
  readonly #byExport = new Map<string, Map<string, R>>();

  constructor(options: WorkerJobStoreOptions, plural: 'jobs' | 'pods', announce: (exportUid: string) => void) {
    const { scopes, log } = options;
    this.cache = new ResourceCache<R>(scopes, log);
    this.#reflectors = scopes.map((scope) => {
      const path = objectPath(plural, scope);
      const decodeOne = (value: unknown) => decode(value) as R | undefined;
      const query = { labelSelector: exportLabel };
      return new Reflector<R>({ ...options, path, query, scope, cache: this.cache, decode: decodeOne });
    });
    this.cache.subscribe((key) => {
      const uid = this.#follow(key);
      if (uid !== undefined) announce(uid);
    });
  }

  /** Error of a list or watch that has failed and has not succeeded since. */
  get problem(): LogfleetError | undefined {
    return this.#reflectors.find(({ problem }) => problem)?.problem;
  }

  /** List for which a new leader is still waiting. */
  get awaited(): Reflector<R> | undefined {
    return this.#reflectors.find(({ isAwaited }) => isAwaited);
  }

  /** Returns the Jobs or pods of an export. */
  of(exportUid: string): readonly R[] {
    return [...(this.#byExport.get(exportUid)?.values() ?? [])];
  }

  /** Updates the maps after a change to a Job or pod. Returns the uid of the export to which the Job or pod belongs. */
  #follow(key: ResourceKey): string | undefined {
    const name = keyText(key);
    const resource = this.cache.get(key);
    const formerUid = this.#uids.get(name);
    const uid = resource?.metadata.labels[exportLabel];
    if (formerUid !== undefined && formerUid !== uid) this.#forget(name, formerUid);
    if (resource && uid !== undefined) {
      this.#uids.set(name, uid);
      getOrAdd(this.#byExport, uid, () => new Map<string, R>()).set(name, resource);
    }
    return uid ?? formerUid;
  }

  #forget(name: string, exportUid: string): void {
    this.#uids.delete(name);
    const own = this.#byExport.get(exportUid);
    own?.delete(name);
    if (own?.size === 0) this.#byExport.delete(exportUid);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.run(signal)));
  }

  async relist(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.relist()));
  }
}

/** Decodes a Job or pod. Returns undefined if `value` is neither. Drops most of the spec to save memory. */
function decode(value: unknown): WorkerJob | WorkerPod | undefined {
  if (!isKubeObject(value)) return undefined;
  const { metadata, spec = {}, status = {} } = value as WorkerJob & KubeObject;
  const { suspend, parallelism } = spec as Partial<WorkerJob['spec']>;
  return {
    metadata: { ...decodeMetadata(value), labels: metadata.labels ?? {} },
    spec: defined({ suspend, parallelism }),
    status,
  };
}
