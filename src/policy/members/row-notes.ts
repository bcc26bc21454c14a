/**
 * Facts about single collectors that the service's list shows, in addition to their states. Examples: an upgraded collector is
 * no longer alive, or a failed collector has reached the target version.
 */
import type { Row } from '../../fleet/fleet-rows.ts';
import type { Entry } from '../ledger/ledger.ts';
import { isMended, isSilent, type MemberContext, type MemberState } from './member-state.ts';

/**
 * Facts that the service's list shows about a collector:
 * - `silent`: this rollout upgraded the collector, but the collector is no longer alive.
 * - `silentBefore`: the collector runs the target version without an upgrade by this rollout, and is not alive.
 * - `mended`: the collector had failed, but now runs the target version and is alive.
 * - `contradicted`: the list contradicts the result of the last upgrade, so a later listing must confirm it (U6, U8).
 */
export type RowNote = 'silent' | 'silentBefore' | 'mended' | 'contradicted';

export const rowNotes: readonly RowNote[] = ['silent', 'silentBefore', 'mended', 'contradicted'];

/** @param isNews whether the row may be older than the end of an upgrade that this policy's ledger does not contain */
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
  // A listing before the end of an upgrade does not prove that the collector went offline after its upgrade. A later listing
  // must confirm this.
  const isUnseen = isDead && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
  return {
    silent: isSilent({ row, entry }, context),
    silentBefore: isDead && !entry,
    mended: isMended({ row, entry }, context),
    contradicted: contradicts || isNews || isUnseen,
  };
}

/**
 * Send time, in monotonic ms, of the first listing that shows that the collector left the target version; undefined when it did
 * not.
 * @param knownMs result for the collector's previous row
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
  // A rollback changes the version on purpose, so the new version is no drift.
  if (knownMs !== undefined || entry?.back) return knownMs;
  const ending = entry?.ending;
  const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
  const wasThere = memberState === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
  return wasThere && row.seenAtMs >= after ? row.seenAtMs : undefined;
}
