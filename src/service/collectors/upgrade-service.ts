/**
 * Interface to the service's collector operations (sections 4.6 to 4.9 of docs/service.md).
 *
 * Times are in milliseconds. Every call has a deadline and uses the request budget. Failed calls reject with a
 * `ServiceError`.
 */
import type { CallOptions, CallResponse } from '../requests/call.ts';

/**
 * An installed or hosted collector (section 2.7 of docs/service.md). A field is undefined if the response did not contain
 * it.
 */
export interface Collector {
  readonly id: string;
  readonly name: string;
  readonly hostName: string | undefined;
  readonly timeZone: string | undefined;
  readonly ephemeral: boolean | undefined;
  readonly sourceSyncMode: string | undefined;
  readonly collectorType: string | undefined;
  /** Version of the collector; empty for hosted collectors. */
  readonly collectorVersion: string | undefined;
  readonly osName: string | undefined;
  readonly osVersion: string | undefined;
  readonly osArch: string | undefined;
  readonly lastSeenAliveMs: number | undefined;
  readonly alive: boolean | undefined;
}

/** Version of the collector software that can be installed (section 2.8 of docs/service.md). */
export interface Build {
  readonly version: string;
  readonly latest: boolean;
}

/** Status of an upgrade task (section 3.2 of docs/service.md). A task with an unknown status counts as unfinished. */
export type TaskStatus = 'notStarted' | 'pending' | 'progressing' | 'succeeded' | 'failed' | 'unknown';

/** The service's record of one upgrade of a collector (section 2.9 of docs/service.md). */
export interface UpgradeTask {
  readonly id: string;
  readonly collectorId: string;
  readonly toVersion: string;
  readonly status: TaskStatus;
  /** Status code of the upgrade task, as returned by the service. */
  readonly statusCode: number;
  readonly requestedMs: number | undefined;
  readonly message: string | undefined;
}

export interface ListCollectorsQuery {
  /**
   * Build version to which the listed collectors can be upgraded (section 4.6 of docs/service.md). Default: the latest
   * build.
   */
  readonly toVersion?: string;
  readonly offset: number;
  readonly limit: number;
}

export interface UpgradeService {
  /**
   * Reads one page of the list of collectors (section 4.6 of docs/service.md). Only an empty page marks the end of the
   * list.
   */
  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<CallResponse<readonly Collector[]>>;
  /** Lists the builds that the service offers (section 4.7 of docs/service.md). */
  listBuilds(options?: CallOptions): Promise<CallResponse<readonly Build[]>>;
  /** Reads the status of an upgrade task (section 4.8 of docs/service.md). */
  getTask(taskId: string, options?: CallOptions): Promise<CallResponse<UpgradeTask>>;
  /**
   * Creates an upgrade task and returns its id (section 4.9 of docs/service.md). If the service may have created the
   * task, the request is not repeated, because that could start a second upgrade.
   */
  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CallOptions,
  ): Promise<CallResponse<{ readonly taskId: string }>>;
}
