/** Log data in a scenario: from files, or generated. `log-source.ts` creates the log data. */
import { parseDuration } from '../../src/base/duration.ts';
import { type FieldCase, fieldCases } from '../log-data/field-case.ts';
import { aboveZero, count, duration, listOf, object, oneOf, positive, share, text, whole } from '../schema-parts.ts';

/**
 * A time in a scenario:
 * - ms since the epoch
 * - a date `2026-11-01` or a date-time `2026-11-01T12:00:00Z`, in UTC unless it has an offset
 * - an offset from the start of the simulator, such as `-24h` or `+1h`
 */
export type MomentScenario = number | string;

export interface LogScenario {
  /**
   * NDJSON files that the simulator reads at its start. Among the other members of `logs`, only `fieldCase` applies to messages
   * from files.
   */
  readonly files?: readonly string[];
  /** Random seed of the generated messages, instead of the scenario's seed. */
  readonly seed?: number;
  readonly from?: MomentScenario;
  readonly to?: MomentScenario;
  /** Total number of generated messages (`messages`), or their number for each second (`perSecond`). */
  readonly messages?: number;
  readonly perSecond?: number;
  /** Milliseconds for each of which the scenario requires an exact number of generated messages. */
  readonly dense?: readonly DenseScenario[];
  /** Groups of generated messages with equal message times. */
  readonly crowds?: { readonly share?: number; readonly count?: number };
  /** Delay between the time of a message and its receipt by the service. */
  readonly receipt?: { readonly promptFor?: string; readonly lateShare?: number; readonly lateFor?: string };
  /** Size of a generated message as JSON, in bytes. */
  readonly size?: { readonly typicalBytes?: number; readonly largeShare?: number; readonly largestBytes?: number };
  /**
   * Share of generated messages with escapes, control characters and multi-byte characters, and share of messages with half a
   * surrogate pair.
   */
  readonly oddShare?: number;
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
  description: 'a time, as in 2026-11-01, 2026-11-01T12:00:00Z, -24h (before the start), or ms since the epoch',
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
 * Parses a time to ms since the epoch: `2026-11-01`, `2026-11-01T12:00:00Z` (UTC without an offset), digits, or `-24h` and `+1h`
 * relative to `startMs`. Returns undefined for other texts.
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
