/**
 * Client for the nine operations of the service. It retries failed requests if the table in `request-failure.ts` allows
 * it. It never retries the creation of an upgrade task if the service may have created the task.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import {
  decodeBuilds,
  decodeCollectors,
  decodeCreatedTask,
  decodeTask,
  StringPool,
} from './collectors/decode-collectors.ts';
import type {
  Build,
  Collector,
  ListCollectorsQuery,
  UpgradeService,
  UpgradeTask,
} from './collectors/upgrade-service.ts';
import { decodeCreatedJob } from './jobs/decode-jobs.ts';
import { JobClient, jobsPath } from './jobs/job-client.ts';
import type { JobOrder, OpenJob, SearchService } from './jobs/search-service.ts';
import type { Call, CallOptions, CallResponse, Decode } from './requests/call.ts';
import { Exchange, type ExchangeOptions } from './requests/exchange.ts';
import { CookieStore, JobSession } from './requests/job-session.ts';
import { TransportError } from './transport/transport-failure.ts';

const upgradesPath = '/v1/collectors/upgrades';

export class ServiceClient implements UpgradeService, SearchService {
  readonly #exchange: Exchange;
  readonly #clock: Clock;
  readonly #pool = new StringPool();
  #areUpgradesOver = false;

  constructor(options: ExchangeOptions) {
    this.#exchange = new Exchange(options);
    this.#clock = options.clock;
  }

  /** Stops all requests for collectors, builds and upgrade tasks. Search jobs continue. */
  endUpgrades(): void {
    this.#areUpgradesOver = true;
  }

  async createJob(order: JobOrder, options?: CallOptions): Promise<CallResponse<OpenJob>> {
    const session = new JobSession(this.#clock);
    const { value, ...response } = await this.#exchange.perform(
      { ...options, operation: 'createJob', path: jobsPath, body: renderOrder(order), session },
      decodeCreatedJob,
    );
    const job = new JobClient({ ...value, exchange: this.#exchange, session });
    return { ...response, value: job };
  }

  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<CallResponse<readonly Collector[]>> {
    const parameters = new URLSearchParams();
    if (query.toVersion !== undefined) parameters.set('toVersion', query.toVersion);
    parameters.set('offset', String(query.offset));
    parameters.set('limit', String(query.limit));
    const path = `${upgradesPath}/collectors?${parameters}`;
    return this.#ofUpgrades({ ...options, operation: 'listCollectors', path }, (body) =>
      decodeCollectors(body, this.#pool),
    );
  }

  listBuilds(options?: CallOptions): Promise<CallResponse<readonly Build[]>> {
    return this.#ofUpgrades({ ...options, operation: 'listBuilds', path: `${upgradesPath}/targets` }, decodeBuilds);
  }

  getTask(taskId: string, options?: CallOptions): Promise<CallResponse<UpgradeTask>> {
    const path = `${upgradesPath}/${encodeURIComponent(taskId)}`;
    return this.#ofUpgrades({ ...options, operation: 'getTask', path }, decodeTask);
  }

  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CallOptions,
  ): Promise<CallResponse<{ readonly taskId: string }>> {
    const body = renderTask(task.collectorId, task.toVersion);
    return this.#ofUpgrades({ ...options, operation: 'createTask', path: upgradesPath, body }, decodeCreatedTask);
  }

  #ofUpgrades<T>(call: Call, decode: Decode<T>): Promise<CallResponse<T>> {
    const beforeSend = () => {
      if (this.#areUpgradesOver) throw new TransportError('closed', 'the client has been closed');
      call.beforeSend?.();
    };
    return this.#exchange.perform({ ...call, beforeSend, cookies: new CookieStore(this.#clock) }, decode);
  }
}

/** Builds the JSON by hand, because JSON.stringify does not support integers beyond 2^53. */
function renderTask(collectorId: string, toVersion: string): string {
  return `{"collectorId":${BigInt(collectorId)},"toVersion":${JSON.stringify(toVersion)}}`;
}

/**
 * Renders the JSON body that creates a search job. Times are in milliseconds, as strings (E12, section 4.1 of
 * docs/service.md).
 */
function renderOrder(order: JobOrder): string {
  const { query, fromMs, toMs, timeZone = 'UTC', byReceiptTime = false } = order;
  assert(
    Number.isSafeInteger(fromMs) && Number.isSafeInteger(toMs),
    'the start and end of a time range must be whole milliseconds',
  );
  assert(fromMs <= toMs, 'a time range must not end before it begins');
  return JSON.stringify({
    query,
    from: String(fromMs),
    to: String(toMs),
    timeZone,
    byReceiptTime,
    autoParsingMode: order.autoParsingMode ?? 'Manual',
    requiresRawMessages: order.requiresRawMessages ?? false,
  });
}
