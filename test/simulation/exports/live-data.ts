/**
 * Log messages for a simulated export. Searches may return wrong rows or omit rows, but each search also stores its
 * correct result for the checks.
 */
import type {
  JsonPage,
  LogData,
  MatchListener,
  MessageSearch,
  SearchRange,
} from '../../../simulator/log-data/log-data.ts';
import { messageFields } from '../../../simulator/query/message-fields.ts';
import type { FieldDescriptor, MessageFilter, MessageRow } from '../../../simulator/query/row.ts';
import type { CorpusPlan, PlannedMessage } from './planned-corpus.ts';

/** Errors made by the service in one search. */
export interface SearchFlaws {
  /**
   * Index of the shard (a quarter of the messages) that the search misses, or undefined if it misses none. The service
   * reports this error in only one status.
   */
  readonly missedShard: number | undefined;
  /** Whether a search that is cut off by the row limit also omits one message that it should have found. */
  readonly hasHole: boolean;
  /** Number of messages, counted from the oldest, that the search counts but its result pages omit. */
  readonly forgotten: number;
}

export const noFlaws: SearchFlaws = { missedShard: undefined, hasHole: false, forgotten: 0 };
export const shards = 4;

export interface LiveDataOptions {
  readonly corpus: CorpusPlan;
  readonly nowMs: () => number;
  /** Returns the errors for a search that starts now. */
  readonly flaws: () => SearchFlaws;
  /**
   * Whether a search also returns late messages. These become searchable only after the search has processed their part
   * of the time range.
   */
  readonly lateJoin: boolean;
  /** Whether the service computes the histogram with a separate search. */
  readonly histogramFirst: boolean;
  /** Whether a search by receipt time returns an arbitrary selection of rows when it reaches its row limit. */
  readonly cutsByPage: boolean;
}

export interface LiveMessage {
  readonly message: PlannedMessage;
  readonly shard: number;
  readonly row: MessageRow;
  readonly json: string;
  readonly jsonWithoutRaw: string;
  readonly bytes: number;
}

export class LiveData implements LogData {
  readonly fields: readonly FieldDescriptor[];
  readonly searches: LiveSearch[] = [];
  readonly #options: LiveDataOptions;
  readonly #byMessageTime: readonly LiveMessage[];
  readonly #byReceiptTime: readonly LiveMessage[];
  #isSecond = false;

  constructor(options: LiveDataOptions) {
    this.#options = options;
    const { messages, fieldCase } = options.corpus;
    const name = (field: string) => (fieldCase === 'camel' ? (camelNames[field] ?? field) : field);
    this.fields = messageFields
      .filter((field) => shown.has(field.name))
      .map((field) => ({ ...field, name: name(field.name) }));
    const stored = messages.map((message) => store(message, name));
    this.#byMessageTime = stored.toSorted((left, right) => left.message.atMs - right.message.atMs);
    this.#byReceiptTime = stored.toSorted((left, right) => left.message.receivedMs - right.message.receivedMs);
  }

  search(range: SearchRange, filter: MessageFilter): LiveSearch {
    const { nowMs, flaws, lateJoin, histogramFirst, cutsByPage } = this.#options;
    const of = this.#isSecond ? this.searches.at(-1) : undefined;
    this.#isSecond = histogramFirst && !of;
    const [messages, timeOf] = range.byReceiptTime
      ? [this.#byReceiptTime, receivedAt]
      : [this.#byMessageTime, happenedAt];
    const inside = slice(messages, timeOf, range);
    const search = new LiveSearch({
      ...{ inside, timeOf, range, filter, nowMs, lateJoin, cutsByPage: cutsByPage && range.byReceiptTime },
      // The separate search for the histogram misses the same shard as the main search.
      flaws: of ? { ...noFlaws, missedShard: of.flaws.missedShard } : flaws(),
    });
    if (!of) this.searches.push(search);
    return search;
  }
}

interface LiveSearchOptions {
  readonly inside: readonly LiveMessage[];
  readonly timeOf: (message: LiveMessage) => number;
  readonly range: SearchRange;
  readonly filter: MessageFilter;
  readonly nowMs: () => number;
  readonly flaws: SearchFlaws;
  readonly lateJoin: boolean;
  readonly cutsByPage: boolean;
}

export class LiveSearch implements MessageSearch {
  readonly isGivenUp = false;
  readonly range: SearchRange;
  readonly flaws: SearchFlaws;
  readonly beganAtMs: number;
  /** Time in ms at which the search ended or reached its row limit, or undefined while it is running. */
  endedAtMs: number | undefined;
  hasReported = false;
  /** Query of the search job, or undefined until a client has received the job's id. */
  query: string | undefined;
  /** Numbers of scanned bytes that clients read in the search job's statuses, with the time of each read. */
  readonly heard: { readonly atMs: number; readonly bytes: number }[] = [];
  records = 0;
  isRead = false;
  scannedBytes = 0;
  reachedMs: number;
  readonly #options: LiveSearchOptions;
  /** Number of messages that the search has not reached yet. A search begins with the newest message. */
  #left: number;
  /** Messages that this search misses, because they became searchable only after the search had passed their times. */
  #unseen: LiveMessage[] = [];
  /** Messages found by the search, in page order. */
  #found: LiveMessage[] = [];
  /** Messages that the search would return if the service made no errors. */
  readonly #expected = new Set<LiveMessage>();
  #isSorted = true;
  #hole: LiveMessage | undefined;
  #hasBegun = false;
  /**
   * Whether the search was cut off within a millisecond, and therefore found only some of the messages in this
   * millisecond.
   */
  #isCutWithin = false;
  #joinedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LiveSearchOptions) {
    this.#options = options;
    this.range = options.range;
    this.flaws = options.flaws;
    this.beganAtMs = options.nowMs();
    this.reachedMs = options.range.toMs;
    this.#left = options.inside.length;
  }

  get found(): number {
    return this.#found.length;
  }

  /** Returns the start of the time range in which the search has already found all rows. */
  get wholeFromMs(): number {
    const { cutsByPage, range } = this.#options;
    if (cutsByPage && (this.#isCutWithin || this.endedAtMs === undefined)) return range.toMs;
    return this.reachedMs + (this.#isCutWithin ? 1 : 0);
  }

  /** Returns the messages that the search would have found by now if the service made no errors. */
  get passed(): readonly LiveMessage[] {
    return [...this.#expected];
  }

  /**
   * Returns the messages that an export of the interval must contain, or undefined if the search did not cover the
   * whole interval.
   */
  expected(
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
    queryLimit = Number.POSITIVE_INFINITY,
  ): readonly LiveMessage[] | undefined {
    if (fromMs < this.range.fromMs || toMs > this.range.toMs) return undefined;
    if (this.wholeFromMs > fromMs && this.found < queryLimit) return undefined;
    const { timeOf } = this.#options;
    return [...this.#expected].filter((each) => timeOf(each) >= fromMs && timeOf(each) < toMs);
  }

  advance(downToMs: number, maxMatches: number, telling?: MatchListener): void {
    if (this.endedAtMs !== undefined) return;
    this.#begin(maxMatches);
    const { inside, timeOf, range, lateJoin, cutsByPage } = this.#options;
    if (cutsByPage) {
      this.reachedMs = Math.max(range.fromMs, downToMs);
      if (this.reachedMs === range.fromMs) this.#passAll(maxMatches, telling);
      return;
    }
    if (lateJoin) this.#join(maxMatches, telling);
    while (this.#left > 0 && this.found < maxMatches) {
      const next = inside[this.#left - 1] as LiveMessage;
      if (timeOf(next) < downToMs) break;
      this.#left--;
      this.reachedMs = timeOf(next);
      this.#pass(next, maxMatches, telling);
    }
    if (this.found < maxMatches) this.reachedMs = Math.min(this.reachedMs, Math.max(range.fromMs, downToMs));
    if (this.found < maxMatches && this.reachedMs > range.fromMs) return;
    this.endedAtMs = this.#options.nowMs();
    const left = inside.slice(0, this.#left).filter((each) => timeOf(each) === this.reachedMs);
    this.#isCutWithin = left.some((each) => this.#isVisible(each) && this.#matches(each));
  }

  page(offset: number, limit: number, maxBytes: number, withRaw: boolean): JsonPage {
    this.#sort();
    this.isRead = true;
    const elements: string[] = [];
    let bytes = 0;
    const end = Math.min(offset + limit, this.found - this.flaws.forgotten);
    for (const message of this.#found.slice(offset, Math.max(offset, end))) {
      bytes += message.bytes;
      if (bytes > maxBytes && elements.length > 0) break;
      elements.push(withRaw ? message.json : message.jsonWithoutRaw);
    }
    const body = Buffer.from(elements.join(','));
    return { rows: elements.length, bytes: body.length, pieces: () => [body] };
  }

  /**
   * Chooses a message that the search omits. Chooses none if the search stays within its row limit, because then no
   * program could detect the omission.
   */
  #begin(maxMatches: number): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (!this.flaws.hasHole || !Number.isFinite(maxMatches)) return;
    const matching = this.#options.inside.filter((each) => this.#isVisible(each) && this.#matches(each));
    if (matching.length > maxMatches + 2) this.#hole = matching.at(-Math.ceil(maxMatches / 2));
  }

  #passAll(maxMatches: number, telling: MatchListener | undefined): void {
    const { inside, nowMs } = this.#options;
    const left = inside.toSorted((one, other) => placeOf(one) - placeOf(other));
    while (left.length > 0 && this.found < maxMatches) this.#pass(left.pop() as LiveMessage, maxMatches, telling);
    this.endedAtMs = nowMs();
    this.#isCutWithin = left.some((each) => this.#isVisible(each) && this.#matches(each));
  }

  #pass(message: LiveMessage, maxMatches: number, telling: MatchListener | undefined): void {
    this.scannedBytes += message.bytes;
    if (!this.#matches(message)) return;
    if (!this.#isVisible(message)) {
      this.#unseen.push(message);
      return;
    }
    this.#expected.add(message);
    if (message.shard === this.flaws.missedShard || message === this.#hole) return;
    for (let copy = 0; copy < message.message.copies && this.found < maxMatches; copy++) {
      this.#found.push(message);
      telling?.each(message.row, 1);
    }
    this.#isSorted = false;
  }

  #join(maxMatches: number, telling: MatchListener | undefined): void {
    const nowMs = this.#options.nowMs();
    if (nowMs === this.#joinedAtMs) return;
    this.#joinedAtMs = nowMs;
    const late = this.#unseen.filter((message) => this.#isVisible(message));
    this.#unseen = this.#unseen.filter((message) => !this.#isVisible(message));
    for (const message of late) {
      if (this.found < maxMatches) this.#pass(message, maxMatches, telling);
    }
  }

  #matches({ row }: LiveMessage): boolean {
    return this.#options.filter.matches(row);
  }

  #isVisible({ message }: LiveMessage): boolean {
    return message.searchableMs <= this.#options.nowMs();
  }

  #sort(): void {
    if (this.#isSorted) return;
    this.#isSorted = true;
    this.#found.sort((left, right) => placeOf(right) - placeOf(left));
  }
}

function placeOf({ message }: LiveMessage): number {
  return message.atMs + message.displacedMs;
}

function happenedAt({ message }: LiveMessage): number {
  return message.atMs;
}

function receivedAt({ message }: LiveMessage): number {
  return message.receivedMs;
}

function slice(
  messages: readonly LiveMessage[],
  timeOf: (message: LiveMessage) => number,
  { fromMs, toMs }: SearchRange,
): readonly LiveMessage[] {
  const firstAt = (ms: number) => {
    let [low, high] = [0, messages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timeOf(messages[middle] as LiveMessage) < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return messages.slice(firstAt(fromMs), firstAt(toMs));
}

const shown: ReadonlySet<string> = new Set(['_messageid', '_messagetime', '_receipttime', '_size', '_raw', '_source']);
const camelNames: Readonly<Record<string, string>> = {
  _messageid: '_messageId',
  _messagetime: '_messageTime',
  _receipttime: '_receiptTime',
};

function store(message: PlannedMessage, name: (field: string) => string): LiveMessage {
  const { atMs, receivedMs, id, raw } = message;
  const values: Readonly<Record<string, string>> = {
    _messageid: id,
    _messagetime: String(atMs),
    _receipttime: String(receivedMs),
    _size: String(raw.length),
    _source: '',
  };
  const named = Object.fromEntries(Object.entries(values).map(([field, value]) => [name(field), value]));
  const json = JSON.stringify({ map: { ...named, _raw: raw } });
  const field = (asked: string) => (asked.toLowerCase() === '_raw' ? raw : values[asked.toLowerCase()]);
  return {
    message,
    shard: Math.abs(Number(BigInt(id) % BigInt(shards))),
    row: { messageTimeMs: atMs, receiptTimeMs: receivedMs, field },
    json,
    jsonWithoutRaw: JSON.stringify({ map: named }),
    bytes: json.length,
  };
}
