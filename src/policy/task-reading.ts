/** Reads the status of tasks in the background (4.8), a bounded number at once; readings wait until a decision took them in. */

import type { Clock } from '../base/clock.ts';
import { asLogfleetError, type LogfleetError } from '../base/errors.ts';
import { SparseMap } from '../base/sparse.ts';
import { ServiceError } from '../service/service-error.ts';
import type { UpgradeService } from '../service/upgrade-service.ts';
import type { TaskReading } from './attempt.ts';
import type { TaskReads } from './watch-plan.ts';

/** More than fit the budget would only wait in line. */
const maxAtOnce = 8;

export interface TaskReadingsOptions {
  readonly clock: Clock;
  readonly onNews: () => void;
  /** The service answered what was asked. */
  readonly onRead: () => void;
  readonly onProblem: (error: LogfleetError) => void;
}

export class TaskReadings {
  readonly #options: TaskReadingsOptions;
  readonly #abort = new AbortController();
  /** Collectors whose task is being read, with the task's id. */
  readonly #underWay = new SparseMap<string, string>();
  readonly #readings = new SparseMap<string, TaskReading>();
  readonly #reads = new SparseMap<string, TaskReads>();
  /** The task that each collector's reading and reads are about. */
  readonly #taskIds = new SparseMap<string, string>();

  constructor(options: TaskReadingsOptions) {
    this.#options = options;
  }

  get readings(): ReadonlyMap<string, TaskReading> {
    return this.#readings;
  }

  /** Whether an upgrade is known to have failed, and no decision has taken it in. */
  get hasFailures(): boolean {
    for (const reading of this.#readings.values()) {
      if (reading.kind === 'task' && reading.task.status === 'failed') return true;
    }
    return false;
  }

  /** How often and when last each collector's open task was read. */
  get reads(): ReadonlyMap<string, TaskReads> {
    return this.#reads;
  }

  acknowledge(taken: ReadonlyMap<string, TaskReading>): void {
    for (const [id, reading] of taken) if (this.#readings.get(id) === reading) this.#readings.delete(id);
  }

  /** The attempt has ended: the next one of this collector is counted anew, and not judged by what comes in of this one. */
  forget(collectorId: string): void {
    this.#underWay.delete(collectorId);
    this.#reads.delete(collectorId);
    this.#readings.delete(collectorId);
    this.#taskIds.delete(collectorId);
  }

  /** The ledger was read anew. What the service said of tasks that the ledger has open stays; the rest is forgotten. */
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
