/** State of the simulated service, as `GET /simulator/state` returns it. */

import type { SimulatedCollector, SimulatedTask } from './collectors/collector.ts';
import type { BuildSettings, Settings } from './scenario/settings.ts';
import type { SimulatedSearchJob } from './search/search-job.ts';
import { statusAt } from './upgrades/upgrade-task.ts';

export interface CollectorSnapshot {
  /** Id in decimal digits, because ids have 64 bits. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Whether the service reports the collector as alive. */
  readonly alive: boolean;
  readonly running: boolean;
  /** True if the collector is being upgraded. */
  readonly upgrading: boolean;
  /**
   * Number of client requests for an upgrade task of the collector. `tasksAccepted` is the number of tasks that the
   * service accepted.
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
  /** True if an event of the scenario, and not a request, started the upgrade. */
  readonly foreign: boolean;
  /**
   * Times in ms since the epoch. The task ended at `endTime`, and the upgrade on the collector ended at
   * `collectorEndTime`. Both are null until then.
   */
  readonly requestTime: number;
  readonly endTime: number | null;
  readonly collectorEndTime: number | null;
}

export interface JobSnapshot {
  readonly id: string;
  /** State of the search job without faults. */
  readonly state: string;
  readonly messageCount: number;
  readonly recordCount: number;
  /** Searched time range, in ms since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly query: string;
  readonly user: string;
  /** Times in ms since the epoch at which the job was created and ended. `endTime` is null while the job is active. */
  readonly createTime: number;
  readonly endTime: number | null;
  /** Why the job ended: `silence`, `timeout`, `deleted` or `fault`. Null while it is active. */
  readonly ended: string | null;
}

export interface Counters {
  /** Number of all requests to the simulated service. */
  readonly requests: number;
  /** Number of requests with status 429 for exceeded limits. Responses with status 429 from faults are not counted. */
  readonly rejected429: number;
  readonly maxInFlight: number;
  readonly maxPerSecond: number;
  readonly tasksAccepted: number;
  readonly createTaskRequests: number;
  readonly jobsCreated: number;
  /** Active search jobs. */
  readonly jobsActive: number;
  /** Search jobs that were cancelled because they got no requests. */
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

/** Advances a search job to the time `atMs`, and returns the job's state at this time. */
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
