/**
 * The simulated service, with time set by the test. Every request ends immediately, except requests sent with `hold`.
 */
import { textOf } from '../base/body.ts';
import { parseLosslessJson } from '../base/lossless-json.ts';
import type { LogData } from '../log-data/log-data.ts';
import { type ServedResponse, ServiceModel } from '../model.ts';
import type { JournalEntry } from '../requests/journal.ts';
import type { Scenario } from '../scenario/scenario.ts';

export const startMs = Date.UTC(2026, 10, 1);
export const root = '/api/v1/collectors/upgrades';

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Credentials of the request as `ID:KEY`. */
  readonly credentials?: string;
}

export interface ReceivedReply {
  readonly status: number;
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Parsed body, in which integers beyond 2^53 are of type bigint. Undefined if the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of any response without checking its type.
  readonly json: any;
  readonly response: ServedResponse;
}

export class SimulatedService {
  readonly model: ServiceModel;
  readonly journal: JournalEntry[] = [];
  elapsedMs = 0;

  constructor(scenario: Scenario, logData?: LogData) {
    this.model = new ServiceModel(
      { limits: { requestsPerSecond: 0, concurrentRequests: 0 }, ...scenario },
      { startMs, journal: (entry) => this.journal.push(entry), ...(logData ? { logData } : {}) },
    );
  }

  /** Sends a request that stays in flight until the test calls `release`. */
  hold(method: string, path: string, { body, headers, credentials = 'simulator:simulator-key' }: RequestOptions = {}) {
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    return this.model.handle(
      {
        method,
        path: path.startsWith('/') ? path : `${root}/${path}`,
        headers: {
          authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: text,
      },
      startMs + this.elapsedMs,
    );
  }

  release({ token }: ServedResponse, answered = true): void {
    this.model.finish(token, startMs + this.elapsedMs, answered);
  }

  call(method: string, path: string, options?: RequestOptions): ReceivedReply {
    const response = this.hold(method, path, options);
    this.release(response);
    const text = textOf(response.body);
    return { ...response, text, json: parsed(text), response };
  }

  create(collectorId: unknown, toVersion?: unknown): ReceivedReply {
    return this.call('POST', root, { body: { collectorId, ...(toVersion === undefined ? {} : { toVersion }) } });
  }

  /** Creates an upgrade task and returns its id. Throws if the service refuses the task. */
  accepted(collectorId: unknown, toVersion?: unknown): string {
    const { status, json, text } = this.create(collectorId, toVersion);
    if (status !== 202) throw new Error(`not accepted: ${text}`);
    return json.id;
  }

  task(id: string) {
    return this.call('GET', id).json.upgrade;
  }

  /** Returns the names of the listed collectors. */
  names(query = ''): string[] {
    return this.call('GET', `collectors${query}`).json.collectors.map(({ name }: { name: string }) => name);
  }

  version(name: string): string | undefined {
    return this.state().collectors.find((collector) => collector.name === name)?.version;
  }

  state() {
    return this.model.snapshot(startMs + this.elapsedMs);
  }

  patch(patch: unknown): void {
    this.model.patch(patch, startMs + this.elapsedMs);
  }
}

function parsed(text: string): unknown {
  try {
    return parseLosslessJson(text);
  } catch {
    return undefined;
  }
}

export const minute = 60_000;
export const oldVersion = '19.400-1';
export const target = '19.500-1';
export const builds = ['19.300-7', oldVersion, target];

/** Three collectors with ids from 100000001 to 100000003. */
export const threeCollectors: Scenario = { builds, groups: { web: { count: 3, version: oldVersion } } };
export const first = 100_000_001;

/** Disables the request limits, so that tests can send any number of requests. */
export const noRequestLimits = { requestsPerSecond: 0, concurrentRequests: 0 };
