/**
 * The way back (R7): who this rollout brought to its target is taken back to the version that it had before (U14), under the same limits.
 * Who has no former version on record is left as it is, and named.
 */
import type { Row } from '../fleet/fleet-rows.ts';
import type { Draft } from './draft.ts';
import { type Entry, hasFailed } from './ledger.ts';
import type { Roster } from './roster.ts';
import { isOffline } from './standing.ts';

export interface WayBack {
  /** Who can be taken back now, or again after a failure. */
  readonly candidates: readonly Entry[];
  /** Who is at the former version by itself: nothing has to be done, but to write it down. */
  readonly there: readonly Entry[];
  /** Attempts under way, also those towards the target that have not ended. */
  readonly underWay: number;
  readonly takenBack: number;
  /** Who stays as it is: its former version is on no record, or it has no attempts left, or the service refuses, or no window is its own. */
  readonly left: readonly Left[];
  /** Who does not run, and is taken back when it does. */
  readonly offline: number;
}

export interface Left {
  readonly collectorId: string;
  /** For people: the service's own words, or ours. */
  readonly why: string;
}

/** @param isZoneless whether windows go by its time zone, and it has none that can be read: nobody would ever start it */
export function planWayBack(
  roster: Roster,
  draft: Draft,
  target: string,
  graceMs: number,
  isZoneless: (row: Row | undefined) => boolean = () => false,
): WayBack {
  const candidates: Entry[] = [];
  const there: Entry[] = [];
  const left: Left[] = [];
  const counts = { underWay: 0, takenBack: 0, offline: 0 };
  for (const entry of draft.entries()) {
    const { collectorId } = entry;
    const found = placeOf(entry, roster, target, graceMs);
    const row = roster.row(collectorId);
    const isStuck = found === 'candidate' && isZoneless(row);
    const why = row ? 'no time zone of its own that can be read' : 'no list shows its time zone, by which windows open';
    const place = isStuck ? leftFor(why) : found;
    if (typeof place === 'object') {
      left.push({ collectorId, ...place });
      continue;
    }
    switch (place) {
      case 'elsewhere':
        break;
      case 'underWay':
        counts.underWay++;
        break;
      case 'takenBack':
        counts.takenBack++;
        break;
      case 'there':
        counts.takenBack++;
        there.push(entry);
        break;
      case 'offline':
        counts.offline++;
        break;
      case 'candidate':
        candidates.push(entry);
        break;
    }
  }
  return { candidates, there, left, ...counts };
}

/** Whether it is over but for those who do not run. */
export function isWayBackOver({ candidates, underWay }: WayBack): boolean {
  return candidates.length === 0 && underWay === 0;
}

type Place = 'elsewhere' | 'underWay' | 'takenBack' | 'there' | 'offline' | 'candidate' | Omit<Left, 'collectorId'>;

function leftFor(why: string): Omit<Left, 'collectorId'> {
  return { why };
}

function placeOf(entry: Entry, roster: Roster, target: string, graceMs: number): Place {
  const { open, ending, back, before, used, collectorId } = entry;
  if (open) return 'underWay';
  if (back && ending?.kind === 'updated' && ending.toVersion !== target) return 'takenBack';
  if (!back && !wasBroughtThere(entry, target)) return 'elsewhere';
  const row = roster.row(collectorId);
  // Whose it is while an attempt is open, which ends with this very decision, may not begin another one (U13).
  if (!roster.comesFirst(collectorId)) return 'elsewhere';
  // Of a single build no list shows who is at it: they are members all the same (U7).
  if (!row && roster.standingNow(collectorId) === undefined) return 'elsewhere';
  if (before === undefined || before === target) return leftFor('no former version on record');
  if (row?.collector.collectorVersion === before && row.seenAtMs >= (ending?.sinceMs ?? 0) + graceMs) return 'there';
  const words = ending?.message || 'no reason given';
  if (back && (ending?.kind === 'refused' || ending?.kind === 'invalid')) return leftFor(words);
  if (back && hasFailed(ending) && used > roster.context.retryLimit) return leftFor(words);
  // No list shows who is at a single build, nor when it was last alive (U11), nor that what failed had no effect (U6).
  if (!row && ending?.kind === 'offline') return leftFor('it did not run, and no list shows when it does');
  if (!row && back && hasFailed(ending)) return leftFor(`${words}; no list shows where it is, to try it again`);
  return isOffline(row, ending) ? 'offline' : 'candidate';
}

/** Also who died there, or left it again. */
function wasBroughtThere({ ending, used }: Entry, target: string): boolean {
  const { kind, toVersion } = ending ?? {};
  return used > 0 && toVersion === target && (kind === 'updated' || kind === 'died' || kind === 'left');
}
