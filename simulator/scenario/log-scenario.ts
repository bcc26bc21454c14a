/** Log data in a scenario: read from files, or generated. */
import { parseDuration } from '../../src/base/duration.ts';
import { type FieldCase, fieldCases } from '../log-data/field-case.ts';
import { aboveZero, count, duration, listOf, object, oneOf, positive, share, text, whole } from './schema-parts.ts';

/**
 * A time in a scenario:
 * - ms since the epoch
 * - a date or date-time, such as `2026-11-01T12:00:00Z`, in UTC by default
 * - an offset from the start of the simulator, such as `-24h`
 */
export type MomentScenario = number | string;

export interface LogScenario {
  /** NDJSON files with log messages, which the simulator reads at startup. */
  readonly files?: readonly string[];
  /** Random seed for generated messages. Default: the scenario's seed. */
  readonly seed?: number;
  readonly from?: MomentScenario;
  readonly to?: MomentScenario;
  /** Number of generated messages, in total (`messages`) or per second (`perSecond`). */
  readonly messages?: number;
  readonly perSecond?: number;
  /** Times at which the scenario generates a given number of messages, all within the same millisecond. */
  readonly dense?: readonly DenseScenario[];
  /** Groups of generated messages with the same time. */
  readonly crowds?: { readonly share?: number; readonly count?: number };
  /** Delay between message time and receipt time. */
  readonly receipt?: { readonly promptFor?: string; readonly lateShare?: number; readonly lateFor?: string };
  /** Size of generated messages as JSON, in bytes. */
  readonly size?: { readonly typicalBytes?: number; readonly largeShare?: number; readonly largestBytes?: number };
  /** Fraction of messages that contain escapes, quotes, control characters and multi-byte characters. */
  readonly oddShare?: number;
  /** Fraction of messages that contain half of a surrogate pair. */
  readonly loneSurrogateShare?: number;
  readonly sources?: number;
  readonly variety?: number;
  readonly fieldCase?: FieldCase;
}

export interface DenseScenario {
  readonly at: MomentScenario;
  readonly count: number;
}

const moment = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', format: 'moment' },
  ],
  description: 'a time, such as 2026-11-01, 2026-11-01T12:00:00Z, -24h (before the start), or ms since the epoch',
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

const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const relativeForm = /^([+-])(.+)$/;

/**
 * Parses a date, a date-time, digits (ms since the epoch), or an offset from `startMs` such as `-24h`. Returns
 * undefined for any other text.
 */
export function parseMoment(written: number | string, startMs: number): number | undefined {
  if (typeof written === 'number') return written;
  if (/^\d+$/.test(written)) return Number(written);
  const [, sign, duration = ''] = relativeForm.exec(written) ?? [];
  if (sign !== undefined) {
    const distanceMs = parseDuration(duration);
    return distanceMs === undefined ? undefined : Math.floor(startMs) + (sign === '-' ? -distanceMs : distanceMs);
  }
  if (!dateForm.test(written)) return undefined;
  const hasZone = !written.includes('T') || /(?:Z|[+-]\d\d:\d\d)$/.test(written);
  const atMs = Date.parse(hasZone ? written : `${written}Z`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
