/**
 * Observations from listing rows about single members, in addition to their states: members that left the target version and when
 * (U8), members that are no longer alive at the target version, members at the target version after a failed attempt (U6), and
 * members whose unchanged row must be read again.
 */
import { type SetView, SparseMap, SparseSet } from '../../base/sparse.ts';
import type { Row } from '../../fleet/fleet-rows.ts';
import type { Entry } from '../ledger/ledger.ts';
import { isMended, isSilent, type MemberContext, type MemberState } from './member-state.ts';

export class RowNotes {
  readonly #context: MemberContext;
  /** Collectors that left the target version, each with the send time of the first listing that shows this. */
  readonly #drifts = new SparseMap<string, number>();
  readonly #silent = new SparseSet<string>();
  readonly #silentBefore = new SparseSet<string>();
  readonly #mended = new SparseSet<string>();
  /**
   * Collectors whose listing row contradicts the end of their last attempt. The contradiction
   * counts only after a later listing has shown the same row (U6, U8).
   */
  readonly #contradicted = new SparseSet<string>();

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

  /** Collectors that this rollout upgraded and that are not alive any more. */
  get silent(): SetView<string> {
    return this.#silent;
  }

  /** Collectors that run the target version and are not alive, and that this rollout has not tried to upgrade. */
  get silentBefore(): SetView<string> {
    return this.#silentBefore;
  }

  /** Collectors whose failure is over: they run the target version after a failed attempt, or are alive again. */
  get mended(): SetView<string> {
    return this.#mended;
  }

  get contradicted(): SetView<string> {
    return this.#contradicted;
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
   * Records what the listing row of a member shows.
   * @param isNews whether this row may not show an upgrade of another policy yet
   */
  note(id: string, row: Row | undefined, entry: Entry | undefined, memberState: MemberState, isNews: boolean): void {
    const isThere = row?.collector.collectorVersion === this.#context.targetVersion;
    const contradicts = entry?.ending !== undefined && isThere !== (memberState === 'updated');
    // A listing row that shows the collector as not alive may be older than the end of its attempt.
    // The death is proven when a later listing shows the same row.
    const isUnseen = isThere && row.collector.alive === false && row.seenAtMs < (entry?.ending?.sinceMs ?? 0);
    put(this.#contradicted, id, contradicts || isNews || isUnseen);
    put(this.#silent, id, isSilent({ row, entry }, this.#context));
    put(this.#silentBefore, id, isThere && !entry && row.collector.alive === false);
    put(this.#mended, id, isMended({ row, entry }, this.#context));
  }

  forget(id: string): void {
    for (const noted of [this.#drifts, this.#contradicted, this.#silent, this.#silentBefore, this.#mended])
      noted.delete(id);
  }
}

function put(set: SparseSet<string>, id: string, isIn: boolean): void {
  if (isIn) set.add(id);
  else set.delete(id);
}
