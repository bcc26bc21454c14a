/**
 * Simulates the reads that show that upgrades have ended. The simulation follows the rules in `watch-plan.ts`, and
 * assumes that all upgrades take the same time.
 */

import { getOrAdd } from '../../base/get-or-add.ts';
import { policySettings } from '../attempts/settings.ts';
import { pageWaitMs, samples } from '../attempts/watch-plan.ts';

export class ForecastReads {
  /** Time in ms from the start of an upgrade until a read shows that the upgrade has ended. */
  readonly #typicalMs: number;
  /**
   * For each page of the collector list, the times at which running upgrades of the page's collectors should end. These
   * are wall-clock times in ms, in ascending order.
   */
  readonly #pages = new Map<number, number[]>();
  /**
   * Started upgrades, sorted by the time at which they should end (`dueMs`). `#nextDue` is the index of the first
   * upgrade that is not expected to have ended yet.
   */
  readonly #due: { readonly page: number; readonly dueMs: number }[] = [];
  #nextDue = 0;
  /** Pages of the collector list to read again, because upgrades of collectors on these pages should have ended. */
  readonly #ripe = new Set<number>();
  #open = 0;
  #nextSampleMs = Infinity;
  #samplesLeft = 0;
  #learntMs: number | undefined;

  /** @param isSeen true if `upgradeMs` already includes the delay until a read shows that the upgrade has ended */
  constructor(upgradeMs: number, isSeen: boolean) {
    const { firstReadMs, openLimitMs } = policySettings;
    const seenMs = isSeen ? upgradeMs : Math.max(1, Math.ceil(upgradeMs / firstReadMs)) * firstReadMs;
    this.#typicalMs = Math.min(openLimitMs, seenMs);
  }

  /** Number of started upgrades whose end no read has shown yet. */
  get open(): number {
    return this.#open;
  }

  started(wallMs: number, page: number): void {
    const dueMs = wallMs + this.#typicalMs;
    this.#open++;
    this.#due.push({ page, dueMs });
    getOrAdd(this.#pages, page, () => []).push(dueMs);
    if (this.#learntMs !== undefined) return;
    this.#learntMs = dueMs;
    this.#nextSampleMs = wallMs + policySettings.firstReadMs;
  }

  /**
   * Simulates a read that is due now. Returns false if no read is due.
   * @param pressed true if collectors are waiting for running upgrades to end; pages are then read sooner
   */
  take(wallMs: number, pressed: boolean): boolean {
    if (this.#takeSample(wallMs)) return true;
    this.#ripen(wallMs);
    for (const page of this.#ripe) {
      if (this.#readAtMs(page, wallMs, pressed) > wallMs) continue;
      const open = this.#pages.get(page) ?? [];
      const later = open.filter((dueMs) => dueMs > wallMs);
      this.#open -= open.length - later.length;
      this.#pages.set(page, later);
      this.#ripe.delete(page);
      return true;
    }
    return false;
  }

  /** Returns the wall-clock time in ms of the next read, or Infinity if no upgrade is running. */
  nextMs(wallMs: number, pressed: boolean): number {
    this.#ripen(wallMs);
    let nextMs = Math.min(this.#nextSampleMs, this.#due[this.#nextDue]?.dueMs ?? Infinity);
    for (const page of this.#ripe) nextMs = Math.min(nextMs, this.#readAtMs(page, wallMs, pressed));
    return nextMs;
  }

  /**
   * Returns the wall-clock time in ms at which the page is read. The read is delayed if more upgrades of the page's
   * collectors should end soon.
   */
  #readAtMs(page: number, wallMs: number, pressed: boolean): number {
    const waitMs = pageWaitMs(this.#typicalMs, pressed, policySettings);
    const open = this.#pages.get(page) ?? [];
    const isSoon = open.some((dueMs) => dueMs > wallMs && dueMs <= wallMs + waitMs);
    return isSoon ? (open[0] as number) + waitMs : wallMs;
  }

  #ripen(wallMs: number): void {
    for (let one = this.#due[this.#nextDue]; one && one.dueMs <= wallMs; one = this.#due[++this.#nextDue]) {
      this.#ripe.add(one.page);
    }
  }

  #takeSample(wallMs: number): boolean {
    if (this.#nextSampleMs <= wallMs) {
      const nextMs = this.#nextSampleMs + policySettings.firstReadMs;
      this.#nextSampleMs = nextMs < (this.#learntMs ?? 0) ? nextMs : Infinity;
      this.#samplesLeft = Math.min(samples, this.#open);
    }
    return this.#samplesLeft > 0 && this.#samplesLeft-- > 0;
  }
}
