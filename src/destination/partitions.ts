/**
 * Divides data files by local day or hour, in folders such as `dt=2026-11-01/hour=13` (Hive partitioning). DuckDB,
 * Athena, Trino and Spark then read only the needed folders.
 *
 * An hour that a clock change repeats is one partition.
 */
import { assert } from '../base/assert.ts';
import { timeZone } from '../base/time-zone.ts';

export type Partitioning = 'Day' | 'Hour';

const hourMs = 3_600_000;
const lengthsMs: Readonly<Record<Partitioning, number>> = { Day: 24 * hourMs, Hour: hourMs };

export class Partitions {
  readonly #partitionBy: Partitioning;
  readonly #zone: NonNullable<ReturnType<typeof timeZone>>;
  /** Folder that was returned last, and the time range of this folder. */
  #folder = '';
  #fromMs = Number.NaN;
  #toMs = Number.NaN;

  constructor(partitionBy: Partitioning, zoneName: string) {
    const zone = timeZone(zoneName);
    assert(zone !== undefined, `${zoneName} is no time zone`);
    this.#partitionBy = partitionBy;
    this.#zone = zone;
  }

  /** Returns the folder for rows of this time, which is in ms since the epoch. */
  folderOf(timeMs: number): string {
    if (!(timeMs >= this.#fromMs && timeMs < this.#toMs)) this.#find(timeMs);
    return this.#folder;
  }

  #find(timeMs: number): void {
    const lengthMs = lengthsMs[this.#partitionBy];
    const localMs = this.#zone.localMs(timeMs);
    const localFromMs = Math.floor(localMs / lengthMs) * lengthMs;
    const [day, time = ''] = new Date(localFromMs).toISOString().split('T');
    this.#folder = this.#partitionBy === 'Day' ? `dt=${day}` : `dt=${day}/hour=${time.slice(0, 2)}`;
    const fromMs = localFromMs - (localMs - timeMs);
    const toMs = fromMs + lengthMs;
    // If the clocks change in this hour or day, its computed start or end is wrong, so the folder is cached only for
    // this millisecond.
    const isSteady = [fromMs, toMs - 1].every((each) => this.#zone.localMs(each) - each === localMs - timeMs);
    this.#fromMs = isSteady ? fromMs : timeMs;
    this.#toMs = isSteady ? toMs : timeMs + 1;
  }
}
