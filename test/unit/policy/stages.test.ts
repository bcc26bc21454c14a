/** Assignment of stages: at most one stage each, exact sizes, stable after a restart, and fixed for started collectors. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Stage } from '../../../src/api/generated/collector-version-policy.ts';
import { noStage, type StageCandidate, StageList, shareOf, stageOrder } from '../../../src/policy/stages.ts';
import type { Standing } from '../../../src/policy/standing.ts';
import type { Counts, MutableCounts } from '../../../src/policy/standing-counts.ts';
import { collector, counts, endedEntry, newerVersion, oldVersion, openEntry, settings, target } from './builders.ts';
import { fleetOf, PolicyBench } from './policy-bench.ts';

const stage = (name: string, more: Partial<Stage> = {}): Stage => ({ name, soakDuration: '0s', ...more });
const linux = { matchFields: { osName: 'Linux' } };

test.each([
  [1, 1_000, 1],
  [5, 3, 5],
  ['1%', 5_000, 50],
  ['1%', 5_001, 51],
  ['1%', 1, 1],
  ['1%', 0, 1],
  ['100%', 7, 7],
])('a share of %s of %d is %d', (share, of, expected) => {
  expect(shareOf(share, of)).toBe(expected);
});

test('the order is one of ids alone, the same for ever: the canaries of one version are those of the next', () => {
  expect(['1', '2', '3'].map(stageOrder)).toEqual([1_428_125_071, 1_020_151_135, 340_534_253]);
});

/** Candidates in the order of `stageOrder`. */
function inOrder(ids: readonly string[], more: (id: string) => Partial<StageCandidate> = () => ({})): StageCandidate[] {
  return [...ids]
    .sort((left, right) => stageOrder(left) - stageOrder(right))
    .map((id) => ({ id, matches: 0, startedIn: undefined, eligible: true, isThere: false, ...more(id) }));
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));

function membersOf(list: StageList, candidates: readonly StageCandidate[]): readonly (readonly string[])[] {
  const assigned = list.assign(candidates);
  return [...list.stages, undefined].map((_, index) => {
    const wanted = index === list.stages.length ? noStage : index;
    return candidates.filter((_, at) => assigned[at] === wanted).map(({ id }) => id);
  });
}

describe('a stage that is settled', () => {
  const sizes = (
    stages: readonly Stage[],
    count: number,
    settled: Readonly<Record<string, number>>,
    more: (id: string) => Partial<StageCandidate> = () => ({}),
  ) => {
    const assigned = [...new StageList(stages).assign(inOrder(ids(count), more), [], (name) => settled[name])];
    return stages.map((_, index) => assigned.filter((one) => one === index).length);
  };

  test('does not grow with the fleet', () => {
    const one = (id: string) => (id === '7' ? { startedIn: 0 } : {});
    expect(sizes([stage('a', { size: '10%' }), stage('b')], 30, { a: 1 }, one)).toEqual([1, 29]);
  });

  test('keeps who was at the target before, and gives no place that is free to who is to be upgraded', () => {
    const stages = [stage('a', { size: '50%' }), stage('b')];
    const here = (id: string) => (Number(id) <= 4 ? { isThere: true } : Number(id) <= 10 ? { startedIn: 0 } : {});
    expect(sizes(stages, 20, { a: 10 }, here)).toEqual([10, 10]);
    // Those four collectors left the listing.
    expect(sizes(stages, 20, { a: 10 }, (id) => (Number(id) <= 6 ? { startedIn: 0 } : {}))).toEqual([6, 14]);
  });

  test('takes whom no other stage has', () => {
    expect(sizes([stage('a', { size: '50%' }), stage('b', { size: '50%' })], 30, { a: 5, b: 5 })).toEqual([15, 15]);
    expect(sizes([stage('a', { size: '50%' }), stage('b', { size: '50%' })], 30, { a: 5 })).toEqual([15, 15]);
  });
});

describe('a collector that is in a stage', () => {
  const sizes = (stages: readonly Stage[], candidates: readonly StageCandidate[]) =>
    membersOf(new StageList(stages), candidates).map(({ length }) => length);

  test.each<[string, readonly Stage[], readonly StageCandidate[], readonly number[]]>([
    ['without stages, nobody', [], inOrder(ids(3)), [3]],
    ['of a size, so many', [stage('a', { size: 2 })], inOrder(ids(3)), [2, 1]],
    ['of a percentage, so many of all', [stage('a', { size: '20%' }), stage('b')], inOrder(ids(30)), [6, 24, 0]],
    ['of a size beyond the fleet, all', [stage('a', { size: 99 }), stage('b')], inOrder(ids(3)), [3, 0, 0]],
    ['of 100%, all', [stage('a', { size: '100%' }), stage('b')], inOrder(ids(3)), [3, 0, 0]],
    ['of an empty fleet, nobody', [stage('a', { size: '1%' }), stage('b')], [], [0, 0, 0]],
    ['of the last, all that are left', [stage('a', { size: 1 }), stage('b')], inOrder(ids(3)), [1, 2, 0]],
    [
      'of a selector, those that it matches and none before has',
      [stage('a', { size: 1 }), stage('b', { selector: linux })],
      inOrder(ids(5), () => ({ matches: 2 })),
      [1, 4, 0],
    ],
    [
      'of a selector with a size, so many of those',
      [stage('a', { selector: linux, size: 2 }), stage('b')],
      inOrder(ids(5), (id) => ({ matches: Number(id) <= 3 ? 1 : 0 })),
      [2, 3, 0],
    ],
    [
      'of a selector alone, and of the others nobody',
      [stage('a', { selector: linux })],
      inOrder(ids(5), (id) => ({ matches: Number(id) <= 3 ? 1 : 0 })),
      [3, 2],
    ],
  ])('%s', (_, stages, candidates, expected) => {
    expect(sizes(stages, candidates)).toEqual(expected);
  });

  test('those that can be upgraded, before the others', () => {
    const candidates = inOrder(ids(20), (id) => ({ eligible: Number(id) > 18 }));
    const [first] = membersOf(new StageList([stage('a', { size: 2 }), stage('b')]), candidates);
    expect([...(first ?? [])].sort()).toEqual(['19', '20']);
  });

  test('the first stages have those of the last ones, where the ones before are gone', () => {
    const before = membersOf(
      new StageList([stage('a', { size: 2 }), stage('b', { size: 3 }), stage('c')]),
      inOrder(ids(9)),
    );
    const after = membersOf(new StageList([stage('b', { size: 3 }), stage('c')]), inOrder(ids(9)));
    expect(after[0]?.slice(0, 2)).toEqual(before[0]);
  });
});

describe('whatever the stages and the fleet', () => {
  const count = fc.integer({ min: 0, max: 40 });
  const size = fc.oneof(
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 100 }).map((share) => `${share}%`),
  );
  const list = fc
    .array(fc.oneof(fc.record({ size }), fc.constant({ selector: linux })), { maxLength: 5 })
    .chain((stages) => fc.boolean().map((hasRest) => (hasRest ? [...stages, {}] : stages)))
    .map((stages) => new StageList(stages.map((more, index) => stage(`s${index}`, more))));
  const fleet = (list: StageList, length: number) =>
    fc
      .array(
        fc.record({
          matches: fc.nat(2 ** Math.max(1, list.stages.length) - 1),
          eligible: fc.boolean(),
          startedIn: fc.option(fc.nat(Math.max(0, list.stages.length - 1)), { nil: undefined, freq: 4 }),
        }),
        { minLength: length, maxLength: length },
      )
      .map((traits) =>
        inOrder(ids(length), (id) => {
          const one = traits[Number(id) - 1] as (typeof traits)[number];
          return { ...one, startedIn: list.stages.length === 0 ? undefined : one.startedIn };
        }),
      );
  const setting = fc.tuple(list, count).chain(([list, length]) => fc.tuple(fc.constant(list), fleet(list, length)));

  test('each collector is in one stage at most, and no stage without room to spare leaves one out that it would have', () => {
    fc.assert(
      fc.property(setting, ([list, candidates]) => {
        const members = membersOf(list, candidates);
        expect(members.flat().sort()).toEqual(candidates.map(({ id }) => id).sort());
        const started = (at: number) => candidates.filter(({ startedIn }) => startedIn === at).length;
        for (const [at, { size, selector }] of list.stages.entries()) {
          const most = size === undefined ? Number.POSITIVE_INFINITY : shareOf(size, candidates.length);
          const held = members[at]?.length ?? 0;
          expect(held).toBeLessThanOrEqual(Math.max(most, started(at)));
          const left = candidates.filter(({ id, matches }) => {
            const isLater = members.slice(at + 1).some((later) => later.includes(id));
            const { startedIn } = candidates.find((one) => one.id === id) as StageCandidate;
            return isLater && startedIn === undefined && (!selector || (matches & (1 << at)) !== 0);
          });
          if (left.length > 0) expect(held).toBeGreaterThanOrEqual(most);
        }
      }),
    );
  });

  test('a collector that was started stays, and a newcomer displaces nobody who was', () => {
    fc.assert(
      fc.property(setting, fc.boolean(), ([list, candidates], eligible) => {
        const newcomer = { id: 'new', matches: 0, startedIn: undefined, eligible, isThere: false };
        const assigned = list.assign([newcomer, ...candidates]);
        for (const [at, { startedIn }] of candidates.entries()) {
          if (startedIn !== undefined) expect(assigned[at + 1]).toBe(startedIn);
        }
      }),
    );
  });
});

describe('the index of stages', () => {
  const stages = [stage('a', { size: 2 }), stage('b', { selector: linux }), stage('c', { size: 1 })];
  const inStages = (list: readonly Stage[]) =>
    ({ strategy: { maxInProgress: 1_000, order: 'Name', stages: list } }) as const;
  const fleetIds = ids(7);
  const id = fc.constantFrom(...fleetIds);
  const row = fc.record({
    id,
    collectorVersion: fc.constantFrom(oldVersion, target, newerVersion, 'nightly'),
    alive: fc.boolean(),
    osName: fc.constantFrom('Linux', 'Windows'),
    name: fc.constantFrom('web-a', 'db'),
  });
  const startedIn = fc.constantFrom('a', 'b', 'c', undefined, 'gone');
  const change = fc.oneof(
    fc.record({ id, stage: startedIn }).map((of) => ({ ...openEntry({}, { stage: of.stage }), collectorId: of.id })),
    fc
      .record({ id, stage: startedIn, kind: fc.constantFrom('updated', 'failed', 'offline', 'died', 'left') })
      .map((of) => ({ ...endedEntry(of.kind, {}, { stage: of.stage }), collectorId: of.id })),
  );
  const step = fc.oneof(
    fc.record({ page: fc.uniqueArray(row, { selector: (one) => one.id }) }),
    fc.record({ sweep: fc.uniqueArray(id) }),
    fc.record({ change }),
    fc.record({ forget: id }),
  );

  function recount(bench: PolicyBench, at: number): Counts {
    const found: MutableCounts = counts();
    for (const member of bench.roster.ids()) {
      if (bench.roster.stageOf(member) === at) found[bench.roster.standingNow(member) as Standing]++;
    }
    return found;
  }

  test.each([
    ['with a stage for the rest', [...stages, stage('rest')]],
    ['without one', stages],
  ])('says after any history what a recount says, and a new one the same (%s)', (_, list) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const bench = new PolicyBench({ spec: { selector: { matchNames: ['web-*'] }, ...inStages(list) } });
        let nowMs = 0;
        for (const one of steps) {
          if ('page' in one) {
            nowMs += settings.graceMs;
            bench.listing.show(
              nowMs,
              one.page.map(({ id, ...more }) => collector(id, more)),
            );
          }
          if ('sweep' in one) bench.listing.rows.endSweep(new Set(one.sweep));
          if ('change' in one) bench.ledger.apply([{ collectorId: one.change.collectorId, entry: one.change }]);
          if ('change' in one) bench.roster.place(one.change.collectorId);
          if ('forget' in one) bench.ledger.apply([{ collectorId: one.forget, entry: undefined }]);
          if ('forget' in one) bench.roster.place(one.forget);
          bench.roster.sync();
          for (const at of list.keys()) expect([at, bench.roster.stageCounts(at)]).toEqual([at, recount(bench, at)]);
          for (const member of bench.roster.ids()) {
            const { stage: name } = bench.ledger.entry(member) ?? {};
            const started = list.findIndex((one) => one.name === name);
            if (started !== -1) expect(bench.roster.stageOf(member)).toBe(started);
          }
          // A fresh index knows everything except which collectors ran the target before.
          const drifts = [...bench.roster.ids()].some((member) => bench.roster.driftingSinceMs(member) !== undefined);
          if (drifts) continue;
          const known = new Map(fleetIds.map((member) => [member, bench.roster.stageOf(member)]));
          const fresh = bench.freshRoster();
          expect(new Map(fleetIds.map((member) => [member, fresh.stageOf(member)]))).toEqual(known);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('leaves who cannot be upgraded where it is, however often it looks', () => {
    const collectors = fleetOf(6, (index) => ({ alive: index >= 3 }));
    const bench = new PolicyBench({ spec: inStages([stage('a', { size: 3 })]), collectors });
    const members = () => fleetIds.filter((member) => bench.roster.stageOf(member) === 0);
    expect(members()).toEqual(['4', '5', '6']);
    for (let look = 1; look <= 3; look++) {
      bench.listing.show(look, collectors);
      bench.roster.sync();
      expect(members()).toEqual(['4', '5', '6']);
    }
  });
});
