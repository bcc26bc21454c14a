/** Simulates the API server and operators in virtual time, together with the simulated log service. */
import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { CollectorVersionPolicy, SearchExport } from '../../src/api/kinds.ts';
import type { Logger } from '../../src/base/log.ts';
import type { Metrics } from '../../src/base/metrics.ts';
import type { OperatorOptions } from '../../src/cli/operator/operator.ts';
import type { PolicySettings } from '../../src/policy/attempts/settings.ts';
import { MemoryApiServer } from './memory-api-server.ts';
import { ServiceWorld, type ServiceWorldOptions } from './service-world.ts';
import { type HostOptions, SimulatedProcess } from './simulated-process.ts';

export const policiesPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/collectorversionpolicies';
export const exportsPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports';
/** Group, version and plural name of the kind SearchExport. */
export const exportsCollection = 'logfleet.dev/v1alpha1/searchexports';
export const ledgersPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/ledgers';
export const settingsPath = '/api/v1/namespaces/logfleet-system/configmaps';
export const secretsPath = '/api/v1/namespaces/logging/secrets';

export interface WorldOptions extends ServiceWorldOptions {
  readonly settings?: Partial<PolicySettings>;
  readonly log?: Logger;
  /** Container image for Kubernetes Jobs. Without an image, exports cannot run in Jobs. */
  readonly workerImage?: string;
  readonly exports?: OperatorOptions['exports'];
  /** Time in ms until the dependents of a deleted owner are deleted. By default, they are never deleted. */
  readonly garbageCollectionMs?: number;
}

export class World extends ServiceWorld {
  readonly api: MemoryApiServer;
  readonly replicas: SimulatedProcess[] = [];
  readonly #options: WorldOptions;
  #names = 0;

  constructor(options: WorldOptions) {
    super(options);
    this.#options = options;
    const { garbageCollectionMs } = options;
    const { clock, random } = this;
    this.api = new MemoryApiServer({
      clock,
      random,
      ...(garbageCollectionMs !== undefined && { garbageCollectionMs }),
    });
  }

  /** Creates the Secret for the service. */
  addSecret(name = 'log-service', members: Readonly<Record<string, string>> = {}): void {
    this.api.create(secretsPath, secretManifest(name, { ...this.secret, ...members }));
  }

  addPolicy(name: string, spec: object, metadata: object = {}): void {
    this.api.create(policiesPath, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'CollectorVersionPolicy',
      metadata: { name, namespace: 'logging', ...metadata },
      spec: { ...policyDefaults, ...spec },
    });
  }

  addExport(name: string, spec: object, metadata: object = {}): void {
    this.api.create(exportsPath, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'SearchExport',
      metadata: { name, namespace: 'logging', ...metadata },
      spec: { ...exportDefaults, ...spec },
    });
  }

  export(name: string): SearchExport | undefined {
    return this.api.get(`${exportsPath}/${name}`) as SearchExport | undefined;
  }

  policy(name: string): CollectorVersionPolicy | undefined {
    return this.api.get(`${policiesPath}/${name}`) as CollectorVersionPolicy | undefined;
  }

  ready(name: string) {
    return this.policy(name)?.status?.conditions?.find(({ type }) => type === 'Ready');
  }

  /** Starts an operator replica. Its watches are rarely renewed, so that long simulations run fast. */
  start({ metrics, ...host }: HostOptions & { readonly metrics?: Metrics } = {}): SimulatedProcess {
    const { settings, log, workerImage, exports } = this.#options;
    const { clock, random, api, service } = this;
    const replica = new SimulatedProcess({
      name: `replica-${++this.#names}`,
      ...{ clock, random, api, service },
      ...(settings && { settings }),
      ...(log && { log }),
      ...(metrics && { metrics }),
      ...(exports && { exports: () => exports }),
      host: { watchSeconds: 300, ...(workerImage !== undefined && { workerImage }), ...host },
      onEnd: () => this.#remove(replica),
    });
    this.replicas.push(replica);
    replica.start();
    return replica;
  }

  #remove(replica: SimulatedProcess): void {
    const index = this.replicas.indexOf(replica);
    if (index >= 0) this.replicas.splice(index, 1);
  }
}

/** Policy fields with the defaults set by the API server. */
export const policyDefaults = {
  credentialsSecretRef: { name: 'log-service' },
  allowDowngrade: false,
  selector: {},
  priority: 0,
  mode: 'Enforce',
  paused: false,
  resyncInterval: '5m',
  strategy: { maxInProgress: 1000, order: 'OldestVersionFirst' },
  retryPolicy: { limit: 2, backoff: { duration: '5m', factor: 2, cap: '1h' } },
} as const;

/** Export fields with the defaults set by the API server. */
export const exportDefaults = {
  credentialsSecretRef: { name: 'log-service' },
  query: '*',
  byReceiptTime: false,
  autoParsingMode: 'Manual',
  results: 'Messages',
  parallelism: 4,
  execution: { mode: 'Operator' },
  output: { format: 'NDJSON', compression: 'None', fields: [], maxPartSize: '256Mi' },
  destination: { volume: { name: 'exports' } },
  limits: {},
  incompletePolicy: 'Fail',
  proof: 'Digest',
  settleDelay: '3m',
  paused: false,
} as const;

/** Returns the manifest of a Secret in the simulated world's namespace. */
export function secretManifest(name: string, members: Readonly<Record<string, string>>) {
  const encoded = Object.entries(members).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const metadata = { name, namespace: 'logging' };
  return { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(encoded) as Record<string, string> };
}

export interface BusiestMoments {
  readonly perSecond: number;
  readonly endMs: number;
  readonly atOnce: number;
}

/** Returns the highest number of requests in any second, and the highest number of concurrent requests. */
export function busiest(journal: readonly JournalEntry[]): BusiestMoments {
  const arrivals = journal.map(({ at }) => at).sort((left, right) => left - right);
  let [perSecond, endMs] = [0, 0];
  for (let first = 0, last = 0; last < arrivals.length; last++) {
    const atMs = arrivals[last] as number;
    while (atMs - (arrivals[first] as number) >= 1_000) first++;
    if (last - first + 1 > perSecond) [perSecond, endMs] = [last - first + 1, atMs];
  }
  const atOnce = Math.max(0, ...journal.map(({ inFlight }) => inFlight));
  return { perSecond, endMs, atOnce };
}
