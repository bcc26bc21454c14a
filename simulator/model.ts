/**
 * The simulated service without sockets, a clock or a disk. The caller passes in the time of each request.
 *
 * Time never goes backwards. The caller must call `finish` when a request has ended. Otherwise, the request would count
 * as in flight forever, and the number of requests in flight is limited.
 */
import { type Random, seededRandom } from '../src/base/random.ts';
import { mergePatch } from './base/merge-patch.ts';
import { pickFrom, type Span } from './base/span.ts';
import { Timeline } from './base/timeline.ts';
import { authenticate } from './credentials.ts';
import { applyFault, Faults, hasEffect } from './faults.ts';
import { Limits } from './limits.ts';
import { Effort } from './log-data/effort.ts';
import type { LogData } from './log-data/log-data.ts';
import type { Api, CallResult, Created, PreparedCall, ServiceCall, ServiceRequest } from './requests/call.ts';
import type { JournalEntry } from './requests/journal.ts';
import {
  type Delivery,
  type ErrorResponse,
  errorResponse,
  type ServiceResponse,
  tooManyRequests,
} from './requests/response.ts';
import { type Routing, routeOf } from './routes.ts';
import type { Scenario } from './scenario/scenario.ts';
import { ScenarioError } from './scenario/scenario-error.ts';
import { type AccessKey, type Fault, type Settings, settingsOf } from './scenario/settings.ts';
import { checkScenario } from './scenario-check.ts';
import { ScheduledEvents } from './scheduled-events.ts';
import { logDataOf } from './search/log-source.ts';
import { SearchApi } from './search/search-api.ts';
import { type Counters, collectorState, jobState, type SimulatorState, taskState } from './snapshot.ts';
import { UpgradeApi } from './upgrades/upgrade-api.ts';

export interface ServedResponse extends ServiceResponse {
  /** Time until the response begins, in ms. */
  readonly delayMs: number;
  readonly delivery: Delivery;
  /** Identifies the request in the call to `finish`. */
  readonly token: RequestToken;
}

export interface RequestToken {
  readonly entry: Omit<JournalEntry, 'end' | 'status'>;
  readonly status: number;
  readonly accessId: string | undefined;
}

export interface ModelOptions {
  /** Time at which the service starts, in ms since the epoch. */
  readonly startMs: number;
  readonly journal?: (entry: JournalEntry) => void;
  /** Log messages to use if the scenario defines none. */
  readonly logData?: LogData;
}

interface Reply {
  readonly response: ServiceResponse;
  readonly delivery: Delivery;
  readonly delay: Span | undefined;
  readonly fault: Fault | undefined;
  readonly created: Created;
}

export class ServiceModel {
  readonly #timeline = new Timeline();
  readonly #upgrades: UpgradeApi;
  readonly #searches: SearchApi;
  readonly #effort: Effort;
  readonly #apis: readonly Api[];
  readonly #limits = new Limits();
  readonly #events: ScheduledEvents;
  readonly #faults: Faults;
  readonly #random: Random;
  readonly #startMs: number;
  readonly #journal: (entry: JournalEntry) => void;
  readonly #fileData: LogData | undefined;
  #data: LogData;
  #scenario: Scenario;
  #settings: Settings;
  #nowMs: number;
  #requests = 0;
  #rejected429 = 0;
  #errors = 0;

  constructor(scenario: Scenario, { startMs, journal = () => {}, logData }: ModelOptions) {
    this.#scenario = scenario;
    this.#settings = settingsOf(scenario);
    this.#startMs = startMs;
    this.#nowMs = startMs;
    this.#journal = journal;
    this.#fileData = logData;
    this.#data = this.#dataOf(scenario);
    this.#random = seededRandom(this.#settings.seed);
    this.#faults = new Faults(this.#random);
    this.#upgrades = new UpgradeApi(this.#settings, this.#timeline, startMs);
    this.#effort = new Effort();
    this.#searches = new SearchApi(
      this.#settings,
      this.#timeline,
      () => this.#upgrades.shipping.dataAt(this.#nowMs) ?? this.#data,
      this.#effort,
    );
    this.#apis = [this.#upgrades, this.#searches];
    const { fleet, upgrades } = this.#upgrades;
    this.#events = new ScheduledEvents({
      timeline: this.#timeline,
      fleet,
      upgrades,
      settings: () => this.#settings,
      patch: (patch, atMs) => this.#apply(mergePatch(this.#scenario, patch) as Scenario, atMs),
    });
    fleet.declare(scenario, startMs, true);
    this.#events.declare(scenario, startMs, startMs);
  }

  /** Time at which the service started, in ms since the epoch. */
  get startMs(): number {
    return this.#startMs;
  }

  /** First base path, for example `/api`. */
  get basePath(): string {
    return this.#settings.basePaths[0] as string;
  }

  get scenario(): Scenario {
    return this.#scenario;
  }

  knows(authorization: string | undefined): boolean {
    return authenticate(authorization, this.#settings.accessKeys) !== undefined;
  }

  /** Executes events that are due at `atMs`, such as the end of an upgrade. Returns the service's current time. */
  advance(atMs: number): number {
    this.#nowMs = Math.max(this.#nowMs, atMs);
    this.#timeline.advance(this.#nowMs);
    return this.#nowMs;
  }

  /**
   * Applies a merge patch (RFC 7396) to the scenario. If the result is invalid, throws ScenarioError and changes
   * nothing.
   */
  patch(patch: unknown, atMs: number): void {
    const nowMs = this.advance(atMs);
    const scenario = checkScenario(mergePatch(this.#scenario, patch), this.#startMs);
    const files = JSON.stringify(scenario.logs?.files);
    if (files !== undefined && files !== JSON.stringify(this.#scenario.logs?.files)) {
      throw new ScenarioError([
        'logs.files: can be set only when the simulator starts; restart the simulator with the new files',
      ]);
    }
    this.#apply(scenario, nowMs);
    this.#timeline.advance(nowMs);
  }

  handle(request: ServiceRequest, atMs: number): ServedResponse {
    const nowMs = this.advance(atMs);
    this.#effort.renew();
    this.#requests++;
    const key = authenticate(request.headers.authorization, this.#settings.accessKeys);
    if (!key) return this.#served(request, nowMs, undefined, this.#refused(unauthorized));
    const arrival = this.#limits.arrive(key, this.#settings.limits, nowMs);
    const routing = routeOf(request.method, request.path, this.#settings.basePaths, this.#apis);
    const prepared = routing.kind === 'found' && !request.isTooLong ? routing.read(request) : undefined;
    if (arrival.exceeded) this.#rejected429++;
    const reply = arrival.exceeded
      ? this.#refused(tooManyRequests(this.#settings.limits.retryAfter, arrival.exceeded))
      : routing.kind === 'found' && prepared
        ? this.#reply(prepared, { key, request, query: routing.query, basePath: routing.basePath, atMs: nowMs })
        : this.#refused(routing.kind === 'found' ? tooLong : unrouted(routing));
    return this.#served(request, nowMs, { key, ...arrival, prepared }, reply);
  }

  /**
   * Limits the computing time, in estimated microseconds, that searches can use during one call of a method of this
   * class. A search that reaches the limit is interrupted. The method `search` continues interrupted searches.
   */
  limitTurns(units: number): void {
    this.#effort.limit(units);
  }

  /**
   * Continues interrupted searches. Returns when the caller must call this method again: `now`, `later` or `never`.
   * `never` applies until another search job is created.
   */
  search(atMs: number): 'now' | 'later' | 'never' {
    const nowMs = this.advance(atMs);
    this.#effort.renew();
    const { jobs } = this.#searches;
    if (!jobs.catchUp(nowMs, this.#effort)) return 'now';
    return jobs.hasUnfinished ? 'later' : 'never';
  }

  /**
   * Ends a request that was in flight, and writes its journal entry. `answered` is false if the client did not receive
   * the whole response.
   */
  finish(token: RequestToken, atMs: number, answered = true): void {
    const end = this.advance(atMs);
    if (token.accessId !== undefined) this.#limits.leave(token.accessId);
    const { at, user, method, path, ...rest } = token.entry;
    const status = answered ? token.status : 0;
    this.#journal({ at, end, user, method, path, status, ...rest });
  }

  counters(): Counters {
    return {
      requests: this.#requests,
      rejected429: this.#rejected429 + this.#searches.refusedForJobs,
      maxInFlight: this.#limits.maxInFlight,
      maxPerSecond: this.#limits.maxPerSecond,
      tasksAccepted: this.#upgrades.tasksAccepted,
      createTaskRequests: this.#upgrades.createTaskRequests,
      jobsCreated: this.#searches.jobs.created,
      jobsActive: this.#searches.jobs.active(),
      jobsLostToSilence: this.#searches.jobs.lostToSilence,
    };
  }

  /** Returns the state of the simulated service at `atMs`. */
  snapshot(atMs: number): SimulatorState {
    const nowMs = this.advance(atMs);
    this.#effort.renew();
    const { fleet, upgrades } = this.#upgrades;
    const present = [...fleet.all()].filter(({ now }) => now.present);
    return {
      time: nowMs,
      builds: this.#settings.builds,
      collectors: present.map((collector) => collectorState(collector, this.#settings, nowMs)),
      tasks: [...upgrades.all()].map((task) => taskState(task, nowMs)),
      jobs: [...this.#searches.jobs.all()].map((job) => jobState(job, this.#settings, nowMs)),
      counters: this.counters(),
    };
  }

  #apply(scenario: Scenario, atMs: number): void {
    const before = this.#scenario;
    this.#scenario = scenario;
    this.#settings = settingsOf(scenario);
    if (scenario.logs !== before.logs) this.#data = this.#dataOf(scenario);
    this.#upgrades.declare(scenario, before, this.#settings, atMs);
    this.#events.declare(scenario, this.#startMs, atMs);
  }

  #dataOf({ logs }: Scenario): LogData {
    const { seed } = this.#settings;
    return logDataOf(logs, { startMs: this.#startMs, seed, fileData: this.#fileData });
  }

  #reply(prepared: PreparedCall, asked: Omit<ServiceCall, 'settings' | 'fault'>): Reply {
    const { operation, collector, searchText } = prepared;
    const { key, request, basePath, atMs } = asked;
    const settings = this.#settings;
    const elapsedMs = atMs - this.#startMs;
    const fault = this.#faults.strike(
      { operation, user: key.user, collector, searchText, basePath, elapsedMs },
      settings,
    );
    const acts = !fault || hasEffect(fault);
    const outcome = acts ? this.#act(prepared, { ...asked, settings, fault }) : undefined;
    const response = outcome && ('refusal' in outcome ? this.#error(outcome.refusal) : outcome);
    const created = outcome && !('refusal' in outcome) ? outcome : {};
    if (!fault)
      return { response: response as ServiceResponse, delivery: { kind: 'whole' }, delay: undefined, fault, created };
    const faulty = applyFault(fault, {
      response,
      errorId: this.#errorId(),
      settings,
      locationAt: (to) => locationOf(to, basePath, request),
    });
    return { ...faulty, delay: fault.delay, fault, created };
  }

  #act({ operation, act }: PreparedCall, call: ServiceCall): CallResult {
    const { method, headers } = call.request;
    const { forbidden } = call.key;
    if (forbidden === true || (forbidden !== false && forbidden.includes(operation)))
      return { refusal: forbiddenFor(operation) };
    if (!acceptsJson(headers.accept)) return { refusal: wrongType('Accept', headers.accept) };
    if (method === 'POST' && !isJson(headers['content-type']))
      return { refusal: wrongType('Content-Type', headers['content-type']) };
    return act(call);
  }

  #refused(refusal: ErrorResponse): Reply {
    return {
      response: this.#error(refusal),
      delivery: { kind: 'whole' },
      delay: undefined,
      fault: undefined,
      created: {},
    };
  }

  #error(refusal: ErrorResponse): ServiceResponse {
    return errorResponse(refusal, this.#errorId(), this.#settings.errors);
  }

  /** Returns a new error id. Each run of a scenario creates the same sequence of error ids. */
  #errorId(): string {
    let rest = (++this.#errors * 2_654_435_761 + this.#settings.seed) % 2 ** 48;
    let text = '';
    for (let place = 0; place < 15; place++) {
      text += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'[rest % 36] ?? '';
      rest = Math.floor(rest / 36) || this.#errors + place;
    }
    return `${text.slice(0, 5)}-${text.slice(5, 10)}-${text.slice(10)}`;
  }

  #served(
    request: ServiceRequest,
    atMs: number,
    arrived: { key: AccessKey; inFlight: number; perSecond: number; prepared: PreparedCall | undefined } | undefined,
    { response, delivery, delay, fault, created }: Reply,
  ): ServedResponse {
    const entry = {
      at: atMs,
      user: arrived?.key.user ?? null,
      method: request.method,
      path: request.path,
      code: response.code ?? null,
      why: response.why ?? null,
      inFlight: arrived?.inFlight ?? 0,
      perSecond: arrived?.perSecond ?? 0,
      operation: arrived?.prepared?.operation ?? null,
      fault: fault?.name ?? null,
      collectorId: arrived?.prepared?.collectorId ?? null,
      taskId: created.taskId ?? null,
      jobId: created.jobId ?? arrived?.prepared?.jobId ?? null,
    };
    const delayMs = this.#drawMs(this.#settings.latency) + (delay ? this.#drawMs(delay) : 0);
    const token = { entry, status: response.status, accessId: arrived?.key.accessId };
    return { ...response, delayMs, delivery, token };
  }

  #drawMs(span: Span): number {
    return span.minMs === span.maxMs ? span.minMs : pickFrom(span, this.#random.next());
  }
}

const unauthorized: ErrorResponse = {
  status: 401,
  code: 'unauthorized',
  message: 'The credential could not be verified.',
  headers: { 'www-authenticate': 'Basic realm="log service"' },
};

const tooLong: ErrorResponse = { status: 413, code: 'request.too.large', message: 'The body is longer than 1 MiB.' };

function forbiddenFor(operation: string): ErrorResponse {
  return { status: 403, code: 'forbidden', message: `This account is not permitted to use ${operation}.` };
}

function wrongType(header: string, value: string | undefined): ErrorResponse {
  const message = `${header} is ${value === undefined ? 'missing' : JSON.stringify(value)}; it must be application/json.`;
  return { status: 415, code: 'contenttype.invalid', message };
}

function unrouted(routing: Routing): ErrorResponse {
  if (routing.kind !== 'method')
    return { status: 404, code: 'notfound', message: 'The service has no operation at this path.' };
  const headers = { allow: routing.allow };
  return { status: 405, code: 'method.unsupported', message: `This path supports only ${routing.allow}.`, headers };
}

function isJson(contentType: string | undefined): boolean {
  return contentType?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const types = accept.split(',').map((entry) => entry.split(';')[0]?.trim().toLowerCase());
  return types.some((type) => type === 'application/json' || type === 'application/*' || type === '*/*');
}

/** Returns the URL to which a request is redirected. `to` replaces the base path of the request URL. */
function locationOf(to: string, basePath: string, { path, headers }: ServiceRequest): string {
  const rest = path.slice(basePath.length);
  if (!to.startsWith('/') || headers.host === undefined) return `${to.replace(/\/$/, '')}${rest}`;
  return `https://${headers.host}${to.replace(/\/$/, '')}${rest}`;
}
