/** State of the simulated service, as returned by `GET /simulator/state`. */

import type { SimulatedCollector, SimulatedTask } from './collectors/collector.ts';
import type { BuildSettings, Settings } from './scenario/settings.ts';
import type { SimulatedSearchJob } from './search/search-job.ts';
import { statusAt } from './upgrades/upgrade-task.ts';

export interface CollectorSnapshot {
  /** Id in decimal digits. It is a string, because a JavaScript number cannot represent all 64-bit ids. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Whether the service reports the collector as alive. */
  readonly alive: boolean;
  readonly running: boolean;
  /** True if the collector is being upgraded. */
  readonly upgrading: boolean;
  /**
   * Number of client requests to create an upgrade task for the collector. `tasksAccepted` is the number of tasks that
   * the service accepted.
   */
  readonly createTaskRequests: number;
  readonly tasksAccepted: number;
}

export interface TaskState {
  readonly id: string;
  readonly collectorId: string;
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly status: number;
  readonly message: string;
  /** True if the upgrade was started by a scenario event, not by a request. */
  readonly foreign: boolean;
  /**
   * Times in ms since the epoch at which the task ended (`endTime`) and the collector finished the upgrade
   * (`collectorEndTime`). Both are null until then.
   */
  readonly requestTime: number;
  readonly endTime: number | null;
  readonly collectorEndTime: number | null;
}

export interface JobSnapshot {
  readonly id: string;
  /** State of the search job. Faults that make the service report a different state are ignored. */
  readonly state: string;
  readonly messageCount: number;
  readonly recordCount: number;
  /** Time range of the search, in ms since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly query: string;
  readonly user: string;
  /** Times in ms since the epoch at which the job was created and ended. `endTime` is null while the job is active. */
  readonly createTime: number;
  readonly endTime: number | null;
  /** Why the job ended: `silence`, `timeout`, `deleted` or `fault`. Null while the job is active. */
  readonly ended: string | null;
}

export interface Counters {
  /** Total number of requests to the simulated service. */
  readonly requests: number;
  /**
   * Number of requests that got status 429 because they exceeded a limit. Responses with status 429 caused by faults
   * are not counted.
   */
  readonly rejected429: number;
  readonly maxInFlight: number;
  readonly maxPerSecond: number;
  readonly tasksAccepted: number;
  readonly createTaskRequests: number;
  readonly jobsCreated: number;
  /** Number of active search jobs. */
  readonly jobsActive: number;
  /** Number of search jobs that were cancelled because they received no requests. */
  readonly jobsLostToSilence: number;
}

export interface SimulatorState {
  readonly time: number;
  readonly builds: readonly BuildSettings[];
  readonly collectors: readonly CollectorSnapshot[];
  readonly tasks: readonly TaskState[];
  readonly jobs: readonly JobSnapshot[];
  readonly counters: Counters;
}

export function collectorState(collector: SimulatedCollector, settings: Settings, atMs: number): CollectorSnapshot {
  return {
    id: collector.id,
    name: collector.name,
    version: collector.now.version,
    alive: collector.isAlive(collector.now, atMs, settings.aliveForMs),
    running: collector.now.running,
    upgrading: collector.activeTasks.length > 0,
    createTaskRequests: collector.createTaskRequests,
    tasksAccepted: collector.acceptedTasks,
  };
}

export function taskState(task: SimulatedTask, atMs: number): TaskState {
  return {
    id: task.id,
    collectorId: task.collector.id,
    fromVersion: task.fromVersion,
    toVersion: task.toVersion,
    status: statusAt(task, atMs),
    message: task.finished?.message ?? '',
    foreign: task.foreign,
    requestTime: task.requestedMs,
    endTime: task.finished?.atMs ?? null,
    collectorEndTime: task.collectorEndMs ?? null,
  };
}

/** Advances a search job to `atMs`, and returns its state at that time. */
export function jobState(job: SimulatedSearchJob, settings: Settings, atMs: number): JobSnapshot {
  const state = job.stateAt(atMs, settings.search);
  return {
    id: job.id,
    state,
    messageCount: job.messageCount,
    recordCount: job.recordCount,
    from: job.definition.fromMs,
    to: job.definition.toMs,
    query: job.definition.text,
    user: job.user,
    createTime: job.createdMs,
    endTime: job.end?.atMs ?? null,
    ended: job.end?.why ?? null,
  };
}
