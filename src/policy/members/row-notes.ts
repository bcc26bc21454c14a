/**
 * Facts that listing rows show about single members, in addition to their states. Examples are members that left the target
 * version (U8), members that are no longer alive, and members that reached the target version after a failed attempt (U6).
 */
import { type SetView, SparseMap, SparseSets } from '../../base/sparse.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import type { Entry } from '../ledger/ledger.ts';
import { isMended, isSilent, type MemberContext, type MemberState } from './member-state.ts';

/**
 * Facts about members:
 * - `silent`: this rollout upgraded the collector, and the collector is not alive any more.
 * - `silentBefore`: the collector runs the target version and is not alive, and this rollout has not tried to upgrade it.
 * - `mended`: the collector's failure is over: it runs the target version after a failed attempt, or is alive again.
 * - `contradicted`: the listing row contradicts the end of the last attempt. This counts only after a later listing has shown the
 *   same row (U6, U8).
 */
export type RowNote = 'silent' | 'silentBefore' | 'mended' | 'contradicted';

const notes: readonly RowNote[] = ['silent', 'silentBefore', 'mended', 'contradicted'];

export class RowNotes {
  readonly #context: MemberContext;
  /**
   * Collectors that left the target version, each with the send time of the first listing that shows the other
   * version.
   */
  readonly #drifts = new SparseMap<string, number>();
  readonly #noted = new SparseSets<RowNote, string>();

  constructor(context: MemberContext) {
    this.#context = context;
  }

  /**
   * Send time, in monotonic ms, of the first listing that shows the collector off the target version; undefined when it has not
   * left the target.
   */
  driftingSinceMs(id: string): number | undefined {
    return this.#drifts.get(id);
  }

  /** Members with this observation. */
  with(note: RowNote): SetView<string> {
    return this.#noted.get(note);
  }

  /**
   * Records that a collector left the target version. Called before the collector's state is computed, because the state depends
   * on this record.
   */
  noteDrift(id: string, row: Row, entry: Entry | undefined, memberState: MemberState | undefined): void {
    const { targetVersion, settings } = this.#context;
    if (row.collector.collectorVersion === targetVersion || entry?.open) {
      this.#drifts.delete(id);
      return;
    }
    // A rollback attempt of logfleet moves a collector away from the target version, so this change
    // is not recorded as a drift.
    if (this.#drifts.has(id) || entry?.back) return;
    const ending = entry?.ending;
    const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
    const wasThere = memberState === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
    if (wasThere && row.seenAtMs >= after) this.#drifts.set(id, row.seenAtMs);
  }

  /**
   * Records the facts that the listing row of a member shows.
   * @param isNews whether another policy may have upgraded the collector after the row was read
   */
  note(id: string, row: Row | undefined, entry: Entry | undefined, memberState: MemberState, isNews: boolean): void {
    const isThere = row?.collector.collectorVersion === this.#context.targetVersion;
    const contradicts = entry?.ending !== undefined && isThere !== (memberState === 'updated');
    // A row that shows the collector as not alive may be older than the end of its attempt. A later
    // listing must show the same before the collector counts as dead.
    const isUnseen = isThere && row.collector.alive === false && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
    this.#noted.put('contradicted', id, contradicts || isNews || isUnseen);
    this.#noted.put('silent', id, isSilent({ row, entry }, this.#context));
    this.#noted.put('silentBefore', id, isThere && !entry && row.collector.alive === false);
    this.#noted.put('mended', id, isMended({ row, entry }, this.#context));
  }

  forget(id: string): void {
    this.#drifts.delete(id);
    for (const note of notes) this.#noted.put(note, id, false);
  }
}
