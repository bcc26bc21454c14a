/**
 * Error codes of the service (7, 10.1). Codes are compared by their last parts: `searchjob.parse.error` is
 * `parse.error`.
 */

/** Error codes that refuse an upgrade task (7.5). */
export const taskRefusals = [
  'collector.invalid',
  'collector.type.invalid',
  'collector.not.alive',
  'collector.in.upgrading',
  'collector.version.invalid',
] as const;

/** Error codes that reject the time range of a search job (7.2). */
export const rangeRefusals = [
  'invalid.timestamp.from',
  'invalid.timestamp.to',
  'to.smaller.than.from',
  'unknown.timezone',
  'empty.timezone',
  'unknown.time.type',
] as const;

/** Error codes that reject a search job (7.2, 10.1). */
export const jobRefusals = ['generic', ...rangeRefusals, 'no.query', 'parse.error', 'query.creation.error'] as const;

/** Error codes that reject a request for a page, except `unknownJobCode` (7.4, 10.1). */
export const pageRefusals = [
  'offset.missing',
  'offset.negative',
  'limit.missing',
  'limit.zero',
  'limit.negative',
  'no.records.not.an.aggregation.query',
  'raw.messages.not.available',
] as const;

/** Error code for an unknown search job (7.3, 7.4). */
export const unknownJobCode = 'jobid.invalid';

/** Error codes of every operation (7.1). */
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

/** Normalises an error code by its last parts. An ambiguous code stays unchanged. */
export function normalizeServiceCode(code: string): string {
  const text = code.trim().toLowerCase();
  const whole = knownCodes.find((known) => text === known || text.endsWith(`.${known}`));
  if (whole) return whole;
  const pieces = knownCodes.filter((known) => known.endsWith(`.${text}`));
  return pieces.length === 1 && pieces[0] ? pieces[0] : text.slice(0, maxCodeLength);
}
