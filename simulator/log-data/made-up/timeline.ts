/**
 * Computes the times of generated messages from their ranks, and vice versa. The rank of a message is the number of
 * newer messages.
 *
 * Time is divided into spans, and each span into message blocks. All blocks in a span have the same number of messages.
 * Only the oldest block may have fewer.
 */
import type { Layout, Layouts } from './layouts.ts';
import { type MadeUpSettings, otherMessages } from './made-up-settings.ts';

interface MessageSpan {
  readonly toMs: number;
  readonly lengthMs: number;
  readonly firstRank: number;
  readonly rows: number;
  readonly firstBlock: number;
  /** Length in ms of a full block. */
  readonly blockMs: number;
}

/** A range of consecutive messages: either several whole message blocks, or part of one message block. */
export interface Stretch {
  readonly rank: number;
  readonly block: number;
  /** Number of whole blocks, or 0 for part of a block. */
  readonly blocks: number;
  readonly first: number;
  readonly end: number;
}

/** Maximum number of messages in a message block. The index of a message in its block must fit into two bytes. */
const maxRowsPerBlock = 2_048;

/** Returns the number of messages in a full message block. */
export function rowsPerBlock(settings: MadeUpSettings): number {
  const counts = settings.dense.map(({ count }) => count);
  const largest = counts.reduce((max, count) => Math.max(max, count), otherMessages(settings));
  return Math.max(1, Math.min(maxRowsPerBlock, largest));
}

/** A block of consecutive messages in one time span. */
export class MessageBlock {
  readonly number: number;
  readonly layout: Layout;
  /**
   * Ranks of the block's messages, from `firstRank` up to but not including `endRank`. The rank of a message is the
   * number of newer messages.
   */
  readonly firstRank: number;
  readonly endRank: number;
  readonly #span: MessageSpan;
  readonly #inSpan: number;
  /**
   * Factor by which the relative ages of the block's messages are multiplied. The factor is 1 for a full block. For a
   * block with fewer messages it is smaller, because the block covers a shorter time.
   */
  readonly #narrowing: number;

  constructor(span: MessageSpan, inSpan: number, layout: Layout) {
    const rows = layout.ages.length;
    this.number = span.firstBlock + inSpan;
    this.layout = layout;
    this.firstRank = span.firstRank + inSpan * rows;
    const rowsLeft = span.rows - inSpan * rows;
    this.endRank = this.firstRank + Math.min(rows, rowsLeft);
    this.#span = span;
    this.#inSpan = inSpan;
    const firstUnused = layout.ages[rowsLeft] ?? 1;
    this.#narrowing = rowsLeft >= rows || firstUnused === 0 ? 1 : rowsLeft / rows / firstUnused;
  }

  timeOf(rank: number): number {
    const { toMs, lengthMs, blockMs } = this.#span;
    const age = (this.layout.ages[rank - this.firstRank] as number) * this.#narrowing;
    const ageMs = Math.floor((this.#inSpan + age) * blockMs);
    return toMs - 1 - Math.min(ageMs, lengthMs - 1);
  }
}

export class MessageTimeline {
  /** Spans that contain messages, newest first. */
  readonly #spans: readonly MessageSpan[];
  readonly rowsPerMs: number;
  readonly rows: number;
  readonly blocks: number;
  readonly #layouts: Layouts;
  /** The message block that was returned last, cached because callers read messages in order. */
  #lastBlock: MessageBlock | undefined;

  constructor(settings: MadeUpSettings, layouts: Layouts) {
    this.#layouts = layouts;
    this.#spans = spansOf(settings, layouts.rows);
    const oldest = this.#spans.at(-1);
    this.rows = oldest ? oldest.firstRank + oldest.rows : 0;
    this.blocks = oldest ? oldest.firstBlock + Math.ceil(oldest.rows / layouts.rows) : 0;
    this.rowsPerMs = this.rows / (settings.toMs - settings.fromMs);
  }

  /**
   * Returns the message block that contains the message with the given rank. `rank` is the number of newer messages.
   */
  block(rank: number): MessageBlock {
    const last = this.#lastBlock;
    if (last && rank >= last.firstRank && rank < last.endRank) return last;
    const span = this.#spanOf(rank);
    const inSpan = Math.floor((rank - span.firstRank) / this.#layouts.rows);
    const block = new MessageBlock(
      span,
      inSpan,
      this.#layouts.layout(this.#layouts.numberOf(span.firstBlock + inSpan)),
    );
    this.#lastBlock = block;
    return block;
  }

  timeOf(rank: number): number {
    return this.block(rank).timeOf(rank);
  }

  #spanOf(rank: number): MessageSpan {
    let [low, high] = [0, this.#spans.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#spans[middle] as MessageSpan).firstRank <= rank) low = middle;
      else high = middle - 1;
    }
    return this.#spans[low] as MessageSpan;
  }

  /** Returns the number of messages at or after `timeMs`. */
  rankAt(timeMs: number): number {
    for (const span of this.#spans) {
      if (timeMs >= span.toMs) return span.firstRank;
      if (timeMs > span.toMs - span.lengthMs) return span.firstRank + this.#rowsSince(span, timeMs);
    }
    return this.rows;
  }

  /** Returns the number of messages in the time span that are at or after `timeMs`. */
  #rowsSince(span: MessageSpan, timeMs: number): number {
    const { rows } = this.#layouts;
    const blocks = Math.ceil(span.rows / rows);
    let block = Math.min(blocks - 1, Math.floor((span.toMs - timeMs) / span.blockMs));
    const newestOf = (number: number) => this.timeOf(span.firstRank + number * rows);
    // Times are rounded, so the computed index of the block can be one too low or too high. These loops correct it.
    while (block > 0 && newestOf(block) < timeMs) block--;
    while (block < blocks - 1 && newestOf(block + 1) >= timeMs) block++;
    const { firstRank, endRank } = this.block(span.firstRank + block * rows);
    let [low, high] = [0, endRank - firstRank];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.timeOf(firstRank + middle) >= timeMs) low = middle + 1;
      else high = middle;
    }
    return block * rows + low;
  }

  /** Splits the messages with ranks in [from, to) into whole message blocks and parts of message blocks. */
  stretches(from: number, to: number): readonly Stretch[] {
    const { rows } = this.#layouts;
    const found: Stretch[] = [];
    let rank = from;
    while (rank < to) {
      const span = this.#spanOf(rank);
      const end = Math.min(to, span.firstRank + span.rows);
      const within = rank - span.firstRank;
      const inSpan = Math.floor(within / rows);
      const block = span.firstBlock + inSpan;
      const first = within - inSpan * rows;
      const blocks = first === 0 ? Math.floor((end - rank) / rows) : 0;
      const taken = blocks > 0 ? blocks * rows : Math.min(rows - first, end - rank);
      found.push({ rank, block, blocks, first, end: first + taken });
      rank += taken;
    }
    return found;
  }

  /**
   * Skips `blocks` message blocks, beginning with the block that contains the message with the rank `rank`. Returns the
   * rank (number of newer messages) of the first message after these blocks.
   */
  blockEnd(rank: number, blocks: number): number {
    const span = this.#spanOf(rank);
    const block = Math.floor((rank - span.firstRank) / this.#layouts.rows) + blocks;
    return span.firstRank + Math.min(span.rows, block * this.#layouts.rows);
  }
}

function spansOf(settings: MadeUpSettings, rowsOfBlock: number): readonly MessageSpan[] {
  const { fromMs, toMs, dense } = settings;
  const others = otherMessages(settings);
  const freeMs = toMs - fromMs - dense.length;
  const spans: MessageSpan[] = [];
  let firstRank = 0;
  let firstBlock = 0;
  const add = (spanToMs: number, lengthMs: number, rows: number) => {
    if (rows === 0) return;
    const blockMs = (rowsOfBlock / rows) * lengthMs;
    spans.push({ toMs: spanToMs, lengthMs, firstRank, rows, firstBlock, blockMs });
    firstRank += rows;
    firstBlock += Math.ceil(rows / rowsOfBlock);
  };
  let endMs = toMs;
  let passedMs = 0;
  let passedRows = 0;
  const addOthers = (beginMs: number) => {
    passedMs += endMs - beginMs;
    const until = freeMs > 0 ? Math.floor(others * (passedMs / freeMs)) : 0;
    if (endMs > beginMs) add(endMs, endMs - beginMs, until - passedRows);
    passedRows = until;
  };
  for (const { atMs, count } of dense.toSorted((left, right) => right.atMs - left.atMs)) {
    addOthers(atMs + 1);
    add(atMs + 1, 1, count);
    endMs = atMs;
  }
  addOthers(fromMs);
  return spans;
}
