/** Tests how the operator chooses the collectors of a stage, and that it makes the same choice after a restart. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Stage } from '../../../src/api/generated/collector-version-policy.ts';
import type { MemberState } from '../../../src/policy/members/member-state.ts';
import {
  chooseMembers,
  expectedMembers,
  hasMember,
  type StageCandidate,
  shareOf,
  stageOrder,
  waitingStages,
} from '../../../src/policy/members/stages.ts';
import type { Collector } from '../../../src/service/collectors/upgrade-service.ts';
import { collector, spec, stageRecord } from './builders.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
const stage = (more: Partial<Stage> = {}): Stage => ({ name: 'canary', soakDuration: '0s', ...more });

function candidate(id: string, memberState: MemberState = 'pending', more: Partial<Collector> = {}): StageCandidate {
  return { id, memberState, collector: collector(id, more) };
}

const all = (count: number, memberState?: MemberState) => ids(count).map((id) => candidate(id, memberState));
const idsOf = (candidates: readonly StageCandidate[]) => candidates.map(({ id }) => id);
const chosen = (of: Stage, candidates: readonly StageCandidate[], selected = candidates.length, more: object = {}) =>
  idsOf(chooseMembers(of, candidates, spec(more), {}, selected));

describe('a stage with a size', () => {
  test.each<[string, Stage, number, number]>([
    ['takes this number', stage({ size: 3 }), 10, 3],
    ['takes all if there are fewer', stage({ size: 3 }), 2, 2],
    ['takes a percentage of the selected collectors, rounded up', stage({ size: '10%' }), 101, 11],
    ['takes at least one', stage({ size: '1%' }), 5, 1],
  ])('%s', (_, of, count, expected) => {
    expect(chosen(of, all(count))).toHaveLength(expected);
  });

  test('refers a percentage to the collectors that were selected when the rollout started', () => {
    expect(chosen(stage({ size: '10%' }), all(90), 100)).toHaveLength(10);
    expect(chooseMembers(stage({ size: '10%' }), all(90), spec(), { selected: 100 }, 90)).toHaveLength(10);
  });

  test('takes first collectors that can be upgraded, then those at the target, and offline ones last', () => {
    const candidates = [...all(20, 'updated'), candidate('a'), candidate('b', 'failed')];
    expect(new Set(chosen(stage({ size: 2 }), candidates))).toEqual(new Set(['a', 'b']));
    expect(chosen(stage({ size: 3 }), candidates)).toHaveLength(3);
    const waiting = [...all(20, 'offline'), candidate('a')];
    expect(chosen(stage({ size: 1 }), waiting, 21, { offlinePolicy: 'Wait' })).toEqual(['a']);
  });

  test('takes collectors at the target like all others in an unproven rollout, in which they soak', () => {
    const unproven = (of: readonly StageCandidate[]) =>
      idsOf(chooseMembers(stage({ size: 3 }), of, spec(), { selected: 20, unproven: true }, 0));
    const fresh = unproven(all(20));
    const upgraded = all(20).map((one) => (fresh.includes(one.id) ? candidate(one.id, 'updated') : one));
    expect(unproven(upgraded)).toEqual(fresh);
  });

  test('chooses by ids only, whatever the order of the collectors', () => {
    const order = fc.shuffledSubarray(ids(50), { minLength: 50 });
    const expected = chosen(stage({ size: 7 }), all(50));
    fc.assert(
      fc.property(order, (shuffled) => {
        expect(
          chosen(
            stage({ size: 7 }),
            shuffled.map((id) => candidate(id)),
          ),
        ).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});

describe('for any stage', () => {
  test.each(['foreign', 'newer', 'skipped'] as const)('a collector that is %s is never chosen', (memberState) => {
    for (const of of [stage({ size: 5 }), stage({ selector: {} }), stage()])
      expect(chosen(of, all(2, memberState))).toEqual([]);
  });

  test('an offline or dead collector is chosen only if the policy waits for it', () => {
    const away = [candidate('1', 'offline', { alive: false }), candidate('2', 'updated', { alive: false })];
    expect(chosen(stage(), away)).toEqual([]);
    expect(chosen(stage(), away, 2, { offlinePolicy: 'Wait' })).toEqual(['1', '2']);
  });
});

test('a stage with a selector takes all collectors that match it', () => {
  const candidates = [candidate('1', 'pending', { osName: 'Linux' }), candidate('2'), candidate('3', 'updated')];
  const linux = stage({ selector: { matchFields: { osName: 'Linux' } } });
  expect(chosen(linux, candidates)).toEqual(['1']);
  expect(chosen(linux, [{ ...candidate('1'), collector: undefined }])).toEqual([]);
  expect(chosen(stage(), candidates)).toEqual(['1', '2', '3']);
});

test('one matching collector is enough for a stage to have collectors', () => {
  const read: string[] = [];
  function* fleet() {
    for (const one of [candidate('1', 'skipped'), ...all(1_000)]) {
      read.push(one.id);
      yield one;
    }
  }
  expect(hasMember(stage({ size: 3 }), fleet(), spec())).toBe(true);
  expect(read).toHaveLength(2);
  expect(hasMember(stage({ selector: { matchNames: ['none'] } }), fleet(), spec())).toBe(false);
});

test('each collector is expected in only one stage', () => {
  const stages = [stage({ size: 2 }), { ...stage({ selector: { matchNames: ['*'] } }), name: 'rest' }];
  const strategy = { maxInProgress: 1, order: 'Name' as const, stages };
  const expected = expectedMembers({}, all(5), spec({ strategy }), 5).map(idsOf);
  expect(expected.map(({ length }) => length)).toEqual([2, 3]);
  expect(new Set(expected.flat()).size).toBe(5);
});

test('the waiting stages are those of the spec that have not started, in any order', () => {
  const stages = ['a', 'b', 'c'].map((name) => ({ ...stage({ size: 1 }), name }));
  const strategy = { maxInProgress: 1, order: 'Name' as const, stages };
  const started = [stageRecord('b'), stageRecord('gone')];
  expect(waitingStages({ strategy }, { stages: started }).map(({ name }) => name)).toEqual(['a', 'c']);
  expect(waitingStages({ strategy }, {}).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test.each([
  [5, 100, 5],
  ['5%', 100, 5],
  ['5%', 101, 6],
  ['1%', 0, 1],
  ['0.5%', 1_000, 5],
])('%s of %d collectors are %d', (share, of, expected) => {
  expect(shareOf(share, of)).toBe(expected);
});

test('collectors with similar ids are spread over the order', () => {
  const sorted = ids(1_000).sort((left, right) => stageOrder(left) - stageOrder(right));
  expect(new Set(sorted.slice(0, 10).map((id) => Math.floor(Number(id) / 100))).size).toBeGreaterThan(3);
});
