/**
 * What to read next so that every open attempt comes to its end, at the least cost (U9): one page shows all attempts whose
 * collectors lie on it, so a page is read once those that should have ended lie together; a task's own status is
 * read where that is cheaper, or where the page cannot tell.
 *
 * It says what is due now and when to look again; it sends nothing.
 */
import type { Row } from '../fleet/fleet-rows.ts';
import { evidenceFromMs } from './attempt.ts';
import type { Attempt, Entry } from './ledger.ts';
import type { PolicySettings } from './settings.ts';

/** What was read about an attempt by its task id, by this process. */
export interface TaskReads {
  readonly count: number;
  readonly lastMs: number;
  /** The read before the last one; undefined where there was none. */
  readonly previousMs: number | undefined;
}

export interface WatchInput {
  readonly open: Iterable<Entry>;
  readonly row: (collectorId: string) => Row | undefined;
  /** The page that shows a collector, or undefined where its place is not known. */
  readonly pageOf: (collectorId: string) => number | undefined;
  /** When a page was last read, as the time of its sending. */
  readonly pageReadMs: (page: number) => number | undefined;
  readonly reads: ReadonlyMap<string, TaskReads>;
  /** Whether listings show who is at this version (U7). */
  readonly observes: (version: string) => boolean;
  readonly typicalMs: number | undefined;
  /** Whether somebody waits for a place, or for the end: then ended ones are looked for sooner. */
  readonly pressed: boolean;
  readonly nowMs: number;
  readonly settings: PolicySettings;
}

export interface WatchPlan {
  /** Page → the request must be sent at or after this. */
  readonly pages: ReadonlyMap<number, number>;
  /** Collectors whose open attempt's task is to be read. */
  readonly tasks: readonly string[];
  /** A sweep is needed whose requests are sent at or after this. */
  readonly sweepAfterMs: number | undefined;
  /** When to look again. */
  readonly nextMs: number;
}

/** While nothing is known of how long upgrades take, this many are watched closely. */
export const samples = 3;
/** So often is a sample read before another one has its turn. */
const readsPerTurn = 20;
/** Fewer attempts than this on a page are cheaper to read one by one. */
const pageWorth = 2;
const shortestRereadMs = 10_000;
const longestRereadMs = 5 * 60_000;
const unknownTypicalMs = 3 * 60_000;
/** How long an ended attempt waits for others on its page, as a share of what an upgrade takes. */
const waitShare = 1 / 3;
const pressedWaitShare = 1 / 20;

interface DuePage {
  due: number;
  /** Accepted attempts on this page that are not due yet, but will be within the wait. */
  soon: number;
  oldestDueMs: number;
  /** Of those that are due: a page sent then shows them all. */
  latestDueMs: number;
  readonly ids: string[];
}

/** How long an ended attempt waits at most for others of its page. */
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
  #sweepAfterMs: number | undefined;
  #nextMs = Number.POSITIVE_INFINITY;
  readonly #waitMs: number;

  constructor(input: WatchInput) {
    this.#input = input;
    const { typicalMs = unknownTypicalMs, pressed, settings } = input;
    this.#waitMs = pageWaitMs(typicalMs, pressed, settings);
  }

  consider(entry: Entry): void {
    const { open } = entry;
    if (!open) return;
    const { nowMs, settings } = this.#input;
    const limitMs = open.sinceMs + settings.openLimitMs;
    if (open.state !== 'intended') {
      if (nowMs >= limitMs) {
        this.#wantListing(entry.collectorId, limitMs);
        return;
      }
      this.#wake(limitMs);
    }
    switch (open.state) {
      case 'intended':
        return;
      case 'unknown':
        this.#wantListing(entry.collectorId, evidenceFromMs(open, settings));
        return;
      case 'adopted':
        this.#considerAdopted(entry.collectorId, open);
        return;
      case 'accepted':
        this.#considerAccepted(entry.collectorId, open);
        return;
    }
  }

  build(): WatchPlan {
    this.#sample();
    for (const [page, due] of this.#duePages) this.#planPage(page, due);
    return { pages: this.#pages, tasks: this.#tasks, sweepAfterMs: this.#sweepAfterMs, nextMs: this.#nextMs };
  }

  #considerAdopted(id: string, open: Attempt): void {
    const { typicalMs = unknownTypicalMs, row, settings } = this.#input;
    const seenMs = row(id)?.seenAtMs ?? 0;
    const everyMs = Math.max(settings.graceMs, typicalMs / 2);
    this.#wantListing(id, Math.max(evidenceFromMs(open, settings) + typicalMs, seenMs + everyMs));
  }

  #considerAccepted(id: string, open: Attempt): void {
    const { typicalMs, row, reads, nowMs, observes, pageOf, pageReadMs, settings } = this.#input;
    if (typicalMs === undefined) {
      this.#unsampled.push({ id, sinceMs: open.sinceMs });
      return;
    }
    const dueMs = Math.max(open.sinceMs + typicalMs, evidenceFromMs(open, settings));
    const read = reads.get(id);
    const page = observes(open.toVersion) ? pageOf(id) : undefined;
    // A page that hides who still runs the old version says that it has not ended by not showing it.
    const seenMs = Math.max(row(id)?.seenAtMs ?? 0, page === undefined ? 0 : (pageReadMs(page) ?? 0));
    if (read !== undefined || seenMs >= dueMs) {
      // It should have ended and has not: its own status tells, asked for ever more rarely.
      const reads = read?.count ?? 0;
      const waitMs = Math.min(longestRereadMs, Math.max(shortestRereadMs, (typicalMs / 4) * 2 ** Math.min(reads, 8)));
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

  /** A page is read when all on it that will be due soon are, or when the oldest has waited enough. */
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

  /**
   * Before anything is known, a few of the oldest are read closely; the rest waits for what they teach. Those that have taught
   * nothing for long, as upgrades that hang, give way to the next.
   */
  #sample(): void {
    const { reads, settings } = this.#input;
    const turn = (id: string) => Math.floor((reads.get(id)?.count ?? 0) / readsPerTurn);
    this.#unsampled.sort((left, right) => turn(left.id) - turn(right.id) || left.sinceMs - right.sinceMs);
    for (const { id, sinceMs } of this.#unsampled.slice(0, samples)) {
      this.#readTaskAt(id, (reads.get(id)?.lastMs ?? sinceMs) + settings.firstReadMs);
    }
  }

  #readTaskAt(id: string, atMs: number): void {
    if (atMs <= this.#input.nowMs) this.#tasks.push(id);
    else this.#wake(atMs);
  }

  #wantListing(id: string, sentAfterMs: number): void {
    if ((this.#input.row(id)?.seenAtMs ?? 0) >= sentAfterMs) return;
    if (sentAfterMs > this.#input.nowMs) {
      this.#wake(sentAfterMs);
      return;
    }
    const { pageOf, pageReadMs } = this.#input;
    const page = pageOf(id);
    // A page that was read since and does not show it hides it: only a sweep looks everywhere.
    const inVain = page === undefined || (pageReadMs(page) ?? 0) >= sentAfterMs;
    if (inVain) this.#sweepAfterMs = Math.max(this.#sweepAfterMs ?? 0, sentAfterMs);
    else this.#pages.set(page, Math.max(this.#pages.get(page) ?? 0, sentAfterMs));
  }

  #wake(atMs: number): void {
    if (atMs > this.#input.nowMs) this.#nextMs = Math.min(this.#nextMs, atMs);
  }
}
