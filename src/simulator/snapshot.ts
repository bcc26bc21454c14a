/** The state of the service as one document, for oracles of tests and for people: what `GET /simulator/state` answers. */

import type { SearchJob } from './search/search-job.ts';
import type { Build, Settings } from './settings.ts';
import type { Collector } from './upgrades/collector.ts';
import { statusAt, type UpgradeTask } from './upgrades/upgrade-task.ts';

export interface CollectorState {
  /** Decimal digits, since ids have 64 bits. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** What the service says, which lags behind `running`. */
  readonly alive: boolean;
  readonly running: boolean;
  /** Whether an upgrade goes on. */
  readonly upgrading: boolean;
  /** Requests to create a task for it, and tasks accepted. */
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
  /** Started by an event of the scenario and not by a request. */
  readonly foreign: boolean;
  /** ms since the epoch. `endTime`: of the task; `collectorEndTime`: of the upgrade on the collector. Null until then. */
  readonly requestTime: number;
  readonly endTime: number | null;
  readonly collectorEndTime: number | null;
}

export interface JobState {
  readonly id: string;
  /** As its status would say, faults aside. */
  readonly state: string;
  readonly messageCount: number;
  readonly recordCount: number;
  /** The range as it was asked for, ms since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly query: string;
  readonly user: string;
  /** ms since the epoch; null until then. */
  readonly createTime: number;
  readonly endTime: number | null;
  /** Why it is no longer there: `silence`, `timeout`, `deleted` or `fault`. */
  readonly ended: string | null;
}

export interface Counters {
  /** Everything that arrived, whatever came of it. */
  readonly requests: number;
  /** Refused for the rate, for concurrency or for active jobs; not those that a fault made up. */
  readonly rejected429: number;
  readonly maxInFlight: number;
  readonly maxPerSecond: number;
  readonly tasksAccepted: number;
  readonly createTaskRequests: number;
  readonly jobsCreated: number;
  /** Neither deleted nor cancelled. */
  readonly jobsActive: number;
  /** Cancelled since nobody asked for them. */
  readonly jobsLostToSilence: number;
}

export interface SimulatorState {
  /** ms since the epoch. */
  readonly time: number;
  readonly builds: readonly Build[];
  readonly collectors: readonly CollectorState[];
  readonly tasks: readonly TaskState[];
  readonly jobs: readonly JobState[];
  readonly counters: Counters;
}

export function collectorState(collector: Collector, settings: Settings, atMs: number): CollectorState {
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

export function taskState(task: UpgradeTask, atMs: number): TaskState {
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

/** Takes the job's search as far as it is by then. */
export function jobState(job: SearchJob, settings: Settings, atMs: number): JobState {
  const state = job.stateAt(atMs, settings.search);
  return {
    id: job.id,
    state,
    messageCount: job.messageCount,
    recordCount: job.recordCount,
    from: job.order.fromMs,
    to: job.order.toMs,
    query: job.order.text,
    user: job.user,
    createTime: job.createdMs,
    endTime: job.end?.atMs ?? null,
    ended: job.end?.why ?? null,
  };
}
