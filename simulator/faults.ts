/**
 * Selects the scenario fault that applies to a request, and changes the response accordingly.
 *
 * Only the first matching fault applies.
 */
import type { Random } from '../src/base/random.ts';
import { textOf } from './base/body.ts';
import { matchesGlob } from './base/glob.ts';
import { parseLosslessJson } from './base/lossless-json.ts';
import type { SimulatedCollector } from './collectors/collector.ts';
import { matchesCollector } from './collectors/fleet.ts';
import {
  type Delivery,
  emptyResponse,
  errorResponse,
  htmlResponse,
  type ServiceResponse,
} from './requests/response.ts';
import type { FaultKind, SimulatedOperation } from './scenario/scenario.ts';
import type { Fault, Settings } from './scenario/settings.ts';

export interface FaultSubject {
  readonly operation: SimulatedOperation;
  readonly user: string;
  readonly collector: SimulatedCollector | undefined;
  readonly searchText: string | undefined;
  readonly basePath: string;
  readonly elapsedMs: number;
}

/**
 * For each kind of fault: whether the service still carries out the request. A scenario can override this with the
 * setting `effect`.
 */
const takesEffect: Readonly<Record<FaultKind, boolean>> = {
  reset: false,
  stall: false,
  status: false,
  redirect: false,
  drip: true,
  delay: true,
  html: true,
  empty: true,
  truncate: true,
  wrongTypes: true,
  lag: true,
  pendingError: true,
  pendingWarning: true,
  unknownState: true,
  shortPage: true,
  cancelJob: true,
};

const jobReads = ['getJob', 'listMessages', 'listRecords'] as const;

/** Operations to which each kind of fault can apply. A kind that is not listed can apply to every operation. */
export const onlyFor: Readonly<Partial<Record<FaultKind, readonly SimulatedOperation[]>>> = {
  lag: ['listCollectors', ...jobReads, 'deleteJob'],
  pendingError: ['getJob'],
  pendingWarning: ['getJob'],
  unknownState: ['getJob'],
  shortPage: ['listMessages', 'listRecords'],
  cancelJob: [...jobReads, 'deleteJob'],
};

interface RuleTally {
  readonly rule: string;
  seen: number;
  struck: number;
}

export class Faults {
  readonly #random: Random;
  readonly #tallies = new Map<string, RuleTally>();

  constructor(random: Random) {
    this.#random = random;
  }

  strike(subject: FaultSubject, settings: Settings): Fault | undefined {
    return settings.faults.find((fault) => matches(fault, subject) && this.#isDue(fault));
  }

  #isDue(fault: Fault): boolean {
    const tally = this.#tallyOf(fault);
    tally.seen++;
    if (fault.times !== undefined && tally.struck >= fault.times) return false;
    if (fault.nth && !fault.nth.includes(tally.seen)) return false;
    if (fault.probability !== undefined && this.#random.next() >= fault.probability) return false;
    tally.struck++;
    return true;
  }

  #tallyOf(fault: Fault): RuleTally {
    const { rule } = fault;
    const known = this.#tallies.get(fault.name);
    if (known?.rule === rule) return known;
    const tally = { rule, seen: 0, struck: 0 };
    this.#tallies.set(fault.name, tally);
    return tally;
  }
}

export function hasEffect(fault: Fault): boolean {
  return fault.effect ?? takesEffect[fault.kind];
}

function matches(fault: Fault, subject: FaultSubject): boolean {
  if (fault.operations && !fault.operations.includes(subject.operation)) return false;
  if (onlyFor[fault.kind]?.includes(subject.operation) === false) return false;
  if (fault.users && !fault.users.includes(subject.user)) return false;
  if (subject.elapsedMs < fault.fromMs || subject.elapsedMs >= fault.untilMs) return false;
  if (fault.kind === 'redirect' && fault.to === subject.basePath) return false;
  if (fault.queries && !matchesQuery(fault.queries, subject.searchText)) return false;
  if (!fault.collectors) return true;
  return subject.collector !== undefined && matchesCollector(fault.collectors, subject.collector);
}

function matchesQuery(patterns: readonly string[], text: string | undefined): boolean {
  return text !== undefined && patterns.some((pattern) => matchesGlob(pattern, text));
}

export interface FaultyResponse {
  readonly response: ServiceResponse;
  readonly delivery: Delivery;
}

export interface FaultContext {
  /**
   * Response that the client would get without the fault, or undefined if the service did not carry out the request.
   */
  readonly response: ServiceResponse | undefined;
  readonly errorId: string;
  readonly settings: Settings;
  /** Returns the URL to which a request is redirected. `to` replaces the base path of the request URL. */
  readonly locationAt: (to: string) => string;
}

const whole: Delivery = { kind: 'whole' };

export function applyFault(fault: Fault, { response, errorId, settings, locationAt }: FaultContext): FaultyResponse {
  const real = response ?? emptyResponse(200);
  switch (fault.kind) {
    case 'reset':
    case 'stall':
    case 'truncate':
      return { response: real, delivery: { kind: fault.kind } };
    case 'drip':
      return { response: real, delivery: { kind: 'drip', bytesPerSecond: fault.bytesPerSecond ?? 1 } };
    case 'delay':
    case 'lag':
    case 'pendingError':
    case 'pendingWarning':
    case 'unknownState':
    case 'shortPage':
    case 'cancelJob':
      return { response: real, delivery: whole };
    case 'html':
      return { response: htmlResponse(200, 'Please sign in'), delivery: whole };
    case 'empty':
      return { response: emptyResponse(real.status), delivery: whole };
    case 'wrongTypes':
      return { response: { ...real, body: withWrongTypes(textOf(real.body)) }, delivery: whole };
    case 'status':
      return { response: statusResponse(fault, errorId, settings), delivery: whole };
    case 'redirect': {
      const headers = { location: locationAt(fault.to ?? '') };
      const refusal = { status: 301, code: 'moved', message: 'Use the address in the Location header.', headers };
      return { response: errorResponse(refusal, errorId, settings.errors), delivery: whole };
    }
  }
}

const statusCodes: Readonly<Record<number, string>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notfound',
  405: 'method.unsupported',
  415: 'contenttype.invalid',
  429: 'rate.limit.exceeded',
  500: 'internal.error',
  503: 'service.unavailable',
};

function statusResponse(fault: Fault, errorId: string, settings: Settings): ServiceResponse {
  const status = fault.status ?? 500;
  const code = fault.code ?? statusCodes[status] ?? 'generic';
  const message = fault.message ?? `A fault in the scenario: ${fault.name}.`;
  const headers: Record<string, string> = {};
  if (fault.retryAfter !== undefined) headers['retry-after'] = String(fault.retryAfter);
  switch (fault.body ?? 'error') {
    case 'error':
      return errorResponse({ status, code, message, headers }, errorId, settings.errors);
    case 'html': {
      const page = htmlResponse(status, message);
      return { ...page, headers: { ...page.headers, ...headers }, code };
    }
    case 'empty':
      return { ...emptyResponse(status), headers, code };
  }
}

/** Changes the type of every value in a JSON response, for example from a number to a string. */
function withWrongTypes(body: string): string {
  if (body === '') return '[]';
  const twist = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(twist);
    if (typeof value === 'string') return { text: value };
    if (typeof value === 'boolean') return 'maybe';
    if (typeof value !== 'object' || value === null) return [String(value)];
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, twist(member)]));
  };
  return JSON.stringify(twist(parseLosslessJson(body)));
}
