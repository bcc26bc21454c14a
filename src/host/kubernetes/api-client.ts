/**
 * Sends requests to the API server, each with a deadline, and counts them in a metric. Throws an error for each
 * unsuccessful response (see `api-error.ts`). Does not retry requests.
 */

import type { ManagedFields } from '../../api/annotation-writers.ts';
import type { Clock } from '../../base/clock.ts';
import { hasCode, LogfleetError } from '../../base/errors.ts';
import type { Counter, Metrics } from '../../base/metrics.ts';
import { isRecord } from '../../base/record.ts';
import { apiErrorOf, errorOfSilence } from './api-error.ts';
import { resourceOfPath } from './api-paths.ts';
import type { KubeApi, KubeRequest, KubeResponse, WatchRequest } from './kube-api.ts';

/** Default deadline for a request, in ms. */
const defaultDeadlineMs = 10_000;

export interface ApiCall extends Omit<KubeRequest, 'signal'> {
  /** Signal that aborts the call. An aborted call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
}

interface WatchCall extends WatchRequest {
  /** Maximum duration of the whole watch in ms. */
  readonly deadlineMs: number;
}

/**
 * Object that the API server has returned. logfleet checks only the fields that it requires, because the API server has
 * already validated the object.
 */
export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly spec?: object;
  readonly status?: object;
}

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

interface ApiClientOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Signal that aborts calls that have no signal of their own. */
  readonly signal?: AbortSignal;
}

export class ApiClient {
  readonly #api: KubeApi;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #requests: Counter;

  constructor(options: ApiClientOptions) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#signal = options.signal;
    this.#requests = options.metrics.counter(
      'logfleet_kubernetes_requests_total',
      'Requests to the API server, by method, resource and outcome. The outcome is the HTTP status, or none if there was no response.',
      ['method', 'resource', 'outcome'],
    );
  }

  /** Sends a request and returns the body of a successful response. Throws the errors described in `api-error.ts`. */
  async call(call: ApiCall): Promise<unknown> {
    const { signal = this.#signal, deadlineMs = defaultDeadlineMs, ...request } = call;
    const scope = withDeadline(this.#clock, deadlineMs, signal);
    try {
      const response = await this.#response(call.method, call.path, () =>
        this.#api.request({ ...request, signal: scope.signal }),
      );
      return response.body;
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    } finally {
      scope.close();
    }
  }

  /** Reads one object. Returns undefined if the object does not exist. */
  async find(path: string, call: Omit<ApiCall, 'method' | 'path'> = {}): Promise<unknown> {
    try {
      return await this.call({ ...call, method: 'GET', path });
    } catch (error) {
      if (hasCode(error, 'host.gone')) return undefined;
      throw error;
    }
  }

  /**
   * Deletes an object and its dependents if the object meets `preconditions`. Also succeeds if the object does not
   * exist.
   */
  async remove(path: string, preconditions: object): Promise<void> {
    try {
      await this.call({ method: 'DELETE', path, body: { preconditions, propagationPolicy: 'Background' } });
    } catch (error) {
      if (!hasCode(error, 'host.gone')) throw error;
    }
  }

  /** Sends a request. Throws if the response is not an object with a name and a resource version. */
  async callForObject<T extends KubeObject>(call: ApiCall): Promise<T> {
    return objectIn<T>(await this.call(call), `${call.method} ${call.path}`);
  }

  /** Reads one object. Throws if the response is not an object with a name and a resource version. */
  async findObject<T extends KubeObject>(
    path: string,
    call: Omit<ApiCall, 'method' | 'path'> = {},
  ): Promise<T | undefined> {
    const body = await this.find(path, call);
    return body === undefined ? undefined : objectIn<T>(body, `GET ${path}`);
  }

  /**
   * Yields the events of a watch as JSON text. Throws the errors described in `api-error.ts`. A watch that exceeds its
   * deadline fails with `host.unreachable`.
   */
  async *watch({ deadlineMs, ...call }: WatchCall): AsyncGenerator<string, void> {
    const scope = withDeadline(this.#clock, deadlineMs, call.signal);
    try {
      const response = await this.#response('WATCH', call.path, () =>
        this.#api.watch({ ...call, signal: scope.signal }),
      );
      for await (const line of response.lines) yield line;
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      throw error instanceof LogfleetError ? error : errorOfSilence(`WATCH ${call.path}`, error);
    } finally {
      scope.close();
    }
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  async #response<T extends KubeResponse>(method: string, path: string, send: () => Promise<T>): Promise<T> {
    const what = `${method} ${path}`;
    let outcome = 'none';
    try {
      const response = await send();
      outcome = String(response.status);
      if (response.status < 200 || response.status > 299) throw apiErrorOf(response, what);
      return response;
    } catch (error) {
      throw error instanceof LogfleetError ? error : errorOfSilence(what, error);
    } finally {
      this.#requests.add({ method, resource: resourceOfPath(path), outcome });
    }
  }
}

/** Returns a signal that is aborted after `deadlineMs`, or when `outer` is aborted. `close` cancels the timer. */
function withDeadline(clock: Clock, deadlineMs: number, outer: AbortSignal | undefined) {
  const deadline = new AbortController();
  const timer = clock.after(deadlineMs, () => {
    deadline.abort(new Error(`the API server did not respond within ${Math.round(deadlineMs / 100) / 10} s`));
  });
  const signal = outer ? AbortSignal.any([outer, deadline.signal]) : deadline.signal;
  return { signal, close: () => timer.cancel() };
}

function objectIn<T extends KubeObject>(body: unknown, what: string): T {
  if (!isKubeObject(body)) throw errorOfSilence(what, new Error('the response is not a Kubernetes object'));
  return body as T;
}

export function isKubeObject(body: unknown): body is KubeObject {
  if (!isRecord(body) || !isRecord(body.metadata)) return false;
  const { name, uid, resourceVersion } = body.metadata;
  return [name, uid, resourceVersion].every((member) => typeof member === 'string');
}
