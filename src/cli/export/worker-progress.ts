/**
 * Writes the progress of a worker pod to `status.workers` of the SearchExport, at most every 10 s. A failed update does
 * not stop the export. Without a token for the API server, the worker writes nothing.
 */
import { findCondition } from '../../api/conditions.ts';
import type { WorkerStatus } from '../../api/generated/search-export.ts';
import { apiVersion, type SearchExport } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError, hasCode } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import { bounded } from '../../base/short-text.ts';
import type { Host } from '../../host/host.ts';
import { ApiClient } from '../../host/kubernetes/api-client.ts';
import { resourcePath } from '../../host/kubernetes/api-paths.ts';
import type { KubeApi } from '../../host/kubernetes/kube-api.ts';

export interface WorkerIdentity {
  readonly index: number;
  readonly job: string;
  /** Uid of the SearchExport. It prevents the worker from writing its progress to a later export with the same name. */
  readonly exportUid: string;
}

export interface WorkerProgressOptions {
  /** Provides the export's current status. */
  readonly host: Pick<Host, 'resources'>;
  readonly resource: SearchExport;
  readonly worker: WorkerIdentity;
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Fields of `status.workers` that this worker updates while it runs. */
type ShownWork = Pick<WorkerStatus, 'progress' | 'obstacle'>;

/** Interval in ms at which the worker compares `status.workers` with its progress. */
const intervalMs = 10_000;
/**
 * Interval in ms at which the worker rewrites an unchanged entry in `status.workers`, because the operator may have
 * removed the entry.
 */
const repeatMs = 60_000;
const deadlineMs = 5_000;
/** Maximum length, in characters, of the message about what blocks a worker. */
const maxMessage = 1_024;

export class WorkerProgress {
  readonly #options: WorkerProgressOptions;
  readonly #client: ApiClient;
  #timer: Timer | undefined;
  /** Progress that this worker last wrote successfully. Undefined until the first successful write. */
  #applied: ShownWork | undefined;
  #appliedAtMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;

  constructor(options: WorkerProgressOptions) {
    this.#options = options;
    this.#client = new ApiClient({ ...options, metrics: noMetrics });
    this.#plan();
  }

  /** Stops writing progress, and closes the connection to the API server. */
  async close(): Promise<void> {
    this.#isEnded = true;
    this.#timer?.cancel();
    await this.#options.api.close();
  }

  #plan(): void {
    if (!this.#isEnded) this.#timer = this.#options.clock.after(intervalMs, () => void this.#apply());
  }

  async #apply(): Promise<void> {
    const { host, resource, log } = this.#options;
    try {
      const shown = shownWork(host.resources('SearchExport').get(resource.metadata));
      if (this.#isDue(shown)) await this.#send(shown);
    } catch (error) {
      // Stops writing progress, because each later write would fail with the same error.
      if (hasCode(error, 'host.forbidden', 'host.gone', 'host.conflict')) this.#isEnded = true;
      log.info('cannot write the progress of this worker to the status of the export', {
        error: asLogfleetError(error),
      });
    }
    this.#plan();
  }

  #isDue(shown: ShownWork): boolean {
    if (!sameValue(shown, this.#applied)) return true;
    const isEmpty = !shown.progress && !shown.obstacle;
    return !isEmpty && this.#options.clock.monotonic() - this.#appliedAtMs >= repeatMs;
  }

  async #send(shown: ShownWork): Promise<void> {
    const { worker, resource } = this.#options;
    const { namespace, name } = resource.metadata;
    const { index, job, exportUid } = worker;
    await this.#client.call({
      ...{ method: 'PATCH', path: `${resourcePath('SearchExport', namespace, name)}/status`, deadlineMs },
      query: { fieldManager: `logfleet-worker-${index}`, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion,
        kind: 'SearchExport',
        metadata: { namespace, name, uid: exportUid },
        status: { workers: [{ index, job, ...shown }] },
      },
    });
    this.#applied = shown;
    this.#appliedAtMs = this.#options.clock.monotonic();
  }
}

function shownWork(resource: SearchExport | undefined): ShownWork {
  const { progress, conditions, outageStartTime: startTime } = resource?.status ?? {};
  const ready = findCondition(conditions, 'Ready');
  if (startTime === undefined || !ready) return progress ? { progress } : {};
  const { reason, message } = ready;
  return { ...(progress && { progress }), obstacle: { reason, message: bounded(message, maxMessage), startTime } };
}
