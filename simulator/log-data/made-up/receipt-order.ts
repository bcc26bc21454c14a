/** Lists generated messages by receipt time, latest first. To save memory, messages are sorted in small batches. */
import type { Effort } from '../effort.ts';
import type { SearchRange } from '../log-data.ts';
import type { NextRank } from '../message-finder.ts';
import type { MadeUpRows } from './made-up-rows.ts';
import { TemplateMatches } from './matches.ts';
import { PeriodMatches } from './period-matches.ts';

/** Approximate number of messages in a batch. */
const batchRows = 5_000;
/** Estimated time to check whether a message belongs to the batch, in microseconds. */
const unitsPerCandidate = 0.002;

/**
 * Returns the ranks (numbers of newer messages) of the messages in a time range. The message that was received last
 * comes first.
 */
export function ranksByReceipt(rows: MadeUpRows, range: SearchRange): NextRank {
  const { timeline } = rows;
  const received = new PeriodMatches(rows, TemplateMatches.all(rows), true);
  let batch: readonly number[] = [];
  let taken = 0;
  let reachedMs = range.toMs;
  const readBatch = (effort: Effort) => {
    const newest = timeline.rankAt(reachedMs);
    const batchMs = newest + batchRows < timeline.rows ? timeline.timeOf(newest + batchRows) : Number.NEGATIVE_INFINITY;
    const fromMs = Math.max(range.fromMs, Math.min(reachedMs - 1, batchMs));
    const period = { fromMs, toMs: reachedMs, partRank: -1 };
    const { begin, end } = received.ranks(period);
    const ranks: number[] = [];
    received.each(begin, end, period, 0, (rank) => ranks.push(rank) > 0);
    effort.spend(1 + (end - begin) * unitsPerCandidate);
    const receiptsMs = ranks.map((rank) => rows.receiptOf(rank));
    const order = Uint32Array.from(ranks.keys()).sort(
      (left, right) => (receiptsMs[right] as number) - (receiptsMs[left] as number) || left - right,
    );
    batch = Array.from(order, (index) => ranks[index] as number);
    taken = 0;
    reachedMs = fromMs;
  };
  return (effort) => {
    while (taken === batch.length && reachedMs > range.fromMs) readBatch(effort);
    return taken < batch.length ? (batch[taken++] as number) : -1;
  };
}
