/**
 * Log messages sent by the collectors. Their number depends on the settings, the build, and whether the collector is in
 * contact with the service.
 */
import { drawFor } from '../base/chance.ts';
import type { LogData } from '../log-data/log-data.ts';
import { shippedData } from '../log-data/shipped/shipped-data.ts';
import { maxStreams } from '../log-data/shipped/shipped-rows.ts';
import { type ShippingRate, Stream } from '../log-data/shipped/streams.ts';
import type { Settings, ShippingFault } from '../scenario/settings.ts';
import { hostNameOf, type SimulatedCollector } from './collector.ts';

/** Age in ms of the oldest messages when the service starts. */
const historyMs = 30 * 24 * 60 * 60_000;

export class Shipping {
  readonly #seed: number;
  readonly #startMs: number;
  readonly #streams = new Map<string, Stream>();
  #faults: ReadonlyMap<string, ShippingFault>;

  constructor({ seed, shippingFaults }: Settings, startMs: number) {
    this.#seed = seed;
    this.#startMs = Math.floor(startMs);
    this.#faults = shippingFaults;
  }

  /**
   * Applies a changed scenario. In the new scenario, collectors with a particular build may send more or fewer messages
   * than before.
   */
  declare({ shippingFaults }: Settings, collectors: Iterable<SimulatedCollector>, atMs: number): void {
    this.#faults = shippingFaults;
    for (const collector of collectors) this.record(collector, atMs);
  }

  /** Records how many messages per minute the collector sends, starting at `atMs`. */
  record(collector: SimulatedCollector, atMs: number): void {
    const rate = this.#rateOf(collector);
    let stream = this.#streams.get(collector.id);
    if (!stream) {
      if (rate.perMinute === 0 || this.#streams.size >= maxStreams) return;
      stream = new Stream(this.#streams.size, shipperOf(collector), this.#seed);
      this.#streams.set(collector.id, stream);
    }
    const sinceMs = Math.floor(atMs);
    stream.record(rate, sinceMs <= this.#startMs ? this.#startMs - historyMs : sinceMs);
  }

  /**
   * Returns the messages that the service received before `atMs`. Returns undefined if no collector has sent messages
   * yet.
   */
  dataAt(atMs: number): LogData | undefined {
    if (this.#streams.size === 0) return undefined;
    return shippedData({
      streams: [...this.#streams.values()],
      startMs: this.#startMs - historyMs,
      receivedBeforeMs: Math.floor(atMs),
      seed: this.#seed,
    });
  }

  #rateOf({ id, now, properties }: SimulatedCollector): ShippingRate {
    const { messagesPerMinute = 0, dailyRhythm = 0 } = properties;
    const { stopsShipping, drops } = this.#faults.get(now.version) ?? { stopsShipping: 0, drops: 0 };
    const ships =
      messagesPerMinute > 0 &&
      now.present &&
      now.running &&
      drawFor(this.#seed, 'shipping', id, now.version) >= stopsShipping;
    return { perMinute: ships ? messagesPerMinute * (1 - drops) : 0, dailyRhythm };
  }
}

function shipperOf({ id, name, properties }: SimulatedCollector) {
  return {
    collectorId: id,
    collector: name,
    host: hostNameOf(name, properties),
    category: properties.sourceCategory ?? 'fleet',
  };
}
