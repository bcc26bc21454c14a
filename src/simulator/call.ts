/** A request on its way to the half of the service that it is for, and what a half makes of it. */
import type { Answer, Refusal } from './answer.ts';
import type { Operation } from './scenario.ts';
import type { AccessKey, Fault, Settings } from './settings.ts';
import type { Collector } from './upgrades/collector.ts';

export interface ServiceRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Whether the body was longer than any operation takes, and is not there for that. */
  readonly isTooLong?: boolean;
}

/** A request that has been let in. */
export interface Call {
  readonly key: AccessKey;
  readonly settings: Settings;
  readonly atMs: number;
  readonly request: ServiceRequest;
  readonly query: URLSearchParams;
  /** The base path that the request came in by. */
  readonly basePath: string;
  /** The rule that struck the request. Only kinds that are about the operation itself are acted upon behind this. */
  readonly fault: Fault | undefined;
}

/** What a request brought into being. */
export interface Made {
  /** Decimal digits; of the upgrade task. */
  readonly taskId?: string;
  /** Of the search job. */
  readonly jobId?: string;
}

export interface Done extends Answer, Made {}

export interface Refused {
  readonly refusal: Refusal;
}

/** An answer, or why there is none. */
export type Outcome = Done | Refused;

/** A request whose path and body were read, and which has had no effect yet. */
export interface Understood {
  readonly operation: Operation;
  /** The collector of the task that is made or read. */
  readonly collector?: Collector | undefined;
  /** The id that the request names to make a task, whether or not there is such a collector. */
  readonly collectorId?: string | undefined;
  /** The search job that the request asks for, whether or not there is such a job. */
  readonly jobId?: string;
  /** The query of the job that is made or asked for. */
  readonly searchText?: string | undefined;
  act(call: Call): Outcome;
}

/** What a path leads to, by method; never empty. */
export type Methods = Readonly<Record<string, (request: ServiceRequest) => Understood>>;

/** The upgrades, or the searches: what there is at a path below the base path; undefined where there is nothing. */
export interface Half {
  methodsAt(path: string): Methods | undefined;
}

export function refuse(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message } };
}
