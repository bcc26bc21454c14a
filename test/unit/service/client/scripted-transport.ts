/** A transport that does what a script says, one step for each request, and a budget that keeps account of its slots. */

import { assert } from '../../../../src/base/assert.ts';
import type { Clock } from '../../../../src/base/clock.ts';
import type { KeyBudget, Slot, SlotOutcome, SlotRequest } from '../../../../src/service/request-budget.ts';
import {
  type Transport,
  TransportError,
  type TransportFailure,
  type TransportRequest,
  type TransportResponse,
} from '../../../../src/service/transport.ts';

export type Step =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** No connection comes about: with a failure, or (without one) for ever. */
  | { readonly kind: 'noConnection'; readonly failure?: TransportFailure }
  /** A connection stands, but the request is not written. */
  | { readonly kind: 'unwritten'; readonly failure: TransportFailure }
  /** Written; then the failure, or (without one) nothing ever again. */
  | { readonly kind: 'written'; readonly failure?: TransportFailure };

const never = <T>() => new Promise<T>(() => {});

export class ScriptedTransport implements Transport {
  readonly written: TransportRequest[] = [];
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

  async send(request: TransportRequest): Promise<TransportResponse> {
    const step = this.#next();
    if (step.kind === 'unwritten') throw new TransportError(step.failure, step.failure);
    request.beforeWrite();
    this.written.push(request);
    if (step.kind === 'written' && step.failure !== undefined) throw new TransportError(step.failure, step.failure);
    if (step.kind !== 'answer') return never();
    return {
      status: step.status,
      headers: new Map(Object.entries(step.headers ?? {})),
      body: Buffer.from(step.body ?? '', 'utf8'),
      headAtMs: this.#clock.monotonic(),
    };
  }

  async drain(): Promise<void> {}
  async close(): Promise<void> {}

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
  open = 0;
  started = 0;

  async acquire(request: SlotRequest): Promise<Slot> {
    request.signal?.throwIfAborted();
    this.requests.push(request);
    this.open += 1;
    return {
      started: () => {
        this.started += 1;
      },
      release: () => this.#end({ kind: 'released' }),
      finished: (outcome) => this.#end(outcome),
    };
  }

  takeover(): void {}

  #end(outcome: SlotOutcome | { readonly kind: 'released' }): void {
    this.open -= 1;
    this.ends.push(outcome);
  }
}
