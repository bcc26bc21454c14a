/** Moments as scenarios and flags write them. */
import { parseDuration } from '../../base/duration.ts';

const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const relativeForm = /^([+-])(.+)$/;

/**
 * ms since the epoch of `2026-11-01`, `2026-11-01T12:00:00Z` (UTC where there is no offset), digits that are ms since the epoch, or
 * `-24h` and `+1h`, from `startMs` on. Undefined where it is none of these.
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
