/**
 * Manages the delays after failures of an export. After a failure, the whole export waits, and the failed interval
 * waits even longer. An incomplete interval waits until a user acts.
 */
import { reasons } from '../../api/conditions.ts';
import type { Clock } from '../../base/clock.ts';
import type { LogfleetError } from '../../base/errors.ts';
import { backoffMs, countBefore, doubledMs, isRefusal, retryDelayMs, stallRetryMs } from '../../base/retry-delay.ts';
import { recordKey } from '../../destination/commit-record.ts';
import type { SearchOrder } from '../search/search-tools.ts';
import type { Shortcoming } from '../search/search-verdict.ts';
import type { IntervalDelay } from './export-decision.ts';

/** An interval that may lack rows. */
export interface Unproven {
  readonly order: SearchOrder;
  readonly reason: Shortcoming;
  /** User-facing message about the interval. */
  readonly message: string;
  readonly figures: { readonly received: number; readonly expected: number } | undefined;
}

/** A failure that delays the export, and the monotonic time of the next attempt. */
export interface Trouble {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

const longestIntervalHoldMs = 300_000;
/**
 * Reasons for failures that repeat until the user creates another SearchExport. After such a failure, the delays
 * between attempts are long.
 */
const lastingReasons: ReadonlySet<string> = new Set([
  reasons.queryRefused,
  reasons.rangeRefused,
  reasons.notAnAggregation,
  reasons.rawMessagesNotAvailable,
  reasons.receiptTimeMissing,
  reasons.countMissing,
  reasons.invalidSpec,
]);
/**
 * Maximum number of consecutive failures that are not reported to the user, because a few attempts often solve the
 * problem.
 */
const toleratedFailures = 3;
/** Maximum number of times that a search is repeated without a delay. */
const hastySearches = 2;

export class ExportDelays {
  readonly #clock: Clock;
  /** Delays of intervals, except intervals that are waiting for a user to act. */
  readonly #intervals = new Map<string, IntervalDelay>();
  readonly #failures = new Map<string, number>();
  readonly #unproven = new Map<string, Unproven>();
  /** For each interval, the number of searches that found it incomplete. */
  readonly #inVain = new Map<string, { readonly fromMs: number; readonly times: number }>();
  #trouble: Trouble | undefined;
  /** Latest failure of the destination that was followed by a successful write of a probe file (a test file). */
  #probedAfter: LogfleetError | undefined;
  #failuresInRow = 0;
  /** True once a search has succeeded. Until then, even the first failure is reported. */
  #hasSearched = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Intervals that are currently delayed. */
  get intervals(): readonly IntervalDelay[] {
    const forPeople = this.unproven.map(({ order: { segment, toMs }, message }) => ({
      ...{ segment, toMs, untilMs: undefined, message },
    }));
    return [...this.#intervals.values(), ...forPeople];
  }

  get unproven(): readonly Unproven[] {
    return [...this.#unproven.values()];
  }

  /** Returns the failure that delays the export at this monotonic time, or undefined if there is none. */
  troubleAt(nowMs: number): Trouble | undefined {
    return this.#trouble && this.#trouble.untilMs > nowMs ? this.#trouble : undefined;
  }

  /** Last failure; undefined after a success. */
  get lastError(): LogfleetError | undefined {
    return this.#trouble?.error;
  }

  /**
   * True if the last failure was a failure of the destination, and no probe file has been written successfully since
   * then. A probe file must then be written to test the destination.
   */
  get needsProbe(): boolean {
    return this.lastError?.code.startsWith('destination.') === true && this.lastError !== this.#probedAfter;
  }

  /** Records that a probe file was successfully written to the destination after the failure `error`. */
  probedAfter(error: LogfleetError | undefined): void {
    this.#probedAfter = error;
  }

  /** True if the last failure must be reported. */
  get isLasting(): boolean {
    return this.#failuresInRow > (this.#hasSearched ? toleratedFailures : 0);
  }

  /** True if more than `toleratedFailures` failures have occurred in a row. */
  get hasFailedOften(): boolean {
    return this.#failuresInRow > toleratedFailures;
  }

  /** Returns the number of earlier searches of this interval that found the interval incomplete. */
  failedBefore(order: SearchOrder): number {
    const known = this.#inVain.get(recordKey(order));
    return known?.fromMs === order.fromMs ? known.times : 0;
  }

  provedNothing(order: SearchOrder): void {
    this.#inVain.set(recordKey(order), { fromMs: order.fromMs, times: this.failedBefore(order) + 1 });
  }

  /**
   * Delays the whole export after a failure. If `isCostly` is true, the failed work takes long to repeat, so the delay
   * may be longer.
   */
  failed(error: LogfleetError, isCostly = false): void {
    if (this.troubleAt(this.#clock.monotonic())) return;
    const failures = countBefore(error, this.lastError, this.#failuresInRow++);
    const delayMs = (isCostly ? lastingDelayMs(error, failures) : undefined) ?? delayAfter(error, failures);
    // If a request is refused again with the same error code, the status keeps showing the first error. The new message
    // may contain another address, so the status would otherwise change after each attempt.
    const isRepeated = isRefusal(error) && error.code === this.lastError?.code;
    const shown = isRepeated && this.lastError ? this.lastError : error;
    this.#trouble = { error: shown, untilMs: this.#clock.monotonic() + delayMs };
  }

  /** Records that the search of an interval failed. */
  searchFailed(order: SearchOrder, error: LogfleetError): void {
    this.failed(error);
    const failures = this.#count(order) - 1;
    const delayMs = lastingDelayMs(error, failures) ?? delayAfter(error, failures, longestIntervalHoldMs);
    this.#delay(order, delayMs, error.message);
  }

  /**
   * Ends the delays of an interval that another process has committed. If this process has failed to search the
   * interval, also ends the delay of the whole export.
   */
  committedElsewhere(order: Pick<SearchOrder, 'segment' | 'toMs'>): void {
    const hasFailed = this.#failures.has(recordKey(order));
    for (const map of this.#all) map.delete(recordKey(order));
    if (hasFailed) this.succeeded();
  }

  /** Records that an interval must be searched again. After several repeated searches, the next search is delayed. */
  again(order: SearchOrder, message: string): void {
    const hasty = this.#count(order) - hastySearches;
    if (hasty > 0) this.#delay(order, backoffMs(hasty - 1, longestIntervalHoldMs), message);
  }

  /** Records that an interval is incomplete. The interval is not searched again until a user acts. */
  incomplete(unproven: Unproven): void {
    this.#unproven.set(recordKey(unproven.order), unproven);
  }

  /**
   * Ends the delay of the whole export after a success. If a search succeeded, `order` is its interval, and the delays
   * of this interval also end.
   */
  succeeded(order?: Pick<SearchOrder, 'segment' | 'toMs'>): void {
    if (order) this.#hasSearched = true;
    this.#trouble = undefined;
    this.#failuresInRow = 0;
    if (!order) return;
    for (const map of this.#all) map.delete(recordKey(order));
  }

  /** Ends the delay of the whole export, because the service has accepted a search. */
  searched(): void {
    this.#hasSearched = true;
    this.succeeded();
  }

  /** Ends all delays, because a user requested a retry. */
  lift(): void {
    this.succeeded();
    for (const map of this.#all) map.clear();
  }

  /** Ends the delays of all incomplete intervals, because the user has changed `incompletePolicy`. */
  liftUnproven(): void {
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

/** Returns the delay in ms before the next attempt. */
function delayAfter(error: LogfleetError, failures: number, longestMs?: number): number {
  return error.handling.kind === 'wait' ? stallRetryMs : retryDelayMs(error, failures, longestMs);
}

/**
 * Returns the delay in ms after a failure that repeats until the user creates another SearchExport, or undefined for
 * other failures.
 */
function lastingDelayMs({ handling, reason }: LogfleetError, failures: number): number | undefined {
  if (handling.kind !== 'stall' || !lastingReasons.has(reason)) return undefined;
  return doubledMs(stallRetryMs, failures, longestIntervalHoldMs);
}
