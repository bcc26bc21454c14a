/** A request to the simulated service, and its outcome. */

import type { SimulatedCollector } from '../collectors/collector.ts';
import type { SimulatedOperation } from '../scenario/scenario.ts';
import type { AccessKey, Fault, Settings } from '../scenario/settings.ts';
import type { ErrorResponse, ServiceResponse } from './response.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query string of the request. */
  readonly path: string;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** True if the request body was discarded because it was too long. */
  readonly isTooLong?: boolean;
}

/** A request with valid credentials that does not exceed the request limits. */
export interface ServiceCall {
  readonly key: AccessKey;
  readonly settings: Settings;
  readonly atMs: number;
  readonly request: ServiceRequest;
  readonly query: URLSearchParams;
  readonly basePath: string;
  /** Fault that applies to the request. */
  readonly fault: Fault | undefined;
}

export interface Created {
  /** Id of the upgrade task, in decimal digits. */
  readonly taskId?: string;
  readonly jobId?: string;
}

export interface Done extends ServiceResponse, Created {}

export interface Refused {
  readonly refusal: ErrorResponse;
}

export type CallResult = Done | Refused;

/** A request whose path and method match an operation. `act` carries out the operation. */
export interface PreparedCall {
  readonly operation: SimulatedOperation;
  /** Collector of the upgrade task that the request creates or reads. */
  readonly collector?: SimulatedCollector | undefined;
  /** Collector id in the request body. A collector with this id may not exist. */
  readonly collectorId?: string | undefined;
  readonly jobId?: string;
  readonly searchText?: string | undefined;
  act(call: ServiceCall): CallResult;
}

export type Methods = Readonly<Record<string, (request: ServiceRequest) => PreparedCall>>;

/** Common interface of the upgrade API and the search API. `methodsAt` returns undefined if the path is unknown. */
export interface Api {
  methodsAt(path: string): Methods | undefined;
}

export function refuse(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message } };
}

/** Creates an error for a search job (sections 7.2 to 7.4 of docs/service.md). */
export function refuseSearch(status: number, code: string, message: string): Refused {
  return { refusal: { status, code, message, ofSearch: true } };
}
