/**
 * Reads the times in request bodies. A time is either a local date-time `YYYY-MM-DDTHH:mm:ss` or a number of ms since
 * the epoch.
 */
import { assert } from '../../src/base/assert.ts';
import { latestDateMs } from '../../src/base/time-units.ts';
import type { TimeZone } from '../../src/base/time-zone.ts';

/**
 * A time in a request body:
 * - `moment`: ms since the epoch
 * - `local`: a local time, which needs a time zone
 * - `invalid`: invalid text, with an optional reason
 * - `wrongType`: neither a string nor a number
 */
export type WrittenTime =
  | { readonly kind: 'moment'; readonly atMs: number }
  | { readonly kind: 'local'; readonly localMs: number }
  | { readonly kind: 'invalid'; readonly reason?: string }
  | { readonly kind: 'missing' | 'wrongType' };

const localForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/;
const numberForm = /^-?\d+(?:\.\d+)?$/;
/** Patterns of date-times that the service refuses, each with the reason for refusing them. */
const foreignForms: readonly [RegExp, string][] = [
  [/T[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/i, 'has an offset, although the zone belongs in timeZone'],
  [/T\d\d:\d\d:\d\d\.\d+$/i, 'has a fraction of a second'],
];

export function readTime(value: unknown): WrittenTime {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return momentOf(Number(value));
    case 'string':
      return numberForm.test(value) ? momentOf(Number(value)) : localOf(value);
    case 'undefined':
      return { kind: 'missing' };
    default:
      return { kind: 'wrongType' };
  }
}

/** Converts a time in a request to ms since the epoch. To convert a local time, `zone` is required. */
export function resolveTime(time: Extract<WrittenTime, { kind: 'moment' | 'local' }>, zone?: TimeZone): number {
  if (time.kind === 'moment') return time.atMs;
  assert(zone, 'a local time needs a zone');
  return zone.instantOf(time.localMs);
}

function momentOf(atMs: number): WrittenTime {
  if (!Number.isInteger(atMs)) return { kind: 'invalid', reason: 'is not a whole number' };
  if (atMs < 0) return { kind: 'invalid', reason: 'is before 1970' };
  return atMs <= latestDateMs ? { kind: 'moment', atMs } : { kind: 'invalid', reason: 'is too far from 1970' };
}

/** Parses a local time. A nonexistent date, such as 30 February, is invalid. */
function localOf(text: string): WrittenTime {
  if (!localForm.test(text)) {
    const reason = foreignForms.find(([form]) => form.test(text))?.[1];
    return { kind: 'invalid', ...(reason === undefined ? {} : { reason }) };
  }
  const localMs = Date.parse(`${text}Z`);
  const isReal = !Number.isNaN(localMs) && new Date(localMs).toISOString().startsWith(text);
  return isReal ? { kind: 'local', localMs } : { kind: 'invalid', reason: 'does not exist in the calendar' };
}
