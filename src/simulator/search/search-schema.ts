/** The member `search` of a scenario in JSON Schema: `search-scenario.ts` for documents from outside. */
import { duration, durationRange, flag, listOf, object, oneOf, positive } from '../schema-words.ts';

const status = (...values: readonly number[]) => ({ enum: values, description: `one of ${values.join(', ')}` });

export const searchSchema = object({
  duration: durationRange,
  rangePerSecond: duration,
  notStartedFor: duration,
  subqueriesFor: duration,
  histogramFirst: flag,
  messageLimit: positive,
  scanLimit: positive,
  aggregationMb: positive,
  atMessageLimit: oneOf('forcePaused', 'done', 'doneWithWarning'),
  keepAlive: durationRange,
  timeout: duration,
  cancelledFor: duration,
  lag: duration,
  toInclusive: flag,
  onlyReceived: flag,
  timeZone: oneOf('required', 'whereUsed'),
  brokenQuery: oneOf('parseError', 'creationError', 'pendingError'),
  cookies: object({
    names: listOf({ type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", description: 'the name of a cookie' }),
    missing: status(404, 500),
  }),
  status: object({
    cookieNotice: flag,
    extraMembers: flag,
    bucketLength: duration,
    buckets: oneOf('new', 'all'),
    pending: oneOf('new', 'all'),
  }),
  pages: object({
    maxMessages: positive,
    maxRecords: positive,
    maxBytes: positive,
    unknownJob: status(400, 404),
    lostJob: status(400, 404),
    rawOfMessages: oneOf('always', 'whereRequired'),
    messagesOfAggregation: oneOf('refuse', 'withoutRaw'),
    earlyRecords: oneOf('partial', 'wrong'),
    largeFigures: oneOf('plain', 'scientific'),
  }),
});
