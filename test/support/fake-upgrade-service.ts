/**
 * Fake service for upgrades. It responds to list requests after a delay, and to task requests when the test decides.
 */
import { type Clock, sleep } from '../../src/base/clock.ts';
import type {
  Build,
  Collector,
  ListCollectorsQuery,
  UpgradeService,
  UpgradeTask,
} from '../../src/service/collectors/upgrade-service.ts';
import type { CallOptions, CallResponse } from '../../src/service/requests/call.ts';
import { serviceError } from './service-error.ts';

export interface PendingCall<Asked, T> {
  readonly asked: Asked;
  /**
   * Calls the caller's `beforeSend`, as a real client does right before it sends a request. If `beforeSend` throws, the
   * call fails with the same error.
   */
  send(): void;
  respond(value: T, sentAtMs?: number): void;
  fail(error: unknown): void;
}

interface NewTask {
  readonly collectorId: string;
  readonly toVersion: string;
}

export class FakeUpgradeService implements UpgradeService {
  readonly posts: PendingCall<NewTask, { readonly taskId: string }>[] = [];
  readonly taskReads: PendingCall<string, UpgradeTask>[] = [];
  collectors: readonly Collector[] = [];
  builds: readonly string[] = ['19.100-1', '19.150-1', '19.160-1', '19.200-1'];
  /**
   * Whether the list for a build omits collectors that are already running the build (section 10.4 of docs/service.md).
   */
  hides = true;
  /** Maximum `limit` in a request. A request with a higher limit is refused. */
  maxLimit = 10_000;
  /** Maximum number of rows on a page, even if a request asks for more. */
  maxPageRows = Number.POSITIVE_INFINITY;
  /** Whether a page after the end of the list shows the last collector again. */
  repeatsEnd = false;
  latencyMs = 10;
  /** Errors with which the next list requests fail, in order. A request whose entry is undefined succeeds. */
  readonly failures: (Error | undefined)[] = [];
  /**
   * Requested lists: `builds` for the list of builds, and `BUILD OFFSET+LIMIT` for a page of collectors. BUILD is
   * `latest` if the request does not specify a build.
   */
  readonly lists: string[] = [];
  beforeResponse: (list: string) => void = () => {};
  /** Highest number of list requests in flight at the same time. */
  maxInFlight = 0;
  #inFlight = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  createTask(task: NewTask, options: CallOptions = {}): Promise<CallResponse<{ readonly taskId: string }>> {
    return pendingCall(this.posts, task, options);
  }

  getTask(taskId: string, options: CallOptions = {}): Promise<CallResponse<UpgradeTask>> {
    return pendingCall(this.taskReads, taskId, options);
  }

  listBuilds(options: CallOptions = {}): Promise<CallResponse<readonly Build[]>> {
    return this.#list('builds', options, () =>
      this.builds.map((version, index) => ({ version, latest: index === this.builds.length - 1 })),
    );
  }

  listCollectors(query: ListCollectorsQuery, options: CallOptions = {}): Promise<CallResponse<readonly Collector[]>> {
    const { toVersion, offset, limit } = query;
    return this.#list(`${toVersion ?? 'latest'} ${offset}+${limit}`, options, () => {
      if (toVersion !== undefined && !this.builds.includes(toVersion)) {
        const serviceCode = 'collector.version.invalid';
        throw serviceError({ status: 400, serviceCode, message: `there is no build ${toVersion}` });
      }
      if (limit > this.maxLimit) throw serviceError({ status: 400, message: 'the limit is too large' });
      const shown = this.collectors.filter((one) => !this.hides || one.collectorVersion !== toVersion);
      const start = this.repeatsEnd ? Math.min(offset, shown.length - 1) : offset;
      return shown.slice(start, start + Math.min(limit, this.maxPageRows));
    });
  }

  async #list<T>(list: string, { signal }: CallOptions, value: () => T): Promise<CallResponse<T>> {
    this.lists.push(list);
    const sentAtMs = this.#clock.monotonic();
    this.maxInFlight = Math.max(this.maxInFlight, ++this.#inFlight);
    try {
      await sleep(this.#clock, this.latencyMs, signal);
      this.beforeResponse(list);
      const failing = this.failures.shift();
      if (failing) throw failing;
      return { value: value(), sentAtMs };
    } finally {
      this.#inFlight--;
    }
  }
}

/** Adds a call to the list. Resolves when the test responds to the call. */
function pendingCall<Asked, T>(
  calls: PendingCall<Asked, T>[],
  asked: Asked,
  options: CallOptions,
): Promise<CallResponse<T>> {
  return new Promise((resolve, reject) => {
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
    calls.push({
      asked,
      send: () => {
        try {
          options.beforeSend?.();
        } catch (error) {
          reject(error);
        }
      },
      respond: (value, sentAtMs = 0) => resolve({ value, sentAtMs }),
      fail: reject,
    });
  });
}
