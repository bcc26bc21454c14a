/** When a rollout under way is said to end: beside the end that it comes to, and what it costs to say so. */
import { describe, expect, test } from 'vitest';
import { scaledDown } from '../../../src/policy/completion-estimate.ts';
import { type ForecastInput, forecast } from '../../../src/policy/forecast.ts';
import { MaintenanceCalendar } from '../../../src/policy/maintenance-calendar.ts';
import { World } from '../../support/world.ts';
import { epochMs, minuteMs, openEntry, target } from './builders.ts';
import { decided, fleetOf, PolicyBench, type Seen } from './policy-bench.ts';

const hourMs = 60 * minuteMs;

function bench(): PolicyBench {
  return new PolicyBench({ collectors: fleetOf(30), entries: [openEntry()], header: { attempts: 1 } });
}

function endOf(seen: Seen, of = bench()): string | undefined {
  return decided(of, seen).figures().rollout?.estimatedCompletionTime;
}

describe('the estimated end', () => {
  test('is among the figures, which are made when a status is due', () => {
    expect(endOf({ typicalMs: 3 * minuteMs })).toMatch(/^2026-/);
    expect(decided(bench(), { typicalMs: 3 * minuteMs }).essentials.rollout).not.toHaveProperty(
      'estimatedCompletionTime',
    );
  });

  test.each([
    ['stays while it lies ahead', 60_000, true],
    ['is shown no more once it has passed', -1, false],
  ])('H1: that of another process %s', (_, aheadMs, isShown) => {
    const nowMs = 10 * minuteMs;
    const end = new Date(epochMs + nowMs + aheadMs).toISOString();
    const of = bench();
    const rollout = { id: of.ledger.header.rolloutId, startTime: end, estimatedCompletionTime: end };
    const seen = { nowMs, typicalMs: undefined, policy: { status: { rollout } } } as const;
    expect(endOf(seen, of)).toBe(isShown ? `${end.slice(0, 19)}Z` : undefined);
  });

  const approval = {
    strategy: { maxInProgress: 5, order: 'Name', stages: [{ name: 'all', soakDuration: '0s', approval: 'Required' }] },
  } as const;
  const ended = new PolicyBench({ collectors: fleetOf(3, () => ({ collectorVersion: target })) });
  const stopped = new PolicyBench({
    collectors: fleetOf(3),
    header: { stop: { kind: 'failures', message: 'Too many.', atMs: 0 } },
  });
  test.each<[string, Seen, PolicyBench]>([
    ['nothing is known of how long upgrades take', {}, bench()],
    ['nothing is left', { typicalMs: 1 }, ended],
    ['it is stopped', { typicalMs: 1 }, stopped],
    ['it is paused', { typicalMs: 1, pausedForAll: 'somebody' }, bench()],
    ['a person has to approve a stage', { typicalMs: 1 }, new PolicyBench({ collectors: fleetOf(3), spec: approval })],
  ])('is not told while %s', (_, seen, of) => {
    expect(endOf(seen, of)).toBeUndefined();
  });
});

describe('on a smaller scale', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'];
  const members = (count: number) =>
    Array.from({ length: 6 }, (_, index) => ({
      version: `19.${300 + index}-1`,
      zone: zones[index % 3],
      count: count / 6,
    }));
  const input = (more: Partial<ForecastInput>): ForecastInput => ({
    stages: [{ members: members(60_000), maxInProgress: undefined, soakMs: 0, needsApproval: false }],
    maxInProgress: 1_000,
    requestsPerSecond: 4,
    upgradeMs: 200_000,
    isMeasured: true,
    calendar: new MaintenanceCalendar(undefined),
    startMs: Date.parse('2026-11-20T12:00Z'),
    listed: 100_000,
    pageRows: 1_000,
    resyncMs: 5 * minuteMs,
    ...more,
  });
  const canary = { members: members(600), maxInProgress: 50, soakMs: 2 * hourMs, needsApproval: false };
  const rest = { members: members(60_000), maxInProgress: undefined, soakMs: 0, needsApproval: false };
  const windows = [{ schedule: '0 1 * * *', duration: '4h', timeZoneSource: 'Collector' as const }];

  test.each<[string, Partial<ForecastInput>]>([
    ['one stage', {}],
    ['few places', { maxInProgress: 20 }],
    ['small pages', { pageRows: 50 }],
    ['a canary that soaks', { stages: [canary, rest] }],
    ['windows by zone', { calendar: new MaintenanceCalendar({ windows, cutoff: '30m' }) }],
    ['some under way', { stages: [{ ...rest, underWay: Array(900).fill(Date.parse('2026-11-20T11:58Z')) }] }],
  ])('it comes to the same, within a twentieth: %s', (_, more) => {
    const whole = forecast(input(more)).totalMs ?? Number.NaN;
    const scaled = forecast(scaledDown(input(more))).totalMs ?? Number.NaN;
    expect(Math.abs(scaled / whole - 1)).toBeLessThan(0.05);
  });

  test('nobody is lost between groups, however small', () => {
    const many = Array.from({ length: 40_000 }, (_, index) => ({ version: `${index}`, zone: undefined, count: 1 }));
    const { stages } = scaledDown(input({ stages: [{ ...rest, members: many }] }), 4_000);
    expect(stages[0]?.members.reduce((sum, { count }) => sum + count, 0)).toBe(4_000);
  });

  test('a fleet that is small stays as it is', () => {
    const small = input({ stages: [{ ...rest, members: members(600) }] });
    expect(scaledDown(small)).toBe(small);
  });
});

describe('beside the rollout', () => {
  const stages = [
    { name: 'canary', size: 10, soakDuration: '1h' },
    { name: 'rest', soakDuration: '40m' },
  ];
  const window = { cutoff: '30m', windows: [{ schedule: '0 2 * * *', duration: '50m', timeZone: 'UTC' }] };
  test.each([
    ['no stages', { strategy: { maxInProgress: 20, order: 'Name' } }],
    ['stages that soak', { strategy: { maxInProgress: 40, order: 'Name', stages } }],
    ['windows', { strategy: { maxInProgress: 40, order: 'Name' }, maintenance: window }],
  ])('%s: whenever it is told, what is left is right within a tenth, or two minutes', async (_, spec) => {
    const world = new World({
      scenario: {
        builds: ['19.50-1', '19.100-1', '19.200-1'],
        groups: { web: { count: 300, version: '19.100-1' } },
        upgrade: { duration: '4m' },
      },
    });
    world.addSecret();
    world.addPolicy('fleet', { target: { version: '19.200-1' }, ...spec });
    world.start();
    const told: { readonly atMs: number; readonly endMs: number }[] = [];
    const done = await world.until(
      () => {
        const status = world.policy('fleet')?.status;
        const end = status?.rollout?.estimatedCompletionTime;
        const endMs = Date.parse(end ?? '');
        if (end !== undefined && endMs !== told.at(-1)?.endMs) told.push({ atMs: world.clock.now(), endMs });
        return world.ready('fleet')?.status === 'True';
      },
      40 * 24 * hourMs,
    );
    expect(done).toBe(true);
    expect(told.length).toBeGreaterThan(0);
    const endMs = world.clock.now();
    const off = told.map((one) => Math.abs(one.endMs - endMs) - Math.max(2 * minuteMs, (endMs - one.atMs) / 10));
    expect(Math.max(...off)).toBeLessThan(0);
    expect(told.length).toBeLessThan(60);
  });
});
