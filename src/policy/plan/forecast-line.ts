/** Pending collectors of one stage for a forecast: which collector is next, and when a collector may start. */
import type { MaintenanceCalendar } from '../schedule/maintenance-calendar.ts';

/** Consecutive collectors in the order of starts, with the same version and time zone. */
export interface ForecastMembers {
  /** Version that they run. May be left out for an order by name, in which versions alternate. */
  readonly version?: string;
  /** Time zone of the collectors; undefined when they report none. */
  readonly zone: string | undefined;
  readonly count: number;
}

interface Place {
  readonly calendar: MaintenanceCalendar;
  /** Number of collectors in the service's list and on one of its pages. */
  readonly listed: number;
  readonly pageRows: number;
}

interface Batch {
  readonly zone: string | undefined;
  readonly count: number;
  waiting: number;
}

export class ForecastLine {
  readonly #place: Place;
  readonly #batches: Batch[] = [];
  /** Number of collectors that never start because their time zone cannot be read. */
  readonly unreadable: number;
  #waiting = 0;
  /** Index of the first batch that may have a collector to start before `#closedUntilMs`. */
  #first = 0;
  #closedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(members: readonly ForecastMembers[], place: Place) {
    this.#place = place;
    this.unreadable = this.#fill(members);
  }

  /** Number of collectors that wait to be started. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Removes the next collector that may start now. Returns the page of the list that shows it, assuming an even spread, and its
   * time zone.
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

  /** Wall ms at which the next collector may start; Infinity when none ever may. */
  get opensAtMs(): number {
    return this.#closedUntilMs;
  }

  /** What the first pending collector waits for; completes the sentence "waiting for …". */
  reason(wallMs: number): string {
    const first = this.#batches.find(({ waiting }) => waiting > 0);
    const verdict = this.#place.calendar.verdict(wallMs, first?.zone);
    return verdict.kind === 'closed' ? verdict.because : 'a collector that can be started';
  }

  #open(wallMs: number): Batch | undefined {
    if (wallMs >= this.#closedUntilMs) {
      this.#first = 0;
      this.#closedUntilMs = Number.POSITIVE_INFINITY;
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
   * Forms batches: members of one version, split where time zones give different start times. Returns the number of members that
   * never start.
   */
  #fill(members: readonly ForecastMembers[]): number {
    const { calendar } = this.#place;
    let unreadable = 0;
    const byKey = new Map<string, number>();
    for (const { version = '', zone, count } of members) {
      if (calendar.byCollector && calendar.verdict(0, zone).kind === 'zoneUnreadable') {
        unreadable += count;
        continue;
      }
      const ownZone = calendar.byCollector ? zone : undefined;
      const key = JSON.stringify([version, ownZone ?? '']);
      const index = byKey.get(key) ?? byKey.size;
      byKey.set(key, index);
      const before = this.#batches[index]?.count ?? 0;
      this.#batches[index] = { zone: ownZone, count: before + count, waiting: before + count };
      this.#waiting += count;
    }
    return unreadable;
  }
}
