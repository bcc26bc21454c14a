/** The ends of a range as requests write them (4.1): local date-times `YYYY-MM-DDTHH:mm:ss`, or ms since the epoch. */
import { assert } from '../../base/assert.ts';
import type { TimeZone } from './time-zone.ts';

/** A moment, or a local time that needs a zone; `invalid` cannot be read, `wrongType` is neither text nor number. */
export type WrittenTime =
  | { readonly kind: 'moment'; readonly atMs: number }
  | { readonly kind: 'local'; readonly localMs: number }
  | { readonly kind: 'invalid' | 'wrongType' };

/** The largest distance from the epoch that a Date can have. */
const mostMs = 8.64e15;

const localForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/;

export function readTime(value: unknown): WrittenTime {
  switch (typeof value) {
    case 'number':
      return momentOf(value);
    case 'bigint':
      return { kind: 'invalid' };
    case 'string':
      return /^\d+$/.test(value) ? momentOf(Number(value)) : localOf(value);
    case 'undefined':
      return { kind: 'invalid' };
    default:
      return { kind: 'wrongType' };
  }
}

/** ms since the epoch. `zone` is needed for local times alone. */
export function resolveTime(time: Extract<WrittenTime, { kind: 'moment' | 'local' }>, zone?: TimeZone): number {
  if (time.kind === 'moment') return time.atMs;
  assert(zone, 'a local time needs a zone');
  return zone.epochMsOf(time.localMs);
}

function momentOf(atMs: number): WrittenTime {
  return Number.isInteger(atMs) && atMs >= 0 && atMs <= mostMs ? { kind: 'moment', atMs } : { kind: 'invalid' };
}

/** A date that the calendar does not have is as unreadable as any other text. */
function localOf(text: string): WrittenTime {
  if (!localForm.test(text)) return { kind: 'invalid' };
  const localMs = Date.parse(`${text}Z`);
  const isReal = !Number.isNaN(localMs) && new Date(localMs).toISOString().startsWith(text);
  return isReal ? { kind: 'local', localMs } : { kind: 'invalid' };
}
