/**
 * Reads the results of a search job page by page. Each page begins after the last received row, because pages can be
 * shorter than requested (section 10.3 of docs/service.md). If the receiver pauses too long, the page is cancelled and
 * continued later (B3).
 */

import { unlessAborted } from '../../base/aborted.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { failure, type LogfleetError, mayPass } from '../../base/errors.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import { ServiceError } from '../requests/service-error.ts';
import { isFinal } from './job-end.ts';
import { maxPageRows, type PageQuery } from './search-service.ts';

/** Maximum number of consecutive page requests that return no row. */
const maxTries = 6;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** Source of result pages, for messages or records. */
export interface PageSource {
  /** Requests one page. Resolves to the number of rows in the page when the receiver is ready for more rows. */
  readonly fetch: (query: PageQuery, signal: AbortSignal) => Promise<number>;
  /** Number of rows of the current page that the receiver has accepted so far. */
  readonly given?: () => number;
  /**
   * Returns undefined if the receiver accepts more rows now. Otherwise returns a promise that resolves when the
   * receiver accepts rows again.
   */
  readonly drained?: () => Promise<void> | undefined;
}

/** Range of result rows to read. */
export interface PageRange {
  /** Index of the first row to read, from 0. */
  readonly offset: number;
  /** Index after the last row to read; by default, the number of rows in the latest status. */
  readonly total?: number | undefined;
  /** Maximum number of rows on a page, by default `maxPageRows`. */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PageReadingOptions extends PageRange {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly total: number;
}

/**
 * Reads the rows from `offset` to `total`. Resolves to the index after the last row. Rejects with an error of the
 * receiver, the signal's reason, or a `ServiceError`.
 */
export async function readPages(source: PageSource, options: PageReadingOptions): Promise<number> {
  const { clock, signal, total, limit = maxPageRows } = options;
  let { offset } = options;
  let tries = 0;
  while (offset < total) {
    const drained = source.drained?.();
    if (drained) await unlessAborted(signal, drained);
    signal.throwIfAborted();
    let error: unknown;
    let gained = 0;
    try {
      gained = await source.fetch({ offset, limit }, signal);
    } catch (thrown) {
      error = thrown;
      gained = source.given?.() ?? 0;
    }
    signal.throwIfAborted();
    offset += gained;
    tries = gained > 0 ? 0 : tries + 1;
    if (error !== undefined && !passes(error)) throw error;
    if (tries === 0) continue;
    if (tries === maxTries) throw error ?? nothingCame(offset, total);
    await sleep(clock, delayAfter(error, tries), signal);
  }
  return offset;
}

/** Returns whether the error is temporary, so that the page should be requested again. */
function passes(error: unknown): boolean {
  return error instanceof ServiceError && !isFinal(error) && mayPass(error);
}

function delayAfter(error: unknown, tries: number): number {
  const namedMs = error instanceof ServiceError && error.handling.kind === 'retryAfter' ? error.handling.delayMs : 0;
  return Math.max(Math.min(longestDelayMs, namedMs), doubledMs(firstDelayMs, tries - 1, longestDelayMs));
}

function nothingCame(offset: number, total: number): LogfleetError {
  const message = `The service reports ${total} results of a search job, but returns no results at offset ${offset}.`;
  return failure('backoff', 'job.pagesEmpty', message, { reason: 'ResultsMissing' });
}
