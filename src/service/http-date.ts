/** Header `Date` (RFC 9110, 6.6.1): the service's time of the answer, in whole seconds. */

/** Returns milliseconds since the epoch, or undefined if the header is missing or invalid. */
export function parseHttpDate(header: string | undefined): number | undefined {
  const dateMs = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
