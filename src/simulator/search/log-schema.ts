/** The member `logs` of a scenario in JSON Schema: `log-scenario.ts` for documents from outside. */
import { fieldCases } from '../log-data/field-case.ts';
import { aboveZero, count, duration, listOf, object, oneOf, positive, share, text, whole } from '../schema-words.ts';

const moment = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', format: 'moment' },
  ],
  description: 'a moment, as in 2026-11-01, 2026-11-01T12:00:00Z, -24h (before the start), or ms since the epoch',
} as const;

export const logSchema = object({
  files: { ...listOf(text), minItems: 1 },
  seed: whole,
  from: moment,
  to: moment,
  messages: count,
  perSecond: aboveZero,
  dense: listOf(object({ at: moment, count: positive }, 'at', 'count')),
  crowds: object({ share, count: positive }),
  receipt: object({ promptFor: duration, lateShare: share, lateFor: duration }),
  size: object({ typicalBytes: positive, largeShare: share, largestBytes: positive }),
  oddShare: share,
  loneSurrogateShare: share,
  sources: positive,
  variety: positive,
  fieldCase: oneOf(...fieldCases),
});
