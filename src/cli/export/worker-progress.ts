/**
 * Writes the progress of a worker (a pod of an export's Kubernetes Job), and the reason if it is blocked, to `status.workers` of
 * the SearchExport, at most every 10 s. A worker without a token for the API server shows nothing. If an update fails, the export
 * continues, because the operator also reads the worker's final report.
 */
import { findCondition } from '../../api/conditions.ts';
import type { WorkerStatus } from '../../api/generated/search-export.ts';
import { apiVersion, type SearchExport } from '../../api/kinds.ts';
import { sameValue } from '../../base/canonical-text.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { noMetrics } from '../../base/metrics.ts';
import { bounded } from '../../controller/status-text.ts';
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
  /** Host (source of resources) in which the worker finds the current status of its export. */
  readonly host: Pick<Host, 'resources'>;
  readonly resource: SearchExport;
  readonly worker: WorkerIdentity;
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Part of a worker's entry in `status.workers` that changes while the worker runs. */
type ShownWork = Pick<WorkerStatus, 'progress' | 'obstacle'>;

/** Interval in ms at which the worker checks whether its entry in `status.workers` still shows the state of the export. */
const intervalMs = 10_000;
/**
 * Time in ms after which an unchanged entry in `status.workers` is written again, because the operator may have removed the entry
 * before it noticed the worker's pod.
 */
const repeatMs = 60_000;
const deadlineMs = 5_000;
/** Maximum length in characters of the message that says what blocks the worker. */
const maxMessage = 1_024;

export class WorkerProgress {
  readonly #options: WorkerProgressOptions;
  readonly #client: ApiClient;
  #timer: Timer | undefined;
  /**
   * Progress that this worker wrote to the status last. Undefined until its first write, because the status may still show the progress of
   * an earlier pod with the same index.
   */
  #applied: ShownWork | undefined;
  #appliedAtMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;

  constructor(options: WorkerProgressOptions) {
    this.#options = options;
    this.#client = new ApiClient({ ...options, metrics: noMetrics });
    this.#plan();
  }

  /** Stops showing progress, and closes the connection to the API server. */
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
      // No further progress is written after these errors: without permission, every request would fail, and a conflict means
      // that another export has the name now.
      if (['host.forbidden', 'host.gone', 'host.conflict'].some((code) => hasCode(error, code))) this.#isEnded = true;
      log.info('the progress of this worker cannot be shown in status', { error: asLogfleetError(error) });
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
