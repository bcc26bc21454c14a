/**
 * The client of the service: the four operations of the collectors' half (4.6 to 4.9) over a transport and a request budget.
 * Reads are sent again where the outcome table says so; a creation never is. No call sleeps: long waits are the caller's, who
 * gets them as the error's handling.
 */
import { decodeBuilds, decodeCollectors, decodeCreatedTask, decodeTask } from './decode.ts';
import { type Call, type Decode, Exchange, type ExchangeOptions } from './exchange.ts';
import { type Outcome, treatmentOf } from './outcome.ts';
import { toServiceError } from './service-failure.ts';
import type { SettingNames } from './setting-names.ts';
import { StringPool } from './string-pool.ts';
import type {
  Answer,
  Build,
  CallOptions,
  Collector,
  CreateTaskOptions,
  ListCollectorsQuery,
  UpgradeService,
  UpgradeTask,
} from './upgrade-service.ts';

export interface ServiceClientOptions extends ExchangeOptions {
  /** What messages call the settings; members of a Secret where nothing else is said. */
  readonly names?: SettingNames;
}

const upgradesPath = '/v1/collectors/upgrades';

export class ServiceClient implements UpgradeService {
  readonly #exchange: Exchange;
  readonly #pool = new StringPool();
  readonly #names: SettingNames | undefined;

  constructor(options: ServiceClientOptions) {
    this.#exchange = new Exchange(options);
    this.#names = options.names;
  }

  listCollectors(query: ListCollectorsQuery, options?: CallOptions): Promise<Answer<readonly Collector[]>> {
    const parameters = new URLSearchParams();
    if (query.toVersion !== undefined) parameters.set('toVersion', query.toVersion);
    parameters.set('offset', String(query.offset));
    parameters.set('limit', String(query.limit));
    const path = `${upgradesPath}/collectors?${parameters}`;
    return this.#call({ operation: 'listCollectors', path, signal: options?.signal }, (body) =>
      decodeCollectors(body, this.#pool),
    );
  }

  listBuilds(options?: CallOptions): Promise<Answer<readonly Build[]>> {
    return this.#call(
      { operation: 'listBuilds', path: `${upgradesPath}/targets`, signal: options?.signal },
      decodeBuilds,
    );
  }

  getTask(taskId: string, options?: CallOptions): Promise<Answer<UpgradeTask>> {
    const path = `${upgradesPath}/${encodeURIComponent(taskId)}`;
    return this.#call({ operation: 'getTask', path, signal: options?.signal }, decodeTask);
  }

  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options?: CreateTaskOptions,
  ): Promise<Answer<{ readonly taskId: string }>> {
    return this.#call(
      {
        operation: 'createTask',
        path: upgradesPath,
        body: renderTask(task.collectorId, task.toVersion),
        signal: options?.signal,
        beforeSend: options?.beforeSend,
      },
      decodeCreatedTask,
    );
  }

  async #call<T>(call: Call, decode: Decode<T>): Promise<Answer<T>> {
    const timesSeen = new Map<Outcome, number>();
    for (;;) {
      const reply = await this.#exchange.perform(call, decode);
      if (reply.kind === 'answer') return reply.answer;
      const { outcome } = reply.failure;
      const seen = (timesSeen.get(outcome) ?? 0) + 1;
      timesSeen.set(outcome, seen);
      if (seen > treatmentOf(call.operation, outcome).again) {
        throw toServiceError(call.operation, reply.failure, this.#names);
      }
    }
  }
}

/** By hand, because JSON.stringify knows no integers beyond 2^53. */
function renderTask(collectorId: string, toVersion: string): string {
  return `{"collectorId":${BigInt(collectorId)},"toVersion":${JSON.stringify(toVersion)}}`;
}
