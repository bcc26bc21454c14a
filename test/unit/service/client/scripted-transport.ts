/** A transport that does what a script says, one step for each request, and a budget that keeps account of its slots. */

import { assert } from '../../../../src/base/assert.ts';
import { type Clock, sleep } from '../../../../src/base/clock.ts';
import { JobAdmission } from '../../../../src/service/job-admission.ts';
import type { KeyBudget, Slot, SlotOutcome, SlotRequest } from '../../../../src/service/request-budget.ts';
import { depart, NotLeadingError, type SendRight, type Term } from '../../../../src/service/send-right.ts';
import {
  type Transport,
  TransportError,
  type TransportFailure,
  type TransportRequest,
  type TransportResponse,
} from '../../../../src/service/transport.ts';
import { everlastingRight } from '../../../support/send-rights.ts';

export interface AnswerStep {
  readonly kind: 'answer';
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly setCookies?: readonly string[];
  /** How long the head takes. */
  readonly afterMs?: number;
  /** Of how many bytes the pieces of the body are, and how long each of them takes. All of it at once where absent. */
  readonly pieceBytes?: number;
  readonly pieceMs?: number;
  /** What comes instead of the rest after so many bytes of the body: a failure, or (without one) nothing ever again. */
  readonly breaksAfter?: { readonly bytes: number; readonly failure?: TransportFailure };
}

export type Step =
  | AnswerStep
  /** No connection comes about: with a failure, or (without one) for ever. */
  | { readonly kind: 'noConnection'; readonly failure?: TransportFailure }
  /** A connection stands, but the request is not written. */
  | { readonly kind: 'unwritten'; readonly failure: TransportFailure }
  /** A connection stands, and the budget no longer lets the request go (L1). */
  | { readonly kind: 'noRight' }
  /** Written; then the failure, or (without one) nothing ever again. */
  | { readonly kind: 'written'; readonly failure?: TransportFailure };

const never = <T>() => new Promise<T>(() => {});

export class ScriptedTransport implements Transport {
  readonly written: TransportRequest[] = [];
  /** When each was written, on the monotonic clock. */
  readonly writtenAtMs: number[] = [];
  readonly #steps: Step[];
  readonly #clock: Clock;

  /** The last step goes on for ever. */
  constructor(clock: Clock, steps: readonly Step[]) {
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
    request.beforeWrite();
    this.written.push(request);
    this.writtenAtMs.push(this.#clock.monotonic());
    if (step.kind === 'written' && step.failure !== undefined) throw new TransportError(step.failure, step.failure);
    return step.kind === 'answer' ? this.#answer(request, step) : never();
  }

  async drain(): Promise<void> {}
  async close(): Promise<void> {}

  async #answer({ receiver, signal }: TransportRequest, step: AnswerStep): Promise<TransportResponse> {
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

  #next(): Step {
    const step = this.#steps.length > 1 ? this.#steps.shift() : this.#steps[0];
    assert(step, 'a script has a step');
    return step;
  }
}

/** Grants at once; `ends` holds how each slot ended. */
export class RecordingBudget implements KeyBudget {
  readonly requests: SlotRequest[] = [];
  readonly ends: (SlotOutcome | { readonly kind: 'released' })[] = [];
  /** When heads came that the budget was told of before the end of their answer. */
  readonly heardAtMs: number[] = [];
  /** What gives those up that have been waited for long enough. */
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
    this.jobs = new JobAdmission({ clock, sustainable: () => 30 });
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

  #end(outcome: SlotOutcome | { readonly kind: 'released' }): void {
    this.open -= 1;
    this.ends.push(outcome);
  }
}
