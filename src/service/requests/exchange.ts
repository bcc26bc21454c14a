/**
 * Sends the requests of all operations, and retries failed requests if the table in `request-failure.ts` allows it.
 * Returns a successful response or throws a `ServiceError`.
 *
 * Each request needs its own permission from the request budget. The permission is always returned, even if the request
 * fails (B1, L1).
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { DeadlineError, withDeadline } from '../../base/deadline.ts';
import { messageOf } from '../../base/errors.ts';
import type { Counter, Histogram, Metrics } from '../../base/metrics.ts';
import { parseHttpDate, parseRetryAfter } from '../../base/retry-after.ts';
import type { SecretText } from '../../base/secret-text.ts';
import { hourMs } from '../../base/time-units.ts';
import type { KeyBudget, Slot } from '../budget/request-slot.ts';
import { DecodeError } from '../json/json-members.ts';
import {
  connectDeadlineMs,
  type ResponseHead,
  type Transport,
  type TransportResponse,
} from '../transport/transport.ts';
import { TransportError } from '../transport/transport-failure.ts';
import type { Call, CallResponse, ResponseReader } from './call.ts';
import { decodeErrorBody } from './error-body.ts';
import type { CookieStore } from './job-session.ts';
import { KeyCheck, KeyRejectedError } from './key-check.ts';
import { operations } from './operation.ts';
import { isRedirect, resolveRedirect } from './redirect.ts';
import { failureOfError, failureOfResponse, type RequestFailure, treatmentOf } from './request-failure.ts';
import { ResponseStream } from './response-stream.ts';
import type { ServiceAddress } from './service-address.ts';
import { ServiceError } from './service-error.ts';
import { type FailedRequest, type SettingNames, toServiceError } from './service-failure.ts';

/**
 * Time in ms after which an unanswered status request may be cancelled to send a keep-alive of a search job instead
 * (B4).
 */
const pollTimeoutMs = 2_000;
/** Maximum delay in ms that is accepted from a `Retry-After` header. */
const longestRetryAfterMs = hourMs;
/** Failures of requests that were never sent. Such failures say nothing about the service. */
const unsentFailures: ReadonlySet<RequestFailure> = new Set<RequestFailure>([
  'withdrawn',
  'closed',
  'notLeading',
  'budgetFull',
]);

/** Address, credentials and request budget for requests to the service. */
export interface ServiceSettings {
  readonly address: ServiceAddress;
  readonly accessId: string;
  readonly accessKey: SecretText;
  /** Hosts to which redirects may lead, given as `host` or `host:port`. */
  readonly allowedHosts: readonly string[];
  readonly budget: KeyBudget;
  /** Names of the settings in user-facing messages. Default: the keys of a Secret. */
  readonly names?: SettingNames;
}

export interface ExchangeOptions extends ServiceSettings {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly userAgent: string;
}

/** Response from the service with any HTTP status. */
interface SentResponse<T> {
  readonly response: TransportResponse;
  readonly sentAtMs: number;
  /** Value of the `Cookie` header that was sent. */
  readonly cookie: string | undefined;
  /** Stream that has read the response body. Undefined if the body was not streamed. */
  readonly stream: ResponseStream<T> | undefined;
}

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #authorization: string;
  readonly #requests: Counter;
  readonly #duration: Histogram;
  /** Address of the service, from the Secret or a permanent redirect. */
  #address: ServiceAddress;
  #calls = 0;
  readonly #keyCheck = new KeyCheck();

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#address = options.address;
    this.#allowedHosts = new Set(options.allowedHosts);
    const credentials = Buffer.from(`${options.accessId}:${options.accessKey.reveal()}`, 'utf8').toString('base64');
    this.#authorization = `Basic ${credentials}`;
    const { metrics } = options;
    this.#requests = metrics.counter(
      'logfleet_service_requests_total',
      'Requests to the log service, by operation and outcome.',
      ['operation', 'outcome'],
    );
    this.#duration = metrics.histogram(
      'logfleet_service_request_duration_seconds',
      'Time from sending a request to the log service to the end of its response.',
      ['operation'],
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    );
  }

  /**
   * Sends a call's request, and retries it if the failure permits a retry. Throws a `ServiceError`, or an error thrown
   * by one of the caller's own functions. The caller must wait before it repeats a failed call.
   */
  async perform<T>(call: Call, reading: ResponseReader<T>): Promise<CallResponse<T>> {
    const timesSeen = new Map<RequestFailure, number>();
    for (;;) {
      this.#calls += 1;
      try {
        const response = await this.#follow(call, reading);
        this.#count(call, 'ok');
        this.#keyCheck.accepted();
        return response;
      } catch (error) {
        if (error instanceof KeyRejectedError) throw error.rejection;
        if (!this.#isRepeated(call, error, timesSeen)) {
          // If this call checked the access key, the calls that wait for its result are now sent.
          this.#keyCheck.unanswered(call);
          throw error;
        }
      } finally {
        this.#calls -= 1;
      }
    }
  }

  /** Reports whether to repeat a failed call immediately. */
  #isRepeated(call: Call, error: unknown, timesSeen: Map<RequestFailure, number>): boolean {
    if (!(error instanceof ServiceError)) return false;
    const { failure } = error;
    this.#count(call, failure);
    // The configured address may no longer redirect requests to the address that failed, so the next request is sent to
    // the configured address.
    if (isAddressWrong(error) && !call.session?.address) this.#address = this.#options.address;
    if (error.effect === 'unknown') call.mayHaveActed?.();
    const seen = (timesSeen.get(failure) ?? 0) + 1;
    timesSeen.set(failure, seen);
    const isRepeated = seen <= treatmentOf(call.operation, failure).again;
    if (failure === 'unauthorized') this.#keyCheck.rejected(call, error, isRepeated);
    else if (error.status !== undefined) this.#keyCheck.accepted();
    return isRepeated;
  }

  /** Sends one request and follows its redirects. */
  async #follow<T>(call: Call, reading: ResponseReader<T>): Promise<CallResponse<T>> {
    // All requests for a search job go to the address at which the job was created.
    const home = call.session?.address;
    let address = home ?? this.#address;
    let url = new URL(address.origin + address.basePath + call.path);
    let forGood = true;
    for (let hops = 0; ; hops++) {
      const sent = await this.#send(call, url, reading);
      const { response, sentAtMs } = sent;
      cookiesOf(call)?.store(url, response.setCookies);
      if (!isRedirect(response.status)) {
        const value = this.#valueOf(call, url, reading, sent, home !== undefined && hops > 0);
        call.session?.answered(address, forGood, sentAtMs);
        return { value, sentAtMs, dateMs: parseHttpDate(response.headers.get('date')) };
      }
      const redirect = resolveRedirect({
        status: response.status,
        location: response.headers.get('location'),
        from: url,
        path: call.path,
        home: this.#options.address.origin,
        allowedHosts: this.#allowedHosts,
        hops,
      });
      if (redirect.kind === 'refused') {
        const { failure, detail } = redirect;
        throw this.#error(call, url, { failure, detail, status: response.status, sentAtMs });
      }
      this.#count(call, 'redirected');
      forGood &&= redirect.forGood;
      address = redirect.address ?? address;
      if (redirect.address && forGood && !home) this.#address = address;
      url = redirect.url;
    }
  }

  #count(call: Call, outcome: RequestFailure | 'ok' | 'redirected'): void {
    this.#requests.add({ operation: call.operation, outcome });
  }

  #error(call: Call, url: URL, failed: Omit<FailedRequest, 'address'>): ServiceError {
    return toServiceError(call.operation, { ...failed, address: url.origin + url.pathname }, this.#options.names);
  }

  /** Returns the value of a successful response, or throws a `ServiceError`. */
  #valueOf<T>(call: Call, url: URL, reading: ResponseReader<T>, sent: SentResponse<T>, isAstray: boolean): T {
    const { response, sentAtMs, stream } = sent;
    const { status } = response;
    if (status < 200 || status > 299) throw this.#refusal(call, url, sent, isAstray);
    try {
      if (stream) return stream.end();
      assert(typeof reading === 'function', 'the body of this response has not been read');
      return reading(response.body);
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause;
      const detail = encodingProblem(response) ?? cause.message;
      throw this.#error(call, url, { failure: 'responseInvalid', status, sentAtMs, detail, cause });
    }
  }

  #refusal(
    call: Call,
    url: URL,
    { response, sentAtMs, cookie }: SentResponse<unknown>,
    isAstray: boolean,
  ): ServiceError {
    const { status } = response;
    const { serviceCode, message, isForeign } = decodeErrorBody(response.body);
    const failure = failureOfResponse(call.operation, status, serviceCode);
    const isDeletion = call.operation === 'deleteJob';
    const hasCookie = cookie !== undefined;
    return this.#error(call, url, {
      failure,
      ...(failure === 'jobGone' && call.session?.whyMissing({ sentAtMs, isDeletion, hasCookie, isAstray })),
      status,
      serviceCode,
      hasForeignBody: isForeign,
      serviceMessage: this.#withoutSecrets(message, cookie),
      retryAfterMs: this.#retryAfterMs(response),
      sentAtMs,
      lacksCookie: call.session?.address !== undefined && !hasCookie,
    });
  }

  /** Removes credentials and cookies from an error message sent by the service. */
  #withoutSecrets(text: string | undefined, cookie: string | undefined): string | undefined {
    const credentials = this.#authorization.slice('Basic '.length);
    const secrets = [this.#options.accessKey.reveal(), credentials, ...valuesOf(cookie)];
    return secrets.reduce((rest, secret) => rest?.replaceAll(secret, '[secret]'), text);
  }

  #retryAfterMs(response: TransportResponse): number | undefined {
    // A date in `Retry-After` is compared with the service's clock, because this machine's clock may differ.
    const nowMs = parseHttpDate(response.headers.get('date')) ?? this.#options.clock.now();
    return parseRetryAfter(response.headers.get('retry-after'), nowMs, longestRetryAfterMs);
  }

  /** Sends one request as soon as the request budget permits it. */
  async #send<T>(call: Call, url: URL, reading: ResponseReader<T>): Promise<SentResponse<T>> {
    const { transport, clock } = this.#options;
    const { operation, session } = call;
    const slot = await this.#slot(call, url);
    const cookies = cookiesOf(call);
    const cookie = cookies?.header(url);
    const giveUp = new AbortController();
    const either = AbortSignal.any(call.signal ? [giveUp.signal, call.signal] : [giveUp.signal]);
    let sentAtMs: number | undefined;
    const onHead = (head: ResponseHead) => {
      slot.heard(head.headAtMs);
      // Stores the cookies first, because reading the body may fail.
      cookies?.store(url, head.setCookies);
      const problem = encodingProblem(head);
      if (problem !== undefined) throw new DecodeError(problem);
      session?.heard(sentAtMs ?? head.headAtMs);
    };
    const stream = typeof reading === 'function' ? undefined : new ResponseStream(clock, giveUp, reading, onHead);
    const timeout = operation === 'getJob' ? this.#pollTimeout(slot, giveUp) : undefined;
    try {
      const response = await crossing(`service.${operation}`, () =>
        withDeadline(clock, operations[operation].deadlineMs, either, (signal) =>
          transport.send({
            ...this.#requestOf(call, url, cookie),
            signal,
            receiver: stream,
            beforeWrite: () => {
              signal.throwIfAborted();
              const departure = slot.started(call.beforeSend);
              sentAtMs = departure.atMs;
              stream?.sent();
              return departure;
            },
          }),
        ),
      );
      const { status, headAtMs } = response;
      slot.finished({ kind: 'answered', status, headAtMs, retryAfterMs: this.#retryAfterMs(response) });
      sentAtMs ??= headAtMs;
      this.#duration.observe({ operation }, (clock.monotonic() - sentAtMs) / 1000);
      return { response, sentAtMs, cookie, stream };
    } catch (error) {
      if (sentAtMs === undefined) slot.release();
      else slot.finished({ kind: error instanceof TransportError ? 'broken' : 'abandoned' });
      throw this.#unanswered(call, url, error, sentAtMs, stream?.status);
    } finally {
      timeout?.cancel();
      stream?.stop();
    }
  }

  /** Starts the timer after which the request budget may cancel an unanswered status request (B4). */
  #pollTimeout(slot: Slot, giveUp: AbortController): Timer {
    return this.#options.clock.after(pollTimeoutMs, () =>
      slot.yieldTo(() => giveUp.abort(new DeadlineError('its request slot was needed'))),
    );
  }

  async #slot(call: Call, url: URL): Promise<Slot> {
    const { transport, budget, clock } = this.#options;
    try {
      await withDeadline(clock, connectDeadlineMs, call.signal, (signal) =>
        transport.ready(url.origin, this.#calls, signal),
      );
      for (;;) {
        await this.#keyCheck.pass(call);
        const slot = await budget.acquire({
          class: call.requestClass ?? operations[call.operation].requestClass,
          path: { origin: url.origin, probe: () => transport.probe(url.origin) },
          dueMs: call.dueMs,
          isPoll: call.operation === 'getJob',
          signal: call.signal,
        });
        if (!this.#keyCheck.mustWait(call)) return slot;
        slot.release();
      }
    } catch (error) {
      throw this.#unanswered(call, url, error);
    }
  }

  /** Returns a request's method, address, headers and body, and the maximum size of its response. */
  #requestOf(call: Call, url: URL, cookie: string | undefined) {
    const { method, maxBodyBytes } = operations[call.operation];
    const headers = this.#headers(call, cookie);
    return { method, origin: url.origin, path: url.pathname + url.search, headers, body: call.body, maxBodyBytes };
  }

  #headers(call: Call, cookie: string | undefined): Readonly<Record<string, string>> {
    return {
      accept: 'application/json',
      // Without this header, the service may compress its responses (RFC 9110, 12.5.3), and logfleet cannot read
      // compressed responses.
      'accept-encoding': 'identity',
      authorization: this.#authorization,
      'user-agent': this.#options.userAgent,
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
    };
  }

  /** Converts a request's error to a `ServiceError`. Does not convert errors thrown by the caller's own functions. */
  #unanswered(call: Call, url: URL, cause: unknown, sentAtMs?: number, status?: number): unknown {
    const isSent = sentAtMs !== undefined;
    const failure = failureOfError(cause, isSent, call.signal);
    if (failure === undefined) return cause;
    const detail = messageOf(cause);
    return this.#error(call, url, { failure, detail, cause, sentAtMs, status });
  }
}

function cookiesOf({ session, cookies }: Call): CookieStore | undefined {
  return session?.cookies ?? cookies;
}

/** Reports whether no connection could be established, or the response does not come from the service. */
function isAddressWrong({ failure, reason, sentAtMs }: ServiceError): boolean {
  if (sentAtMs === undefined) return !unsentFailures.has(failure);
  return reason === 'AddressInvalid' || reason === 'RedirectNotAllowed';
}

/** Returns the cookie values that are long enough to be secrets. */
function valuesOf(cookie = ''): readonly string[] {
  return cookie
    .split('; ')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
    .filter((value) => value.length >= 6);
}

/** Describes the problem if the response is encoded, for example compressed. Otherwise returns undefined. */
function encodingProblem({ headers }: Pick<ResponseHead, 'headers'>): string | undefined {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return undefined;
  const shown = JSON.stringify(encoding.slice(0, 40));
  return `the response has Content-Encoding ${shown}, although the request asked for an uncompressed response: check whether a proxy compresses responses`;
}
