/** The messages of a history of exports: how many, how dense, how late, and which of them a service gets wrong. */
import type { Chance } from '../chance.ts';

/** Which messages an export searches for. */
export type Scope = '*' | 'app' | '* | where _size > 12';

export interface CorpusPlan {
  /** In no order. */
  readonly messages: readonly PlannedMessage[];
  /** Whose names of fields pages have: `_messagetime` or `_messageTime`. */
  readonly fieldCase: 'lower' | 'camel';
  /** Some come in another place than their time says. */
  readonly isDisordered: boolean;
}

export interface PlannedMessage {
  /** Message time, ms since the epoch. */
  readonly atMs: number;
  readonly receivedMs: number;
  /** From when on searches find it; those of before the history are found from its begin on. */
  readonly searchableMs: number;
  readonly id: string;
  readonly raw: string;
  /** How often a search finds it. */
  readonly copies: 1 | 2;
  /** By how much its place among the others is another than its time says. */
  readonly displacedMs: number;
}

export interface CorpusOptions {
  readonly fromMs: number;
  readonly toMs: number;
  readonly startMs: number;
  readonly settleMs: number;
  /** All are searchable by then. */
  readonly calmAtMs: number;
  /** About the limit of a search. */
  readonly limit: number;
  readonly isLarge: boolean;
}

export function planCorpus(chance: Chance, options: CorpusOptions): CorpusPlan {
  const { fromMs, toMs, limit, isLarge } = options;
  const most = isLarge ? 2 * limit + 3_000 : Math.min(360, 6 * limit);
  const count = chance.happens(0.04) ? 0 : chance.whole(1, most);
  const shape = chance.one(['even', 'even', 'bursts', 'heavy', 'narrow'] as const);
  const denseShare = isLarge ? 0 : chance.one([0, 0, 0.05, 0.3]);
  const centers = Array.from({ length: chance.whole(1, 4) }, () => chance.whole(fromMs, toMs - 1));
  const denseAt = [chance.whole(fromMs, toMs - 1), toMs - 1, fromMs];
  const copiedShare = chance.one([0, 0, 0, 0, 0.05]);
  const isDisordered = !isLarge && chance.happens(0.05);
  const lateShare = chance.one([0, 0, 0.1, 0.4]);
  const idsEnd = chance.one(['any', 'any', 'any', 'any', 'alike'] as const);
  const plain = Array.from({ length: count }, (_, index): PlannedMessage => {
    const isDense = chance.happens(denseShare);
    const atMs = isDense ? chance.one(denseAt) : momentOf(chance, shape, centers, options);
    const receivedMs = atMs + (chance.happens(0.3) ? chance.whole(0, 120_000) : chance.whole(0, 3));
    const isCopied = chance.happens(copiedShare);
    // As many late rows as copies make the same count of a dense millisecond, and what is written is of no single search then.
    const isInTime = isDense && copiedShare > 0;
    return {
      atMs,
      receivedMs,
      searchableMs: !isInTime && chance.happens(lateShare) ? lateness(chance, atMs, receivedMs, options) : receivedMs,
      id: idOf(chance, index, idsEnd),
      raw: `${chance.happens(0.5) ? 'app' : 'db'} message ${index}`,
      copies: isCopied ? 2 : 1,
      displacedMs: isDisordered && chance.happens(0.1) ? chance.whole(-5_000, 5_000) : 0,
    };
  });
  const messages = withSharedIds(chance, plain);
  return {
    messages,
    fieldCase: chance.one(['lower', 'camel'] as const),
    isDisordered: messages.some(({ displacedMs }) => displacedMs !== 0),
  };
}

type Shape = 'even' | 'bursts' | 'heavy' | 'narrow';

function momentOf(chance: Chance, shape: Shape, centers: readonly number[], options: CorpusOptions): number {
  const { fromMs, toMs } = options;
  // At the very ends, and just outside of them.
  if (chance.happens(0.03)) return chance.one([fromMs - 1, fromMs, toMs - 1, toMs, toMs + 1]);
  const spanMs = toMs - fromMs;
  const near = (center: number, widthMs: number) =>
    Math.min(toMs - 1, Math.max(fromMs, center + chance.whole(-widthMs, widthMs)));
  switch (shape) {
    case 'even':
      return chance.whole(fromMs, toMs - 1);
    case 'bursts':
      return near(chance.one(centers), chance.one([3, 300, 20_000]));
    case 'heavy':
      return toMs - 1 - Math.floor(chance.between(0, 1) ** 4 * spanMs);
    case 'narrow':
      return near(centers[0] ?? fromMs, 40);
  }
}

/** Later than it was received; some of them later than anybody waits for. */
function lateness(chance: Chance, atMs: number, receivedMs: number, options: CorpusOptions): number {
  const { settleMs, startMs, calmAtMs } = options;
  const isInTime = chance.happens(0.5);
  if (isInTime) return Math.max(receivedMs, atMs + chance.whole(0, settleMs));
  return Math.max(receivedMs, Math.min(calmAtMs, startMs + chance.whole(0, calmAtMs - startMs)));
}

function idOf(chance: Chance, index: number, end: 'any' | 'alike'): string {
  const magnitude = BigInt(chance.whole(1, 2 ** 31)) * 1_000_003n + BigInt(index) * 2n ** 40n;
  const id = end === 'alike' ? magnitude * 100n + 7n : magnitude;
  return `${chance.happens(0.4) ? -id : id}`;
}

/** Two different messages may have one id, and the same text may come with two ids. */
function withSharedIds(chance: Chance, messages: readonly PlannedMessage[]): PlannedMessage[] {
  if (!chance.happens(0.3)) return [...messages];
  return messages.map((message, index) => {
    const before = messages[index - 1];
    if (!before || before.copies > 1 || message.copies > 1 || !chance.happens(0.05)) return message;
    const { atMs, receivedMs, searchableMs } = before;
    if (chance.happens(0.5)) return { ...message, atMs, receivedMs, searchableMs, id: before.id };
    return { ...message, atMs, receivedMs, searchableMs, raw: before.raw };
  });
}

/** Of an export: its range, by which time, what it searches for, and how long it waits for what comes late. */
export interface WantedMessages {
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
  readonly scope: Scope;
  readonly settleMs: number;
}

/** E11: whether it is to be there, since it was searchable within the time that is waited for. */
export function isInTime(
  { fromMs, toMs, byReceiptTime, scope, settleMs }: WantedMessages,
  message: PlannedMessage,
): boolean {
  const { atMs, receivedMs, searchableMs, raw } = message;
  const timeMs = byReceiptTime ? receivedMs : atMs;
  return timeMs >= fromMs && timeMs < toMs && isMeant(scope, raw) && searchableMs <= timeMs + settleMs;
}

function isMeant(scope: Scope, raw: string): boolean {
  switch (scope) {
    case '*':
      return true;
    case 'app':
      return raw.startsWith('app');
    case '* | where _size > 12':
      return raw.length > 12;
  }
}
