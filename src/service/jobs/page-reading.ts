/**
 * Reads one page of a search job's results. The next page begins after the last row received, because pages can be
 * shorter than requested (section 10.3 of docs/service.md). If the receiver pauses for too long, the page request is
 * cancelled, and the remaining rows are read with the next page (B3).
 */

import { unlessAborted } from '../../base/aborted.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { failure, type LogfleetError, mayPass } from '../../base/errors.ts';
import { doubledMs, requestedDelayMs } from '../../base/retry-delay.ts';
import { ServiceError } from '../requests/service-error.ts';
import { isFinal } from './job-end.ts';
import { maxPageRows, type PageQuery } from './search-service.ts';

/** Maximum number of consecutive page requests that return no rows or fail with a temporary error. */
const maxTries = 6;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** Source of result pages, which contain messages or records. */
export interface PageSource {
  /** Requests one page. Resolves to the number of rows in the page once the receiver is ready for more rows. */
  readonly fetch: (query: PageQuery, signal: AbortSignal) => Promise<number>;
  /** Number of rows from the current page that the receiver has accepted so far. */
  readonly given?: () => number;
  /**
   * Returns undefined if the receiver can accept more rows now. Otherwise, returns a promise that resolves when it can.
   */
  readonly drained?: () => Promise<void> | undefined;
}

/** Page of result rows to read. */
export interface PageRequest {
  /** Index of the first row to read, from 0. */
  readonly offset: number;
  /** Maximum number of rows on the page. Default: `maxPageRows`. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PageReadingOptions extends PageRequest {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Requests a page until it contains rows. Resolves to the index after the last row. Rejects with an error from the
 * receiver, the signal's reason, or a `ServiceError`.
 */
export async function readPage(source: PageSource, options: PageReadingOptions): Promise<number> {
  const { clock, signal, offset, limit = maxPageRows } = options;
  for (let tries = 1; ; tries++) {
    const drained = source.drained?.();
    if (drained) await unlessAborted(signal, drained);
    signal.throwIfAborted();
    let error: unknown;
    let rows = 0;
    try {
      rows = await source.fetch({ offset, limit }, signal);
    } catch (thrown) {
      error = thrown;
      rows = source.given?.() ?? 0;
    }
    signal.throwIfAborted();
    if (error !== undefined && !passes(error)) throw error;
    if (rows > 0) return offset + rows;
    if (tries === maxTries) throw error ?? missingResults(offset);
    await sleep(clock, delayAfter(error, tries), signal);
  }
}

/** Reports whether the error is temporary and the page should be requested again. */
function passes(error: unknown): boolean {
  return error instanceof ServiceError && !isFinal(error) && mayPass(error);
}

function delayAfter(error: unknown, tries: number): number {
  const namedMs = error instanceof ServiceError ? requestedDelayMs(error) : 0;
  return Math.max(Math.min(longestDelayMs, namedMs), doubledMs(firstDelayMs, tries - 1, longestDelayMs));
}

function missingResults(offset: number): LogfleetError {
  const message = `The service returned no results of the search job from offset ${offset} onwards, although it reported that there are more.`;
  return failure('backoff', 'job.pagesEmpty', message, { reason: 'ResultsMissing' });
}
