/**
 * When the ends of upgrades are looked for, for a forecast: as `watch-plan.ts` plans it, for upgrades that all take the same time.
 *
 * Those on one page that are due soon after each other are one look. Whether that reads the page or a single task, it is one request.
 * Before the first has ended nobody knows how long upgrades take, and a few are read again and again.
 */
import { policySettings } from './settings.ts';
import { pageWaitMs, samples } from './watch-plan.ts';

/** When upgrades of one page are due, in order, from `next` on. */
interface PageLine {
  readonly dueMs: number[];
  next: number;
  /** How many of them are due. */
  ripe: number;
}

export class ForecastLooks {
  /** What the engine will have learnt: it first looks at certain times, and sees that one has ended. */
  readonly #typicalMs: number;
  readonly #pages = new Map<number, PageLine>();
  /** Pages of the upgrades in the order in which they are due, which is that of their starts; from `#nextDue` on not due yet. */
  readonly #due: { readonly page: number; readonly dueMs: number }[] = [];
  #nextDue = 0;
  readonly #ripe = new Set<number>();
  #open = 0;
  #nextSampleMs = Number.POSITIVE_INFINITY;
  #samplesLeft = 0;
  #learntMs: number | undefined;

  /** @param isSeen whether that is how long it takes until the end is seen */
  constructor(upgradeMs: number, isSeen: boolean) {
    const { firstReadMs, openLimitMs } = policySettings;
    const seenMs = isSeen ? upgradeMs : Math.max(1, Math.ceil(upgradeMs / firstReadMs)) * firstReadMs;
    this.#typicalMs = Math.min(openLimitMs, seenMs);
  }

  /** How many have been started and not been seen to end. */
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

  /** Whether a request to look goes out now; the ends that it shows are seen. `pressed`: whether somebody waits for them. */
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

  /** When there may be something to look at that is not there now; Infinity where nothing is open. */
  nextMs(wallMs: number, pressed: boolean): number {
    this.#ripen(wallMs);
    let nextMs = Math.min(this.#nextSampleMs, this.#due[this.#nextDue]?.dueMs ?? Number.POSITIVE_INFINITY);
    for (const page of this.#ripe) {
      nextMs = Math.min(nextMs, this.#lookAtMs(this.#pages.get(page) as PageLine, wallMs, pressed));
    }
    return nextMs;
  }

  /** A page is looked at when none on it will be due soon, or when the first has waited enough. */
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
