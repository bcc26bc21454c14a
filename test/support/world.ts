/** Simulates the API server and operators in virtual time, with the simulated log service. */

import type { JournalEntry } from '../../simulator/requests/journal.ts';
import type { CollectorVersionPolicy, SearchExport } from '../../src/api/kinds.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { type Metrics, noMetrics } from '../../src/base/metrics.ts';
import { Operator, type OperatorOptions } from '../../src/cli/operator/operator.ts';
import type { EventListener } from '../../src/host/kubernetes/event-recorder.ts';
import { KubernetesHost } from '../../src/host/kubernetes/kubernetes-host.ts';
import type { PolicySettings } from '../../src/policy/attempts/settings.ts';
import type { InProcessTransport } from './in-process-transport.ts';
import { MemoryApiServer } from './memory-api-server.ts';
import { ServiceWorld, type ServiceWorldOptions } from './service-world.ts';

export const policiesPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/collectorversionpolicies';
export const exportsPath = '/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports';
export const secretsPath = '/api/v1/namespaces/logging/secrets';

export interface WorldOptions extends ServiceWorldOptions {
  readonly settings?: Partial<PolicySettings>;
  readonly log?: Logger;
  /** Container image of Kubernetes Jobs. Without an image, exports cannot run in Jobs. */
  readonly workerImage?: string;
  readonly exports?: OperatorOptions['exports'];
}

/** One running replica of the operator. */
export interface Replica {
  readonly name: string;
  readonly host: KubernetesHost;
  readonly operator: Operator;
  /** Ends the replica as if its process were killed. */
  kill(): void;
  stop(): Promise<void>;
}

export class World extends ServiceWorld {
  readonly api: MemoryApiServer;
  readonly replicas: Replica[] = [];
  readonly #options: WorldOptions;
  #names = 0;

  constructor(options: WorldOptions) {
    super(options);
    this.#options = options;
    this.api = new MemoryApiServer({ clock: this.clock, random: this.random });
  }

  /** Creates the Secret for the service. */
  addSecret(name = 'log-service', members: Readonly<Record<string, string>> = {}): void {
    this.api.create(secretsPath, secretManifest(name, { ...this.secret, ...members }));
  }

  addPolicy(name: string, spec: object): void {
    this.api.create(policiesPath, {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'CollectorVersionPolicy',
      metadata: { name, namespace: 'logging' },
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

  /** Starts a replica of the operator. Its watches are rarely renewed, so that long simulations are fast. */
  start(
    options: {
      readonly leaderElection?: boolean;
      readonly watchSeconds?: number;
      readonly metrics?: Metrics;
      readonly workerImage?: string;
      readonly operatorNamespace?: string;
      readonly onEvent?: EventListener;
    } = {},
  ): Replica {
    const name = `replica-${++this.#names}`;
    const api = this.api.client(name);
    const log = this.#options.log ?? silentLogger;
    const metrics = options.metrics ?? noMetrics;
    const workerImage = options.workerImage ?? this.#options.workerImage;
    const { clock, random } = this;
    const host = new KubernetesHost({
      api,
      namespaces: 'all',
      operatorNamespace: options.operatorNamespace ?? 'logfleet-system',
      ...(options.onEvent && { onEvent: options.onEvent }),
      identity: name,
      leaderElection: options.leaderElection ?? false,
      watchSeconds: options.watchSeconds ?? 300,
      ...(workerImage === undefined ? {} : { workerImage }),
      clock,
      random,
      log,
      metrics,
    });
    const transports: InProcessTransport[] = [];
    let alive = true;
    const operator = new Operator({
      host,
      clock,
      random,
      log,
      metrics,
      ...(this.#options.settings === undefined ? {} : { settings: this.#options.settings }),
      ...(this.#options.exports === undefined ? {} : { exports: this.#options.exports }),
      connect: this.connect({ metrics, isAlive: () => alive, transports }),
    });
    const replica: Replica = {
      name,
      host,
      operator,
      kill: () => {
        alive = false;
        api.kill();
        for (const transport of transports) void transport.close();
        void operator.kill();
        this.replicas.splice(this.replicas.indexOf(replica), 1);
      },
      stop: async () => {
        this.replicas.splice(this.replicas.indexOf(replica), 1);
        await operator.stop();
        await host.stop();
      },
    };
    this.replicas.push(replica);
    host.start();
    operator.start();
    return replica;
  }
}

/** Policy fields with the defaults of the API server. */
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

/** Export fields with the defaults of the API server. */
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

/** Returns the manifest of a Secret in the namespace of the simulated world. */
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
