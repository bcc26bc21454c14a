/**
 * Interface of the service's collector operations (4.6 to 4.9), with decoded answers, implemented by `client.ts`.
 *
 * Ids are decimal strings, and times are milliseconds. Every call has a deadline and uses the request budget. Failures
 * are `ServiceError`s (`service-error.ts`).
 */
import type { Answer, CallOptions } from '../requests/call.ts';

/**
 * Installed or hosted collector as the service lists it (2.7), without `links`. Undefined fields were missing in the answer.
 */
export interface Collector {
  readonly id: string;
  readonly name: string;
  readonly hostName: string | undefined;
  readonly timeZone: string | undefined;
  readonly ephemeral: boolean | undefined;
  readonly sourceSyncMode: string | undefined;
  readonly collectorType: string | undefined;
  /** Version of the collector as the service writes it; empty for hosted collectors. */
  readonly collectorVersion: string | undefined;
  readonly osName: string | undefined;
  readonly osVersion: string | undefined;
  readonly osArch: string | undefined;
  readonly lastSeenAliveMs: number | undefined;
  readonly alive: boolean | undefined;
}

/** Build (version of the collector software) to which collectors can be upgraded (2.8). */
export interface Build {
  readonly version: string;
  readonly latest: boolean;
}

/**
 * Status of an upgrade task (3.2). An unknown status code becomes `unknown` and counts as unfinished.
 */
export type TaskStatus = 'notStarted' | 'pending' | 'progressing' | 'succeeded' | 'failed' | 'unknown';

/** Upgrade task: the service's record of one upgrade of a collector (2.9). */
export interface UpgradeTask {
  readonly id: string;
  readonly collectorId: string;
  readonly toVersion: string;
  readonly status: TaskStatus;
  /** Status code of the upgrade task as the service returned it, for messages about unknown codes. */
  readonly statusCode: number;
  readonly requestedMs: number | undefined;
  readonly message: string | undefined;
}

export interface CreateTaskOptions extends CallOptions {
  /**
   * Called right before the request is written to its socket (U2). If the function throws an error, the request is not sent.
   */
  readonly beforeSend?: () => void;
}

export interface ListCollectorsQuery {
  /** Only collectors that can be upgraded to this version are listed (4.6). Default: the latest build. */
  readonly toVersion?: string;
  readonly offset: number;
  readonly limit: number;
}

export interface UpgradeService {
  /**
   * Reads one page of the collector list (4.6). A page may have fewer than `limit` collectors before the end of the
   * list, because the service may reduce the limit. Only an empty page ends the list.
   */
  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<Answer<readonly Collector[]>>;
  /** Lists the builds that the service offers (4.7). */
  listBuilds(options?: CallOptions): Promise<Answer<readonly Build[]>>;
  /** Reads the status of an upgrade task (4.8). */
  getTask(taskId: string, options?: CallOptions): Promise<Answer<UpgradeTask>>;
  /**
   * Creates an upgrade task for a collector and resolves to the id of the task (4.9). The client never repeats this
   * request, because a repeated request could start a second upgrade.
   */
  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CreateTaskOptions,
  ): Promise<Answer<{ readonly taskId: string }>>;
}
