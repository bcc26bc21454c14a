/** A request to the simulated service, and its outcome. Each request belongs to one of two APIs: upgrades or searches. */
import type { Answer, Refusal } from './answer.ts';
import type { Operation } from './scenario.ts';
import type { AccessKey, Fault, Settings } from './settings.ts';
import type { Collector } from './upgrades/collector.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query string of the request. */
  readonly path: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** True if the request body was dropped because it exceeded the maximum length. */
  readonly isTooLong?: boolean;
}

/** A request that passed the checks of credentials and request limits. */
export interface Call {
  readonly key: AccessKey;
  readonly settings: Settings;
  readonly atMs: number;
  readonly request: ServiceRequest;
  readonly query: URLSearchParams;
  readonly basePath: string;
  /** Fault that applies to the request. The operation itself handles only faults that change its data, such as an outdated list. */
  readonly fault: Fault | undefined;
}

/** Ids of the upgrade task or search job that a request created. */
export interface Created {
  /** Id of the upgrade task in decimal digits. */
  readonly taskId?: string;
  readonly jobId?: string;
}

export interface Done extends Answer, Created {}

export interface Refused {
  readonly refusal: Refusal;
}

export type Outcome = Done | Refused;

/** A request whose operation exists, with its body. `act` carries out the operation. */
export interface PreparedCall {
  readonly operation: Operation;
  /** Collector for which the request creates an upgrade task, or whose upgrade task it reads. */
  readonly collector?: Collector | undefined;
  /** Collector id in the body of a request that creates an upgrade task. A collector with this id need not exist. */
  readonly collectorId?: string | undefined;
  /** Id of the search job in the path of the request. The job need not exist. */
  readonly jobId?: string;
  /** Query of the search job that the request creates or reads. */
  readonly searchText?: string | undefined;
  act(call: Call): Outcome;
}

/** Operations of one URL path, by HTTP method. Each path has at least one operation. */
export type Methods = Readonly<Record<string, (request: ServiceRequest) => PreparedCall>>;

/** The upgrade API or the search API. `methodsAt` returns the operations of a path, or undefined for an unknown path. */
export interface Api {
  methodsAt(path: string): Methods | undefined;
}

export function refuse(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message } };
}

/** Creates an error about a search job. Error codes of search jobs have their own prefix (service.md 7.2 to 7.4). */
export function refuseSearch(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message, ofSearch: true } };
}
