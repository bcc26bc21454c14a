/**
 * Results of a job from one row on to the last, page by page. A page advances by the rows that came, be they fewer than asked for
 * (10.3); one that breaks off is gone on with behind its last whole row; one that its taker holds up is given up, and gone on with
 * when there is room again (protocol B3). An empty page before the end, or a failure before the first row, is tried again a bounded
 * number of times.
 *
 * Leaves to others: what becomes of the rows, keeping the job alive, and whether what came is what the job has counted.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { LogfleetError, mayPass } from '../base/errors.ts';
import { isFinal } from './job-end.ts';
import { maxPageRows, type PageQuery } from './search-service.ts';
import { ServiceError } from './service-error.ts';

/** So many times in a row may nothing be gained. */
const maxTries = 6;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** One page, from whichever operation. */
export interface PageSource {
  /** Asks for one page; resolves to how many rows came. */
  readonly fetch: (query: PageQuery) => Promise<number>;
  /** How many rows of the page under way have been given out; asked after a failure. */
  readonly given: () => number;
  /** A promise while the taker has no room for more, fulfilled when it has. */
  readonly room: () => Promise<void> | undefined;
}

export interface PageReadingOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The first row, from 0 on. */
  readonly offset: number;
  /** How many rows the job has, those before `offset` too. */
  readonly total: number;
  /** Rows to ask for at most; a full page where absent. */
  readonly limit?: number | undefined;
}

/**
 * Resolves to the offset behind the last row that came, which is not less than `total`. Rejects with what the taker threw, with the
 * signal's reason, or with the `ServiceError` of a page that cannot be had; what was given out stands.
 */
export async function readPages(source: PageSource, options: PageReadingOptions): Promise<number> {
  const { clock, signal, total, limit = maxPageRows } = options;
  let { offset } = options;
  let tries = 0;
  while (offset < total) {
    await roomIn(source, signal);
    signal.throwIfAborted();
    let error: unknown;
    let gained = 0;
    try {
      gained = await source.fetch({ offset, limit });
    } catch (thrown) {
      error = thrown;
      gained = source.given();
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

async function roomIn(source: PageSource, signal: AbortSignal): Promise<void> {
  const room = source.room();
  if (!room) return;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([room, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whether asking again may help: the wire, the service's load, an answer that came spoilt. */
function passes(error: unknown): boolean {
  return error instanceof ServiceError && !isFinal(error) && mayPass(error);
}

function delayAfter(error: unknown, tries: number): number {
  const namedMs = error instanceof ServiceError && error.handling.kind === 'retryAfter' ? error.handling.delayMs : 0;
  return Math.min(longestDelayMs, Math.max(namedMs, firstDelayMs * 2 ** (tries - 1)));
}

function nothingCame(offset: number, total: number): LogfleetError {
  return new LogfleetError({
    code: 'job.pagesEmpty',
    message: `The service counts ${total} results of a search job, and gives none from number ${offset} on.`,
    handling: { kind: 'backoff' },
    reason: 'ResultsMissing',
  });
}
