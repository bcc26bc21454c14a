/**
 * Times at which a forecast reads the ends of upgrades. It follows `watch-plan.ts`, with the same duration for all upgrades.
 *
 * Upgrades on one page that are due at about the same time share one request, whether that is a page or a task. Until the first
 * upgrade has ended, its duration is not known, and a few samples are read repeatedly.
 */

import { pageWaitMs, samples } from '../attempts/watch-plan.ts';
import { policySettings } from '../settings.ts';

/** Times at which upgrades of one page are due, in order, starting at index `next`. */
interface PageLine {
  readonly dueMs: number[];
  next: number;
  /** Number of upgrades that are due. */
  ripe: number;
}

export class ForecastReads {
  /** Duration that the engine will have learnt, from the times at which it reads. */
  readonly #typicalMs: number;
  readonly #pages = new Map<number, PageLine>();
  /** Pages of upgrades in the order of their starts and so of their due times. From `#nextDue` on they are not due yet. */
  readonly #due: { readonly page: number; readonly dueMs: number }[] = [];
  #nextDue = 0;
  readonly #ripe = new Set<number>();
  #open = 0;
  #nextSampleMs = Number.POSITIVE_INFINITY;
  #samplesLeft = 0;
  #learntMs: number | undefined;

  /** @param isSeen whether `upgradeMs` includes the time until the end is observed */
  constructor(upgradeMs: number, isSeen: boolean) {
    const { firstReadMs, openLimitMs } = policySettings;
    const seenMs = isSeen ? upgradeMs : Math.max(1, Math.ceil(upgradeMs / firstReadMs)) * firstReadMs;
    this.#typicalMs = Math.min(openLimitMs, seenMs);
  }

  /** Number of started upgrades whose end has not been observed. */
  get open(): number {
    return this.#open;
  }

  started(wallMs: number, page: number): void {
    const dueMs = wallMs + this.#typicalMs;
    this.#open++;
    this.#due.push({ page, dueMs });
    const line = this.#pages.get(page);
    if (line) line.dueMs.push(dueMs);
    else this.#pages.set(page, { dueMs: [dueMs], next: 0, ripe: 0 });
    if (this.#learntMs !== undefined) return;
    this.#learntMs = dueMs;
    this.#nextSampleMs = wallMs + policySettings.firstReadMs;
  }

  /**
   * Sends a due read and records the ends that it shows; returns whether a read was due.
   * `pressed`: whether collectors wait for these ends.
   */
  take(wallMs: number, pressed: boolean): boolean {
    if (this.#takeSample(wallMs)) return true;
    this.#ripen(wallMs);
    for (const page of this.#ripe) {
      const line = this.#pages.get(page) as PageLine;
      if (this.#lookAtMs(line, wallMs, pressed) > wallMs) continue;
      this.#open -= line.ripe;
      line.next += line.ripe;
      line.ripe = 0;
      this.#ripe.delete(page);
      return true;
    }
    return false;
  }

  /** Wall ms of the next possible read; Infinity when no upgrade is open. */
  nextMs(wallMs: number, pressed: boolean): number {
    this.#ripen(wallMs);
    let nextMs = Math.min(this.#nextSampleMs, this.#due[this.#nextDue]?.dueMs ?? Number.POSITIVE_INFINITY);
    for (const page of this.#ripe) {
      nextMs = Math.min(nextMs, this.#lookAtMs(this.#pages.get(page) as PageLine, wallMs, pressed));
    }
    return nextMs;
  }

  /** Wall ms of the read of a page: when no more of its upgrades are due soon, or when the first has waited long enough. */
  #lookAtMs({ dueMs, next, ripe }: PageLine, wallMs: number, pressed: boolean): number {
    const waitMs = pageWaitMs(this.#typicalMs, pressed, policySettings);
    const isSoon = (dueMs[next + ripe] ?? Number.POSITIVE_INFINITY) <= wallMs + waitMs;
    return isSoon ? (dueMs[next] as number) + waitMs : wallMs;
  }

  #ripen(wallMs: number): void {
    for (let one = this.#due[this.#nextDue]; one && one.dueMs <= wallMs; one = this.#due[++this.#nextDue]) {
      (this.#pages.get(one.page) as PageLine).ripe++;
      this.#ripe.add(one.page);
    }
  }

  #takeSample(wallMs: number): boolean {
    if (this.#nextSampleMs <= wallMs) {
      const nextMs = this.#nextSampleMs + policySettings.firstReadMs;
      this.#nextSampleMs = nextMs < (this.#learntMs ?? 0) ? nextMs : Number.POSITIVE_INFINITY;
      this.#samplesLeft = Math.min(samples, this.#open);
    }
    return this.#samplesLeft > 0 && this.#samplesLeft-- > 0;
  }
}
