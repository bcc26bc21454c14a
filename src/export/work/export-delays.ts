/**
 * Delays of an export: failures, with growing delays, and unproven intervals, which wait for a user.
 *
 * A failure delays the whole export, since most failures concern the service or the destination. It also delays its own interval for longer
 * each time, so that an interval that always fails does not block others.
 *
 * Invariant: the size is bounded by the segments in progress; committed intervals are dropped.
 */
import { reasons } from '../../api/conditions.ts';
import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { backoffMs, doubledMs, retryDelayMs, stallRetryMs } from '../../base/retry-delay.ts';
import { recordKey } from '../../destination/commit-record.ts';
import type { SearchOrder } from '../search/search-tools.ts';
import type { Shortcoming } from '../search/search-verdict.ts';
import type { IntervalDelay } from './export-decision.ts';

/** An interval that cannot be proven to have all its rows. */
export interface Unproven {
  readonly order: SearchOrder;
  readonly reason: Shortcoming;
  /** Message for users, with figures. */
  readonly message: string;
  readonly figures: { readonly received: number; readonly expected: number } | undefined;
}

/** A failure with the monotonic time of the next attempt. */
export interface Trouble {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

const longestIntervalHoldMs = 300_000;
/** Reasons about the query, the range or the rows, which an export cannot change. They may appear only after a whole search. */
const lastingReasons: ReadonlySet<string> = new Set([
  reasons.queryRefused,
  reasons.rangeRefused,
  reasons.notAnAggregation,
  reasons.rawMessagesNotAvailable,
  reasons.receiptTimeMissing,
  reasons.countMissing,
  reasons.invalidSpec,
]);
/** Number of consecutive failures that are not reported. */
const toleratedFailures = 3;
/** Number of searches of one interval that may follow each other without delay. */
const hastySearches = 2;

export class ExportDelays {
  readonly #clock: Clock;
  readonly #intervals = new Map<string, IntervalDelay>();
  readonly #failures = new Map<string, number>();
  readonly #unproven = new Map<string, Unproven>();
  /** Searches that proved nothing, by interval. */
  readonly #inVain = new Map<string, { readonly fromMs: number; readonly times: number }>();
  #trouble: Trouble | undefined;
  /** Failure after which a probe showed that files can be written. */
  #probedAfter: LogfleetError | undefined;
  #failuresInRow = 0;
  /** True if a search has succeeded in this process. */
  #hasSearched = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Intervals that are currently delayed. */
  get intervals(): readonly IntervalDelay[] {
    return [...this.#intervals.values()];
  }

  get unproven(): readonly Unproven[] {
    return [...this.#unproven.values()];
  }

  /** Active delay of the whole export. */
  get trouble(): Trouble | undefined {
    return this.#trouble && this.#trouble.untilMs > this.#clock.monotonic() ? this.#trouble : undefined;
  }

  /** Last failure, if nothing has succeeded since. */
  get lastError(): LogfleetError | undefined {
    return this.#trouble?.error;
  }

  /** True if a failure of the destination must be tested with a probe before searching. */
  get needsProbe(): boolean {
    return this.lastError?.code.startsWith('destination.') === true && this.lastError !== this.#probedAfter;
  }

  /** Records that files can be written after this failure. */
  probedAfter(error: LogfleetError | undefined): void {
    this.#probedAfter = error;
  }

  /** True if the failure must be reported: too many consecutive failures, or no search has succeeded yet. */
  get isLasting(): boolean {
    return this.#failuresInRow > (this.#hasSearched ? toleratedFailures : 0);
  }

  /** Number of searches of exactly this range that proved nothing. */
  failedBefore(order: SearchOrder): number {
    const known = this.#inVain.get(recordKey(order));
    return known?.fromMs === order.fromMs ? known.times : 0;
  }

  /** Counts a search that proved nothing. */
  provedNothing(order: SearchOrder): void {
    this.#inVain.set(recordKey(order), { fromMs: order.fromMs, times: this.failedBefore(order) + 1 });
  }

  /**
   * Records a failure that affects the whole export. Concurrent failures count once. `isCostly`: a retry takes a search or a check of every
   * file.
   */
  failed(error: LogfleetError, isCostly = false): void {
    if (this.trouble) return;
    const failures = this.#failuresInRow++;
    const delayMs = (isCostly ? lastingDelayMs(error, failures) : undefined) ?? delayAfter(error, failures);
    this.#trouble = { error, untilMs: this.#clock.monotonic() + delayMs };
  }

  /** Records the failure of an interval's search. */
  searchFailed(order: SearchOrder, error: LogfleetError): void {
    this.failed(error);
    const failures = this.#count(order) - 1;
    const delayMs = lastingDelayMs(error, failures) ?? delayAfter(error, failures, longestIntervalHoldMs);
    this.#delay(order, delayMs, error.message);
  }

  /** Records that a search proved nothing and is repeated, with a delay after several repetitions. */
  again(order: SearchOrder, message: string): void {
    const hasty = this.#count(order) - hastySearches;
    if (hasty > 0) this.#delay(order, backoffMs(hasty - 1, longestIntervalHoldMs), message);
  }

  /** Records an unproven interval for which another search would give nothing new. */
  incomplete(unproven: Unproven): void {
    const { order, message } = unproven;
    this.#unproven.set(recordKey(order), unproven);
    this.#intervals.set(recordKey(order), { segment: order.segment, toMs: order.toMs, untilMs: undefined, message });
  }

  /** Records a success and ends the delays it disproves. */
  succeeded(order?: Pick<SearchOrder, 'segment' | 'toMs'>): void {
    if (order) this.#hasSearched = true;
    this.#trouble = undefined;
    this.#failuresInRow = 0;
    if (!order) return;
    for (const map of this.#all) map.delete(recordKey(order));
  }

  /** Records that the service completed a search. */
  searched(): void {
    this.#hasSearched = true;
    this.succeeded();
  }

  /** Ends all delays, because a user requested a retry. */
  lift(): void {
    this.succeeded();
    for (const map of this.#all) map.clear();
  }

  /** Ends the delays of unproven intervals, because the policy has changed. */
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

  #delay({ segment, toMs }: SearchOrder, delayMs: number, message: string): void {
    const untilMs = this.#clock.monotonic() + delayMs;
    this.#intervals.set(recordKey({ segment, toMs }), { segment, toMs, untilMs, message });
  }
}

/** A failure that waits for an external change is retried at the same interval as one that a user must fix. */
function delayAfter(error: LogfleetError, failures: number, longestMs?: number): number {
  return error.handling.kind === 'wait' ? stallRetryMs : retryDelayMs(error, failures, longestMs);
}

/** Undefined for failures that may pass or that a user can fix. */
function lastingDelayMs({ handling, reason }: LogfleetError, failures: number): number | undefined {
  if (handling.kind !== 'stall' || !lastingReasons.has(reason)) return undefined;
  return doubledMs(stallRetryMs, failures, longestIntervalHoldMs);
}
