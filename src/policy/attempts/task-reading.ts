/**
 * Reads the status of tasks in the background (4.8), with a limited number of concurrent requests. Readings are kept until a
 * decision has used them.
 */

import type { Clock } from '../../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../../base/errors.ts';
import { SparseMap } from '../../base/sparse.ts';
import type { UpgradeService } from '../../service/collectors/upgrade-service.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import type { TaskReading } from './attempt.ts';
import type { TaskReads } from './watch-plan.ts';

/** Concurrent reads. The budget allows no more. */
const maxAtOnce = 8;

export interface TaskReadingsOptions {
  readonly clock: Clock;
  readonly onNews: () => void;
  /** The service answered a request. */
  readonly onRead: () => void;
  readonly onProblem: (error: LogfleetError) => void;
}

export class TaskReadings {
  readonly #options: TaskReadingsOptions;
  readonly #abort = new AbortController();
  /** Collectors with a read in progress, with the task's id. */
  readonly #underWay = new SparseMap<string, string>();
  readonly #readings = new SparseMap<string, TaskReading>();
  readonly #reads = new SparseMap<string, TaskReads>();
  /** Task id that each collector's reading and read counts belong to. */
  readonly #taskIds = new SparseMap<string, string>();

  constructor(options: TaskReadingsOptions) {
    this.#options = options;
  }

  get readings(): ReadonlyMap<string, TaskReading> {
    return this.#readings;
  }

  /** Whether a failed upgrade is known that no decision has used yet. */
  get hasFailures(): boolean {
    for (const reading of this.#readings.values()) {
      if (reading.kind === 'task' && reading.task.status === 'failed') return true;
    }
    return false;
  }

  /** Number and times of the reads of each collector's open task. */
  get reads(): ReadonlyMap<string, TaskReads> {
    return this.#reads;
  }

  acknowledge(taken: ReadonlyMap<string, TaskReading>): void {
    for (const [id, reading] of taken) if (this.#readings.get(id) === reading) this.#readings.delete(id);
  }

  /**
   * Forgets an ended attempt. The reads of the collector's next attempt are counted from zero, and late answers for this attempt
   * are ignored.
   */
  forget(collectorId: string): void {
    this.#underWay.delete(collectorId);
    this.#reads.delete(collectorId);
    this.#readings.delete(collectorId);
    this.#taskIds.delete(collectorId);
  }

  /** Called after the ledger was read again. Keeps readings of tasks that the ledger has open, and forgets all others. */
  keepOnly(isOpen: (collectorId: string, taskId: string) => boolean): void {
    for (const [id, taskId] of [...this.#taskIds]) if (!isOpen(id, taskId)) this.forget(id);
  }

  read(service: UpgradeService, collectorId: string, taskId: string): void {
    if (this.#underWay.has(collectorId) || this.#underWay.size >= maxAtOnce) return;
    this.#underWay.set(collectorId, taskId);
    this.#taskIds.set(collectorId, taskId);
    void this.#read(service, collectorId, taskId);
  }

  close(): void {
    this.#abort.abort(new Error('the policy is no longer looked after'));
  }

  async #read(service: UpgradeService, collectorId: string, taskId: string): Promise<void> {
    let reading: TaskReading | undefined;
    try {
      const { value } = await service.getTask(taskId, { signal: this.#abort.signal });
      reading = { kind: 'task', task: value };
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      const error = asLogfleetError(thrown);
      if (error instanceof ServiceError && error.status === 404) reading = { kind: 'notFound' };
      else this.#options.onProblem(error);
    }
    if (reading) this.#options.onRead();
    if (this.#underWay.get(collectorId) !== taskId) return;
    this.#underWay.delete(collectorId);
    if (reading) this.#readings.set(collectorId, reading);
    const before = this.#reads.get(collectorId);
    const lastMs = this.#options.clock.monotonic();
    this.#reads.set(collectorId, { count: (before?.count ?? 0) + 1, lastMs, previousMs: before?.lastMs });
    this.#options.onNews();
  }
}
