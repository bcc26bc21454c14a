/**
 * Reads the statuses of upgrade tasks (section 4.8 of docs/service.md). Each status is kept until a decision has
 * evaluated it and has been stored.
 */
import type { Clock } from '../../base/clock.ts';
import { asLogfleetError } from '../../base/errors.ts';
import { SparseMap } from '../../base/sparse.ts';
import type { UpgradeService, UpgradeTask } from '../../service/collectors/upgrade-service.ts';
import { ServiceError } from '../../service/requests/service-error.ts';
import type { PostingPolicy } from './posting.ts';
import type { ServiceBinding } from './service-binding.ts';
import type { TaskReads } from './watch-plan.ts';

/** Maximum number of concurrent reads of upgrade tasks. */
const maxAtOnce = 8;

export type TaskBinding = Pick<ServiceBinding, 'holdFor' | 'succeeded'>;

export class TaskReadings {
  readonly #clock: Clock;
  readonly #binding: TaskBinding;
  readonly #policy: Pick<PostingPolicy, 'scheduleDecision'>;
  readonly #abort = new AbortController();
  /** Ids of the upgrade tasks that are being read, by collector id. */
  readonly #inFlight = new SparseMap<string, string>();
  /** Statuses of upgrade tasks that no decision has evaluated yet, by collector id. */
  readonly #readings = new SparseMap<string, UpgradeTask>();
  readonly #reads = new SparseMap<string, TaskReads>();
  /** For each collector id, the id of the upgrade task that was read last. */
  readonly #taskIds = new SparseMap<string, string>();

  constructor(clock: Clock, binding: TaskBinding, policy: Pick<PostingPolicy, 'scheduleDecision'>) {
    this.#clock = clock;
    this.#binding = binding;
    this.#policy = policy;
  }

  get readings(): ReadonlyMap<string, UpgradeTask> {
    return this.#readings;
  }

  /** True if a task failed and no decision has evaluated the failure yet. */
  get hasFailures(): boolean {
    return [...this.#readings.values()].some(({ status }) => status === 'failed');
  }

  /** Number and times of the reads of each open upgrade task, by collector id. */
  get reads(): ReadonlyMap<string, TaskReads> {
    return this.#reads;
  }

  /** Number of tasks that are being read. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** True if no task is being read and every task status has been evaluated. */
  get isIdle(): boolean {
    return this.#inFlight.size === 0 && this.#readings.size === 0;
  }

  acknowledge(taken: ReadonlyMap<string, UpgradeTask>): void {
    for (const [id, task] of taken) if (this.#readings.get(id) === task) this.#readings.delete(id);
  }

  /** Discards the data about a collector's upgrade task. Responses that arrive later are ignored. */
  forget(collectorId: string): void {
    this.#inFlight.delete(collectorId);
    this.#reads.delete(collectorId);
    this.#readings.delete(collectorId);
    this.#taskIds.delete(collectorId);
  }

  /** Forgets tasks that are not open in the ledger. */
  keepOnly(isOpen: (collectorId: string, taskId: string) => boolean): void {
    for (const [id, taskId] of [...this.#taskIds]) if (!isOpen(id, taskId)) this.forget(id);
  }

  read(service: UpgradeService, collectorId: string, taskId: string): void {
    if (this.#inFlight.has(collectorId) || this.#inFlight.size >= maxAtOnce) return;
    this.#inFlight.set(collectorId, taskId);
    this.#taskIds.set(collectorId, taskId);
    void this.#read(service, collectorId, taskId);
  }

  close(): void {
    this.#abort.abort(new Error('the policy is no longer reconciled'));
  }

  async #read(service: UpgradeService, collectorId: string, taskId: string): Promise<void> {
    let task: UpgradeTask | undefined;
    try {
      task = (await service.getTask(taskId, { signal: this.#abort.signal })).value;
      this.#binding.succeeded('reads');
    } catch (thrown) {
      if (this.#abort.signal.aborted) return;
      const error = asLogfleetError(thrown);
      if (error instanceof ServiceError && error.status === 404) this.#binding.succeeded('reads');
      else this.#binding.holdFor(error, 'reads');
    }
    if (this.#inFlight.get(collectorId) !== taskId) return;
    this.#inFlight.delete(collectorId);
    if (task) this.#readings.set(collectorId, task);
    const before = this.#reads.get(collectorId);
    const lastMs = this.#clock.monotonic();
    this.#reads.set(collectorId, { count: (before?.count ?? 0) + 1, lastMs, previousMs: before?.lastMs });
    this.#policy.scheduleDecision();
  }
}
