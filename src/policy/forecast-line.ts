/** Those of a stage who wait to be started, for a forecast: who is next, and when somebody may be. */
import type { MaintenanceCalendar } from './maintenance-calendar.ts';

/** Collectors that stand together in the line. */
export interface ForecastMembers {
  /** The version that they run; where the order is by name, versions alternate and may be left out. */
  readonly version?: string;
  /** Their time zone; undefined where they tell none. */
  readonly zone: string | undefined;
  readonly count: number;
}

interface Place {
  readonly calendar: MaintenanceCalendar;
  /** Collectors in the service's list, and on one page of it. */
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
  /** Collectors that never start, since nobody can tell when their window opens. */
  readonly unreadable: number;
  #waiting = 0;
  /** Of the batches before this one none has anybody who may start before `#closedUntilMs`. */
  #first = 0;
  #closedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(members: readonly ForecastMembers[], place: Place) {
    this.#place = place;
    this.unreadable = this.#fill(members);
  }

  /** How many wait to be started. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes who may start now out of the line: the page of the list that shows it, if members lie all over it, and its zone. */
  next(wallMs: number): { readonly page: number; readonly zone: string | undefined } | undefined {
    const batch = this.#open(wallMs);
    if (!batch) return undefined;
    const { listed, pageRows } = this.#place;
    const row = ((batch.count - batch.waiting) * listed) / batch.count;
    batch.waiting--;
    this.#waiting--;
    return { page: Math.floor(row / pageRows), zone: batch.zone };
  }

  /** Where nobody may start now, when somebody may, in wall ms; Infinity where that never comes. */
  get opensAtMs(): number {
    return this.#closedUntilMs;
  }

  /** What the first in the line waits for; completes the sentence "waiting for …". */
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

  /** Members of a version are one batch, unless their zones make them start at different times. Returns who never starts. */
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
