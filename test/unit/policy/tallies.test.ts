/** Tallies of ledger and draft equal a full recount after any sequence of changes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Entry, type EntryChange, emptyTally, Ledger, type Tally, tallyOf } from '../../../src/policy/ledger.ts';
import { endedEntry, entry, header, newerVersion, oldVersion, openEntry, target } from './builders.ts';
import { fleetOf, PolicyBench } from './policy-bench.ts';

const tally = (finished: number, failed: number, broken = 0, died = 0): Tally => ({ finished, failed, broken, died });

describe('what one collector adds', () => {
  test.each<[string, Entry, Tally]>([
    ['nothing, before its first attempt has ended', openEntry(), emptyTally],
    ['an attempt, where it was brought to the target', endedEntry('updated'), tally(1, 0)],
    ['as many failures as it had, and the success', endedEntry('updated', {}, { used: 3, failures: 2 }), tally(3, 2)],
    ['a failure', endedEntry('failed', {}, { failures: 1 }), tally(1, 1, 1)],
    ['nothing broken, where a person has forgiven it', endedEntry('failed', {}, { failures: 0 }), tally(0, 0)],
    ['a failure for a time-out', endedEntry('timedOut', {}, { failures: 1 }), tally(1, 1, 1)],
    ['a failure in place of the success, where it died', endedEntry('died', {}, { failures: 1 }), tally(1, 1, 1, 1)],
    ['a failure in place of the success, where it left', endedEntry('left', {}, { failures: 1 }), tally(1, 1)],
    ['nothing, where it was refused (U11)', endedEntry('refused', {}, { used: 0 }), emptyTally],
    ['nothing, where it did not run (U11)', endedEntry('offline', {}, { used: 0 }), emptyTally],
    ['nothing, where the service does not know it (U11)', endedEntry('invalid', {}, { used: 0 }), emptyTally],
    ['nothing, where it cannot be seen (U7)', endedEntry('unobservable'), emptyTally],
    ['nothing, where somebody else brought it there (U10)', endedEntry('updated', {}, { used: 0 }), emptyTally],
    ['nothing, where an adoption is over (U10)', entry({ used: 0 }), emptyTally],
    [
      'its success on, while it is tried anew',
      { ...endedEntry('updated'), ...openEntry(), ending: endedEntry('updated').ending },
      tally(1, 0),
    ],
    [
      'what it had, while it is taken back',
      openEntry({ toVersion: oldVersion }, { back: true, failures: 1 }),
      tally(2, 1),
    ],
    ['what it had, once it is back', endedEntry('updated', { toVersion: oldVersion }, { back: true }), tally(1, 0)],
    ['nothing, towards another target', endedEntry('updated', { toVersion: newerVersion }), emptyTally],
  ])('%s', (_, known, expected) => {
    expect(tallyOf(known, target)).toEqual(expected);
  });
});

describe('after any changes', () => {
  const ids = ['1', '2', '3', '4', '5'];
  const stages = ['canary', 'rest', undefined] as const;
  const id = fc.constantFrom(...ids);
  const late = fc.record({ completions: fc.nat(1), stage: fc.constantFrom(...stages), failures: fc.nat(2) });
  const known = fc
    .record({
      id,
      kind: fc.constantFrom('updated', 'failed', 'timedOut', 'refused', 'died', 'left', undefined),
      open: fc.boolean(),
      used: fc.nat(3),
      failures: fc.nat(3),
      stage: fc.constantFrom(...stages),
      back: fc.boolean(),
      late: fc.option(late, { nil: undefined }),
    })
    .map(({ id, kind, open, late, ...others }): Entry => {
      const rest = late ? { ...others, late } : others;
      // A death or a return counts as at least one failure.
      const failures = kind === 'died' || kind === 'left' ? rest.failures + 1 : rest.failures;
      const base = kind === undefined ? entry(rest) : endedEntry(kind, {}, { ...rest, failures });
      return { ...base, collectorId: id, open: open ? openEntry().open : undefined };
    });
  const change: fc.Arbitrary<EntryChange> = fc.oneof(
    known.map((entry) => ({ collectorId: entry.collectorId, entry })),
    id.map((collectorId) => ({ collectorId, entry: undefined })),
  );
  const changes = fc.array(change, { maxLength: 20 });

  function recount(entries: Iterable<Entry>, isIn: (entry: Entry) => boolean = () => true): Tally {
    const sum = { ...emptyTally } as { finished: number; failed: number; broken: number; died: number };
    for (const one of entries) {
      if (!isIn(one)) continue;
      const { finished, failed, broken, died } = tallyOf(one, target);
      sum.finished += finished;
      sum.failed += failed;
      sum.broken += broken;
      sum.died += died;
    }
    return sum;
  }

  /** Recount of the attempts of late joiners, of one stage or of all. */
  function recountLate(entries: readonly Entry[], completions: number, stage: string | undefined): Tally {
    const since = entries.flatMap((one) => {
      if (one.late?.completions !== completions || (stage !== undefined && one.late.stage !== stage)) return [];
      const { open, ending } = one;
      const isNew = { failures: Math.max(0, one.failures - one.late.failures), ending: open ? undefined : ending };
      return tallyOf(one, target).finished === 0 ? [] : [{ ...one, ...isNew }];
    });
    return recount(since);
  }

  test('of the ledger, and of each of its stages', () => {
    fc.assert(
      fc.property(changes, (made) => {
        const ledger = new Ledger(header());
        for (const one of made) ledger.apply([one]);
        const entries = [...ledger.entries()];
        expect(ledger.tally()).toEqual(recount(entries));
        for (const name of ['canary', 'rest']) {
          expect(ledger.tally(name)).toEqual(recount(entries, ({ stage }) => stage === name));
        }
        for (const name of stages) expect(ledger.lateTally(1, name)).toEqual(recountLate(entries, 1, name));
        ledger.begin(header({ target: newerVersion }));
        expect([ledger.tally(), ledger.lateTally(1)]).toEqual([emptyTally, emptyTally]);
        expect([...ledger.entries()].some((one) => one.late !== undefined)).toBe(false);
      }),
    );
  });

  test('of the draft, before they are written and after', () => {
    fc.assert(
      fc.property(changes, changes, (before, made) => {
        const bench = new PolicyBench({ collectors: fleetOf(ids.length) });
        for (const one of before) bench.ledger.apply([one]);
        for (const one of ids) bench.roster.place(one);
        const draft = bench.draft();
        for (const { collectorId, entry } of made) draft.set(collectorId, entry);
        const drafted = [...draft.entries()];
        expect(draft.tally()).toEqual(recount(drafted));
        for (const name of ['canary', 'rest']) {
          expect(draft.tally(name)).toEqual(recount(drafted, ({ stage }) => stage === name));
        }
        for (const name of stages) expect(draft.lateTally(0, name)).toEqual(recountLate(drafted, 0, name));
        expect(draft.openCount).toBe(drafted.filter(({ open }) => open).length);

        bench.ledger.apply(draft.changes());
        expect(bench.ledger.tally()).toEqual(recount(drafted));
      }),
    );
  });

  test('of the stages, whose names may be others by now: each entry counts in one of them, unless it came late', () => {
    const strategy = {
      maxInProgress: 1_000,
      order: 'Name',
      stages: [
        { name: 'rest', size: 2, soakDuration: '0s' },
        { name: 'others', soakDuration: '0s' },
      ],
    } as const;
    fc.assert(
      fc.property(changes, changes, (before, made) => {
        const bench = new PolicyBench({
          spec: { strategy: { ...strategy, stages: [...strategy.stages] } },
          collectors: fleetOf(ids.length),
        });
        for (const one of before) bench.ledger.apply([one]);
        for (const one of ids) bench.roster.place(one);
        bench.roster.sync();
        const draft = bench.draft();
        for (const { collectorId, entry } of made) draft.set(collectorId, entry);
        const sum = [0, 1].map((stage) => draft.stageTally(stage));
        const inTime = recount(draft.entries(), ({ stage }) => stage !== undefined);
        expect(sum.reduce((left, { finished }) => left + finished, 0)).toBe(inTime.finished);
        expect(sum.reduce((left, { failed }) => left + failed, 0)).toBe(inTime.failed);
        expect(sum.reduce((left, { died }) => left + died, 0)).toBe(inTime.died);
      }),
    );
  });
});
