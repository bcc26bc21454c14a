/**
 * What a scenario may say about the messages that searches go through: read from files, or made up. `log-source.ts` makes log data
 * of it, `log-schema.ts` is the same in JSON Schema.
 */
import type { FieldCase } from '../log-data/field-case.ts';

/**
 * A moment: ms since the epoch; a date `2026-11-01` or a date-time `2026-11-01T12:00:00Z`, in UTC where it names no offset; or `-24h`,
 * before the start of the simulator, and `+1h`, after it.
 */
export type MomentScenario = number | string;

export interface LogScenario {
  /** NDJSON, read when the simulator starts; beside `fieldCase` nothing else is for files. */
  readonly files?: readonly string[];
  /** Instead of the scenario's. */
  readonly seed?: number;
  readonly from?: MomentScenario;
  readonly to?: MomentScenario;
  /** In all, or in a second. */
  readonly messages?: number;
  readonly perSecond?: number;
  /** Milliseconds with exactly so many messages. */
  readonly dense?: readonly DenseScenario[];
  /** Messages that share their millisecond with others. */
  readonly crowds?: { readonly share?: number; readonly count?: number };
  /** How long messages take to the service. */
  readonly receipt?: { readonly promptFor?: string; readonly lateShare?: number; readonly lateFor?: string };
  /** Bytes of the JSON of a message. */
  readonly size?: { readonly typicalBytes?: number; readonly largeShare?: number; readonly largestBytes?: number };
  /** Messages with escapes, control characters and characters of several bytes; with half a surrogate pair. */
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
