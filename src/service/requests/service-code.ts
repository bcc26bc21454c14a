/**
 * Error codes of the service, as listed in chapter 7 and section 10.1 of docs/service.md. Codes are compared by their
 * last parts: `searchjob.parse.error` is `parse.error`.
 */

/** Error codes with which the service refuses to create an upgrade task (7.5). */
export const taskRefusals = [
  'collector.invalid',
  'collector.type.invalid',
  'collector.not.alive',
  'collector.in.upgrading',
  'collector.version.invalid',
] as const;

/** Error codes with which the service rejects the time range of a search job (7.2). */
export const rangeRefusals = [
  'invalid.timestamp.from',
  'invalid.timestamp.to',
  'to.smaller.than.from',
  'unknown.timezone',
  'empty.timezone',
  'unknown.time.type',
] as const;

/** Error codes with which the service rejects a search job, as listed in sections 7.2 and 10.1 of docs/service.md. */
export const jobRefusals = ['generic', ...rangeRefusals, 'no.query', 'parse.error', 'query.creation.error'] as const;

/**
 * Error codes with which the service rejects a request for a page of results, as listed in sections 7.4 and 10.1 of
 * docs/service.md, except for `unknownJobCode`.
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

/** Error code for a search job that the service does not know (7.3, 7.4). */
export const unknownJobCode = 'jobid.invalid';

/** Error codes that every operation of the service can return (7.1). */
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
 * Normalises an error code. Codes may have a prefix (`searchjob.…`) or lack their first part (`in.upgrading`), so they are matched
 * by their last parts. An ambiguous code stays unchanged.
 */
export function normalizeServiceCode(code: string): string {
  const text = code.trim().toLowerCase();
  const whole = knownCodes.find((known) => text === known || text.endsWith(`.${known}`));
  if (whole) return whole;
  const pieces = knownCodes.filter((known) => known.endsWith(`.${text}`));
  return pieces.length === 1 && pieces[0] ? pieces[0] : text.slice(0, maxCodeLength);
}
