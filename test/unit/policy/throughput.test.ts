/** Tests the estimated end of a rollout. */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { measureThroughput } from '../../../src/policy/decide.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import { endedEntry, epochMs, openEntry, target } from './builders.ts';
import { type ChangedInput, decided, fleetOf, PolicyBench } from './policy-bench.ts';

const nowMs = 20 * minuteMs;
const wallMs = epochMs + nowMs;

/** Returns the ledger entry of an upgrade that took four minutes and ended `minutesAgo` minutes ago. */
function ended(id: string, minutesAgo: number): Entry {
  const endedAtMs = wallMs - minutesAgo * minuteMs;
  const times = { startedAtMs: endedAtMs - 4 * minuteMs, endedAtMs };
  return endedEntry('updated', { taskId: `t${id}`, ...times }, { collectorId: id, used: 1 });
}

describe('throughput', () => {
  test.each<[string, readonly Entry[], number | undefined]>([
    ['is unknown before an attempt has ended', [openEntry()], undefined],
    ['counts attempts from the first start on', [ended('1', 0), ended('2', 2)], 2 / (6 * minuteMs)],
    ['counts attempts that overlap once', [ended('1', 0), ended('2', 0), ended('3', 1)], 3 / (5 * minuteMs)],
    ['counts the last 15 minutes only', [ended('1', 12), ended('2', 8), ended('3', 16)], 2 / (7 * minuteMs)],
    ['does not count time without a running upgrade', [ended('1', 11), ended('2', 0)], 2 / (8 * minuteMs)],
    ['is unknown when all attempts ended long ago', [ended('1', 16)], undefined],
  ])('%s', (_, entries, expected) => {
    expect(measureThroughput(entries, wallMs)).toBe(expected);
  });
});

describe('the estimated end', () => {
  const entries = [ended('1', 0), ended('2', 2)];
  const atTarget = (index: number) => (index < 2 ? { collectorVersion: target } : {});
  const bench = (more: object = {}) => new PolicyBench({ collectors: fleetOf(30, atTarget), entries, ...more });
  const endOf = (seen: ChangedInput, of = bench()) =>
    decided(of, { nowMs, ...seen }).figures.rollout?.estimatedCompletionTime;

  test('is the current time plus the time for 28 collectors at two in six minutes', () => {
    expect(Date.parse(endOf({}) ?? '')).toBe(wallMs + 84 * minuteMs);
  });

  test('is after the end of a running soak', () => {
    const soaking = { name: 'canary', startedAtMs: wallMs - 6 * minuteMs, updatedAtMs: wallMs, soakMs: 35 * minuteMs };
    const canary = { ...soaking, upgraded: true, tally: { finished: 2, failed: 0 } };
    const stages = [{ name: 'canary', size: 2 }, { name: 'rest' }];
    const of = bench({
      spec: { strategy: { maxInProgress: 5, order: 'Name', stages } },
      header: { stages: [canary] },
      members: { canary: ['1', '2'] },
    });
    expect(Date.parse(endOf({}, of) ?? '')).toBe(wallMs + (35 + 84) * minuteMs);
  });

  test.each([
    ['stays while it is in the future', 60_000, true],
    ['is no longer shown once it has passed', -1, false],
  ])('H1: of another process %s', (_, aheadMs, isShown) => {
    const end = new Date(wallMs + aheadMs).toISOString();
    const of = bench({ collectors: fleetOf(30), entries: [openEntry()], header: { attempts: 1 } });
    const rollout = { id: of.ledger.header.rolloutId, startTime: end, estimatedCompletionTime: end };
    expect(endOf({ policy: { status: { rollout } } }, of)).toBe(isShown ? `${end.slice(0, 19)}Z` : undefined);
  });

  test('H1: of a former rollout is not shown', () => {
    const end = new Date(wallMs + 60_000).toISOString();
    const of = bench({ collectors: fleetOf(30), entries: [openEntry()], header: { attempts: 1 } });
    const rollout = { id: `9-${target}`, startTime: end, estimatedCompletionTime: end };
    expect(endOf({ policy: { status: { rollout } } }, of)).toBeUndefined();
  });

  const stages = [{ name: 'all', soakDuration: '0s', approval: 'Required' as const }];
  test.each<[string, ChangedInput, PolicyBench]>([
    ['no collector is left', {}, bench({ collectors: fleetOf(3, () => ({ collectorVersion: target })) })],
    ['it is stopped', {}, bench({ header: { stop: { kind: 'failures', message: 'Too many.', atMs: 0 } } })],
    ['it is paused', { pausedForAll: 'somebody' }, bench()],
    ['a user must approve a stage', {}, bench({ spec: { strategy: { maxInProgress: 5, order: 'Name', stages } } })],
  ])('is absent while %s', (_, seen, of) => {
    expect(endOf(seen, of)).toBeUndefined();
  });
});
