/**
 * Plans the reads that show whether running upgrades have ended (U9). Reading a page of the collector list can cover
 * several upgrades, whereas reading an upgrade task covers only one.
 */
import { doubledMs } from '../../base/retry-delay.ts';
import type { FleetListing } from '../../fleet/fleet-listing.ts';
import type { Attempt, Entry } from '../ledger/ledger.ts';
import { evidenceFromMs } from './attempt.ts';
import type { PolicySettings } from './settings.ts';

/** Number and times of this process's reads of one upgrade task. */
export interface TaskReads {
  readonly count: number;
  readonly lastMs: number;
  /** Monotonic time in ms of the second-to-last read. Undefined until there have been two reads. */
  readonly previousMs: number | undefined;
}

export interface WatchInput {
  readonly open: Iterable<Entry>;
  /**
   * Collectors whose row must be read again, each with the earliest monotonic time in ms at which to request the
   * listing.
   */
  readonly needed: Iterable<readonly [collectorId: string, sentAfterMs: number]>;
  readonly listing: Pick<FleetListing, 'row' | 'pageOf' | 'pageReadMs' | 'observes'>;
  readonly reads: ReadonlyMap<string, TaskReads>;
  readonly typicalMs: number | undefined;
  /** True if collectors are waiting for running upgrades to end. In that case, pages are read sooner. */
  readonly pressed: boolean;
  readonly nowMs: number;
  readonly settings: PolicySettings;
}

export interface WatchPlan {
  /**
   * Pages of the collector list to read: the number of each page, and the earliest monotonic time in ms at which to
   * request the page.
   */
  readonly pages: ReadonlyMap<number, number>;
  /** Collectors whose upgrade task is read next. */
  readonly tasks: readonly string[];
  /** True if the policy must read an upgrade task, now or later, to learn how the upgrade ended. */
  readonly needsTasks: boolean;
  /** Earliest monotonic time in ms for a sweep (read of the whole collector list); undefined if no sweep is needed. */
  readonly sweepAfterMs: number | undefined;
  /** Monotonic time in ms at which a new plan is needed. */
  readonly nextMs: number;
}

/** Number of upgrade tasks that are read frequently as long as the usual duration of an upgrade is unknown. */
export const samples = 3;
/** Number of frequent reads of one upgrade task before another task takes its place. */
const readsPerTurn = 20;
/**
 * A page of the collector list is read if at least this many upgrades of the page's collectors should have ended. For
 * fewer upgrades, the upgrade tasks are read instead.
 */
const pageWorth = 2;
const shortestRereadMs = 10_000;
const longestRereadMs = 5 * 60_000;
const unknownTypicalMs = 3 * 60_000;
/**
 * Maximum delay of a page read, as a fraction of the usual duration of an upgrade. The smaller fraction applies while
 * collectors are waiting for running upgrades to end.
 */
const waitShare = 1 / 3;
const pressedWaitShare = 1 / 20;

interface DuePage {
  due: number;
  /**
   * Number of upgrades of this page's collectors that should end soon. The read of the page is delayed until they have
   * ended, up to a maximum delay.
   */
  soon: number;
  oldestDueMs: number;
  /** Latest expected end among the upgrades that are counted in `due`, as monotonic time in ms. */
  latestDueMs: number;
  readonly ids: string[];
}

/**
 * Returns the maximum time in ms for which a page read is delayed. A delayed read also shows upgrades that end during
 * the delay.
 */
export function pageWaitMs(typicalMs: number, pressed: boolean, settings: PolicySettings): number {
  return Math.min(settings.pageWaitMs, typicalMs * (pressed ? pressedWaitShare : waitShare));
}

export function planWatch(input: WatchInput): WatchPlan {
  const plan = new PlanBuilder(input);
  for (const entry of input.open) plan.consider(entry);
  return plan.build();
}

class PlanBuilder {
  readonly #input: WatchInput;
  readonly #pages = new Map<number, number>();
  readonly #tasks: string[] = [];
  readonly #duePages = new Map<number, DuePage>();
  readonly #unsampled: { readonly id: string; readonly sinceMs: number }[] = [];
  #needsTasks = false;
  #sweepAfterMs: number | undefined;
  #nextMs = Infinity;
  readonly #waitMs: number;

  constructor(input: WatchInput) {
    this.#input = input;
    const { typicalMs = unknownTypicalMs, pressed, settings } = input;
    this.#waitMs = pageWaitMs(typicalMs, pressed, settings);
  }

  consider({ collectorId, open }: Entry): void {
    if (!open || open.state === 'intended') return;
    const { nowMs, settings } = this.#input;
    const limitMs = open.sinceMs + settings.openLimitMs;
    this.#wake(limitMs);
    if (nowMs >= limitMs) this.#wantListing(collectorId, limitMs);
    else if (open.state === 'unknown') this.#wantListing(collectorId, evidenceFromMs(open, settings));
    else if (open.state === 'adopted') this.#considerAdopted(collectorId, open);
    else this.#considerAccepted(collectorId, open);
  }

  build(): WatchPlan {
    this.#sample();
    for (const [page, due] of this.#duePages) this.#planPage(page, due);
    for (const [id, sentAfterMs] of this.#input.needed) this.#wantListing(id, sentAfterMs);
    const needsTasks = this.#needsTasks || this.#tasks.length > 0;
    return {
      pages: this.#pages,
      tasks: this.#tasks,
      needsTasks,
      sweepAfterMs: this.#sweepAfterMs,
      nextMs: this.#nextMs,
    };
  }

  #considerAdopted(id: string, open: Attempt): void {
    const { typicalMs = unknownTypicalMs, listing, settings } = this.#input;
    const seenMs = listing.row(id)?.seenAtMs ?? 0;
    const everyMs = Math.max(settings.graceMs, typicalMs / 2);
    this.#wantListing(id, Math.max(evidenceFromMs(open, settings) + typicalMs, seenMs + everyMs));
  }

  #considerAccepted(id: string, open: Attempt): void {
    const { typicalMs, listing, reads, nowMs, settings } = this.#input;
    if (typicalMs === undefined) {
      this.#unsampled.push({ id, sinceMs: open.sinceMs });
      return;
    }
    const dueMs = Math.max(open.sinceMs + typicalMs, evidenceFromMs(open, settings));
    const read = reads.get(id);
    const page = listing.observes(open.toVersion) ? listing.pageOf(id) : undefined;
    // If logfleet has read the collector's page of the list since `dueMs`, it reads the upgrade task next, even if the
    // page did not show the collector. Otherwise, it could read the same page again and again.
    const seenMs = Math.max(listing.row(id)?.seenAtMs ?? 0, page === undefined ? 0 : (listing.pageReadMs(page) ?? 0));
    if (read !== undefined || seenMs >= dueMs) {
      // The task of a slow upgrade is read at increasing intervals.
      const reads = read?.count ?? 0;
      const waitMs = Math.max(shortestRereadMs, doubledMs(typicalMs / 4, reads, longestRereadMs));
      this.#readTaskAt(id, Math.max(dueMs, read?.lastMs ?? 0) + waitMs);
      return;
    }
    if (page === undefined) {
      this.#readTaskAt(id, dueMs);
      return;
    }
    const onPage = this.#duePages.get(page) ?? { due: 0, soon: 0, oldestDueMs: dueMs, latestDueMs: 0, ids: [] };
    this.#duePages.set(page, onPage);
    onPage.oldestDueMs = Math.min(onPage.oldestDueMs, dueMs);
    if (dueMs <= nowMs) {
      onPage.due++;
      onPage.latestDueMs = Math.max(onPage.latestDueMs, dueMs);
      onPage.ids.push(id);
    } else {
      if (dueMs <= nowMs + this.#waitMs) onPage.soon++;
      this.#wake(dueMs);
    }
  }

  /**
   * Plans the read of a page of the collector list. If more upgrades of the page's collectors should end soon, delays
   * the read, up to a maximum delay.
   */
  #planPage(page: number, { due, soon, oldestDueMs, latestDueMs, ids }: DuePage): void {
    if (due === 0) return;
    const { nowMs } = this.#input;
    const readAtMs = soon === 0 ? nowMs : oldestDueMs + this.#waitMs;
    if (readAtMs > nowMs) {
      this.#wake(readAtMs);
    } else if (due >= pageWorth || this.#pages.has(page)) {
      this.#pages.set(page, Math.max(this.#pages.get(page) ?? 0, latestDueMs));
    } else {
      this.#tasks.push(...ids);
    }
  }

  /** Plans frequent reads of a few upgrade tasks to measure the usual duration of an upgrade while it is unknown. */
  #sample(): void {
    const { reads, settings } = this.#input;
    const turn = (id: string) => Math.floor((reads.get(id)?.count ?? 0) / readsPerTurn);
    this.#unsampled.sort((left, right) => turn(left.id) - turn(right.id) || left.sinceMs - right.sinceMs);
    for (const { id, sinceMs } of this.#unsampled.slice(0, samples)) {
      this.#readTaskAt(id, (reads.get(id)?.lastMs ?? sinceMs) + settings.firstReadMs);
    }
  }

  #readTaskAt(id: string, atMs: number): void {
    this.#needsTasks = true;
    if (atMs <= this.#input.nowMs) this.#tasks.push(id);
    else this.#wake(atMs);
  }

  #wantListing(id: string, sentAfterMs: number): void {
    const { listing, nowMs } = this.#input;
    if ((listing.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return;
    if (sentAfterMs > nowMs) {
      this.#wake(sentAfterMs);
      return;
    }
    const page = listing.pageOf(id);
    // The whole list must be read if the collector's page is unknown, or if a recent read of the page did not contain
    // the collector.
    const inVain = page === undefined || (listing.pageReadMs(page) ?? 0) >= sentAfterMs;
    if (inVain) this.#sweepAfterMs = Math.max(this.#sweepAfterMs ?? 0, sentAfterMs);
    else this.#pages.set(page, Math.max(this.#pages.get(page) ?? 0, sentAfterMs));
  }

  #wake(atMs: number): void {
    if (atMs > this.#input.nowMs) this.#nextMs = Math.min(this.#nextMs, atMs);
  }
}
