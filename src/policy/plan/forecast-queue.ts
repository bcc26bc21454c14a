/** Queue of the collectors in one simulated stage that are waiting to be upgraded. */
import type { WaitCause } from '../rollout/wait-cause.ts';
import type { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';

/** Collector to upgrade. */
export interface ForecastMember {
  readonly version?: string | undefined;
  /** Time zone of the collector; undefined if the collector reports none. */
  readonly zone: string | undefined;
}

interface ForecastPlace {
  readonly calendar: MaintenanceCalendar;
  /** Number of collectors in the service's list. `pageRows` is the number of collectors on a full page of this list. */
  readonly listed: number;
  readonly pageRows: number;
}

interface ForecastBatch {
  readonly zone: string | undefined;
  readonly count: number;
  waiting: number;
}

export class ForecastQueue {
  readonly #place: ForecastPlace;
  readonly #batches: ForecastBatch[] = [];
  #waiting: number;
  /**
   * Index of the first batch (collectors with the same version and time zone) that may contain a collector to upgrade
   * now.
   */
  #first = 0;
  #closedUntilMs = -Infinity;

  constructor(members: readonly ForecastMember[], place: ForecastPlace) {
    this.#place = place;
    this.#waiting = members.length;
    this.#fill(members);
  }

  /** Number of waiting collectors. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Dequeues the next collector that may be upgraded now. Returns the collector's time zone and its page in the
   * service's list. Returns undefined if no collector may be upgraded now.
   */
  next(wallMs: number): { readonly page: number; readonly zone: string | undefined } | undefined {
    const batch = this.#open(wallMs);
    if (!batch) return undefined;
    const { listed, pageRows } = this.#place;
    const row = ((batch.count - batch.waiting) * listed) / batch.count;
    batch.waiting--;
    this.#waiting--;
    return { page: Math.floor(row / pageRows), zone: batch.zone };
  }

  /**
   * Wall-clock time in ms at which the next collector may be upgraded. Infinity if no collector can ever be upgraded.
   */
  get opensAtMs(): number {
    return this.#closedUntilMs;
  }

  /**
   * Returns the wall-clock time in ms at which the first upgrade may start. Returns `wallMs` if no upgrade ever starts.
   */
  firstStartMs(wallMs: number): number {
    return this.#open(wallMs) || this.#closedUntilMs === Infinity ? wallMs : this.#closedUntilMs;
  }

  /** Returns the reason why the first waiting collector cannot be upgraded. */
  cause(wallMs: number): WaitCause {
    const first = this.#batches.find(({ waiting }) => waiting > 0);
    const verdict = this.#place.calendar.verdict(wallMs, first?.zone);
    return verdict.kind === 'closed' ? verdict.because : { kind: 'anyCollector' };
  }

  #open(wallMs: number): ForecastBatch | undefined {
    if (wallMs >= this.#closedUntilMs) {
      this.#first = 0;
      this.#closedUntilMs = Infinity;
    }
    for (let batch = this.#batches[this.#first]; batch; batch = this.#batches[++this.#first]) {
      if (batch.waiting === 0) continue;
      const verdict = this.#place.calendar.verdict(wallMs, batch.zone);
      if (verdict.kind === 'open') return batch;
      if (verdict.kind === 'closed')
        this.#closedUntilMs = Math.min(this.#closedUntilMs, verdict.opensAtMs ?? this.#closedUntilMs);
    }
    return undefined;
  }

  /**
   * Groups collectors by version. If maintenance windows use the collectors' time zones, also groups them by time zone.
   */
  #fill(members: readonly ForecastMember[]): void {
    const { byCollector } = this.#place.calendar;
    const groups = Map.groupBy(members, ({ version = '', zone = '' }) =>
      JSON.stringify([version, byCollector && zone]),
    );
    for (const group of groups.values()) {
      const { length: count } = group;
      this.#batches.push({ zone: byCollector ? group[0]?.zone : undefined, count, waiting: count });
    }
  }
}
