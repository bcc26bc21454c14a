/** `Retry-After` header (RFC 9110, 10.2.3): a number of seconds, or a date. */

/**
 * Parses a `Retry-After` header. Returns the wait in ms, at most `longestMs`, or undefined if the header is missing or
 * invalid. `nowMs` is the wall-clock time. If `nowMs` is NaN, a header with a date counts as invalid.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number, longestMs: number): number | undefined {
  const text = header?.trim();
  // `Date.parse` reads a negative number as a year.
  if (!text || text.startsWith('-')) return undefined;
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1000) : Date.parse(text) - nowMs;
  if (Number.isNaN(delayMs)) return undefined;
  return Math.min(Math.max(0, delayMs), longestMs);
}

/** Parses an HTTP date. Returns ms since the epoch, or undefined if the date is missing or invalid. */
export function parseHttpDate(header: string | undefined): number | undefined {
  const dateMs = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
