/** The header `Date` (RFC 9110, 6.6.1): what the service's clock said when it answered, to the second. */

/** Milliseconds since the epoch; undefined where there is no header or it cannot be read. */
export function parseHttpDate(header: string | undefined): number | undefined {
  const dateMs = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
