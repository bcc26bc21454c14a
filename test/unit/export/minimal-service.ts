/** Minimal log service. Its searches can fail, or return wrong results, in every way that an export must detect. */
import type { Random } from '../../../src/base/random.ts';
import type { TimeRange } from '../../../src/base/time-range.ts';
import type { MessageHistogram } from '../../../src/service/jobs/job-gathering.ts';
import type { SearchJobState } from '../../../src/service/jobs/search-service.ts';

export interface MinimalRow {
  readonly messageTimeMs: number;
  readonly receiptTimeMs: number;
  readonly messageId: string;
  readonly bytes: Uint8Array;
}

export interface MinimalWorld {
  readonly rows: readonly MinimalRow[];
  readonly byReceiptTime: boolean;
  readonly limit: number;
  readonly cutKinds: readonly ('forcePaused' | 'warning' | 'silent')[];
  readonly hasInclusiveEnds: boolean;
  /** If false, the histogram counts do not add up to the message count. */
  readonly hasHistogram: boolean;
  /** Probability (0 to 1) that a search job fails. */
  readonly trouble: number;
}

export interface MinimalJob {
  readonly state: SearchJobState;
  readonly isLimitReached: boolean;
  readonly messageCount: number;
  readonly pendingErrors: readonly string[];
  readonly hasLostStatus: boolean;
  readonly histogram: MessageHistogram;
  /** Rows on the pages at the first read. A second read may return different rows. */
  readonly firstReading: readonly MinimalRow[];
  readonly rows: readonly MinimalRow[];
}

export function timeOf(world: Pick<MinimalWorld, 'byReceiptTime'>, row: MinimalRow): number {
  return world.byReceiptTime ? row.receiptTimeMs : row.messageTimeMs;
}

export function makeRows(random: Random, count: number, spanMs: number): MinimalRow[] {
  return Array.from({ length: count }, (_, number) => {
    // Some milliseconds have many rows, and some rows share an id.
    const messageTimeMs = Math.floor(random.next() ** 2 * spanMs);
    const receiptTimeMs = messageTimeMs + Math.floor(random.next() * 5);
    const messageId = random.next() < 0.1 ? '7' : `${number}`;
    const bytes = Buffer.from(JSON.stringify({ messageTimeMs, receiptTimeMs, messageId, number }));
    return { messageTimeMs, receiptTimeMs, messageId, bytes };
  });
}

/** Searches the range from `fromMs` to `endMs`. Random faults occur only if `mayFail` is true. */
export function searchMinimal(
  world: MinimalWorld,
  random: Random,
  fromMs: number,
  endMs: number,
  mayFail: boolean,
): MinimalJob {
  const strikes = () => mayFail && random.next() < world.trouble;
  const firstMs = strikes() ? fromMs - 1 : fromMs;
  const lastMs = world.hasInclusiveEnds ? endMs : endMs - 1;
  const matching = world.rows.filter((row) => timeOf(world, row) >= firstMs && timeOf(world, row) <= lastMs);
  const isBroken = strikes();
  const newestFirst = inOrder(isBroken ? matching.filter(() => random.next() < 0.7) : matching);
  const isCut = newestFirst.length >= world.limit;
  // If a search by receipt time reaches the row limit, it returns a random selection of the rows.
  const pool = world.byReceiptTime ? shuffled(newestFirst, random) : newestFirst;
  const found = inOrder(pool.slice(0, world.limit));
  const again = found[Math.floor(random.next() * found.length)];
  const withTwins = again && !isCut && strikes() ? inOrder([...found, again]) : found;
  const rows = strikes() ? shuffled(withTwins, random) : withTwins;
  const kind = isCut ? world.cutKinds[Math.floor(random.next() * world.cutKinds.length)] : undefined;
  // The service reports a search job's error only once. If that status response is lost, so is the error.
  const hasLostStatus = random.next() < (isBroken ? 0.5 : world.trouble);
  return {
    state: kind === 'forcePaused' ? 'forcePaused' : 'doneGatheringResults',
    isLimitReached: kind === 'forcePaused' || kind === 'warning',
    messageCount: rows.length,
    pendingErrors: isBroken && !hasLostStatus ? ['a view is away'] : [],
    hasLostStatus,
    histogram: histogramOf(world.hasHistogram ? found : [], rows.length, 1 + Math.floor(random.next() * 10)),
    firstReading: firstReading(rows, random, strikes),
    rows,
  };
}

/** Returns the rows of the first read. One row may be missing, or replaced with a copy of its neighbour. */
function firstReading(rows: readonly MinimalRow[], random: Random, strikes: () => boolean): MinimalJob['firstReading'] {
  const at = Math.floor(random.next() * rows.length);
  const before = rows[at - 1];
  if (before && strikes()) return [...rows.slice(0, at), before, ...rows.slice(at + 1)];
  return strikes() ? rows.toSpliced(at, 1) : rows;
}

function histogramOf(rows: readonly MinimalRow[], messageCount: number, lengthMs: number): MessageHistogram {
  const counts = new Map<number, number>();
  for (const { messageTimeMs } of rows) {
    const startMs = Math.floor(messageTimeMs / lengthMs) * lengthMs;
    counts.set(startMs, (counts.get(startMs) ?? 0) + 1);
  }
  const buckets = [...counts].map(([startMs, count]) => ({ startMs, lengthMs, count }));
  buckets.sort((left, right) => left.startMs - right.startMs);
  return { buckets, total: rows.length, addsUp: rows.length === messageCount };
}

export function countMinimal(world: MinimalWorld, { fromMs, toMs }: TimeRange): number {
  return world.rows.filter((row) => timeOf(world, row) >= fromMs && timeOf(world, row) < toMs).length;
}

function inOrder(rows: readonly MinimalRow[]): MinimalRow[] {
  return rows.toSorted((left, right) => right.messageTimeMs - left.messageTimeMs);
}

function shuffled(rows: readonly MinimalRow[], random: Random): MinimalRow[] {
  const keyed = rows.map((row) => ({ row, key: random.next() }));
  return keyed.sort((left, right) => left.key - right.key).map(({ row }) => row);
}
