/**
 * Reads the results of a search job page by page.
 *
 * Each page continues after the rows received so far, even if the previous page had fewer rows than requested (10.3). A page that breaks
 * off is continued after its last complete row. A page whose receiver pauses it for too long is cancelled, and continued when the receiver
 * is ready (B3). An empty page before the end, or a failure before the first row, is retried a limited number of times.
 *
 * The caller handles the rows, keeps the job alive and compares the number of rows with the job's count.
 */

import { unlessAborted } from '../../base/aborted.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { LogfleetError, mayPass } from '../../base/errors.ts';
import { doubledMs } from '../../base/retry-delay.ts';
import { ServiceError } from '../requests/service-error.ts';
import { isFinal } from './job-end.ts';
import { maxPageRows, type PageQuery } from './search-service.ts';

/** Maximum number of consecutive attempts to read a page that return no row. */
const maxTries = 6;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** Source of pages, for messages or records. */
export interface PageSource {
  /** Requests one page. Resolves to its number of rows. */
  readonly fetch: (query: PageQuery) => Promise<number>;
  /** Number of rows of the current page that were passed on. It shows after a failure where to continue. */
  readonly given?: () => number;
  /** Promise while the sink accepts no more data, fulfilled when it does. */
  readonly drained?: () => Promise<void> | undefined;
}

export interface PageReadingOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** First row, from 0. */
  readonly offset: number;
  /** Number of rows of the job, including those before `offset`. */
  readonly total: number;
  /** Maximum number of rows in a request. Default: a full page. */
  readonly limit?: number | undefined;
}

/**
 * Reads all rows. Resolves to the offset after the last row, which is at least `total`. Rejects with an error of the sink, with the
 * signal's reason, or with the `ServiceError` of a page that cannot be read. Rows that were passed on stay valid.
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
      gained = await source.fetch({ offset, limit });
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

/** Returns whether a retry can help: after a network failure, a busy service, or a damaged answer. */
function passes(error: unknown): boolean {
  return error instanceof ServiceError && !isFinal(error) && mayPass(error);
}

function delayAfter(error: unknown, tries: number): number {
  const namedMs = error instanceof ServiceError && error.handling.kind === 'retryAfter' ? error.handling.delayMs : 0;
  return Math.max(Math.min(longestDelayMs, namedMs), doubledMs(firstDelayMs, tries - 1, longestDelayMs));
}

function nothingCame(offset: number, total: number): LogfleetError {
  return new LogfleetError({
    code: 'job.pagesEmpty',
    message: `The service counts ${total} results of a search job, but returns none from row ${offset} on.`,
    handling: { kind: 'backoff' },
    reason: 'ResultsMissing',
  });
}
