/**
 * Delays of an export after failures, which grow with each failure, and delays of unproven intervals, which last until a user acts.
 *
 * A failure delays the whole export, because most failures concern the service or the destination. The failed interval is also delayed,
 * longer each time, so that an interval that always fails does not block the others.
 *
 * Invariant: the memory used is bounded by the segments in progress. The delays of committed intervals are dropped.
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
  /** Message for users about the interval, with numbers of rows. */
  readonly message: string;
  readonly figures: { readonly received: number; readonly expected: number } | undefined;
}

/** A failure that delays the export, with the monotonic time of the next attempt. */
export interface Trouble {
  readonly error: LogfleetError;
  readonly untilMs: number;
}

const longestIntervalHoldMs = 300_000;
/**
 * Reasons of failures that concern the query, the range or the rows. An existing export cannot change these fields. Some of the reasons
 * appear only after a complete search.
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
/** Number of consecutive failures of an export that are not yet reported to users. */
const toleratedFailures = 3;
/** Number of times that an interval may be searched again without a delay. */
const hastySearches = 2;

export class ExportDelays {
  readonly #clock: Clock;
  /** Delays that end by themselves. */
  readonly #intervals = new Map<string, IntervalDelay>();
  readonly #failures = new Map<string, number>();
  readonly #unproven = new Map<string, Unproven>();
  /** For each interval, the number of searches that could not prove it complete. */
  readonly #inVain = new Map<string, { readonly fromMs: number; readonly times: number }>();
  #trouble: Trouble | undefined;
  /** Last failure after which a probe file showed that the destination can be written. */
  #probedAfter: LogfleetError | undefined;
  #failuresInRow = 0;
  /** True once a search of this process has succeeded. Until then, every failure is reported to users. */
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

  /** Delay that currently applies to the whole export; undefined without a delay. */
  get trouble(): Trouble | undefined {
    return this.#trouble && this.#trouble.untilMs > this.#clock.monotonic() ? this.#trouble : undefined;
  }

  /** Last failure of the export; undefined if something has succeeded since. */
  get lastError(): LogfleetError | undefined {
    return this.#trouble?.error;
  }

  /** True if the destination failed, so that a probe file must be written before the next search. */
  get needsProbe(): boolean {
    return this.lastError?.code.startsWith('destination.') === true && this.lastError !== this.#probedAfter;
  }

  /** Records that a probe file was written after this failure, so that the destination is known to be writable. */
  probedAfter(error: LogfleetError | undefined): void {
    this.#probedAfter = error;
  }

  /**
   * True if the current failure must be reported to users: too many failures followed each other, or no search has
   * succeeded yet.
   */
  get isLasting(): boolean {
    return this.#failuresInRow > (this.#hasSearched ? toleratedFailures : 0);
  }

  /** Number of searches of exactly this range that could not prove it complete. */
  failedBefore(order: SearchOrder): number {
    const known = this.#inVain.get(recordKey(order));
    return known?.fromMs === order.fromMs ? known.times : 0;
  }

  /** Counts a search that could not prove its interval complete. */
  provedNothing(order: SearchOrder): void {
    this.#inVain.set(recordKey(order), { fromMs: order.fromMs, times: this.failedBefore(order) + 1 });
  }

  /**
   * Records a failure that affects the whole export. Concurrent failures count once. `isCostly` is true if a retry
   * needs a search or a check of every file, so that delays grow longer.
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

  /**
   * Records that a search could not prove its interval complete and is repeated, with a delay after several
   * repetitions.
   */
  again(order: SearchOrder, message: string): void {
    const hasty = this.#count(order) - hastySearches;
    if (hasty > 0) this.#delay(order, backoffMs(hasty - 1, longestIntervalHoldMs), message);
  }

  /**
   * Records an interval that cannot be proven complete. Another search would give the same result, so the interval is
   * delayed until a user acts.
   */
  incomplete(unproven: Unproven): void {
    this.#unproven.set(recordKey(unproven.order), unproven);
  }

  /** Records a success, and ends the delays after failures whose cause the success shows to be gone. */
  succeeded(order?: Pick<SearchOrder, 'segment' | 'toMs'>): void {
    if (order) this.#hasSearched = true;
    this.#trouble = undefined;
    this.#failuresInRow = 0;
    if (!order) return;
    for (const map of this.#all) map.delete(recordKey(order));
  }

  /** Records that the service completed a search of this export. */
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

/**
 * Delay in ms before the next attempt after a failure. A failure that ends only after an external change has the same
 * maximum delay as a failure that a user must fix.
 */
function delayAfter(error: LogfleetError, failures: number, longestMs?: number): number {
  return error.handling.kind === 'wait' ? stallRetryMs : retryDelayMs(error, failures, longestMs);
}

/**
 * Delay in ms, growing with each failure, after a failure whose cause an existing export cannot change (`lastingReasons`); undefined for
 * other failures.
 */
function lastingDelayMs({ handling, reason }: LogfleetError, failures: number): number | undefined {
  if (handling.kind !== 'stall' || !lastingReasons.has(reason)) return undefined;
  return doubledMs(stallRetryMs, failures, longestIntervalHoldMs);
}
