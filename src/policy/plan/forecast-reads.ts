/**
 * Predicts the times at which a rollout reads whether its upgrades have ended. The forecast uses the same rules as
 * `watch-plan.ts`, and assumes that all upgrades take the same time.
 *
 * Upgrades on one page of the collector list that end at about the same time share one request, either for the page or for a
 * task. Until the first upgrade has ended, the duration is unknown, and a few upgrades are read repeatedly.
 */

import { pageWaitMs, samples } from '../attempts/watch-plan.ts';
import { policySettings } from '../settings.ts';

export class ForecastReads {
  /** Duration of an upgrade that the operator would measure in this rollout, which depends on the times of its reads. */
  readonly #typicalMs: number;
  /** Wall times in ms at which the ends of upgrades are due to be read, in order, by page of the collector list. */
  readonly #pages = new Map<number, number[]>();
  /**
   * Pages of the collector list with started upgrades, in the order of their starts, which is the
   * order of their due times. Entries from `#nextDue` on are not due yet.
   */
  readonly #due: { readonly page: number; readonly dueMs: number }[] = [];
  #nextDue = 0;
  /** Pages on which the end of an upgrade is due to be read. */
  readonly #ripe = new Set<number>();
  #open = 0;
  #nextSampleMs = Infinity;
  #samplesLeft = 0;
  #learntMs: number | undefined;

  /** @param isSeen whether `upgradeMs` includes the time until a read shows the end of the upgrade */
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
   * Sends a read that is due and records the upgrades whose end it shows. Returns whether a read was due. `pressed` tells whether
   * collectors wait until these upgrades end.
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

  /** Wall time in ms of the next possible read; Infinity when no upgrade is open. */
  nextMs(wallMs: number, pressed: boolean): number {
    this.#ripen(wallMs);
    let nextMs = Math.min(this.#nextSampleMs, this.#due[this.#nextDue]?.dueMs ?? Infinity);
    for (const page of this.#ripe) nextMs = Math.min(nextMs, this.#readAtMs(page, wallMs, pressed));
    return nextMs;
  }

  /**
   * Wall time in ms at which a page is read: when no other upgrade on the page becomes due soon, or when the first due upgrade
   * has waited for the maximum time.
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
