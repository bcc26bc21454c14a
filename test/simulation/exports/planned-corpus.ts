/** Plans the messages in a simulated export, and the errors made by the service. */
import type { Chance } from '../chance.ts';

/** Messages selected by an export. */
export type QueryScope = '*' | 'app' | '* | where _size > 12';

export interface CorpusPlan {
  /** All planned messages, in no particular order. */
  readonly messages: readonly PlannedMessage[];
  /** Spelling of field names on result pages, for example `_messagetime` or `_messageTime`. */
  readonly fieldCase: 'lower' | 'camel';
  readonly isDisordered: boolean;
}

export interface PlannedMessage {
  /** Message time in ms since the epoch. */
  readonly atMs: number;
  readonly receivedMs: number;
  readonly searchableMs: number;
  readonly id: string;
  readonly raw: string;
  /** Number of times that a search returns the message. */
  readonly copies: 1 | 2;
  /** Offset in ms from the message time to the time by which result pages sort the message. */
  readonly displacedMs: number;
}

export interface CorpusOptions {
  readonly fromMs: number;
  readonly toMs: number;
  readonly startMs: number;
  readonly countDelayMs: number;
  readonly calmAtMs: number;
  /**
   * Approximate maximum number of rows that a search returns. The corpus can contain several times as many messages,
   * which forces the export to split its searches.
   */
  readonly limit: number;
  readonly isLarge: boolean;
}

export function planCorpus(chance: Chance, options: CorpusOptions): CorpusPlan {
  const { fromMs, toMs, limit, isLarge } = options;
  const max = isLarge ? 2 * limit + 3_000 : Math.min(360, 6 * limit);
  const count = chance.happens(0.04) ? 0 : chance.whole(1, max);
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
    // If the service stores messages twice, messages in crowded milliseconds are never late. Otherwise, the second copy
    // of another message could hide that a late message is missing, because the message count would still be correct.
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

type TimeShape = 'even' | 'bursts' | 'heavy' | 'narrow';

function momentOf(chance: Chance, shape: TimeShape, centers: readonly number[], options: CorpusOptions): number {
  const { fromMs, toMs } = options;
  // Some messages are exactly at the ends of the time range, or just outside it.
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

/** Returns the random time in ms at which searches first find a message. The delay can be longer than `settleDelay`. */
function lateness(chance: Chance, atMs: number, receivedMs: number, options: CorpusOptions): number {
  const { countDelayMs, startMs, calmAtMs } = options;
  const isInTime = chance.happens(0.5);
  if (isInTime) return Math.max(receivedMs, atMs + chance.whole(0, countDelayMs));
  return Math.max(receivedMs, Math.min(calmAtMs, startMs + chance.whole(0, calmAtMs - startMs)));
}

function idOf(chance: Chance, index: number, end: 'any' | 'alike'): string {
  const magnitude = BigInt(chance.whole(1, 2 ** 31)) * 1_000_003n + BigInt(index) * 2n ** 40n;
  const id = end === 'alike' ? magnitude * 100n + 7n : magnitude;
  return `${chance.happens(0.4) ? -id : id}`;
}

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

export interface WantedMessages {
  readonly fromMs: number;
  readonly toMs: number;
  readonly byReceiptTime: boolean;
  readonly scope: QueryScope;
  readonly countDelayMs: number;
}

/** Reports whether the export must contain the message because it became searchable within `settleDelay` (E11). */
export function isInTime(
  { fromMs, toMs, byReceiptTime, scope, countDelayMs }: WantedMessages,
  message: PlannedMessage,
): boolean {
  const { atMs, receivedMs, searchableMs, raw } = message;
  const timeMs = byReceiptTime ? receivedMs : atMs;
  return timeMs >= fromMs && timeMs < toMs && isMeant(scope, raw) && searchableMs <= timeMs + countDelayMs;
}

function isMeant(scope: QueryScope, raw: string): boolean {
  switch (scope) {
    case '*':
      return true;
    case 'app':
      return raw.startsWith('app');
    case '* | where _size > 12':
      return raw.length > 12;
  }
}
