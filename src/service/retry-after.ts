/** The header `Retry-After` in both of its forms (RFC 9110, 10.2.3): a number of seconds, or a date. */

/** Longer waits are cut down to this: a header must not be able to switch an operator off. */
const longestRetryAfterMs = 3_600_000;

/** Milliseconds to wait, or undefined where there is no header or it cannot be read. `nowMs` is wall time. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1000) : Date.parse(text) - nowMs;
  if (Number.isNaN(delayMs)) return undefined;
  return Math.min(Math.max(0, delayMs), longestRetryAfterMs);
}
