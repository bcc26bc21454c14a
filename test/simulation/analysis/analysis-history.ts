/**
 * Simulates rollouts with a message analysis, which detects collectors that send fewer messages after their upgrade.
 * Compares each result with the collectors that actually stopped sending logs.
 */
import { drawFor } from '../../../simulator/base/chance.ts';
import type { FaultScenario, Scenario } from '../../../simulator/scenario/scenario.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { World } from '../../support/world.ts';

const [before, spare, target] = ['19.100-1', '19.120-1', '19.200-1'] as const;
const minMessages = 100;
const durationMinutes = 30;

interface AnalysisPlan {
  readonly seed: number;
  readonly size: number;
  readonly messagesPerMinute: number;
  readonly dailyRhythm: number;
  readonly baseline: 'BeforeUpgrade' | 'DayBefore' | 'WeekBefore';
  /**
   * Minimum ratio of messages after the upgrade to messages before it, in percent. A collector with a lower ratio
   * counts as quiet.
   */
  readonly minRatio: number;
  readonly laterMs: number;
  readonly stopsShipping: number;
  readonly drops: number;
  readonly fault: FaultScenario | undefined;
  readonly killsMs: readonly number[];
}

const faults: readonly FaultScenario[] = [
  { kind: 'pendingError', operations: ['getJob'] },
  { kind: 'cancelJob', operations: ['getJob', 'listRecords'] },
  { kind: 'status', status: 503, operations: ['createJob', 'getJob', 'listRecords', 'deleteJob'] },
  { kind: 'reset', operations: ['createJob', 'getJob', 'listRecords'] },
  { kind: 'reset', effect: true, operations: ['createJob', 'getJob', 'listRecords'] },
  { kind: 'shortPage', rows: 3, operations: ['listRecords'] },
  { kind: 'truncate', operations: ['getJob', 'listRecords'] },
  { kind: 'delay', delay: '20s', operations: ['getJob', 'listRecords'] },
  { kind: 'unknownState', state: 'REPLAYING', operations: ['getJob'] },
  { kind: 'status', status: 429, operations: ['createJob', 'getJob', 'listRecords', 'deleteJob'] },
  { kind: 'wrongTypes', operations: ['createJob', 'getJob', 'listRecords'] },
  { kind: 'html', operations: ['createJob', 'getJob', 'listRecords'] },
  { kind: 'empty', operations: ['createJob', 'getJob', 'listRecords'] },
  { kind: 'lag', lag: '10s', operations: ['getJob', 'listRecords'] },
];

export function planAnalysis(seed: number): AnalysisPlan {
  const random = seededRandom(seed);
  const [pick, isChosen] = [pickWith(random), (share: number) => random.next() < share];
  const baseline = pick(['BeforeUpgrade', 'DayBefore', 'WeekBefore'] as const);
  const fault = isChosen(0.5) ? pick(faults) : undefined;
  const messagesPerMinute = pick([1, 5, 20, 100]);
  // Amplitudes of the daily variation with which collectors still send enough messages for the analysis at the quietest
  // time of day. With the baseline `BeforeUpgrade`, there is no daily variation.
  const rhythms = [0, 0.5, 0.9].filter(
    (rhythm) => messagesPerMinute * durationMinutes * (1 - rhythm) > 2 * minMessages,
  );
  return {
    seed,
    size: pick([1, 5, 20]),
    messagesPerMinute,
    dailyRhythm: baseline === 'BeforeUpgrade' || rhythms.length === 0 ? 0 : pick(rhythms),
    baseline,
    minRatio: 50,
    laterMs: 0,
    stopsShipping: pick([0, 0, 0.3, 1]),
    drops: pick([0, 0, 0.3, 0.8]),
    fault: fault && { ...fault, probability: pick([0.3, 0.8]), times: pick([3, 20]) },
    killsMs: Array.from({ length: pick([0, 0, 1, 3]) }, () => 35 * minuteMs + random.next() * 15 * minuteMs),
  };
}

export function planHealthy(seed: number): AnalysisPlan {
  const random = seededRandom(seed);
  const pick = pickWith(random);
  return {
    ...planAnalysis(seed),
    baseline: 'DayBefore',
    messagesPerMinute: 100,
    dailyRhythm: pick([0.3, 0.6, 0.9]),
    minRatio: pick([50, 80, 90]),
    laterMs: random.next() * 48 * hourMs,
    stopsShipping: 0,
    drops: 0,
  };
}

function pickWith(random: Random) {
  return <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)] as T;
}

export async function runAnalysis(plan: AnalysisPlan): Promise<readonly string[]> {
  const world = worldOf(plan);
  const snapshot = () => world.snapshot();
  const stageNow = () => world.policy('production')?.status?.stages?.find(({ name }) => name === 'canary');
  const violations: string[] = [];
  let replica = world.start();
  for (const killMs of plan.killsMs.toSorted((left, right) => left - right)) {
    await world.clock.advance(Math.max(0, killMs - (world.service.nowMs() - world.model.startMs)));
    replica.kill();
    replica = world.start();
  }
  const reasonsOfEnd = new Set(['AllUpdated', 'RolloutStopped', 'StageInconclusive']);
  const isOver = () =>
    reasonsOfEnd.has(world.ready('production')?.reason ?? '') && stageNow()?.analysis?.judged !== undefined;
  const atTarget = () => snapshot().collectors.filter(({ version }) => version === target);
  let isEarly = false;
  const ended = await world.until(() => {
    const state = stageNow()?.state;
    if (state !== 'Completed' && snapshot().tasks.length > plan.size) isEarly = true;
    return isOver();
  }, 8 * hourMs);
  if (!ended) return [`the rollout did not end: ${world.ready('production')?.message}`];
  if (isEarly && stageNow()?.state !== 'Completed')
    violations.push('the next stage started before the result of the analysis');
  const { judged, quiet, unjudged, state, scannedBytes, quietest = [] } = stageNow()?.analysis ?? {};
  const truth = truthOf(
    plan,
    snapshot()
      .tasks.slice(0, plan.size)
      .map(({ collectorId }) => String(collectorId)),
  );
  if (judged !== truth.judged) violations.push(`judged ${judged} collectors instead of ${truth.judged}`);
  if (quiet !== truth.quiet.size) violations.push(`${quiet} quiet collectors instead of ${truth.quiet.size}`);
  if (quietest.length !== Math.min(10, truth.quiet.size))
    violations.push(`${quietest.length} quiet collectors are listed`);
  for (const { id } of quietest)
    if (!truth.quiet.has(id)) violations.push(`collector ${id} is healthy, but listed as quiet`);
  if (unjudged !== plan.size - truth.judged) violations.push(`${unjudged} collectors were not judged`);
  const expected = truth.judged === 0 ? 'Inconclusive' : truth.quiet.size > 0 ? 'Failed' : 'Passed';
  if (state !== expected) violations.push(`the analysis is ${state} instead of ${expected}`);
  const isThrough = atTarget().length > plan.size;
  if (isThrough !== (expected === 'Passed'))
    violations.push(`the rollout ${isThrough ? 'continued' : 'stopped'} after ${expected}`);
  if (!plan.fault && plan.killsMs.length === 0) {
    const requests = world.journal.filter(({ path }) => path.includes('/search/jobs')).length;
    if (requests > 12) violations.push(`the analysis took ${requests} requests`);
    if (!scannedBytes) violations.push('the status has no scanned bytes');
  }
  return violations;
}

/**
 * Returns the correct result of the analysis: the number of collectors with enough messages to be assessed, and the
 * collectors that stopped sending logs.
 */
function truthOf(plan: AnalysisPlan, ids: readonly string[]): { judged: number; quiet: ReadonlySet<string> } {
  if (plan.messagesPerMinute * durationMinutes < minMessages) return { judged: 0, quiet: new Set() };
  const ratio = 100 * (1 - plan.drops);
  const isQuiet = (id: string) =>
    ratio < plan.minRatio || drawFor(plan.seed, 'shipping', id, target) < plan.stopsShipping;
  return { judged: ids.length, quiet: new Set(ids.filter(isQuiet)) };
}

function worldOf({ seed, size, baseline, fault, minRatio, laterMs, ...plan }: AnalysisPlan): World {
  const { messagesPerMinute, dailyRhythm, stopsShipping, drops } = plan;
  const scenario: Scenario = {
    seed,
    builds: [before, spare, { version: target, stopsShipping, drops }],
    groups: { web: { count: size + 20, version: before, messagesPerMinute, dailyRhythm } },
    upgrade: { duration: '2m' },
    ...(fault && { faults: { search: fault } }),
  };
  const world = new World({ scenario, seed, clock: new VirtualClock(Date.UTC(2026, 10, 1) + laterMs) });
  world.addSecret();
  const messages = { minRatio: `${minRatio}%`, duration: `${durationMinutes}m`, baseline, minMessages };
  world.addPolicy('production', {
    target: { version: target },
    offlinePolicy: 'Skip',
    strategy: {
      maxInProgress: 1000,
      order: 'Name',
      stages: [
        { name: 'canary', size, soakDuration: '35m', maxFailures: 0, analysis: { messages } },
        { name: 'rest', soakDuration: '0s' },
      ],
    },
  });
  return world;
}
