/**
 * Facts that listing rows show about single collectors, in addition to their states. Examples are collectors that left the target
 * version (U8), that are no longer alive, or that reached the target version after a failed attempt (U6).
 */
import type { Row } from '../../fleet/fleet-rows.ts';
import type { Entry } from '../ledger/ledger.ts';
import { isMended, isSilent, type MemberContext, type MemberState } from './member-state.ts';

/**
 * Facts about collectors of a policy:
 * - `silent`: this rollout upgraded the collector, and the collector is not alive any more.
 * - `silentBefore`: the collector runs the target version and is not alive, and this rollout has not tried to upgrade it.
 * - `mended`: the collector's failure is over: it runs the target version after a failed attempt, or is alive again.
 * - `contradicted`: the listing row contradicts the end of the last attempt. This counts only after a later listing has shown the
 *   same row (U6, U8).
 */
export type RowNote = 'silent' | 'silentBefore' | 'mended' | 'contradicted';

export const rowNotes: readonly RowNote[] = ['silent', 'silentBefore', 'mended', 'contradicted'];

/**
 * Facts that the listing row of a collector shows.
 * @param isNews whether another policy may have upgraded the collector after the row was read
 */
export function notesOf(
  row: Row | undefined,
  entry: Entry | undefined,
  memberState: MemberState,
  isNews: boolean,
  context: MemberContext,
): Readonly<Record<RowNote, boolean>> {
  const isThere = row?.collector.collectorVersion === context.targetVersion;
  const isDead = isThere && row.collector.alive === false;
  const contradicts = entry?.ending !== undefined && isThere !== (memberState === 'updated');
  // A row that shows the collector as not alive may be older than the end of its attempt. A later listing must confirm the row
  // before the collector counts as failed.
  const isUnseen = isDead && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
  return {
    silent: isSilent({ row, entry }, context),
    silentBefore: isDead && !entry,
    mended: isMended({ row, entry }, context),
    contradicted: contradicts || isNews || isUnseen,
  };
}

/**
 * Send time, in monotonic ms, of the first listing that shows the collector at another version than the target; undefined when
 * the collector has not left the target.
 * @param knownMs result for the previous row of the collector
 * @param memberState state of the collector before this row
 */
export function driftSinceMs(
  knownMs: number | undefined,
  row: Row,
  entry: Entry | undefined,
  memberState: MemberState | undefined,
  { targetVersion, settings }: MemberContext,
): number | undefined {
  if (row.collector.collectorVersion === targetVersion || entry?.open) return undefined;
  // A rollback moves a collector away from the target version, which is no drift.
  if (knownMs !== undefined || entry?.back) return knownMs;
  const ending = entry?.ending;
  const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
  const wasThere = memberState === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
  return wasThere && row.seenAtMs >= after ? row.seenAtMs : undefined;
}
