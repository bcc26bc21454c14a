/**
 * Assigns rows to folders by local day or hour, such as `dt=2026-11-01/hour=13` (Hive partitioning). With these
 * folders, query engines such as DuckDB read only the folders they need. If a clock change repeats an hour, both hours
 * use the same folder.
 */
import { assert } from '../base/assert.ts';
import { isoText } from '../base/time-text.ts';
import { hourMs } from '../base/time-units.ts';
import { timeZone } from '../base/time-zone.ts';

export type Partitioning = 'Day' | 'Hour';

const lengthsMs: Readonly<Record<Partitioning, number>> = { Day: 24 * hourMs, Hour: hourMs };

export class Partitions {
  readonly #partitionBy: Partitioning;
  readonly #zone: NonNullable<ReturnType<typeof timeZone>>;
  /**
   * Folder for rows with times from `#fromMs` (inclusive) to `#toMs` (exclusive). The folder is cached, because most
   * rows belong in the same folder as the previous row.
   */
  #folder = '';
  #fromMs = Number.NaN;
  #toMs = Number.NaN;

  constructor(partitionBy: Partitioning, zoneName: string) {
    const zone = timeZone(zoneName);
    assert(zone !== undefined, `${zoneName} is not a time zone`);
    this.#partitionBy = partitionBy;
    this.#zone = zone;
  }

  /** Returns the folder for rows with this time, in ms since the epoch. */
  folderOf(timeMs: number): string {
    if (!(timeMs >= this.#fromMs && timeMs < this.#toMs)) this.#find(timeMs);
    return this.#folder;
  }

  #find(timeMs: number): void {
    const lengthMs = lengthsMs[this.#partitionBy];
    const localMs = this.#zone.localMs(timeMs);
    const localFromMs = Math.floor(localMs / lengthMs) * lengthMs;
    const [day, time = ''] = isoText(localFromMs).split('T');
    this.#folder = this.#partitionBy === 'Day' ? `dt=${day}` : `dt=${day}/hour=${time.slice(0, 2)}`;
    const fromMs = localFromMs - (localMs - timeMs);
    const toMs = fromMs + lengthMs;
    // If the clocks change within this hour or day, the computed `fromMs` or `toMs` is wrong. In that case, the folder
    // is reused only for rows with exactly the same time.
    const isSteady = [fromMs, toMs - 1].every((each) => this.#zone.localMs(each) - each === localMs - timeMs);
    this.#fromMs = isSteady ? fromMs : timeMs;
    this.#toMs = isSteady ? toMs : timeMs + 1;
  }
}
