/**
 * The error identifiers of chapter 7 and of 10.1, and how those that the service writes are matched with them. Codes are matched by
 * their last parts: `searchjob.parse.error` is `parse.error`.
 */

/** What a refused creation of a task says (7.5). */
export const taskRefusals = [
  'collector.invalid',
  'collector.type.invalid',
  'collector.not.alive',
  'collector.in.upgrading',
  'collector.version.invalid',
] as const;

/** What a refused creation of a search job says (7.2), and one that chapter 7 leaves out. */
export const jobRefusals = [
  'generic',
  'invalid.timestamp.from',
  'invalid.timestamp.to',
  'to.smaller.than.from',
  'unknown.timezone',
  'empty.timezone',
  'no.query',
  'unknown.time.type',
  'parse.error',
  'query.creation.error',
] as const;

/** What a refused page says (7.4), and one that chapter 7 leaves out; `unknownJobCode` apart. */
export const pageRefusals = [
  'offset.missing',
  'offset.negative',
  'limit.missing',
  'limit.zero',
  'limit.negative',
  'no.records.not.an.aggregation.query',
  'raw.messages.not.available',
] as const;

/** There is no such job (7.3, 7.4). */
export const unknownJobCode = 'jobid.invalid';

/** Of every operation (7.1). */
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

export type TaskRefusal = (typeof taskRefusals)[number];
export type JobRefusal = (typeof jobRefusals)[number];
export type PageRefusal = (typeof pageRefusals)[number];

const knownCodes: readonly string[] = [
  ...taskRefusals,
  ...jobRefusals,
  ...pageRefusals,
  unknownJobCode,
  ...genericCodes,
];

const maxCodeLength = 300;

/**
 * Codes come with a prefix (`searchjob.…`) or without their first part (`in.upgrading`): they are matched by their last parts.
 * A piece that would fit several is left as it is.
 */
export function normalizeServiceCode(code: string): string {
  const text = code.trim().toLowerCase();
  const whole = knownCodes.find((known) => text === known || text.endsWith(`.${known}`));
  if (whole) return whole;
  const pieces = knownCodes.filter((known) => known.endsWith(`.${text}`));
  return pieces.length === 1 && pieces[0] ? pieces[0] : text.slice(0, maxCodeLength);
}
