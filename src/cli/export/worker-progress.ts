/**
 * Shows the progress of a worker (pod of an export's Kubernetes Job) in `status.workers` of its SearchExport, at most every 10 s. A worker
 * without a token of the API server shows none. The export continues if this fails, because the operator also reads the worker's final
 * report.
 */
import type { ProgressStatus } from '../../api/generated/search-export.ts';
import { apiGroup, apiVersionName, type SearchExport } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import type { Host } from '../../host/host.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { hasCode } from '../../host/kubernetes/api-error.ts';
import { resourcePath } from '../../host/kubernetes/api-paths.ts';
import type { KubeApi } from '../../host/kubernetes/kube-api.ts';

export interface WorkerIdentity {
  readonly index: number;
  readonly job: string;
  /** Uid of the SearchExport, so that progress is never written to a later export of the same name. */
  readonly exportUid: string;
}

export interface WorkerProgressOptions {
  readonly host: Pick<Host, 'resources'>;
  readonly resource: SearchExport;
  readonly worker: WorkerIdentity;
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Minimum time in ms between two requests of a worker to the API server. */
const intervalMs = 10_000;
const deadlineMs = 5_000;

export class WorkerProgress {
  readonly #options: WorkerProgressOptions;
  readonly #client: ApiClient;
  readonly #unsubscribe: () => void;
  #timer: Timer | undefined;
  #applied: ProgressStatus | undefined;
  #isEnded = false;

  constructor(options: WorkerProgressOptions) {
    this.#options = options;
    this.#client = new ApiClient({ ...options, metrics: noMetrics });
    this.#unsubscribe = options.host.resources('SearchExport').subscribe(() => this.#plan());
  }

  /** Stops showing progress, and closes the connection to the API server. */
  async close(): Promise<void> {
    this.#end();
    await this.#options.api.close();
  }

  #end(): void {
    this.#isEnded = true;
    this.#unsubscribe();
    this.#timer?.cancel();
  }

  #plan(): void {
    if (!this.#isEnded) this.#timer ??= this.#options.clock.after(intervalMs, () => void this.#apply());
  }

  async #apply(): Promise<void> {
    const { host, resource, log } = this.#options;
    const progress = host.resources('SearchExport').get(resource.metadata)?.status?.progress;
    try {
      if (progress && !sameValue(progress, this.#applied)) await this.#send(progress);
    } catch (error) {
      // Without the right to write, further requests would fail too. A conflict means that another export has the name now.
      if (['host.forbidden', 'host.gone', 'host.conflict'].some((code) => hasCode(error, code))) this.#end();
      log.info('the progress of this worker cannot be shown in status', { error: asLogfleetError(error) });
    }
    this.#timer = undefined;
  }

  async #send(progress: ProgressStatus): Promise<void> {
    const { worker, resource } = this.#options;
    const { namespace, name } = resource.metadata;
    const { index, job, exportUid } = worker;
    await this.#client.call({
      ...{ method: 'PATCH', path: `${resourcePath('SearchExport', namespace, name)}/status`, deadlineMs },
      query: { fieldManager: `logfleet-worker-${index}`, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: `${apiGroup}/${apiVersionName}`,
        kind: 'SearchExport',
        metadata: { namespace, name, uid: exportUid },
        status: { workers: [{ index, job, progress }] },
      },
    });
    this.#applied = progress;
  }
}
