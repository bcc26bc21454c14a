/** Metrics that tests read: the last or summed value of each series, by name and label values. */
import type { Labels, Metrics } from '../../../src/base/metrics.ts';

export class CountingMetrics implements Metrics {
  readonly values = new Map<string, number>();
  readonly observations = new Map<string, number[]>();

  counter(name: string) {
    return {
      add: (labels: Labels, amount = 1) => {
        const key = series(name, labels);
        this.values.set(key, (this.values.get(key) ?? 0) + amount);
      },
    };
  }

  gauge(name: string) {
    return {
      set: (labels: Labels, value: number) => {
        this.values.set(series(name, labels), value);
      },
      remove: (labels: Labels) => {
        this.values.delete(series(name, labels));
      },
    };
  }

  histogram(name: string) {
    return {
      observe: (labels: Labels, value: number) => {
        const key = series(name, labels);
        this.observations.set(key, [...(this.observations.get(key) ?? []), value]);
      },
    };
  }
}

function series(name: string, labels: Labels): string {
  return `${name}{${Object.values(labels).join(',')}}`;
}
