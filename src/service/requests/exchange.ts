/**
 * Performs calls of the service. A call is one operation: a request and its answer, repeated if `outcome.ts` allows it.
 * This class handles its connection, request slot, deadline, credentials, cookies and redirects. The result is a
 * complete successful answer, or a `ServiceError`. A body can be read as a stream (`answer-stream.ts`); the request
 * then keeps its slot until the end of the body.
 *
 * Invariant: each request that is written has its own slot. The slot starts in the same turn of the event loop as the
 * write (B1, L1), and each slot ends.
 */
import { assert } from '../../base/assert.ts';
import { crossing } from '../../base/boundary.ts';
import type { Clock } from '../../base/clock.ts';
import type { Counter, Histogram, Metrics } from '../../base/metrics.ts';
import type { SecretText } from '../../base/secret-text.ts';
import { BudgetFullError } from '../budget/request-budget.ts';
import type { KeyBudget, Slot } from '../budget/request-slot.ts';
import { NotLeadingError } from '../budget/send-right.ts';
import { DecodeError } from '../json/json-members.ts';
import { DeadlineError, withDeadline, YieldedError } from '../transport/deadline.ts';
import {
  connectDeadlineMs,
  type ResponseHead,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../transport/transport.ts';
import { AnswerStream, HeldUpError } from './answer-stream.ts';
import type { Answer, Call, Reading, Reply, Streaming } from './call.ts';
import { decodeErrorBody } from './error-body.ts';
import { operations } from './operation.ts';
import { type Outcome, outcomeOfAnswer, outcomeOfUnanswered, outcomeOfUnsent, treatmentOf } from './outcome.ts';
import { isRedirect, newBaseAddress, type Redirect, resolveRedirect } from './redirect.ts';
import { parseHttpDate, parseRetryAfter } from './retry-after.ts';
import type { ServiceAddress } from './service-address.ts';
import { type Failure, type SettingNames, toServiceError } from './service-failure.ts';

/** Maximum number of redirects that one call follows. */
const maxHops = 3;

/** Settings of the service for one set of credentials. */
export interface ServiceSettings {
  readonly address: ServiceAddress;
  readonly accessId: string;
  readonly accessKey: SecretText;
  /** Hosts, as `host` or `host:port`, to which redirects may lead. */
  readonly allowedHosts: readonly string[];
  readonly budget: KeyBudget;
  /** Names of the settings, as messages write them; by default, the keys of a Secret. */
  readonly names?: SettingNames;
}

export interface ExchangeOptions extends ServiceSettings {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Value of the `User-Agent` header: `logfleet/<version>`. */
  readonly userAgent: string;
}

interface SentAnswer<T> {
  readonly kind: 'response';
  readonly response: TransportResponse;
  readonly sentAtMs: number;
  /** Value of the `Cookie` header that was sent with the request. */
  readonly cookie: string | undefined;
  /**
   * Stream that has read the body of the answer; undefined if the body was not read as a stream.
   */
  readonly stream: AnswerStream<T> | undefined;
}

/**
 * Result of sending one request: an answer with any status, or the reason why there is no answer.
 */
type SendResult<T> = SentAnswer<T> | { readonly kind: 'failure'; readonly failure: Failure };

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #authorization: string;
  readonly #requests: Counter;
  readonly #duration: Histogram;
  /** Address of the service, from the Secret or from a permanent redirect. */
  #address: ServiceAddress;
  #calls = 0;

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
      'Time from the write of a request to the end of its answer.',
      ['operation'],
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    );
  }

  /**
   * Performs a call: sends a request, and repeats it if `outcome.ts` allows it. Throws a `ServiceError`, or an error of
   * `beforeSend` or the body's sink. Never sleeps: the handling of the error tells the caller how long to wait.
   */
  async perform<T>(call: Call, reading: Reading<T>): Promise<Answer<T>> {
    const timesSeen = new Map<Outcome, number>();
    for (;;) {
      const reply = await this.#exchange(call, reading);
      if (reply.kind === 'answer') return reply.answer;
      const { outcome } = reply.failure;
      const seen = (timesSeen.get(outcome) ?? 0) + 1;
      timesSeen.set(outcome, seen);
      const { again, effect } = treatmentOf(call.operation, outcome);
      if (seen > again) throw toServiceError(call.operation, reply.failure, this.#options.names);
      if (effect === 'none') call.hadNoEffect?.();
    }
  }

  /** Sends one request and follows the redirects of its answer. */
  async #exchange<T>(call: Call, reading: Reading<T>): Promise<Reply<T>> {
    this.#calls += 1;
    try {
      const reply = await this.#follow(call, reading);
      this.#count(call, reply.kind === 'answer' ? 'ok' : reply.failure.outcome);
      return reply;
    } finally {
      this.#calls -= 1;
    }
  }

  async #follow<T>(call: Call, reading: Reading<T>): Promise<Reply<T>> {
    // All requests of a search job go to the address at which the job was created, even if the service has moved since.
    const { address: home } = call.session ?? {};
    let address = home ?? this.#address;
    let url = new URL(address.origin + address.basePath + call.path);
    let forGood = true;
    for (let hop = 0; ; hop++) {
      const attempt = await this.#attempt(call, url, reading);
      if (attempt.kind === 'failure') {
        if (!home && isUnreachable(attempt.failure)) this.#address = this.#options.address;
        return attempt;
      }
      const { response, sentAtMs } = attempt;
      call.session?.cookies.store(url, response.setCookies);
      if (!isRedirect(response.status)) {
        const reply = this.#judge(call, reading, url, { ...attempt, isAstray: hop > 0 && home !== undefined });
        if (reply.kind === 'answer') call.session?.answered(address, forGood);
        return reply;
      }
      const redirect = this.#redirect(call, url, response);
      if (redirect.kind !== 'follow' || hop === maxHops) {
        return { kind: 'failure', failure: lost(call, url, response, sentAtMs, redirect) };
      }
      this.#count(call, 'redirected');
      call.hadNoEffect?.();
      forGood &&= redirect.forGood;
      address = redirect.address ?? address;
      if (redirect.address && forGood && !home) this.#address = address;
      url = redirect.url;
    }
  }

  #count(call: Call, outcome: Outcome | 'ok' | 'redirected'): void {
    this.#requests.add({ operation: call.operation, outcome });
  }

  #redirect(call: Call, from: URL, response: TransportResponse): Redirect {
    return resolveRedirect({
      status: response.status,
      location: response.headers.get('location'),
      from,
      path: call.path,
      home: this.#options.address.origin,
      allowedHosts: this.#allowedHosts,
    });
  }

  #judge<T>(
    call: Call,
    reading: Reading<T>,
    url: URL,
    attempt: SentAnswer<T> & { readonly isAstray: boolean },
  ): Reply<T> {
    const { response, sentAtMs, cookie, isAstray } = attempt;
    const { status, body } = response;
    if (status >= 200 && status < 300) return decoded(reading, url, attempt);
    const { serviceCode, errorId, message } = decodeErrorBody(body);
    const outcome = outcomeOfAnswer(call.operation, status, serviceCode);
    const missing =
      outcome === 'jobGone' ? call.whyMissing?.({ sentAtMs, hasCookie: cookie !== undefined, isAstray }) : undefined;
    const failure: Failure = {
      outcome: missing?.outcome ?? outcome,
      detail: missing?.detail,
      address: addressOf(url),
      status,
      serviceCode,
      errorId: this.#withoutSecrets(errorId, cookie),
      serviceMessage: this.#withoutSecrets(message, cookie),
      retryAfterMs: this.#retryAfterMs(response),
      sentAtMs,
    };
    return { kind: 'failure', failure };
  }

  /** Removes credentials and cookies from a text, in case the service repeats them in an error message. */
  #withoutSecrets(text: string | undefined, cookie: string | undefined): string | undefined {
    const credentials = this.#authorization.slice('Basic '.length);
    const secrets = [this.#options.accessKey.reveal(), credentials, ...valuesOf(cookie)];
    return secrets.reduce((rest, secret) => rest?.replaceAll(secret, '[secret]'), text);
  }

  #retryAfterMs(response: TransportResponse): number | undefined {
    // A date in `Retry-After` refers to the service's clock, which the `Date` header of the same answer shows.
    const nowMs = parseHttpDate(response.headers.get('date')) ?? this.#options.clock.now();
    return parseRetryAfter(response.headers.get('retry-after'), nowMs);
  }

  async #attempt<T>(call: Call, url: URL, reading: Reading<T>): Promise<SendResult<T>> {
    const { transport, budget, clock } = this.#options;
    const info = operations[call.operation];
    let slot: Slot;
    try {
      await withDeadline(clock, connectDeadlineMs, call.signal, (signal) =>
        transport.ready(url.origin, this.#calls, signal),
      );
      slot = await budget.acquire({
        class: call.requestClass ?? info.requestClass,
        path: { origin: url.origin, probe: () => transport.probe(url.origin) },
        dueMs: call.dueMs,
        isPoll: info.poll && true,
        signal: call.signal,
      });
    } catch (error) {
      return { kind: 'failure', failure: this.#unsent(call, url, error) };
    }
    return this.#send(call, url, slot, reading);
  }

  async #send<T>(call: Call, url: URL, slot: Slot, reading: Reading<T>): Promise<SendResult<T>> {
    const { transport, clock } = this.#options;
    const { deadlineMs, poll } = operations[call.operation];
    let sentAtMs: number | undefined;
    const stream = typeof reading === 'function' ? undefined : this.#stream(call, url, slot, reading, () => sentAtMs);
    const beforeWrite = () => {
      const departure = slot.started(call.beforeSend);
      sentAtMs = departure.atMs;
      stream?.sent();
      return departure;
    };
    const cookie = call.session?.cookies.header(url);
    const yielded = new AbortController();
    const patience = poll && clock.after(poll.patienceMs, () => slot.yieldTo(() => yielded.abort(new YieldedError())));
    try {
      const response = await crossing(`service.${call.operation}`, () =>
        withDeadline(clock, deadlineMs, anyOf(call.signal, stream?.signal ?? yielded.signal), (signal) =>
          transport.send(this.#request(call, url, cookie, { signal, beforeWrite, receiver: stream })),
        ),
      );
      this.#answered(call, slot, response, sentAtMs ?? response.headAtMs);
      return { kind: 'response', response, sentAtMs: sentAtMs ?? response.headAtMs, cookie, stream };
    } catch (error) {
      if (sentAtMs === undefined) {
        slot.release();
        return { kind: 'failure', failure: this.#unsent(call, url, error) };
      }
      slot.finished({ kind: error instanceof TransportError ? 'broken' : 'abandoned' });
      return { kind: 'failure', failure: { ...unanswered(call, url, error, sentAtMs), status: stream?.status } };
    } finally {
      patience?.cancel();
      stream?.stop();
    }
  }

  #stream<T>(
    call: Call,
    url: URL,
    slot: Slot,
    reading: Streaming<T>,
    sentAtMs: () => number | undefined,
  ): AnswerStream<T> {
    const { stream: limits } = operations[call.operation];
    assert(limits !== undefined, `${call.operation} is not read as it comes`);
    return new AnswerStream(this.#options.clock, limits, (head) => {
      slot.heard(head.headAtMs);
      // The cookies are stored before the body is read, because reading the body may fail.
      call.session?.cookies.store(url, head.setCookies);
      const problem = encodingProblem(head);
      if (problem !== undefined) throw new DecodeError(problem);
      return reading.begin(head, sentAtMs() ?? head.headAtMs);
    });
  }

  #answered(call: Call, slot: Slot, response: TransportResponse, sentAtMs: number): void {
    const { status, headAtMs } = response;
    slot.finished({ kind: 'answered', status, headAtMs, retryAfterMs: this.#retryAfterMs(response) });
    const seconds = (this.#options.clock.monotonic() - sentAtMs) / 1000;
    this.#duration.observe({ operation: call.operation }, seconds);
  }

  #request(
    call: Call,
    url: URL,
    cookie: string | undefined,
    { signal, beforeWrite, receiver }: Pick<TransportRequest, 'signal' | 'beforeWrite' | 'receiver'>,
  ): TransportRequest {
    const info = operations[call.operation];
    return {
      method: info.method,
      origin: url.origin,
      path: url.pathname + url.search,
      headers: {
        accept: 'application/json',
        // Answers must not be compressed. Without this header the service may use any encoding (RFC
        // 9110, 12.5.3), but none is supported.
        'accept-encoding': 'identity',
        authorization: this.#authorization,
        'user-agent': this.#options.userAgent,
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(cookie === undefined ? {} : { cookie }),
      },
      body: call.body,
      signal,
      maxBodyBytes: info.maxBodyBytes,
      receiver,
      beforeWrite: () => {
        signal.throwIfAborted();
        return beforeWrite();
      },
    };
  }

  /**
   * Failure of a request that was not written. Errors that come neither from the transport nor from a deadline or an
   * abort are thrown to the caller.
   */
  #unsent(call: Call, url: URL, error: unknown): Failure {
    const outcome = this.#outcomeOfUnsent(call, error);
    if (outcome === undefined) throw error;
    return { outcome, address: addressOf(url), detail: detailOf(error), cause: error };
  }

  #outcomeOfUnsent(call: Call, error: unknown): Outcome | undefined {
    if (error instanceof TransportError) return outcomeOfUnsent(error.failure);
    if (error instanceof DeadlineError) return 'connectTimeout';
    if (error instanceof NotLeadingError) return 'notLeading';
    if (error instanceof BudgetFullError) return 'budgetFull';
    return call.signal?.aborted && error === call.signal.reason ? 'withdrawn' : undefined;
  }
}

/** Returns whether the service was unreachable: no request was sent, and neither the caller nor the end of this client was the cause. */
function isUnreachable({ sentAtMs, outcome }: Failure): boolean {
  return (
    sentAtMs === undefined &&
    outcome !== 'withdrawn' &&
    outcome !== 'closed' &&
    outcome !== 'notLeading' &&
    outcome !== 'budgetFull'
  );
}

/** Values of the cookies that are long enough to be secrets. */
function valuesOf(cookie = ''): readonly string[] {
  return cookie
    .split('; ')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
    .filter((value) => value.length >= 6);
}

function anyOf(first: AbortSignal | undefined, second: AbortSignal | undefined): AbortSignal | undefined {
  return first && second ? AbortSignal.any([first, second]) : (first ?? second);
}

function decoded<T>(reading: Reading<T>, url: URL, { response, sentAtMs, stream }: SentAnswer<T>): Reply<T> {
  try {
    const dateMs = parseHttpDate(response.headers.get('date'));
    const taken = stream?.end();
    if (taken) return { kind: 'answer', answer: { value: taken.value, sentAtMs, dateMs } };
    assert(typeof reading === 'function', 'what is read as it comes has been taken');
    return { kind: 'answer', answer: { value: reading(response.body), sentAtMs, dateMs } };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const facts = { address: addressOf(url), status: response.status, sentAtMs };
    const detail = encodingProblem(response) ?? error.message;
    return { kind: 'failure', failure: { ...facts, outcome: 'answerInvalid', detail, cause: error } };
  }
}

/** Problem of an answer with an encoded body, which no request asks for; undefined for other answers. */
function encodingProblem({ headers }: Pick<ResponseHead, 'headers'>): string | undefined {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return undefined;
  const what = `it has Content-Encoding ${JSON.stringify(encoding.slice(0, 40))}, although the request asks for identity`;
  return `${what}: check whether a proxy compresses answers`;
}

/**
 * Failure of a request without a complete answer. Errors that are not from the network, a limit or an abort come from the receiver of the
 * body, and are thrown to the caller.
 */
function unanswered(call: Call, url: URL, error: unknown, sentAtMs: number): Failure {
  const outcome = outcomeOfLost(call, error);
  if (outcome === undefined) throw error;
  return { outcome, address: addressOf(url), detail: detailOf(error), cause: error, sentAtMs };
}

function outcomeOfLost(call: Call, error: unknown): Outcome | undefined {
  if (error instanceof TransportError) return outcomeOfUnanswered(error.failure);
  if (error instanceof DeadlineError || error instanceof YieldedError) return 'timeout';
  if (error instanceof HeldUpError) return 'heldUp';
  if (error instanceof DecodeError) return 'answerInvalid';
  return call.signal?.aborted && error === call.signal.reason ? 'abandoned' : undefined;
}

function lost(call: Call, url: URL, response: TransportResponse, sentAtMs: number, redirect: Redirect): Failure {
  const facts = { address: addressOf(url), status: response.status, sentAtMs };
  switch (redirect.kind) {
    case 'notAllowed':
      return { ...facts, outcome: 'redirectNotAllowed', detail: newBaseAddress(redirect.url, call.path) };
    case 'unreadable':
      return { ...facts, outcome: 'redirectInCircles', detail: 'the answer has no valid Location' };
    case 'follow':
      return { ...facts, outcome: 'redirectInCircles', detail: `more than ${maxHops} redirects` };
  }
}

function addressOf(url: URL): string {
  return url.origin + url.pathname;
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
