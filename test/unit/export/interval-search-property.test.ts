/** Tests with random messages and faults that interval searches export every row exactly once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FaultScenario, Scenario } from '../../../simulator/scenario/scenario.ts';
import type { Message } from '../../../simulator/test/row-data.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { DestinationFailure } from '../../../src/destination/store/destination-error.ts';
import { nextRangeStartMs } from '../../../src/export/work/export-decision.ts';
import { plainOutput } from '../../support/export-definition.ts';
import type { DestinationCall } from '../../support/memory-destination.ts';
import { randomRuns } from '../../support/random-runs.ts';
import { hour, SearchWorld, startMs } from './search-world.ts';

interface SearchPlan {
  readonly seed: number;
  readonly count: number;
  readonly spanMs: number;
  readonly limit: number;
  readonly atMessageLimit: 'forcePaused' | 'done' | 'doneWithWarning';
  readonly toInclusive: boolean;
  readonly byReceiptTime: boolean;
  readonly bucketLength: string | undefined;
  readonly durationS: number;
  readonly histogramFirst: boolean;
  readonly maxMessages: number;
  readonly maxPartBytes: number;
  /** Probability (0 to 1) that a request or a destination call fails. */
  readonly trouble: number;
}

function makeMessages({ count, spanMs }: SearchPlan, random: Random): Message[] {
  return Array.from({ length: count }, (_, index) => {
    const at = startMs + 2 - Math.floor(random.next() ** 2 * (spanMs + 2));
    const received = at + Math.floor(random.next() * 3);
    return { at, received, raw: `message ${index}`, fields: { _messageid: `${index * 7919 - 1_000}` } };
  });
}

/** Time in seconds after which requests no longer fail. */
const troubleS = 600;

function scenarioOf(plan: SearchPlan): Scenario {
  const probability = plan.trouble;
  const until = `${troubleS}s`;
  const faults: Record<string, FaultScenario> = {
    error: { kind: 'pendingError', message: 'a shard is away', probability: probability / 4, until },
    lost: { kind: 'stall', effect: true, operations: ['getJob'], probability: probability / 4, until },
    cancelled: { kind: 'cancelJob', operations: ['getJob', 'listMessages'], probability: probability / 8, until },
    reset: { kind: 'reset', probability: probability / 4, until },
    broken: { kind: 'truncate', operations: ['listMessages', 'listRecords'], probability, until },
    short: { kind: 'shortPage', rows: 2, probability, until },
    busy: { kind: 'status', status: 503, probability: probability / 2, until },
  };
  const { limit: messageLimit, atMessageLimit, toInclusive, bucketLength, maxMessages, histogramFirst } = plan;
  const status = bucketLength === undefined ? {} : { bucketLength };
  return {
    seed: plan.seed,
    search: {
      ...{ messageLimit, atMessageLimit, toInclusive, histogramFirst, pages: { maxMessages }, status },
      duration: `${plan.durationS}s`,
    },
    ...(plan.trouble > 0 ? { faults } : {}),
  };
}

function worldOf(plan: SearchPlan): SearchWorld {
  const random = seededRandom(plan.seed);
  const world = new SearchWorld({
    scenario: scenarioOf(plan),
    messages: makeMessages(plan, random),
    request: {
      byReceiptTime: plan.byReceiptTime,
      output: { ...plainOutput, maxPartBytes: plan.maxPartBytes },
    },
  });
  // The service may apply its row limit without reporting it, so the test tells the export that the limit was reached.
  const isLimitReached = true;
  const texts: string[] = [];
  const shown = {
    recordCount: undefined,
    scannedBytes: undefined,
    errors: texts,
    warnings: texts,
    hasLostStatus: false,
  };
  world.quirks.searched({
    ...shown,
    state: 'forcePaused',
    messageCount: plan.limit,
    isLimitReached,
    statuses: 1,
    dateMs: 0,
  });
  const failures: readonly DestinationFailure[] = ['away', 'full', 'lost'];
  const calls: ReadonlySet<DestinationCall> = new Set(['open', 'write', 'finish', 'create', 'read']);
  world.destination.strike = (call) => {
    if (world.clock.monotonic() > troubleS * 1_000 || !calls.has(call)) return undefined;
    if (random.next() >= plan.trouble / 8) return undefined;
    const failure = failures[Math.floor(random.next() * failures.length)] as DestinationFailure;
    return { failure, hasEffect: call !== 'open' && random.next() < 0.5 };
  };
  return world;
}

const maxSearches = 500;

async function cover(world: SearchWorld, plan: SearchPlan): Promise<readonly CommitRecord[]> {
  const records: CommitRecord[] = [];
  let [fromMs, toMs, failedBefore] = [hour.fromMs, hour.toMs, 0];
  for (let searches = 0; toMs > hour.fromMs; searches++) {
    if (searches === maxSearches) throw new Error(`the export does not end: ${fromMs} to ${toMs}`);
    const outcome = await world.search({ fromMs, toMs }, { failedBefore });
    switch (outcome.kind) {
      case 'committed':
      case 'taken': {
        const record = outcome.kind === 'committed' ? outcome.record : outcome.existing;
        records.push(record);
        [toMs, failedBefore] = [record.fromMs, 0];
        const remaining = { index: 0, fromMs: hour.fromMs, toMs };
        fromMs =
          plan.byReceiptTime && toMs > hour.fromMs ? nextRangeStartMs(remaining, record, plan.limit) : hour.fromMs;
        break;
      }
      case 'narrowed':
        fromMs = outcome.order.fromMs;
        break;
      case 'again':
        if (outcome.isFailure) failedBefore++;
        break;
      case 'incomplete':
        if (plan.trouble === 0) throw new Error(outcome.message);
        failedBefore = 0;
        break;
      case 'failed':
        if (plan.trouble === 0) throw outcome.error;
        if (outcome.error.handling.kind === 'bug') throw outcome.error;
        break;
      case 'stopped':
        throw new Error('nobody has stopped it');
    }
  }
  return records;
}

const plans: fc.Arbitrary<SearchPlan> = fc.record({
  seed: fc.nat(),
  count: fc.integer({ min: 0, max: 150 }),
  spanMs: fc.constantFrom(5, 300, 60_000, 3_600_000),
  limit: fc.integer({ min: 3, max: 60 }),
  atMessageLimit: fc.constantFrom('forcePaused', 'done', 'doneWithWarning'),
  toInclusive: fc.boolean(),
  byReceiptTime: fc.boolean(),
  bucketLength: fc.constantFrom(undefined, '1ms', '1s', '10m', '2h'),
  durationS: fc.integer({ min: 0, max: 40 }),
  histogramFirst: fc.boolean(),
  maxMessages: fc.integer({ min: 1, max: 30 }),
  maxPartBytes: fc.constantFrom(300, 2_000, 10 ** 9),
  trouble: fc.constantFrom(0, 0.05, 0.2),
});

test('every row is exported once, with any faults of the service and the destination (E3 to E10)', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const world = worldOf(plan);
      const records = await cover(world, plan);
      world.destination.strike = () => undefined;
      const found: string[] = [];
      for (const record of records) {
        const missing = (await world.complaints(record)).filter((complaint) => complaint.includes('rows are written'));
        found.push(...missing.map((complaint) => `${JSON.stringify(record)}: ${complaint}`));
      }
      expect(found).toEqual([]);
      // No search job may be left behind. Files may be left behind only if calls can fail in this run, because the
      // export may then be unable to remove them.
      await world.clock.advance(60_000);
      await world.destination.abortLeftovers('', 'all');
      const files = records.flatMap((record) => record.files.map(({ name }) => name));
      const left = await world.leftovers(files);
      expect(plan.trouble > 0 ? left.filter((each) => !each.startsWith('audit/')) : left).toEqual([]);
    }),
    { numRuns: randomRuns(30) },
  );
});
