/**
 * Error codes of the service (sections 7 and 10.1 of docs/service.md). Codes are compared by their last parts, so
 * `searchjob.parse.error` is the same as `parse.error`.
 */

/** Error codes that the service returns when it refuses an upgrade task (section 7.5 of docs/service.md). */
export const taskRefusals = [
  'collector.invalid',
  'collector.type.invalid',
  'collector.not.alive',
  'collector.in.upgrading',
  'collector.version.invalid',
] as const;

/** Error codes that the service returns when it rejects a search job's time range (section 7.2 of docs/service.md). */
export const rangeRefusals = [
  'invalid.timestamp.from',
  'invalid.timestamp.to',
  'to.smaller.than.from',
  'unknown.timezone',
  'empty.timezone',
  'unknown.time.type',
] as const;

/** Error codes that the service returns when it rejects a search job (sections 7.2 and 10.1 of docs/service.md). */
export const jobRefusals = ['generic', ...rangeRefusals, 'no.query', 'parse.error', 'query.creation.error'] as const;

/**
 * Error codes that the service returns when it rejects a page request (sections 7.4 and 10.1 of docs/service.md). This
 * list does not include `unknownJobCode`.
 */
export const pageRefusals = [
  'offset.missing',
  'offset.negative',
  'limit.missing',
  'limit.zero',
  'limit.negative',
  'no.records.not.an.aggregation.query',
  'raw.messages.not.available',
] as const;

/** Error code for an unknown search job (sections 7.3 and 7.4 of docs/service.md). */
export const unknownJobCode = 'jobid.invalid';

/** Error codes that any operation can return (section 7.1 of docs/service.md). */
const genericCodes = [
  'moved',
  'unauthorized',
  'forbidden',
  'notfound',
  'method.unsupported',
  'contenttype.invalid',
  'rate.limit.exceeded',
  'internal.error',
  'service.unavailable',
] as const;

const knownCodes: readonly string[] = [
  ...taskRefusals,
  ...jobRefusals,
  ...pageRefusals,
  unknownJobCode,
  ...genericCodes,
];

const maxCodeLength = 300;

/**
 * Returns the known error code that matches `code`: either `code` ends with the known code, or the known code ends with
 * `code`. Returns `code` in lower case if no known code matches, or if several known codes end with `code`.
 */
export function normalizeServiceCode(code: string): string {
  const text = code.trim().toLowerCase();
  const whole = knownCodes.find((known) => text === known || text.endsWith(`.${known}`));
  if (whole) return whole;
  const pieces = knownCodes.filter((known) => known.endsWith(`.${text}`));
  return pieces.length === 1 && pieces[0] ? pieces[0] : text.slice(0, maxCodeLength);
}
