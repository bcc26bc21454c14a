/** Records metrics from operators in virtual time, as Prometheus would. */
import type { PrometheusMetrics } from '../../src/base/prometheus-metrics.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { type AlertQuery, type AlertTest, alertRules, type InputSeries, metricsIn } from './alert-rules.ts';

const used = new Set(alertRules.flatMap(({ expr }) => metricsIn(expr)));

/** Operator whose metrics are scraped, with its pod name. */
export interface ScrapedOperator {
  readonly name: string;
  readonly metrics: PrometheusMetrics;
}

export class RecordedSeries {
  readonly startMs: number;
  readonly #clock: VirtualClock;
  readonly #stepMs: number;
  /** Values of each metric series. The index of a value is the number of its scrape. */
  readonly #series = new Map<string, string[]>();
  #scrapes = 0;

  constructor(clock: VirtualClock, stepMs: number) {
    this.#clock = clock;
    this.#stepMs = stepMs;
    this.startMs = clock.now();
  }

  get #minutes(): number {
    return Math.round(((this.#scrapes - 1) * this.#stepMs) / 60_000);
  }

  get interval(): string {
    return `${this.#stepMs / 1_000}s`;
  }

  /** Advances the clock by `durationMs` in steps, and scrapes all operators before each step. */
  async record(durationMs: number, operators: () => readonly ScrapedOperator[]): Promise<void> {
    for (let passedMs = 0; passedMs < durationMs; passedMs += this.#stepMs) {
      for (const operator of operators()) this.#scrape(operator.name, await operator.metrics.render());
      this.#scrapes++;
      await this.#clock.advance(this.#stepMs);
    }
  }

  /**
   * Returns the values of each series in promtool notation. For example, `1x3` stands for 1 1 1 1, and `_x3` for three
   * missing values.
   */
  #input(): InputSeries {
    return Object.fromEntries([...this.#series].map(([key, values]) => [key, this.#compressed(values)]));
  }

  /**
   * Returns a test that evaluates the queries. A query without a time of its own is evaluated at the time of the last
   * scrape.
   */
  testAtEnd(name: string, queries: readonly (Omit<AlertQuery, 'at'> & Partial<AlertQuery>)[]): AlertTest {
    return {
      ...{ name, interval: this.interval, startSeconds: this.startMs / 1_000 },
      series: this.#input(),
      queries: queries.map((query) => ({ at: `${this.#minutes}m`, ...query })),
    };
  }

  #scrape(pod: string, text: string): void {
    for (const [, name = '', labels = '', value = ''] of text.matchAll(/^(logfleet_\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      if (!used.has(name)) continue;
      const target = [...(labels.includes('namespace=') ? [] : ['namespace="logfleet"']), `pod="${pod}"`];
      const key = `${name}{${[...(labels === '' ? [] : [labels]), ...target].join(',')}}`;
      const values = this.#series.get(key) ?? [];
      this.#series.set(key, values);
      values[this.#scrapes] = value;
    }
  }

  #compressed(values: readonly string[]): string {
    const runs: { readonly value: string; count: number }[] = [];
    for (let index = 0; index < this.#scrapes; index++) {
      const value = values[index] ?? '_';
      const last = runs.at(-1);
      if (last?.value === value) last.count++;
      else runs.push({ value, count: 1 });
    }
    return runs.map(({ value, count }) => `${value}x${value === '_' ? count : count - 1}`).join(' ');
  }
}
