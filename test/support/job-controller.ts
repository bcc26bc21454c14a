/** Simulates the Job controller, the scheduler and the kubelet. Workers run in the test process. */
import type { RequestLimits } from '../../src/account/worker-shares.ts';
import type { SearchExport } from '../../src/api/kinds.ts';
import { silentLogger } from '../../src/base/log.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { reportOf } from '../../src/cli/export/worker.ts';
import { Operator, type OperatorOptions } from '../../src/cli/operator/operator.ts';
import { MemoryHost } from '../../src/cli/resources/memory-host.ts';
import { workerVariables } from '../../src/export/jobs/worker-environment.ts';
import { renderReport } from '../../src/export/jobs/worker-report.ts';
import { completionIndexLabel } from '../../src/host/worker-jobs.ts';
import type { ApiObject } from './memory-api-store.ts';
import { secretTexts } from './memory-secrets.ts';
import type { World } from './world.ts';

export const jobsPath = '/apis/batch/v1/namespaces/logging/jobs';
export const podsPath = '/api/v1/namespaces/logging/pods';
/** Time in ms from the creation of a Job until its pods start. */
const startMs = 2_000;
/** Minimum time in ms from the creation of a pod that fails until the pod is replaced. */
const retryMs = 10_000;
const jobUidLabel = 'batch.kubernetes.io/controller-uid';

interface PodTemplate {
  readonly metadata: { readonly labels: object; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly [{ readonly env: readonly { readonly name: string; readonly value: string }[] }];
  };
}

interface JobSpec {
  readonly completions: number;
  readonly backoffLimitPerIndex: number;
  readonly suspend?: boolean;
  readonly template: PodTemplate;
  readonly podFailurePolicy?: {
    readonly rules: readonly {
      readonly action: string;
      readonly onPodConditions?: readonly { readonly type: string }[];
    }[];
  };
}

export class JobController {
  readonly #world: World;
  readonly #exports: NonNullable<OperatorOptions['exports']>;
  readonly #running = new Map<string, Operator>();
  /** Limits of the workers that are currently running. */
  readonly limits = new Map<string, RequestLimits>();
  /** Limits that replace the shares of all workers. */
  limitsInstead: RequestLimits | undefined;
  /** Time in ms for which a deleted Job's pods keep running. */
  graceMs = 0;
  /**
   * For each running pod without a Job, by pod name: the time at which the controller first noticed that the Job is
   * missing.
   */
  readonly #withoutJob = new Map<string, number>();
  #pods = 0;
  /**
   * Called before each pod starts. If it returns an exit code, no worker runs, and the pod ends with that exit code.
   */
  onPod: (name: string) => { readonly exitCode: number; readonly message?: string } | undefined = () => undefined;

  constructor(world: World, exports: NonNullable<OperatorOptions['exports']>) {
    this.#world = world;
    this.#exports = exports;
    this.#tick();
  }

  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Kills a pod's worker, as a crash would. */
  kill(pod: string, exitCode = 137): void {
    void this.#running.get(pod)?.kill();
    this.#ended(pod, exitCode, undefined);
  }

  /** Kills a pod's worker, and marks the pod as evicted. */
  evict(pod: string): void {
    this.kill(pod, 143);
    const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }];
    this.#world.api.patch(`${podsPath}/${pod}/status`, { status: { conditions } });
  }

  /** Kills a pod's worker together with its node. Kubernetes then deletes the pod, which never gets a final status. */
  loseNode(pod: string): void {
    this.#world.api.remove(`${podsPath}/${pod}`);
    this.kill(pod);
  }

  #tick(): void {
    const { api, clock } = this.#world;
    for (const job of api.store.objects('batch/v1/jobs')) this.#follow(job);
    for (const pod of api.store.objects('v1/pods')) {
      if (this.#hasJob(pod)) continue;
      const { name } = pod.metadata;
      const sinceMs = this.#withoutJob.get(name) ?? clock.now();
      this.#withoutJob.set(name, sinceMs);
      if (clock.now() - sinceMs < this.graceMs) continue;
      if (this.#running.has(name)) this.kill(name, 143);
      api.remove(`${podsPath}/${name}`);
    }
    clock.after(500, () => this.#tick());
  }

  /** Reports whether the pod's Job still exists. A later Job with the same name has another uid. */
  #hasJob(pod: ApiObject): boolean {
    const job = this.#world.api.get(`${jobsPath}/${jobOf(pod)}`);
    return job !== undefined && job.metadata.uid === pod.metadata.labels?.[jobUidLabel];
  }

  #follow(job: ApiObject): void {
    const { api, clock } = this.#world;
    const spec = job.spec as JobSpec;
    const { conditions = [], failed = 0 } = (job.status ?? {}) as { conditions?: readonly object[]; failed?: number };
    if (conditions.length > 0 || spec.suspend) return;
    const pods = api.store.objects('v1/pods').filter((pod) => pod.metadata.labels?.[jobUidLabel] === job.metadata.uid);
    for (let index = 0; index < spec.completions; index++) {
      const ofIndex = pods.filter(({ metadata }) => metadata.labels?.[completionIndexLabel] === String(index));
      const last = ofIndex.at(-1);
      const phase = (last?.status as { phase?: string } | undefined)?.phase;
      if (last && phase !== 'Failed') continue;
      if (last && !isIgnored(last, spec) && [2, 3].includes(exitCodeOf(last) ?? 0)) {
        this.#finish(job, 'Failed', 'PodFailurePolicy', failed + 1);
        return;
      }
      const failures = ofIndex.filter((pod) => !isIgnored(pod, spec));
      if (failures.length > spec.backoffLimitPerIndex) {
        this.#finish(job, 'Failed', 'FailedIndexes', failures.length);
        return;
      }
      const sinceMs = clock.now() - Date.parse((last ?? job).metadata.creationTimestamp);
      if (sinceMs >= (last ? retryMs : startMs)) this.#start(job, spec, index);
    }
    const done = pods.some((pod) => (pod.status as { phase?: string }).phase === 'Succeeded');
    if (!done) return;
    // The Job's success policy ends its other pods.
    for (const { metadata } of pods) if (this.#running.has(metadata.name)) this.kill(metadata.name, 143);
    this.#finish(job, 'Complete', 'SuccessPolicy', failed);
  }

  #finish(job: ApiObject, type: string, reason: string, failed: number): void {
    const status = { failed, terminating: 0, conditions: [{ type, status: 'True', reason, message: reason }] };
    this.#world.api.patch(`${jobsPath}/${job.metadata.name}/status`, { status });
  }

  #start(job: ApiObject, { template }: JobSpec, index: number): void {
    const { api } = this.#world;
    const name = `${job.metadata.name}-${index}-${++this.#pods}`;
    const startedAt = new Date(this.#world.clock.now()).toISOString();
    const labels = {
      ...template.metadata.labels,
      'batch.kubernetes.io/job-name': job.metadata.name,
      [jobUidLabel]: job.metadata.uid,
      [completionIndexLabel]: String(index),
    };
    api.create(podsPath, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'logging', labels, annotations: template.metadata.annotations },
      spec: template.spec,
      status: { phase: 'Running', containerStatuses: [{ state: { running: { startedAt } } }] },
    });
    const instead = this.onPod(name);
    if (instead) this.#ended(name, instead.exitCode, instead.message);
    else void this.#work(name, index, template);
  }

  async #work(pod: string, index: number, { metadata, spec }: PodTemplate): Promise<void> {
    const { api, clock, random } = this.#world;
    const manifest = JSON.parse(metadata.annotations['logfleet.dev/search-export'] ?? '') as SearchExport;
    const env = new Map(spec.containers[0].env.map(({ name, value }) => [name, value]));
    const limits = this.limitsInstead ?? {
      requestsPerSecond: Number(env.get(workerVariables.requestsPerSecond)),
      maxConcurrentRequests: Number(env.get(workerVariables.maxConcurrentRequests)),
    };
    const identity = { uid: pod, generation: 1, resourceVersion: '1', annotations: {} };
    const resource = {
      ...manifest,
      metadata: { ...manifest.metadata, ...identity, creationTimestamp: new Date(clock.now()).toISOString() },
      spec: { ...manifest.spec, execution: { mode: 'Operator' as const }, paused: false },
    };
    const host = new MemoryHost({
      resources: [resource],
      secrets: {
        get: async ({ name }) => {
          const data = api.get(`/api/v1/namespaces/logging/secrets/${name}`)?.['data'] as
            | Record<string, string>
            | undefined;
          const text = (value: string) => Buffer.from(value, 'base64').toString();
          const members = Object.entries(data ?? {}).map(([key, value]) => [key, text(value)]);
          return data && secretTexts(Object.fromEntries(members));
        },
      },
    });
    const volumes = new Map([['claim', '/claim']]);
    const operator = new Operator({
      ...{ host, clock, random, limits, log: silentLogger, metrics: noMetrics },
      onlyUser: env.get(workerVariables.user) ?? '',
      connect: this.#world.connect({ isAlive: () => this.#running.get(pod) === operator }),
      exports: {
        ...this.#exports,
        worker: { index, workers: Number(env.get(workerVariables.workers)) },
        places: { volumes, allowAmbientCredentials: true, environment: {} },
      },
    });
    this.#running.set(pod, operator);
    this.limits.set(pod, limits);
    operator.start();
    await operator.whenFinished();
    if (this.#running.get(pod) !== operator) return;
    await operator.stop();
    const report = reportOf(host.resources('SearchExport').get(resource.metadata) ?? resource);
    this.#ended(pod, report.end === 'complete' ? 0 : 3, renderReport(report));
  }

  #ended(pod: string, exitCode: number, message: string | undefined): void {
    this.#running.delete(pod);
    this.limits.delete(pod);
    const { api } = this.#world;
    if (!api.get(`${podsPath}/${pod}`)) return;
    const terminated = { exitCode, ...(message === undefined ? {} : { message }) };
    api.patch(`${podsPath}/${pod}/status`, {
      status: { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses: [{ state: { terminated } }] },
    });
  }
}

function jobOf(pod: ApiObject | undefined): string {
  return pod?.metadata.labels?.['batch.kubernetes.io/job-name'] ?? '';
}

/** Reports whether the Job's pod failure policy ignores the failure of this pod. */
function isIgnored({ status }: ApiObject, { podFailurePolicy }: JobSpec): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly { readonly type: string }[] };
  const ignored = podFailurePolicy?.rules.filter(({ action }) => action === 'Ignore') ?? [];
  const types = ignored.flatMap(({ onPodConditions = [] }) => onPodConditions.map(({ type }) => type));
  return conditions.some(({ type }) => types.includes(type));
}

function exitCodeOf({ status }: ApiObject): number | undefined {
  const { containerStatuses } = (status ?? {}) as {
    containerStatuses?: readonly [{ readonly state: { readonly terminated?: { readonly exitCode: number } } }];
  };
  return containerStatuses?.[0].state.terminated?.exitCode;
}
