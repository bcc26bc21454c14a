/**
 * Number and times of the messages sent by collectors.
 *
 * A rate change does not affect earlier messages, so a repeated search finds the same messages.
 */
import { dayMs } from '../../../src/base/time-units.ts';
import { mixed } from '../message-ids.ts';

export interface ShippingRate {
  /** Mean number of messages per minute, averaged over a day. */
  readonly perMinute: number;
  /**
   * Amplitude of the daily variation in the message rate, as a fraction of the mean rate. The rate is highest at 14:00
   * UTC and lowest at 02:00 UTC.
   */
  readonly dailyRhythm: number;
}

/** Values of the fields that are the same in all messages of a collector. */
export interface Shipper {
  readonly collectorId: string;
  readonly collector: string;
  readonly host: string;
  readonly category: string;
}

interface Period extends ShippingRate {
  readonly fromMs: number;
}

/** Length in ms of a slot (a quarter of an hour). A collector's messages are spread evenly over each slot. */
const slotMs = 15 * 60_000;
const slotMinutes = slotMs / 60_000;
/** Maximum time from sending a message to its receipt, in ms. */
export const maxDelayMs = 2_000;

export class Stream {
  readonly index: number;
  readonly shipper: Shipper;
  /** Time from sending a message to its receipt, in ms. */
  readonly delayMs: number;
  readonly #key: number;
  /** Periods with a constant message rate, in chronological order. */
  readonly #periods: Period[] = [];

  constructor(index: number, shipper: Shipper, seed: number) {
    this.index = index;
    this.shipper = shipper;
    this.#key = mixed(index, seed);
    this.delayMs = mixed(this.#key, 1) % maxDelayMs;
  }

  /**
   * Records the rate at which the collector sends messages from `fromMs` onwards. Calls must be in chronological order.
   */
  record({ perMinute, dailyRhythm }: ShippingRate, fromMs: number): void {
    const last = this.#periods.at(-1);
    if (last?.perMinute === perMinute && last.dailyRhythm === dailyRhythm) return;
    this.#periods.push({ fromMs, perMinute, dailyRhythm });
  }

  count(fromMs: number, toMs: number): number {
    let count = 0;
    for (const { first, end } of this.#batches(fromMs, toMs)) count += end - first;
    return count;
  }

  /** Yields the times of the messages in [fromMs, toMs), in ascending order. */
  *times(fromMs: number, toMs: number): Generator<number> {
    for (const { slot, perSlot, first, end } of this.#batches(fromMs, toMs)) {
      for (let index = first; index < end; index++) {
        yield slot * slotMs + Math.floor(((index + this.#phase(slot)) * slotMs) / perSlot);
      }
    }
  }

  /**
   * Yields one batch for each quarter of an hour in [fromMs, toMs) in which messages are sent. `slot` is the number of
   * this quarter of an hour. Its messages are numbered from 0. The batch contains the messages from `first` up to but
   * not including `end`.
   */
  *#batches(fromMs: number, toMs: number): Generator<{ slot: number; perSlot: number; first: number; end: number }> {
    for (const [place, period] of this.#periods.entries()) {
      const periodFromMs = Math.max(fromMs, period.fromMs);
      const periodToMs = Math.min(toMs, this.#periods[place + 1]?.fromMs ?? toMs);
      for (let slot = Math.floor(periodFromMs / slotMs); slot * slotMs < periodToMs; slot++) {
        const perSlot = this.#perSlot(slot, period);
        const indexAt = (timeMs: number) => {
          const share = Math.min(1, Math.max(0, timeMs / slotMs - slot));
          return Math.min(perSlot, Math.max(0, Math.ceil(share * perSlot - this.#phase(slot))));
        };
        const [first, end] = [indexAt(periodFromMs), indexAt(periodToMs)];
        if (first < end) yield { slot, perSlot, first, end };
      }
    }
  }

  /**
   * Returns the number of messages that the collector sends in a quarter of an hour. The number is randomly rounded up
   * or down, so that its mean is correct even at a low rate.
   */
  #perSlot(slot: number, { perMinute, dailyRhythm }: ShippingRate): number {
    const day = (slot * slotMs) / dayMs;
    const rhythm = 1 + dailyRhythm * Math.sin(2 * Math.PI * (day - 8 / 24));
    return Math.floor(perMinute * slotMinutes * rhythm + random(slot, this.#key));
  }

  #phase(slot: number): number {
    return random(slot, this.#key ^ 0x5bd1e995);
  }
}

/** Returns a pseudorandom number in [0, 1) that depends only on its arguments. */
function random(value: number, key: number): number {
  return mixed(value, key) / 4_294_967_296;
}
