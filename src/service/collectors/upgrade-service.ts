/**
 * Interface of the service's collector operations (4.6 to 4.9).
 *
 * Times are milliseconds. Every call has a deadline and uses the request budget. Failures are `ServiceError`s.
 */
import type { Answer, CallOptions } from '../requests/call.ts';

/**
 * An installed or hosted collector (section 2.7 of docs/service.md). A field is undefined if the answer did not contain
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

/** Version of the collector software that can be installed (2.8). */
export interface Build {
  readonly version: string;
  readonly latest: boolean;
}

/** Status of an upgrade task (3.2). An unknown status counts as unfinished. */
export type TaskStatus = 'notStarted' | 'pending' | 'progressing' | 'succeeded' | 'failed' | 'unknown';

/** The service's record of one upgrade of a collector (2.9). */
export interface UpgradeTask {
  readonly id: string;
  readonly collectorId: string;
  readonly toVersion: string;
  readonly status: TaskStatus;
  /** Status code of the upgrade task as the service returned it. */
  readonly statusCode: number;
  readonly requestedMs: number | undefined;
  readonly message: string | undefined;
}

export interface CreateTaskOptions extends CallOptions {
  /** Called right before the request is written (U2). If it throws, the request is not sent. */
  readonly beforeSend?: () => void;
}

export interface ListCollectorsQuery {
  /** Lists only collectors that can be upgraded to this version (4.6). Default: the latest build. */
  readonly toVersion?: string;
  readonly offset: number;
  readonly limit: number;
}

export interface UpgradeService {
  /** Reads one page of the list of collectors (4.6). Only an empty page ends the list. */
  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<Answer<readonly Collector[]>>;
  /** Lists the builds that the service offers (4.7). */
  listBuilds(options?: CallOptions): Promise<Answer<readonly Build[]>>;
  /** Reads the status of an upgrade task (4.8). */
  getTask(taskId: string, options?: CallOptions): Promise<Answer<UpgradeTask>>;
  /** Creates an upgrade task and returns its id (4.9). Never repeated, because that could start a second upgrade. */
  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CreateTaskOptions,
  ): Promise<Answer<{ readonly taskId: string }>>;
}
