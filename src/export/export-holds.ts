/**
 * What keeps an export from trying something for a while: failures, of which each one in a row waits longer, and intervals that could not
 * be proven, which wait for a person.
 *
 * A failure holds the whole export, since most are about the service or the destination as such; and, longer each time, the interval
 * that it came from, so that one which fails always does not keep others from theirs.
 *
 * Invariant: bounded by the segments that are being worked on; whatever is committed is forgotten here.
 */
import { reasons } from '../api/conditions.ts';
import type { Clock } from '../base/clock.ts';
import type { LogfleetError } from '../base/errors.ts';
import { backoffMs, retryDelayMs, stallRetryMs } from '../base/retry-delay.ts';
import { recordKey } from '../destination/commit-record.ts';
import type { Hold, SearchOrder } from './export-decision.ts';
import type { Shortcoming } from './proof.ts';

/** An interval of which it cannot be shown that it has all its rows. */
export interface Unproven {
  readonly order: SearchOrder;
  readonly reason: Shortcoming;
  /** With the figures, for people. */
  readonly message: string;
  readonly figures: { readonly received: number; readonly expected: number } | undefined;
}

/** Nothing is tried before `untilMs`, on the monotonic clock. */
export interface Trouble {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

const longestIntervalHoldMs = 300_000;
/** What concerns the query, the range or the rows, none of which an export can change. It may show only after a whole search. */
const lastingReasons: ReadonlySet<string> = new Set([
  reasons.queryRefused,
  reasons.rangeRefused,
  reasons.notAnAggregation,
  reasons.rawMessagesNotAvailable,
  reasons.receiptTimeMissing,
  reasons.countMissing,
  reasons.invalidSpec,
]);
/** So many failures in a row are waited out without a word. */
const toleratedFailures = 3;
/** So many searches of one interval may follow each other at once. */
const hastySearches = 2;

export class ExportHolds {
  readonly #clock: Clock;
  readonly #intervals = new Map<string, Hold>();
  readonly #failures = new Map<string, number>();
  readonly #unproven = new Map<string, Unproven>();
  /** Searches that proved nothing, by what they searched. */
  readonly #inVain = new Map<string, { readonly fromMs: number; readonly times: number }>();
  #trouble: Trouble | undefined;
  #failuresInRow = 0;
  /** Whether a search has worked in this process. */
  #hasSearched = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Intervals at which nothing starts now. */
  get intervals(): readonly Hold[] {
    return [...this.#intervals.values()];
  }

  get unproven(): readonly Unproven[] {
    return [...this.#unproven.values()];
  }

  /** What keeps everything from starting now. */
  get trouble(): Trouble | undefined {
    return this.#trouble && this.#trouble.untilMs > this.#clock.monotonic() ? this.#trouble : undefined;
  }

  /** What went wrong last, as long as nothing has succeeded since. */
  get lastError(): LogfleetError | undefined {
    return this.#trouble?.error;
  }

  /** Whether so much has failed in a row that it may not pass by itself, or no search has worked yet, so that people hear of it at once. */
  get isLasting(): boolean {
    return this.#failuresInRow > (this.#hasSearched ? toleratedFailures : 0);
  }

  /** How many searches of just this have proved nothing. */
  failedBefore(order: SearchOrder): number {
    const known = this.#inVain.get(recordKey(order));
    return known?.fromMs === order.fromMs ? known.times : 0;
  }

  /** Another one has. */
  provedNothing(order: SearchOrder): void {
    this.#inVain.set(recordKey(order), { fromMs: order.fromMs, times: this.failedBefore(order) + 1 });
  }

  /**
   * Something failed that concerns everything. Of failures that come together one counts. `isCostly`: to try it takes a search, or a look
   * at every file.
   */
  failed(error: LogfleetError, isCostly = false): void {
    if (this.trouble) return;
    const failures = this.#failuresInRow++;
    const delayMs = (isCostly ? lastingDelayMs(error, failures) : undefined) ?? delayAfter(error, failures);
    this.#trouble = { error, untilMs: this.#clock.monotonic() + delayMs };
  }

  /** The search of an interval failed. */
  searchFailed(order: SearchOrder, error: LogfleetError): void {
    this.failed(error);
    const failures = this.#count(order) - 1;
    const delayMs = lastingDelayMs(error, failures) ?? delayAfter(error, failures, longestIntervalHoldMs);
    this.#hold(order, delayMs, error.message);
  }

  /** The search of an interval proved nothing, and another is to follow: at once, but not for ever. */
  again(order: SearchOrder, message: string): void {
    const hasty = this.#count(order) - hastySearches;
    if (hasty > 0) this.#hold(order, backoffMs(hasty - 1, longestIntervalHoldMs), message);
  }

  /** Searching again gives nothing new. */
  incomplete(unproven: Unproven): void {
    const { order, message } = unproven;
    this.#unproven.set(recordKey(order), unproven);
    this.#intervals.set(recordKey(order), { segment: order.segment, toMs: order.toMs, untilMs: undefined, message });
  }

  /** Something came of it. */
  succeeded(order?: Pick<SearchOrder, 'segment' | 'toMs'>): void {
    if (order) this.#hasSearched = true;
    this.#trouble = undefined;
    this.#failuresInRow = 0;
    if (!order) return;
    for (const map of this.#all) map.delete(recordKey(order));
  }

  /** The service has done a search for us. */
  searched(): void {
    this.#hasSearched = true;
    this.succeeded();
  }

  /** A person wants everything to be tried again now. */
  lift(): void {
    this.succeeded();
    for (const map of this.#all) map.clear();
  }

  /** What counts as proven is another from now on. */
  liftUnproven(): void {
    for (const key of this.#unproven.keys()) this.#intervals.delete(key);
    this.#unproven.clear();
  }

  get #all(): readonly Map<string, unknown>[] {
    return [this.#intervals, this.#failures, this.#unproven, this.#inVain];
  }

  #count(order: SearchOrder): number {
    const failures = (this.#failures.get(recordKey(order)) ?? 0) + 1;
    this.#failures.set(recordKey(order), failures);
    return failures;
  }

  #hold({ segment, toMs }: SearchOrder, delayMs: number, message: string): void {
    const untilMs = this.#clock.monotonic() + delayMs;
    this.#intervals.set(recordKey({ segment, toMs }), { segment, toMs, untilMs, message });
  }
}

/** Who waits for something besides us looks again as if a person had to mend it. */
function delayAfter(error: LogfleetError, failures: number, longestMs?: number): number {
  return error.handling.kind === 'wait' ? stallRetryMs : retryDelayMs(error, failures, longestMs);
}

/** Undefined of what may pass, or a person can mend. */
function lastingDelayMs({ handling, reason }: LogfleetError, failures: number): number | undefined {
  if (handling.kind !== 'stall' || !lastingReasons.has(reason)) return undefined;
  return Math.min(longestIntervalHoldMs, stallRetryMs * 2 ** failures);
}
