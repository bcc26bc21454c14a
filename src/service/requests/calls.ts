/**
 * Performs the calls of operations. A call sends as many requests as the outcome table allows, and ends with an answer or a
 * `ServiceError`. A call never sleeps: the error's handling tells the caller how long to wait.
 */
import type { Answer, Call, Reading } from './call.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { type Outcome, treatmentOf } from './outcome.ts';
import type { SettingNames } from './service-failure.ts';
import { toServiceError } from './service-failure.ts';

export interface CallsOptions extends ExchangeOptions {
  /** Names of the settings in messages. Default: keys of a Secret. */
  readonly names?: SettingNames;
}

export class Calls {
  readonly #exchange: Exchange;
  readonly #names: SettingNames | undefined;

  constructor(options: CallsOptions) {
    this.#exchange = new Exchange(options);
    this.#names = options.names;
  }

  async perform<T>(call: Call, reading: Reading<T>): Promise<Answer<T>> {
    const timesSeen = new Map<Outcome, number>();
    for (;;) {
      const reply = await this.#exchange.perform(call, reading);
      if (reply.kind === 'answer') return reply.answer;
      const { outcome } = reply.failure;
      const seen = (timesSeen.get(outcome) ?? 0) + 1;
      timesSeen.set(outcome, seen);
      const { again, effect } = treatmentOf(call.operation, outcome);
      if (seen > again) throw toServiceError(call.operation, reply.failure, this.#names);
      if (effect === 'none') call.hadNoEffect?.();
    }
  }
}
