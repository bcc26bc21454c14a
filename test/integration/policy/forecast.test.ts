/** Tests the forecast of a rollout by comparing it with a simulated rollout. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Maintenance } from '../../../src/api/generated/collector-version-policy.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { type Forecast, type ForecastInput, type ForecastStage, forecast } from '../../../src/policy/plan/forecast.ts';
import { MaintenanceCalendar } from '../../../src/policy/schedule/maintenance-calendar.ts';
import { randomRuns } from '../../support/random-runs.ts';
import { World } from '../../support/world.ts';

const noonMs = Date.parse('2026-11-20T12:00Z');

function stage(count: number, members: Partial<ForecastStage> = {}): ForecastStage {
  return {
    members: membersOf(count),
    maxInProgress: undefined,
    soakMs: 0,
    needsApproval: false,
    ...members,
  };
}

function membersOf(count: number, versions = 1): ForecastStage['members'] {
  return Array.from({ length: count }, (_, index) => ({ version: `${index % versions}`, zone: 'UTC' }));
}

function foretell(stages: readonly ForecastStage[], members: Partial<ForecastInput> = {}): Forecast {
  const listed = stages.flatMap((one) => one.members).length;
  return forecast({
    stages,
    maxInProgress: 1_000,
    requestsPerSecond: 4,
    upgradeMs: 3 * minuteMs,
    calendar: new MaintenanceCalendar(undefined),
    startMs: noonMs,
    listed,
    pageRows: 1_000,
    resyncMs: 5 * minuteMs,
    ...members,
  });
}

function calendar(maintenance: Partial<Maintenance>): MaintenanceCalendar {
  return new MaintenanceCalendar({ cutoff: '0s', ...maintenance });
}

function total({ requests: { posts, reads, sweeps, counts } }: Forecast): number {
  return posts + reads + sweeps + counts;
}

function times(found: readonly { readonly startMs: number; readonly endMs: number | undefined }[]): unknown[] {
  const shown = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16));
  return found.map(({ startMs, endMs }) => [shown(startMs), shown(endMs)]);
}

interface ForecastRollout {
  readonly count: number;
  readonly versions: number;
  readonly pageRows: number;
  readonly maxInProgress: number;
  readonly upgradeSeconds: number;
  readonly requestsPerSecond: number;
}

async function rollOut(rollout: ForecastRollout): Promise<{ readonly totalMs: number; readonly requests: number }> {
  const { count, pageRows, maxInProgress, upgradeSeconds, requestsPerSecond } = rollout;
  const target = '19.500-1';
  const versions = Array.from({ length: rollout.versions }, (_, index) => `19.${300 + index}-1`);
  const world = new World({
    scenario: {
      builds: ['19.200-1', ...versions, target],
      list: { maxLimit: pageRows },
      upgrade: { duration: `${upgradeSeconds}s` },
      groups: { web: { count, name: 'web-######', versions } },
    },
  });
  world.addSecret('log-service', { requestsPerSecond: `${requestsPerSecond}` });
  world.addPolicy('fleet', { target: { version: target }, strategy: { maxInProgress, order: 'OldestVersionFirst' } });
  const replica = world.start();
  const isDone = () => world.ready('fleet')?.status === 'True';
  expect(await world.until(isDone, 24 * hourMs)).toBe(true);
  const requests = world.snapshot().counters.requests;
  replica.kill();
  return { totalMs: world.clock.monotonic(), requests };
}

describe('compared with the operator', () => {
  const usual = {
    count: 300,
    versions: 1,
    pageRows: 1_000,
    maxInProgress: 50,
    upgradeSeconds: 180,
    requestsPerSecond: 4,
  };
  test.each<ForecastRollout>([
    usual,
    { ...usual, pageRows: 50, versions: 3 },
    { ...usual, maxInProgress: 1_000 },
    { ...usual, requestsPerSecond: 1 },
    { ...usual, upgradeSeconds: 30 },
    { ...usual, upgradeSeconds: 620, maxInProgress: 70 },
    { ...usual, count: 20, maxInProgress: 1, upgradeSeconds: 100 },
    { ...usual, count: 1_000, versions: 5, maxInProgress: 200 },
  ])('time and requests differ by at most a tenth: %j', async (rollout) => {
    const found = await rollOut(rollout);
    const { count, versions, upgradeSeconds } = rollout;
    const members = membersOf(count, versions);
    const said = foretell([stage(0, { members })], { ...rollout, upgradeMs: upgradeSeconds * 1_000 });
    expect(Math.abs((said.totalMs ?? 0) / found.totalMs - 1)).toBeLessThan(0.1);
    expect(Math.abs(total(said) / found.requests - 1)).toBeLessThan(0.1);
    expect(said.requests.posts).toBe(count);
  });
});

describe('compared with the benchmark of 10,000 collectors', () => {
  const members = membersOf(10_000, 5);
  test.each([
    [1_000, 2_727, 1.016],
    [50, 3_013, 1.151],
  ])('pages of %d: %d s, %d requests per collector', (pageRows, seconds, requests) => {
    const said = foretell([stage(0, { members })], { pageRows });
    expect(Math.abs((said.totalMs ?? 0) / (seconds * 1_000) - 1)).toBeLessThan(0.02);
    expect(Math.abs(total(said) / 10_000 - requests)).toBeLessThan(0.02);
  });
});

describe('stages', () => {
  test('come one after another, each with its soak', () => {
    const { stages, totalMs } = foretell([stage(10, { soakMs: hourMs }), stage(100)]);
    const [first, second] = stages;
    expect(first?.startMs).toBe(noonMs);
    expect(first?.endMs).toBeGreaterThan(noonMs + hourMs + 3 * minuteMs);
    expect(first?.endMs).toBeLessThan(noonMs + hourMs + 5 * minuteMs);
    expect(second?.startMs).toBe(first?.endMs);
    expect(second?.endMs).toBe(noonMs + (totalMs ?? 0));
  });

  test('respect their own maxInProgress and that of the policy', () => {
    const alone = foretell([stage(40)], { maxInProgress: 10 });
    const own = foretell([stage(40, { maxInProgress: 10 })], { maxInProgress: 100 });
    const both = foretell([stage(40, { maxInProgress: 100 })], { maxInProgress: 10 });
    expect(own).toEqual(alone);
    expect(both).toEqual(alone);
    expect(alone.totalMs).toBeGreaterThan(4 * 3 * minuteMs);
  });

  test('that need an approval, and later stages, are marked as after an approval', () => {
    const { stages } = foretell([stage(5), stage(5, { needsApproval: true }), stage(5)]);
    expect(stages.map(({ afterApproval }) => afterApproval)).toEqual([false, true, true]);
    expect(stages[1]?.startMs).toBe(stages[0]?.endMs);
  });

  test('without collectors take no time and have no soak', () => {
    const { stages, requests } = foretell([stage(0, { soakMs: hourMs }), { ...stage(0), members: [] }]);
    expect(times(stages)).toEqual(Array(2).fill(['2026-11-20T12:00', '2026-11-20T12:00']));
    expect(requests.posts).toBe(0);
  });
});

describe('windows', () => {
  const nightly = calendar({ windows: [{ schedule: '0 22 * * *', duration: '10m' }] });

  test('are listed if upgrades start in them', () => {
    const said = foretell([stage(6_000)], { calendar: nightly });
    // A nightly window of 600 s is long enough for 2,400 requests, so 6,000 upgrades need three nights.
    expect(times(said.windows.map(({ fromMs, toMs }) => ({ startMs: fromMs, endMs: toMs })))).toEqual([
      ['2026-11-20T22:00', '2026-11-20T22:10'],
      ['2026-11-21T22:00', '2026-11-21T22:10'],
      ['2026-11-22T22:00', '2026-11-22T22:10'],
    ]);
    expect(times(said.stages)[0]).toEqual(['2026-11-20T22:00', expect.stringMatching(/^2026-11-22T22:/)]);
  });

  test('do not interrupt a soak while they are closed', () => {
    const { stages, windows } = foretell([stage(10, { soakMs: 30 * hourMs }), stage(10)], { calendar: nightly });
    expect(windows.map(({ fromMs }) => new Date(fromMs).getUTCDate())).toEqual([20, 22]);
    expect(stages.map(({ startMs }) => startMs)).toEqual(windows.map(({ fromMs }) => fromMs));
  });

  test("in the collectors' time zones open one after another", () => {
    const own = calendar({ windows: [{ schedule: '0 22 * * *', duration: '1h', timeZoneSource: 'Collector' }] });
    const members = ['America/New_York', 'Europe/Berlin'].flatMap((zone) => [{ zone }, { zone }, { zone }]);
    const said = foretell([stage(0, { members })], { calendar: own });
    expect(times(said.windows.map(({ fromMs, toMs }) => ({ startMs: fromMs, endMs: toMs })))).toEqual([
      ['2026-11-20T21:00', '2026-11-20T22:00'],
      ['2026-11-21T03:00', '2026-11-21T04:00'],
    ]);
    expect(said.requests.posts).toBe(6);
    expect(times(said.stages)).toEqual([['2026-11-20T21:00', expect.any(String)]]);
  });

  test('do not change the start of a stage whose upgrades are running', () => {
    const running = stage(10, { inFlight: [noonMs - minuteMs] });
    expect(foretell([running], { calendar: nightly }).stages[0]?.startMs).toBe(noonMs);
  });

  test('that never open give a forecast without an end', () => {
    const never = calendar({ windows: [{ schedule: '0 22 * * *', duration: '30m' }], cutoff: '1h' });
    const { stages, totalMs, waitsForEver, requests } = foretell([stage(5), stage(5)], { calendar: never });
    expect(times(stages)).toEqual([['2026-11-20T12:00', undefined]]);
    expect([totalMs, requests.posts]).toEqual([undefined, 0]);
    expect(waitsForEver).toEqual({ kind: 'noWindow', cutoffMs: hourMs });
  });

  test('can be closed for years by an exclusion', () => {
    const years = { name: 'years', startTime: '2026-01-01T00:00:00Z', endTime: '2066-01-01T00:00:00Z' };
    const said = foretell([stage(5)], { calendar: calendar({ exclusions: [years] }) });
    expect(times(said.stages)).toEqual([['2066-01-01T00:00', '2066-01-01T00:03']]);
    expect(said.windows).toEqual([]);
  });
});

test('no rollout is faster than the request rate, maxInProgress and the duration of upgrades allow, and each collector gets one POST', () => {
  const share = fc.integer({ min: 1, max: 200 });
  const given = fc.record({
    counts: fc.array(fc.nat(300), { minLength: 1, maxLength: 4 }),
    maxInProgress: share,
    requestsPerSecond: fc.constantFrom(0.5, 1, 2.5, 4),
    upgradeMs: fc.integer({ min: 1_000, max: 30 * minuteMs }),
    pageRows: fc.constantFrom(50, 1_000),
  });
  fc.assert(
    fc.property(given, ({ counts, ...limits }) => {
      const said = foretell(
        counts.map((count) => stage(count)),
        limits,
      );
      const all = counts.reduce((sum, count) => sum + count, 0);
      const rounds = counts.reduce((sum, count) => sum + Math.ceil(count / limits.maxInProgress), 0);
      expect(said.requests.posts).toBe(all);
      expect(said.totalMs).toBeGreaterThanOrEqual((1_000 * (all - 1)) / limits.requestsPerSecond);
      expect(said.totalMs).toBeGreaterThanOrEqual(rounds * limits.upgradeMs);
      for (const [index, { startMs }] of said.stages.entries()) {
        expect(startMs).toBe(said.stages[index - 1]?.endMs ?? noonMs);
      }
    }),
    { numRuns: randomRuns(30) },
  );
});
