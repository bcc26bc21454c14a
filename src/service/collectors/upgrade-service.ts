/**
 * Interface of the service's collector operations (4.6 to 4.9), with decoded answers. Implemented by `client.ts`; tests use other
 * implementations.
 *
 * Ids are decimal strings, and times are milliseconds. Every call has a deadline and uses the request budget. Failures are
 * `ServiceError`s (`service-error.ts`).
 */
import type { Answer, CallOptions } from '../requests/call.ts';

/** Installed or hosted collector (2.7). Members that the service omits are undefined. `links` is dropped. */
export interface Collector {
  readonly id: string;
  readonly name: string;
  readonly hostName: string | undefined;
  readonly timeZone: string | undefined;
  readonly ephemeral: boolean | undefined;
  readonly sourceSyncMode: string | undefined;
  readonly collectorType: string | undefined;
  /** As the service writes it. `""` for hosted collectors. */
  readonly collectorVersion: string | undefined;
  readonly osName: string | undefined;
  readonly osVersion: string | undefined;
  readonly osArch: string | undefined;
  readonly lastSeenAliveMs: number | undefined;
  readonly alive: boolean | undefined;
}

/** Build that collectors can be upgraded to (2.8). */
export interface Build {
  readonly version: string;
  readonly latest: boolean;
}

/** Status of a task (3.2). Unknown codes become `unknown` and count as unfinished. */
export type TaskStatus = 'notStarted' | 'pending' | 'progressing' | 'succeeded' | 'failed' | 'unknown';

/** Upgrade task (2.9). */
export interface UpgradeTask {
  readonly id: string;
  readonly collectorId: string;
  readonly toVersion: string;
  readonly status: TaskStatus;
  /** Number that the service returned, for messages about unknown codes. */
  readonly statusCode: number;
  readonly requestedMs: number | undefined;
  readonly message: string | undefined;
}

export interface CreateTaskOptions extends CallOptions {
  /**
   * Called right before the socket write, with an established connection and a request slot (U2). An error that it throws ends the
   * call unsent and releases the slot.
   */
  readonly beforeSend?: () => void;
}

export interface ListCollectorsQuery {
  /** Build for which collectors are listed (4.6). */
  readonly toVersion?: string;
  readonly offset: number;
  readonly limit: number;
}

export interface UpgradeService {
  /** Lists collectors (4.6). A page may be shorter than `limit`, since the service may reduce it. An empty page is the end. */
  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<Answer<readonly Collector[]>>;
  /** Lists the builds that the service offers (4.7). */
  listBuilds(options?: CallOptions): Promise<Answer<readonly Build[]>>;
  /** Reads the status of an upgrade task (4.8). */
  getTask(taskId: string, options?: CallOptions): Promise<Answer<UpgradeTask>>;
  /** Creates an upgrade task (4.9). Resolves to its id. The client never repeats it: the caller decides. */
  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CreateTaskOptions,
  ): Promise<Answer<{ readonly taskId: string }>>;
}
