/**
 * Simulates the reads that show that upgrades have ended, by the rules of `watch-plan.ts`. All upgrades are assumed to
 * take the same time.
 */

import { pageWaitMs, samples } from '../attempts/watch-plan.ts';
import { policySettings } from '../settings.ts';

export class ForecastReads {
  /** Duration of an upgrade in ms until the read that shows its end. */
  readonly #typicalMs: number;
  /** Sorted wall times in ms at which upgrades should have ended, by page of the collector list. */
  readonly #pages = new Map<number, number[]>();
  /**
   * Started upgrades, sorted by the time at which they should have ended. `#nextDue` is the index of the first upgrade
   * whose time has not come yet.
   */
  readonly #due: { readonly page: number; readonly dueMs: number }[] = [];
  #nextDue = 0;
  /** Pages with upgrades that should have ended, so that the pages should be read. */
  readonly #ripe = new Set<number>();
  #open = 0;
  #nextSampleMs = Infinity;
  #samplesLeft = 0;
  #learntMs: number | undefined;

  /** @param isSeen whether `upgradeMs` also covers the time from the end of the upgrade until a read shows it */
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
    const open = this.#pages.get(page) ?? [];
    open.push(dueMs);
    this.#pages.set(page, open);
    if (this.#learntMs !== undefined) return;
    this.#learntMs = dueMs;
    this.#nextSampleMs = wallMs + policySettings.firstReadMs;
  }

  /**
   * Simulates the next read that shows the ends of upgrades. Returns whether a read was due.
   * @param pressed whether other collectors wait for the ends of these upgrades, so that reads come sooner
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

  /** Wall time in ms of the next read; Infinity without running upgrades. */
  nextMs(wallMs: number, pressed: boolean): number {
    this.#ripen(wallMs);
    let nextMs = Math.min(this.#nextSampleMs, this.#due[this.#nextDue]?.dueMs ?? Infinity);
    for (const page of this.#ripe) nextMs = Math.min(nextMs, this.#readAtMs(page, wallMs, pressed));
    return nextMs;
  }

  /**
   * Returns the wall time in ms at which a page is read. The read may be delayed until more upgrades on the page have
   * ended.
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
