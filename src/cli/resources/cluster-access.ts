/** Reads and annotates resources on an API server, with the user's credentials. */

import type { AnyResource, KindName } from '../../api/kinds.ts';
import { systemClock, type Timer } from '../../base/clock.ts';
import { asLogfleetError, failure, hasCode } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import type { Ports } from '../../base/ports.ts';
import { systemRandom } from '../../base/random.ts';
import { isRecord } from '../../base/record.ts';
import type { LedgerStore, ResourceKey, SecretReader } from '../../host/host.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { notInstalled } from '../../host/kubernetes/api-error.ts';
import { resourcePath } from '../../host/kubernetes/api-paths.ts';
import type { KubeApi } from '../../host/kubernetes/kube-api.ts';
import { KubernetesLedgerStore } from '../../host/kubernetes/ledger-store.ts';
import { decodeListPage, Reflector } from '../../host/kubernetes/reflector.ts';
import { ResourceCache } from '../../host/kubernetes/resource-cache.ts';
import { decodeResource } from '../../host/kubernetes/resource-decoding.ts';
import { KubernetesSecretReader } from '../../host/kubernetes/secret-reader.ts';
import type { CommandContext } from '../command/context.ts';
import type { TargetOptions } from '../command/options.ts';
import { idleClusterNote } from './operator-version.ts';
import { chooseCluster } from './plain-cluster.ts';
import { type Annotation, byNamespaceAndName, type ResourceReader } from './resource-reader.ts';

const pageLimit = 500;
/** Time in ms for which watch events are collected before they are reported together. */
const collectMs = 100;

/** Connects to the cluster that the flags select. Throws the error `host.misconfigured` or `host.noCluster`. */
export async function openCluster(
  options: TargetOptions,
  context: CommandContext,
  instead = 'select a directory of manifests with --dir DIR',
): Promise<ClusterReader> {
  const { namespace, ...connection } = await chooseCluster(options, context.cwd, instead);
  const { signal } = context;
  const ports = { clock: systemClock, random: systemRandom };
  return new ClusterReader({ ...connection, ...ports, defaultNamespace: namespace, signal });
}

interface ClusterReaderOptions extends Pick<Ports, 'clock' | 'random'> {
  readonly api: KubeApi;
  /** Context in the kubeconfig. Undefined in a pod. */
  readonly context: string | undefined;
  readonly defaultNamespace: string;
  /** Aborted when the command must end. All requests to the API server are then cancelled. */
  readonly signal: AbortSignal;
}

export class ClusterReader implements ResourceReader {
  readonly isDirectory = false;
  readonly place: string;
  readonly context: string | undefined;
  readonly defaultNamespace: string;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  readonly secrets: Pick<SecretReader, 'get'>;
  readonly #options: ClusterReaderOptions;
  readonly #client: ApiClient;

  constructor(options: ClusterReaderOptions) {
    this.context = options.context;
    this.place = options.context === undefined ? 'the cluster' : `context ${options.context}`;
    this.defaultNamespace = options.defaultNamespace;
    this.#options = options;
    this.#client = new ApiClient({ ...options, metrics: noMetrics });
    this.ledgers = new KubernetesLedgerStore({ client: this.#client });
    this.secrets = new KubernetesSecretReader(this.#client);
  }

  async list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]> {
    const path = resourcePath(kind, namespace);
    const resources: AnyResource[] = [];
    let token: string | undefined;
    do {
      const query = { limit: String(pageLimit), ...(token === undefined ? {} : { continue: token }) };
      const response = await this.#client.call({ method: 'GET', path, query }).catch((error: unknown) => {
        throw this.#listFailure(kind, error);
      });
      const page = decodeListPage(response, path);
      resources.push(...page.items.map((item) => decodeWhole(kind, item)).filter((found) => found !== undefined));
      token = page.continueToken;
    } while (token !== undefined);
    return resources.sort(byNamespaceAndName);
  }

  async get(kind: KindName, { namespace, name }: ResourceKey): Promise<AnyResource | undefined> {
    return decodeWhole(kind, await this.#client.find(resourcePath(kind, namespace, name)));
  }

  async follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
    onTrouble: (message: string | undefined) => void = () => {},
  ): Promise<void> {
    const { clock, random } = this.#options;
    const cache = new ResourceCache<AnyResource>([namespace], silentLogger);
    const firstListFailed = new AbortController();
    let timer: Timer | undefined;
    const report = () => {
      timer?.cancel();
      timer = undefined;
      onChange([...cache.list()].sort(byNamespaceAndName));
    };
    cache.subscribe(() => {
      timer ??= clock.after(collectMs, report);
    });
    await new Reflector<AnyResource>({
      client: this.#client,
      path: resourcePath(kind, namespace),
      scope: namespace,
      cache,
      decode: (value) => decodeWhole(kind, value),
      onList: report,
      // If the first list fails, the command ends with the error. Later errors are only reported, and the list is
      // requested again.
      onFailure: (error) => {
        if (cache.synced()) onTrouble(asLogfleetError(error).message);
        else firstListFailed.abort(this.#listFailure(kind, error));
      },
      onRecovery: () => onTrouble(undefined),
      clock,
      random,
      log: silentLogger,
      metrics: noMetrics,
    }).run(AbortSignal.any([signal, firstListFailed.signal]));
    timer?.cancel();
    firstListFailed.signal.throwIfAborted();
  }

  #listFailure(kind: KindName, cause: unknown): unknown {
    if (!hasCode(cause, 'host.gone')) return cause;
    return failure('stall', 'cli.kindNotInstalled', notInstalled(kind, this.place), { cause });
  }

  /** Sets or removes an annotation with a merge patch, which does not overwrite concurrent changes. */
  async annotate(kind: KindName, { namespace, name }: ResourceKey, annotation: Annotation): Promise<void> {
    await this.#client.call({
      method: 'PATCH',
      path: resourcePath(kind, namespace, name),
      query: { fieldManager: 'logfleet-cli' },
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: { [annotation.name]: annotation.value ?? null } } },
    });
  }

  idleNote(): Promise<string | undefined> {
    return idleClusterNote(this.#client, this.#options.clock);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Decodes a resource like `decodeResource`, but keeps all fields of `metadata` except `managedFields`. */
function decodeWhole(kind: KindName, value: unknown): AnyResource | undefined {
  const resource = decodeResource(kind, value);
  if (!resource || !isRecord(value) || !isRecord(value.metadata)) return undefined;
  const { managedFields: _, ...metadata } = value.metadata;
  const { annotationWriters: __, ...decoded } = resource.metadata;
  return { ...resource, metadata: { ...metadata, ...decoded } };
}
