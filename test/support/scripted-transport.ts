/**
 * Transport that responds to each request with the next step in a script. This file also defines a fake request budget,
 * which records how each request ends.
 */
import { assert } from '../../src/base/assert.ts';
import { type Clock, sleep } from '../../src/base/clock.ts';
import { JobAdmission } from '../../src/service/budget/job-admission.ts';
import { BudgetFullError } from '../../src/service/budget/request-budget.ts';
import type { KeyBudget, Slot, SlotRequest, SlotResult } from '../../src/service/budget/request-slot.ts';
import { depart, NotLeadingError, type SendRight, type Term } from '../../src/service/budget/send-right.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../src/service/transport/transport.ts';
import { TransportError, type TransportFailure } from '../../src/service/transport/transport-failure.ts';
import { everlastingRight } from './send-rights.ts';

export interface ResponseStep {
  readonly kind: 'response';
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly setCookies?: readonly string[];
  readonly afterMs?: number;
  /** Size of the body chunks in bytes. By default, the body is one chunk. */
  readonly pieceBytes?: number;
  readonly pieceMs?: number;
  /** Number of bytes after which the body fails with `failure`. If `failure` is undefined, the body never ends. */
  readonly breaksAfter?: { readonly bytes: number; readonly failure?: TransportFailure };
}

export type TransportStep =
  | ResponseStep
  /** The request gets no connection. It fails with `failure`, or waits forever if `failure` is undefined. */
  | { readonly kind: 'noConnection'; readonly failure?: TransportFailure }
  /** The request gets a connection, but fails before it is written to the connection. */
  | { readonly kind: 'unwritten'; readonly failure: TransportFailure }
  /** The operator loses its lease before it writes the request (L1). */
  | { readonly kind: 'noRight' }
  /** The request is not written, because the budget's queue is full. */
  | { readonly kind: 'budgetFull' }
  /** The request is written. It then fails with `failure`, or gets no response if `failure` is undefined. */
  | { readonly kind: 'written'; readonly failure?: TransportFailure };

const never = <T>() => new Promise<T>(() => {});

export class ScriptedTransport implements Transport {
  readonly written: TransportRequest[] = [];
  readonly writtenAtMs: number[] = [];
  readonly #steps: TransportStep[];
  readonly #clock: Clock;

  /** @param steps steps for the requests, in order; the last step applies to all remaining requests */
  constructor(clock: Clock, steps: readonly TransportStep[]) {
    this.#clock = clock;
    this.#steps = [...steps];
  }

  async ready(): Promise<void> {
    const step = this.#steps[0];
    if (step?.kind !== 'noConnection') return;
    this.#next();
    if (step.failure === undefined) await never();
    else throw new TransportError(step.failure, step.failure);
  }

  async probe(): Promise<void> {}

  async send(request: TransportRequest): Promise<TransportResponse> {
    const step = this.#next();
    if (step.kind === 'unwritten') throw new TransportError(step.failure, step.failure);
    if (step.kind === 'noRight') throw new NotLeadingError();
    if (step.kind === 'budgetFull') throw new BudgetFullError();
    request.beforeWrite();
    this.written.push(request);
    this.writtenAtMs.push(this.#clock.monotonic());
    if (step.kind === 'written' && step.failure !== undefined) throw new TransportError(step.failure, step.failure);
    return step.kind === 'response' ? this.#respond(request, step) : never();
  }

  async drain(): Promise<void> {}
  async close(): Promise<void> {}

  async #respond({ receiver, signal }: TransportRequest, step: ResponseStep): Promise<TransportResponse> {
    if (step.afterMs !== undefined) await sleep(this.#clock, step.afterMs, signal);
    const head = {
      status: step.status,
      headers: new Map(Object.entries(step.headers ?? {})),
      setCookies: step.setCookies ?? [],
      headAtMs: this.#clock.monotonic(),
    };
    const body = Buffer.from(step.body ?? '', 'utf8');
    const taken = receiver?.begin(head) ?? false;
    const { pieceBytes = Math.max(1, body.length), pieceMs, breaksAfter } = step;
    const end = Math.min(body.length, breaksAfter?.bytes ?? body.length);
    for (let at = 0; at < end; at += pieceBytes) {
      if (pieceMs !== undefined) await sleep(this.#clock, pieceMs, signal);
      signal.throwIfAborted();
      if (taken) await receiver?.write(body.subarray(at, Math.min(end, at + pieceBytes)));
    }
    signal.throwIfAborted();
    if (breaksAfter?.failure !== undefined) throw new TransportError(breaksAfter.failure, breaksAfter.failure);
    if (breaksAfter) return never();
    return { ...head, body: taken ? Buffer.alloc(0) : body };
  }

  #next(): TransportStep {
    const step = this.#steps.length > 1 ? this.#steps.shift() : this.#steps[0];
    assert(step, 'a script has a step');
    return step;
  }
}

/** Budget that lets every request start immediately, and records how each request ended. */
export class RecordingBudget implements KeyBudget {
  readonly requests: SlotRequest[] = [];
  readonly ends: (SlotResult | { readonly kind: 'released' })[] = [];
  /** Times at which the response headers arrived. */
  readonly heardAtMs: number[] = [];
  /** Functions that the budget calls to cancel requests. */
  readonly yielding: (() => void)[] = [];
  open = 0;
  started = 0;
  readonly jobs: JobAdmission;

  readonly #clock: Clock;
  readonly #right: SendRight;
  readonly #term: Term;

  constructor(clock: Clock, right = everlastingRight) {
    this.#clock = clock;
    this.#right = right;
    this.#term = right.current() as Term;
    this.jobs = new JobAdmission(clock, () => 30);
  }

  async acquire(request: SlotRequest): Promise<Slot> {
    request.signal?.throwIfAborted();
    this.requests.push(request);
    this.open += 1;
    return {
      started: (lastCheck) => {
        lastCheck?.();
        this.started += 1;
        return depart(this.#right, this.#term, this.#clock.monotonic());
      },
      heard: (headAtMs) => void this.heardAtMs.push(headAtMs),
      yieldTo: (giveUp) => void this.yielding.push(giveUp),
      release: () => this.#end({ kind: 'released' }),
      finished: (outcome) => this.#end(outcome),
    };
  }

  #end(outcome: SlotResult | { readonly kind: 'released' }): void {
    this.open -= 1;
    this.ends.push(outcome);
  }
}
