/**
 * What rows have shown of single members beyond how they stand: who drifted off the target and since when (U8), who fell silent there,
 * who is there although its last attempt did not end so (U6), and whose row has to be looked at again although it has not changed.
 */
import { type SetView, SparseMap, SparseSet } from '../base/sparse.ts';
import type { Row } from '../fleet/fleet-rows.ts';
import type { Entry } from './ledger.ts';
import { isMended, isSilent, type Standing, type StandingContext } from './standing.ts';

export class RowNotes {
  readonly #context: StandingContext;
  /** Who was seen off the target after having been at it: when first, as the time of the listing's sending. */
  readonly #drifts = new SparseMap<string, number>();
  readonly #silent = new SparseSet<string>();
  readonly #silentBefore = new SparseSet<string>();
  readonly #mended = new SparseSet<string>();
  /** Whose row says otherwise than how the last attempt ended: the same row, seen later, decides (U6, U8). */
  readonly #contradicted = new SparseSet<string>();

  constructor(context: StandingContext) {
    this.#context = context;
  }

  /** As the time of the listing's sending; undefined of who has not drifted. */
  driftingSinceMs(id: string): number | undefined {
    return this.#drifts.get(id);
  }

  /** Who was brought to the target in this rollout and is not alive. */
  get silent(): SetView<string> {
    return this.#silent;
  }

  /** Who is at the target and not alive, and this rollout has not touched. */
  get silentBefore(): SetView<string> {
    return this.#silentBefore;
  }

  /** Who is at the target although its last attempt failed, or lives again. */
  get mended(): SetView<string> {
    return this.#mended;
  }

  get contradicted(): SetView<string> {
    return this.#contradicted;
  }

  /** Before its standing is found, which depends on it. */
  noteDrift(id: string, row: Row, entry: Entry | undefined, standing: Standing | undefined): void {
    const { targetVersion, settings } = this.#context;
    if (row.collector.collectorVersion === targetVersion || entry?.open) {
      this.#drifts.delete(id);
      return;
    }
    // Who is taken back leaves the target by our own doing.
    if (this.#drifts.has(id) || entry?.back) return;
    const ending = entry?.ending;
    const after = ending?.kind === 'updated' ? ending.sinceMs + settings.graceMs : 0;
    const wasThere = standing === 'updated' || ending?.kind === 'updated' || ending?.kind === 'left';
    if (wasThere && row.seenAtMs >= after) this.#drifts.set(id, row.seenAtMs);
  }

  /** @param isNews whether an upgrade of another policy may not show in this row yet */
  note(id: string, row: Row | undefined, entry: Entry | undefined, standing: Standing, isNews: boolean): void {
    const isThere = row?.collector.collectorVersion === this.#context.targetVersion;
    const contradicts = entry?.ending !== undefined && isThere !== (standing === 'updated');
    // What shows it silent may be older than its end: the same row, seen later, tells of a death.
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
