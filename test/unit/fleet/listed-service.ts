/** Fake service that lists collectors in pages. Tests can delay lists and hide collectors. */
import type { Clock } from '../../../src/base/clock.ts';
import { sleep } from '../../../src/base/clock.ts';
import type {
  Build,
  Collector,
  ListCollectorsQuery,
  UpgradeService,
  UpgradeTask,
} from '../../../src/service/collectors/upgrade-service.ts';
import type { Answer, CallOptions } from '../../../src/service/requests/call.ts';
import { ServiceError } from '../../../src/service/requests/service-error.ts';

export class ListedService implements UpgradeService {
  readonly #clock: Clock;
  collectors: readonly Collector[] = [];
  builds: readonly string[] = ['19.100-1', '19.150-1', '19.160-1', '19.200-1'];
  /** True if a list that is requested for a build hides the collectors that run it (section 10.4). */
  hides = true;
  mostRows = 10_000;
  /** Maximum number of rows in a page, even if a request asks for more. */
  cutRows = Number.POSITIVE_INFINITY;
  latencyMs = 10;
  /** Errors of the next calls; undefined for success. */
  readonly failures: (Error | undefined)[] = [];
  /**
   * Calls that the service received: `builds` for the list of builds, and `BUILD OFFSET+LIMIT` for a page of
   * collectors. BUILD is `latest` if the call names no build.
   */
  readonly calls: string[] = [];
  beforeAnswer: (call: string) => void = () => {};
  #underWay = 0;
  mostAtOnce = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  listBuilds(options: CallOptions = {}): Promise<Answer<readonly Build[]>> {
    return this.#answer('builds', options, () =>
      this.builds.map((version, index) => ({ version, latest: index === this.builds.length - 1 })),
    );
  }

  listCollectors(query: ListCollectorsQuery, options: CallOptions = {}): Promise<Answer<readonly Collector[]>> {
    const { toVersion, offset, limit } = query;
    return this.#answer(`${toVersion ?? 'latest'} ${offset}+${limit}`, options, () => {
      if (toVersion !== undefined && !this.builds.includes(toVersion)) {
        const serviceCode = 'collector.version.invalid';
        throw failure({ status: 400, serviceCode, message: `there is no build ${toVersion}` });
      }
      if (limit > this.mostRows) throw failure({ status: 400, message: 'the limit is too large' });
      const shown = this.collectors.filter((one) => !this.hides || one.collectorVersion !== toVersion);
      return shown.slice(offset, offset + Math.min(limit, this.cutRows));
    });
  }

  getTask(): Promise<Answer<UpgradeTask>> {
    return Promise.reject(new Error('nobody reads tasks here'));
  }

  createTask(): Promise<Answer<{ readonly taskId: string }>> {
    return Promise.reject(new Error('nobody upgrades here'));
  }

  async #answer<T>(call: string, { signal }: CallOptions, value: () => T): Promise<Answer<T>> {
    this.calls.push(call);
    const sentAtMs = this.#clock.monotonic();
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay);
    try {
      await sleep(this.#clock, this.latencyMs, signal);
      this.beforeAnswer(call);
      const failing = this.failures.shift();
      if (failing) throw failing;
      return { value: value(), sentAtMs };
    } finally {
      this.#underWay--;
    }
  }
}

export function failure(more: Partial<ConstructorParameters<typeof ServiceError>[0]> = {}): ServiceError {
  return new ServiceError({
    outcome: 'internalError',
    message: 'it failed',
    handling: { kind: 'backoff' },
    effect: 'none',
    ...more,
  });
}
