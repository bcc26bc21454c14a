/**
 * The collectors' half of the service, as the rest of logfleet sees it: the four operations of the specification's sections
 * 4.6 to 4.9, decoded. `client.ts` is the one implementation; tests of the layers above may give another.
 *
 * Ids are decimal strings, points in time are milliseconds. Every call has a deadline of its own and spends the request budget.
 * Failures are `ServiceError`s (`service-error.ts`).
 */

/** An installed or hosted collector (2.7). Members that the service left out are undefined; `links` is not kept. */
export interface Collector {
  readonly id: string;
  readonly name: string;
  readonly hostName: string | undefined;
  readonly timeZone: string | undefined;
  readonly ephemeral: boolean | undefined;
  readonly sourceSyncMode: string | undefined;
  readonly collectorType: string | undefined;
  /** As the service wrote it; `""` for hosted collectors. */
  readonly collectorVersion: string | undefined;
  readonly osName: string | undefined;
  readonly osVersion: string | undefined;
  readonly osArch: string | undefined;
  readonly lastSeenAliveMs: number | undefined;
  readonly alive: boolean | undefined;
}

/** A build that collectors can be brought to (2.8). */
export interface Build {
  readonly version: string;
  readonly latest: boolean;
}

/** 3.2; codes that the specification does not name are `unknown` and count as unfinished. */
export type TaskStatus = 'notStarted' | 'pending' | 'progressing' | 'succeeded' | 'failed' | 'unknown';

/** An upgrade task (2.9). */
export interface UpgradeTask {
  readonly id: string;
  readonly collectorId: string;
  readonly toVersion: string;
  readonly status: TaskStatus;
  /** The number that the service gave, for messages about unknown ones. */
  readonly statusCode: number;
  readonly requestedMs: number | undefined;
  readonly message: string | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface CreateTaskOptions extends CallOptions {
  /**
   * Called right before the socket write, on a connection that stands and with the budget's slot in hand (protocol U2). What it
   * throws ends the call as never sent, and gives the slot back.
   */
  readonly beforeSend?: () => void;
}

/** An answer together with when its request was sent, on our monotonic clock. What was true at `sentAtMs` may show in it. */
export interface Answer<T> {
  readonly value: T;
  readonly sentAtMs: number;
  /** The service's clock when it answered, in ms since the epoch, to the second (protocol E11); undefined where it did not say. */
  readonly dateMs?: number | undefined;
}

export interface ListCollectorsQuery {
  /** The build towards which the list is asked for (4.6). */
  readonly toVersion?: string;
  readonly offset: number;
  readonly limit: number;
}

export interface UpgradeService {
  /** 4.6. A page may be shorter than `limit`, since the service may cut it down; an empty one is the end. */
  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<Answer<readonly Collector[]>>;
  /** 4.7 */
  listBuilds(options?: CallOptions): Promise<Answer<readonly Build[]>>;
  /** 4.8 */
  getTask(taskId: string, options?: CallOptions): Promise<Answer<UpgradeTask>>;
  /** 4.9. Resolves to the id of the accepted task. Never sent again by the client, whatever happens: its caller decides. */
  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CreateTaskOptions,
  ): Promise<Answer<{ readonly taskId: string }>>;
}
