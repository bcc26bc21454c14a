/** Plans for simulated exports. Each plan triggers one special case, such as a killed process or a low row limit. */
import type { SearchScenario } from '../../../simulator/scenario/search-scenario.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { Chance } from '../chance.ts';
import {
  aggregated,
  type ExportHistoryPlan,
  historyStartMs,
  packedOutputs,
  plainOutput,
  planExportHistory,
} from './plan.ts';
import type { PlannedMessage } from './planned-corpus.ts';

const toMs = historyStartMs - 24 * hourMs;
const fromMs = toMs - hourMs;

interface ExportDirection {
  readonly messages?: (chance: Chance) => readonly PlannedMessage[];
  readonly search?: SearchScenario;
  readonly more?: (chance: Chance, plan: ExportHistoryPlan) => Partial<ExportHistoryPlan>;
}

const directions: Readonly<Record<string, ExportDirection>> = {
  /** Two processes run the same export and commit the same intervals. */
  raced: {
    more: (chance) => ({
      actions: [{ kind: 'start', atMs: chance.whole(0, 4_000), seat: 'second' }],
      destination: { share: 0, slowShare: 0.3, calls: ['create', 'finish'] },
    }),
  },
  /** Two processes run the same export while messages are arriving, so the processes find different messages. */
  racedLate: {
    messages: (chance) => late(chance, plain(chance, 300)),
    more: (chance) => ({
      actions: [{ kind: 'start', atMs: chance.whole(0, 4_000), seat: 'second' }],
      destination: { share: 0, slowShare: 0.3, calls: ['create', 'finish'] },
    }),
  },
  /** The process is killed while several parts of a file are being compressed in parallel. */
  packed: {
    more: (chance) => ({
      maxPartBytes: 4_000,
      output: chance.one(packedOutputs),
      actions: killedAnywhere(chance),
      destination: { share: 0.05, slowShare: 0.3, calls: ['open', 'write', 'finish'] },
    }),
  },
  killed: {
    more: (chance) => ({
      maxPartBytes: 1_000,
      actions: killedAnywhere(chance),
    }),
  },
  /** The first process is killed after it has written a file, but before it has written the commit record. */
  unrecorded: {
    more: (chance) => ({
      maxPartBytes: 1_000,
      actions: [
        {
          ...({ kind: 'killAtEffect', atMs: 0, seat: 'first', againAfterMs: 3_000 } as const),
          ...({ effect: chance.whole(1, 10), named: 'finish ', when: 'after' } as const),
        },
      ],
    }),
  },
  cut: {},
  /** Some messages arrive late, and the service stores some messages twice. */
  digested: {
    messages: (chance) =>
      late(chance, plain(chance, 200)).map((message) => ({ ...message, copies: chance.happens(0.05) ? 2 : 1 })),
    more: () => ({ proof: 'Digest' }),
  },
  /** The row limit cuts off searches, so exported intervals begin and end where searches were cut off. */
  digestedCut: {
    messages: (chance) => plain(chance, 300, 40),
    more: (_, plan) => ({ ...withLowerLimit(plan), proof: 'Digest' }),
  },
  /** The service stores some rows twice. */
  digestedTwice: {
    messages: (chance) => plain(chance, 200).map((each) => ({ ...each, copies: chance.happens(0.05) ? 2 : 1 })),
    more: () => ({ proof: 'Digest' }),
  },
  /** Searches miss some rows, and result pages omit some of the rows found by searches. */
  digestedFlawed: {
    messages: (chance) => late(chance, plain(chance, 120)),
    more: () => ({ proof: 'Digest', flaws: { missShard: 0.2, holes: 0, forget: 0.2 } }),
  },
  /** Processes are killed while they are checking the exported rows. */
  digestedKilled: {
    messages: (chance) => late(chance, plain(chance, 60)),
    more: (chance) => ({ proof: 'Digest', actions: killedAnywhere(chance) }),
  },
  /** Two processes check the exported rows at the same time. */
  digestedRaced: {
    messages: (chance) => late(chance, plain(chance, 100)),
    more: (chance) => ({
      proof: 'Digest',
      actions: [{ kind: 'start', atMs: chance.whole(0, 4_000), seat: 'second' }],
      destination: { share: 0, slowShare: 0.3, calls: ['create', 'finish'] },
    }),
  },
  /**
   * Many messages arrive late. After a failed check, the export repeats searches. Only the repeated searches exceed the
   * export's `maxMessages`.
   */
  digestedBounded: {
    messages: (chance) => late(chance, plain(chance, 300), 0.8),
    more: (chance) => ({ proof: 'Digest', parallelism: 1, limits: { maxMessages: chance.whole(100, 200) } }),
  },
  digestedByReceiptTime: {
    messages: (chance) => received(chance, plain(chance, 100)),
    more: () => ({ proof: 'Digest', byReceiptTime: true }),
  },
  /** One millisecond has more messages than a search returns. */
  crowded: {
    messages: (chance) => plain(chance, 300, 40),
    search: { status: { bucketLength: '3h' } },
    more: (_, plan) => withLowerLimit(plan),
  },
  /** One millisecond has too many rows, even after its search has been split by message id. */
  dense: {
    messages: (chance) => plain(chance, 1_600, 0),
    more: () => ({ parallelism: 2 }),
  },
  kept: { more: () => ({ incompletePolicy: 'Keep' }) },
  /** The export has a row limit or a time limit. */
  bounded: {
    more: (chance) => ({
      parallelism: 1,
      limits: chance.one([{ maxMessages: chance.whole(1, 60) }, { deadlineAfterMs: chance.whole(6_000, 20_000) }]),
    }),
  },
  /** The limit on scanned bytes depends on the seed, so that the export stops at different steps. */
  scanned: {
    more: (chance) => ({ parallelism: 1, limits: { maxBytesScanned: chance.whole(44_000, 70_000) } }),
  },
  scannedAside: {
    search: { duration: '40s', messageLimit: 60 },
    more: (chance) => ({ limits: { maxBytesScanned: chance.whole(46_000, 60_000) }, smallestLimit: 60 }),
  },
  scannedEarly: {
    search: { duration: '20s' },
    more: (chance) => ({ limits: { maxBytesScanned: chance.whole(1_000, 5_500) } }),
  },
  silent: {
    search: { atMessageLimit: 'done', status: { bucketLength: '3h' } },
    more: () => ({ isLimitSilent: true }),
  },
  /** The service returns at most 10,000 rows per search, and does not report this limit. */
  round: {
    messages: (chance) => plain(chance, 10_000 + chance.whole(1, 2_000)),
    search: { atMessageLimit: 'done', messageLimit: 10_000 },
    more: () => ({ isLimitSilent: true, smallestLimit: 10_000 }),
  },
  warned: { search: { atMessageLimit: 'doneWithWarning' } },
  /** The service cuts off searches, so the export must halve its segments (the parts of its time range). */
  byReceiptTime: {
    messages: (chance) => received(chance, plain(chance, 200)),
    more: (_, plan) => ({ ...withLowerLimit(plan), byReceiptTime: true, cutsByPage: true }),
  },
  disordered: { messages: (chance) => displaced(chance, plain(chance, 150)), more: (_, plan) => withLowerLimit(plan) },
  erring: { more: () => ({ flaws: { missShard: 0.3, holes: 0, forget: 0 } }) },
  /** A search job reports its error in only one status response, and half of all status responses are lost. */
  erringUnheard: {
    more: (_, plan) => ({ ...withLostStatuses(plan), flaws: { missShard: 0.5, holes: 0, forget: 0 } }),
  },
  holed: {
    search: { histogramFirst: true, status: { bucketLength: '1m' } },
    more: (_, plan) => ({ ...withLowerLimit(plan), flaws: { missShard: 0, holes: 0.4, forget: 0 } }),
  },
  forgetful: {
    search: { messageLimit: 1_000 },
    more: () => ({ flaws: { missShard: 0, holes: 0, forget: 0.5 }, smallestLimit: 1_000 }),
  },
  /** The export writes the rows of an aggregation. Aggregations have no row limit. */
  added: {
    search: { status: { bucketLength: '3h' } },
    more: (chance, plan) => ({ ...aggregated(chance, plan), isLimitSilent: true }),
  },
  /** Until an aggregation has ended, the service returns wrong results for it. */
  addedEarly: {
    search: { duration: '40s', histogramFirst: true },
    more: (chance, plan) => aggregated(chance, plan),
  },
  addedErring: {
    more: (chance, plan) => ({ ...aggregated(chance, plan), flaws: { missShard: 0.3, holes: 0, forget: 0 } }),
  },
  addedErringUnheard: {
    more: (chance, plan) => ({
      ...aggregated(chance, withLostStatuses(plan)),
      flaws: { missShard: 0.5, holes: 0, forget: 0 },
    }),
  },
  addedForgetful: {
    more: (chance, plan) => ({ ...aggregated(chance, plan), flaws: { missShard: 0, holes: 0, forget: 0.5 } }),
  },
  /** The aggregation's search takes longer than the service allows, so the service ends it early. */
  addedEndless: {
    search: { rangePerSecond: '83ms', status: { bucketLength: '1m' } },
    more: (chance, plan) => ({
      ...aggregated(chance, plan),
      ...{ incompletePolicy: 'Keep', completeWithinMs: 48 * hourMs },
    }),
  },
  addedRecent: {
    messages: (chance) => plain(chance, 60),
    more: (chance, plan) => aggregated(chance, { ...plan, ...recent(chance, plan) }),
  },
  limited: { more: (chance) => withQueryLimit(chance.whole(45, 120)) },
  doubled: { messages: (chance) => plain(chance, 200).map((each) => ({ ...each, copies: chance.one([1, 1, 2]) })) },
  /** Three messages share an id and a time. */
  sharedIds: {
    messages: (chance) =>
      plain(chance, 200).map((each, index, all) => {
        const { atMs, receivedMs, searchableMs, id } = all[index - (index % 3)] ?? each;
        return { ...each, atMs, receivedMs, searchableMs, id };
      }),
  },
  inclusive: { messages: (chance) => plain(chance, 300, 60), search: { toInclusive: true } },
  /** The time range ends now or soon, and messages arrive with delays of up to `settleDelay`. */
  recent: {
    messages: (chance) => plain(chance, 60),
    more: (chance, plan) => recent(chance, plan),
  },
  /** The export's time range ends now or soon. After a kill, the export continues in a process whose clock is fast. */
  recentTaken: {
    messages: (chance) => plain(chance, 120),
    more: (chance, plan) => ({
      ...recent(chance, plan),
      skewMs: -90_000,
      actions: [
        {
          ...({ kind: 'killAtEffect', atMs: 0, seat: 'first', againAfterMs: 3_000 } as const),
          ...({ effect: 1, named: 'create audit', when: 'after' } as const),
        },
      ],
    }),
  },
  /** A search takes longer than the service allows. */
  endless: {
    messages: (chance) => plain(chance, 60),
    search: { messageLimit: 1_000, rangePerSecond: '83ms', status: { bucketLength: '1m' } },
    more: () => ({ smallestLimit: 1_000, completeWithinMs: 24 * hourMs }),
  },
  /** Some temporary files cannot be removed, and a killed process leaves its temporary files behind. */
  littered: {
    more: (chance) => ({
      maxPartBytes: 600,
      destination: { share: 0.4, slowShare: 0, calls: ['write', 'finish', 'abort', 'remove'] },
      actions: [
        {
          kind: 'killAtEffect',
          atMs: 0,
          seat: 'first',
          effect: chance.whole(15, 40),
          when: 'before',
          againAfterMs: 3_000,
        },
      ],
    }),
  },
};

export const directionNames = Object.keys(directions);

export function directed(name: string, seed: number): ExportHistoryPlan {
  const direction = directions[name];
  if (!direction) throw new Error(`there is no plan ${name}`);
  const chance = new Chance(seed);
  const { search = {}, messages = (from: Chance) => plain(from, 250), more = () => ({}) } = direction;
  const base = planExportHistory(seed);
  const plan: ExportHistoryPlan = {
    ...base,
    isWhole: false,
    ...{
      query: '*',
      scope: '*',
      aggregation: undefined,
      queryLimit: undefined,
      byReceiptTime: false,
      fromMs,
      toMs,
      countDelayMs: minuteMs,
    },
    corpus: corpusOf(messages(chance)),
    scenario: {
      seed,
      users: base.scenario.users ?? {},
      search: { messageLimit: 40, duration: '3s', histogramFirst: false, ...search },
    },
    ...{
      smallestLimit: 40,
      isLimitSilent: false,
      lateJoin: false,
      parallelism: 4,
      incompletePolicy: 'Fail',
      proof: 'Count',
    },
    flaws: { missShard: 0, holes: 0, forget: 0 },
    output: plainOutput,
    limits: {},
    destination: { share: 0, slowShare: 0, calls: [] },
    ...{ maxPartBytes: 10 ** 9, skewMs: 0, latencyMs: 20, jitterMs: 0, actions: [], calmAtMs: 5 * minuteMs },
  };
  return { ...plan, ...more(chance, plan) };
}

function withLowerLimit({ scenario }: ExportHistoryPlan): Partial<ExportHistoryPlan> {
  const messageLimit = 17;
  const events = { limit: { at: '7s', patch: { search: { messageLimit } } } };
  return { scenario: { ...scenario, events }, smallestLimit: messageLimit };
}

function withLostStatuses(plan: ExportHistoryPlan): ExportHistoryPlan {
  const lost = { kind: 'reset', effect: true, operations: ['getJob'], probability: 0.5, until: '5m' } as const;
  return { ...plan, scenario: { ...plan.scenario, faults: { lost } } };
}

function corpusOf(messages: readonly PlannedMessage[]): ExportHistoryPlan['corpus'] {
  return {
    messages,
    fieldCase: 'lower',
    isDisordered: messages.some(({ displacedMs }) => displacedMs !== 0),
  };
}

/**
 * Returns `count` messages at random times. If `moments` is set, all messages share this number of random times, and
 * the times at the start and end of the time range.
 */
function plain(chance: Chance, count: number, moments?: number): readonly PlannedMessage[] {
  const places =
    moments === undefined
      ? undefined
      : [toMs, fromMs, toMs - 1, ...Array.from({ length: moments }, () => chance.whole(fromMs, toMs - 1))];
  return Array.from({ length: count }, (_, index) => {
    const atMs = places ? chance.one(places) : chance.whole(fromMs, toMs - 1);
    const id = String(BigInt(index) * 1_000_003n - 50_000n);
    const raw = `message ${index}`;
    return { atMs, receivedMs: atMs, searchableMs: atMs, id, raw, copies: 1, displacedMs: 0 };
  });
}

function late(chance: Chance, messages: readonly PlannedMessage[], share = 0.3): readonly PlannedMessage[] {
  return messages.map((message) =>
    chance.happens(share) ? { ...message, searchableMs: historyStartMs + chance.whole(0, 60_000) } : message,
  );
}

function received(chance: Chance, messages: readonly PlannedMessage[]): readonly PlannedMessage[] {
  return messages.map((message) => {
    const receivedMs = message.atMs + chance.whole(0, 20 * minuteMs);
    return { ...message, receivedMs, searchableMs: receivedMs };
  });
}

function displaced(chance: Chance, messages: readonly PlannedMessage[]): readonly PlannedMessage[] {
  return messages.map((message) =>
    chance.happens(0.2) ? { ...message, displacedMs: chance.whole(-hourMs, hourMs) } : message,
  );
}

function withQueryLimit(queryLimit: number): Partial<ExportHistoryPlan> {
  return { query: `* | limit ${queryLimit}`, queryLimit };
}

function killedAnywhere(chance: Chance): ExportHistoryPlan['actions'] {
  return Array.from({ length: 3 }, () => ({
    ...({ kind: 'killAtEffect', seat: 'first', againAfterMs: 3_000 } as const),
    ...{ atMs: chance.whole(0, 15_000), effect: chance.whole(1, 15), when: chance.one(['before', 'after'] as const) },
  }));
}

function recent(chance: Chance, plan: ExportHistoryPlan): Partial<ExportHistoryPlan> {
  const shiftMs = historyStartMs + chance.whole(-2, 2) * minuteMs - toMs;
  const countDelayMs = 3 * minuteMs;
  const messages = plan.corpus.messages.map((message) => {
    const atMs = message.atMs + shiftMs;
    return { ...message, atMs, receivedMs: atMs, searchableMs: atMs + chance.whole(0, countDelayMs) };
  });
  return {
    ...{ fromMs: plan.fromMs + shiftMs, toMs: plan.toMs + shiftMs, countDelayMs, corpus: corpusOf(messages) },
    ...{ skewMs: chance.one([0, 90_000]), calmAtMs: 10 * minuteMs },
  };
}
