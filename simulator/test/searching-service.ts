/** The simulated service with log messages, and a client that stores cookies. */
import type { Scenario } from '../scenario/scenario.ts';
import type { SearchScenario } from '../scenario/search-scenario.ts';
import { type Message, RowData } from './row-data.ts';
import { type ReceivedReply, type RequestOptions, SimulatedService, startMs } from './simulated-service.ts';

export const jobs = '/api/v1/search/jobs';
export const minute = 60_000;

/** The hour before the service starts. `everyMinute` has one message for each minute of this hour. */
export const hour = { from: startMs - 60 * minute, to: startMs };
export const everyMinute: readonly Message[] = Array.from({ length: 60 }, (_, index) => ({
  at: hour.from + index * minute,
  raw: `message ${index}`,
}));

export interface JobFields {
  readonly query?: unknown;
  readonly [member: string]: unknown;
}

export class SearchingService extends SimulatedService {
  /** Creates a service. By default, search jobs start immediately and take one minute. */
  constructor(scenario: Scenario = {}, messages: readonly Message[] = everyMinute) {
    super(
      { ...scenario, search: { notStartedFor: '0s', duration: '1m', keepAlive: '1h', ...scenario.search } },
      new RowData(messages),
    );
  }

  createJob(order: JobFields = {}, options: RequestOptions = {}): ReceivedReply {
    const body = { query: '*', ...hour, timeZone: 'UTC', ...order };
    return this.call('POST', jobs, { body, ...options });
  }

  job(order: JobFields = {}, options: RequestOptions = {}): RequestedJob {
    const reply = this.createJob(order, options);
    if (reply.status !== 202) throw new Error(`not accepted: ${reply.text}`);
    return new RequestedJob(this, reply.json.id, cookieOf(reply), options);
  }

  after(elapsedMs: number): this {
    this.elapsedMs = elapsedMs;
    return this;
  }
}

/** Returns the `Cookie` request header for the cookies set by a response. */
export function cookieOf({ response }: ReceivedReply): string {
  return (response.cookies ?? []).map((cookie) => cookie.split(';')[0]).join('; ');
}

export class RequestedJob {
  readonly id: string;
  readonly cookie: string;
  readonly #service: SearchingService;
  readonly #options: RequestOptions;

  constructor(service: SearchingService, id: string, cookie: string, options: RequestOptions = {}) {
    this.#service = service;
    this.id = id;
    this.cookie = cookie;
    this.#options = options;
  }

  /** Sends a request about the search job. `under` is the part of the path after the job's id. */
  ask(method: string, under = '', cookie: string | undefined = this.cookie): ReceivedReply {
    const headers = cookie === '' ? {} : { cookie };
    return this.#service.call(method, `${jobs}/${this.id}${under}`, { ...this.#options, headers });
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests read members of any response without checking its type.
  status(): any {
    return this.ask('GET').json;
  }

  page(query = 'offset=0&limit=10000'): ReceivedReply {
    return this.ask('GET', `/messages?${query}`);
  }

  /** Returns the field `_raw` of each message on a page. */
  raws(query?: string): string[] {
    return this.page(query).json.messages.map(({ map }: { map: Record<string, string> }) => map['_raw']);
  }

  records(query = 'offset=0&limit=10000'): ReceivedReply {
    return this.ask('GET', `/records?${query}`);
  }
}

/** Returns a service with one search job. */
export function startJob(search: SearchScenario = {}, order: JobFields = {}, scenario: Scenario = {}) {
  const service = new SearchingService({ ...scenario, search });
  return { service, job: service.job(order) };
}
