/** Derives the plan of one simulated export from a seed. */
import type { Scenario } from '../../../simulator/scenario/scenario.ts';
import type { SearchScenario } from '../../../simulator/scenario/search-scenario.ts';
import { minuteMs } from '../../../src/base/time-units.ts';
import type { DestinationCall } from '../../support/memory-destination.ts';
import { Chance } from '../chance.ts';
import { type ApiFaultPlan, planApiFaults } from '../planned-faults.ts';
import { type ExportAction, planActions } from './planned-actions.ts';
import { type AggregationPlan, operatorsOf, planAggregation } from './planned-aggregation.ts';
import { type CorpusPlan, planCorpus, type QueryScope } from './planned-corpus.ts';
import { planSearchFaults } from './planned-search-faults.ts';

export interface ExportHistoryPlan {
  readonly seed: number;
  /** Whether the simulation runs whole operators instead of only the export. */
  readonly isWhole: boolean;
  /** Whether the export runs as two workers of one Kubernetes Job. */
  readonly areWorkers: boolean;
  readonly apiFaults: ApiFaultPlan;
  readonly query: string;
  /** The part of the export's query that selects messages. */
  readonly scope: QueryScope;
  /** Aggregation whose result is exported, or undefined if messages are exported. */
  readonly aggregation: AggregationPlan | undefined;
  /** Row limit in the query itself. The export cannot split a query with a row limit by time (E8). */
  readonly queryLimit: number | undefined;
  readonly byReceiptTime: boolean;
  /** Start of the exported range, in ms since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly countDelayMs: number;
  readonly corpus: CorpusPlan;
  readonly scenario: Scenario;
  /** Lowest row limit of any search in this run. */
  readonly smallestLimit: number;
  /**
   * Whether the service reports a search that reached the row limit as complete. In that case, the client cannot detect
   * the limit.
   */
  readonly isLimitSilent: boolean;
  readonly lateJoin: boolean;
  /** Whether a search by receipt time returns an arbitrary selection of rows when it reaches its row limit. */
  readonly cutsByPage: boolean;
  readonly flaws: FlawPlan;
  readonly destination: DestinationFaultPlan;
  readonly parallelism: number;
  readonly incompletePolicy: 'Fail' | 'Keep';
  readonly proof: 'Digest' | 'Count';
  readonly output: OutputPlan;
  readonly limits: LimitPlan;
  readonly maxPartBytes: number;
  /**
   * Difference in ms between a process's clock and real time. Successive processes alternate between a slow and a fast
   * clock.
   */
  readonly skewMs: number;
  readonly latencyMs: number;
  readonly jitterMs: number;
  readonly actions: readonly ExportAction[];
  /** Time in ms since the start after which no more faults occur. */
  readonly calmAtMs: number;
  /** Maximum time in ms from the end of all faults to the end of the export. */
  readonly completeWithinMs: number;
}

/** For each kind of search error, the fraction (0 to 1) of searches in which it occurs. */
export interface FlawPlan {
  readonly missShard: number;
  readonly holes: number;
  readonly forget: number;
}

/** Limits in the export's initial spec, which a simulated user raises later. */
export interface LimitPlan {
  readonly maxMessages?: number;
  readonly deadlineAfterMs?: number;
  readonly maxBytesScanned?: number;
}

export interface OutputPlan {
  readonly format: 'NDJSON' | 'CSV' | 'Parquet';
  readonly compression: 'None' | 'Gzip' | 'Zstd';
}

export interface DestinationFaultPlan {
  /** Fraction (0 to 1) of destination calls that fail. */
  readonly share: number;
  readonly slowShare: number;
  readonly calls: readonly DestinationCall[];
}

export const historyStartMs = Date.UTC(2026, 10, 1);

export const plainOutput: OutputPlan = { format: 'NDJSON', compression: 'None' };
/** Output formats whose files are compressed as a whole, unlike Parquet files, which are compressed in parts. */
export const packedOutputs: readonly OutputPlan[] = [
  { format: 'NDJSON', compression: 'Gzip' },
  { format: 'NDJSON', compression: 'Zstd' },
  { format: 'CSV', compression: 'Gzip' },
  { format: 'CSV', compression: 'Zstd' },
];
const otherOutputs: readonly OutputPlan[] = [
  ...packedOutputs,
  { format: 'CSV', compression: 'None' },
  { format: 'Parquet', compression: 'None' },
  { format: 'Parquet', compression: 'Gzip' },
  { format: 'Parquet', compression: 'Zstd' },
];

export function planExportHistory(seed: number): ExportHistoryPlan {
  const chance = new Chance(seed);
  const isWhole = chance.happens(0.08);
  const isLarge = !isWhole && chance.happens(0.005);
  const calmAtMs = chance.whole(1, 12) * minuteMs;
  const spanMs = chance.one([50, 20_000, 60 * minuteMs, 7 * 24 * 60 * minuteMs]);
  const countDelayMs = chance.one([0, 60_000, 180_000]);
  // Most simulated exports cover a time range in the past. Some ranges end in the future.
  const endsBeforeMs = chance.happens(0.75) ? chance.whole(60, 6_000) * minuteMs : chance.whole(-3, 3) * minuteMs;
  const toMs = historyStartMs - endsBeforeMs;
  const fromMs = toMs - spanMs;
  // Logfleet suspects an unreported row limit only if the number of rows found is round, and is at least 10,000.
  const limit = isLarge ? chance.one([10_000, 11_000, 12_000]) : chance.whole(4, 120);
  const search = planSearch(chance, { limit, spanMs, isLarge, isWhole });
  const limits = planLimitChanges(chance, limit, calmAtMs, isLarge);
  const isQuiet = chance.happens(0.25);
  const queryLimit = chance.happens(0.12) ? chance.whole(1, 2 * limit) : undefined;
  const corpusOptions = { fromMs, toMs, startMs: historyStartMs, countDelayMs, limit, isLarge };
  const corpus = planCorpus(chance, { ...corpusOptions, calmAtMs: historyStartMs + calmAtMs });
  const lastMs = Math.max(0, ...corpus.messages.map(({ searchableMs }) => searchableMs - historyStartMs));
  const hasLate = corpus.messages.some(({ searchableMs }) => searchableMs > historyStartMs);
  const apiFaults = isQuiet ? { untilMs: 0, requests: 0, watches: 0 } : planApiFaults(chance, calmAtMs);
  const scope = queryLimit === undefined ? chance.one<QueryScope>(['*', '*', 'app', '* | where _size > 12']) : '*';
  const plan: ExportHistoryPlan = {
    ...{ seed, isWhole, apiFaults, scope, queryLimit },
    areWorkers: !isWhole && new Chance(seed ^ 0x70b5).happens(0.5),
    query: queryLimit === undefined ? scope : `* | limit ${queryLimit}`,
    aggregation: undefined,
    byReceiptTime: !isLarge && chance.happens(0.2),
    ...{ fromMs, toMs, countDelayMs, corpus },
    scenario: {
      seed: chance.whole(1, 1_000_000),
      builds: ['19.100-1'],
      users: {
        first: { keys: { 'id-first': 'key' } },
        second: { keys: { 'id-second': 'key' } },
      },
      limits: { activeJobs: chance.one([200, 200, 6, 3]) },
      search,
      errors: { shape: chance.one(['object', 'object', 'object', 'object', 'list', 'empty'] as const) },
      faults: isQuiet ? {} : planSearchFaults(chance, calmAtMs),
      events: limits.events,
    },
    smallestLimit: Math.min(limit, ...limits.all),
    isLimitSilent: search.atMessageLimit === 'done',
    lateJoin: chance.happens(0.6),
    flaws: {
      missShard: isQuiet ? 0 : chance.one([0, 0, 0.1, 0.3]),
      // Searches omit messages only in runs in which the program can detect the omission. This is not possible while
      // messages are arriving late, for example.
      holes: isQuiet || !search.histogramFirst || hasLate || queryLimit !== undefined ? 0 : chance.one([0, 0.1, 0.3]),
      forget: isQuiet ? 0 : chance.one([0, 0, 0.1]),
    },
    destination: {
      share: isQuiet ? 0 : chance.one([0, 0, 0.02, 0.1]),
      slowShare: chance.one([0, 0, 0.1]),
      calls: chance.some(
        ['read', 'create', 'open', 'write', 'finish', 'abort', 'list', 'remove', 'abortLeftovers'],
        0.6,
      ),
    },
    parallelism: chance.one([1, 2, 4, 8]),
    incompletePolicy: chance.happens(0.1) ? 'Keep' : 'Fail',
    proof: 'Count',
    maxPartBytes: isLarge ? 300_000 : chance.one([3_000, 20_000, 10 ** 9, 10 ** 9, 10 ** 9, 10 ** 9]),
    skewMs: chance.one([0, 0, 0, 90_000]),
    latencyMs: chance.one([1, 20, 150]),
    jitterMs: chance.one([0, 10]),
    actions: planActions(chance, calmAtMs),
    calmAtMs: Math.max(calmAtMs, lastMs + 1_000),
    completeWithinMs: 6 * 60 * minuteMs,
    cutsByPage: chance.happens(0.5),
    limits: isWhole ? {} : planLimits(chance, limit, calmAtMs),
    output: isLarge
      ? chance.one([plainOutput, ...packedOutputs])
      : chance.one([plainOutput, plainOutput, plainOutput, ...otherOutputs]),
  };
  const isBounded = !isWhole && chance.happens(0.1);
  const maxBytesScanned = isBounded ? chance.whole(1, 1_200 * limit) : undefined;
  const bounded = {
    ...plan,
    limits: { ...plan.limits, ...(maxBytesScanned === undefined ? {} : { maxBytesScanned }) },
  };
  const whole = !isLarge && chance.happens(0.1) ? aggregated(chance, bounded) : bounded;
  return { ...whole, proof: chance.happens(0.7) ? 'Digest' : 'Count' };
}

export function aggregated(chance: Chance, plan: ExportHistoryPlan): ExportHistoryPlan {
  const { scope, scenario, fromMs, toMs } = plan;
  const aggregation = planAggregation(chance, toMs - fromMs);
  const { search } = scenario;
  const pages = { ...search?.pages, maxRecords: chance.one([10_000, 7]), earlyRecords: 'wrong' as const };
  return {
    ...{ ...plan, aggregation, queryLimit: undefined, query: `${scope}${operatorsOf(aggregation)}` },
    scenario: { ...scenario, search: { ...search, pages } },
  };
}

function planLimits(chance: Chance, limit: number, calmAtMs: number): LimitPlan {
  return {
    ...(chance.happens(0.1) ? { maxMessages: chance.whole(1, 4 * limit) } : {}),
    ...(chance.happens(0.1) ? { deadlineAfterMs: chance.whole(0, calmAtMs) } : {}),
  };
}

interface SearchPlanOptions {
  readonly limit: number;
  readonly spanMs: number;
  readonly isLarge: boolean;
  readonly isWhole: boolean;
}

function planSearch(chance: Chance, { limit, spanMs, isLarge, isWhole }: SearchPlanOptions): SearchScenario {
  const bucketMs = chance.one([undefined, undefined, 1, Math.ceil(spanMs / 50), 3 * spanMs]);
  return {
    messageLimit: limit,
    // An operator learns of the row limit only when a search reaches it.
    atMessageLimit: chance.one(['forcePaused', isWhole ? 'forcePaused' : 'done', 'doneWithWarning'] as const),
    duration: chance.one<SearchScenario['duration'] & {}>(
      isLarge ? ['5s', '25s'] : ['0s', '1s', ['0s', '15s'], '9s', '40s'],
    ),
    notStartedFor: chance.one(['0s', '100ms', '4s']),
    histogramFirst: chance.happens(0.3),
    toInclusive: chance.happens(0.3),
    ...(chance.happens(0.1) ? { lag: '1s' } : {}),
    status: {
      ...(bucketMs === undefined ? {} : { bucketLength: `${bucketMs}ms` }),
      buckets: chance.one(['new', 'new', 'all'] as const),
      pending: chance.one(['new', 'new', 'all'] as const),
      extraMembers: chance.happens(0.3),
    },
    pages: {
      maxMessages: isLarge ? 10_000 : chance.one([10_000, 10_000, 10_000, 33]),
      maxBytes: chance.one([100_000_000, 100_000_000, isLarge ? 400_000 : 4_000]),
      largeFigures: chance.one(['plain', 'scientific'] as const),
      lostJob: chance.one([404, 400] as const),
    },
  };
}

function planLimitChanges(
  chance: Chance,
  limit: number,
  calmAtMs: number,
  isLarge: boolean,
): { readonly events: NonNullable<Scenario['events']>; readonly all: readonly number[] } {
  if (isLarge || !chance.happens(0.2)) return { events: {}, all: [] };
  const changed = chance.happens(0.5) ? limit + chance.whole(1, 50) : chance.whole(2, limit);
  const at = `${chance.whole(1, calmAtMs / 1_000)}s`;
  return { events: { limit: { at, patch: { search: { messageLimit: changed } } } }, all: [changed] };
}
