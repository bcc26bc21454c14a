import { describe, expect, test } from 'vitest';
import type { DigestVerdict } from '../../../src/destination/digest-verdict.ts';
import {
  type Complete,
  type Exporting,
  initialState,
  nextState,
  type Planning,
  type RecordsReading,
  type WorkEvent,
  type WorkState,
} from '../../../src/export/work/work-state.ts';
import type { StoredManifest } from '../../../src/export/work/work-view.ts';
import { emptyRecord } from '../../support/scripted-search.ts';

const never = Number.POSITIVE_INFINITY;
const tidyDelayMs = 16 * 60_000;
const plan = { boundariesMs: [0, 100, 200] };
const [first, second] = [
  emptyRecord({ segment: 0, fromMs: 0, toMs: 100 }),
  emptyRecord({ segment: 1, fromMs: 100, toMs: 200 }),
];
const verdict = (round: number): DigestVerdict => ({ round, proven: [], differing: [], segments: [], incomplete: [] });
const manifest = { url: 'memory://manifest' } as StoredManifest;

const loading = initialState(1);
const planning: Planning = { kind: 'planning', readAtMs: 10, othersSeenAtMs: 1, tidyAtMs: 20 };
const exporting: Exporting = {
  ...{ kind: 'exporting', plan, records: [first], unread: 'none', verdicts: [], maxRounds: 3, isManifestTried: false },
  ...{ readAtMs: 10, allReadAtMs: 10, othersSeenAtMs: 1, tidyAtMs: 20 },
};
const complete: Complete = { kind: 'complete', manifest };
const states: readonly WorkState[] = [loading, planning, exporting, complete];

const reading = (more: Partial<RecordsReading>): WorkEvent => ({
  kind: 'recordsRead',
  found: { which: 'new', plan, records: [first], gone: [], verdicts: [], ...more },
  atMs: 50,
});
const found = { kind: 'plan', plan, records: [first], verdicts: [verdict(1)] } as const;
const loaded: WorkEvent = { kind: 'loaded', found: { kind: 'nothing' }, atMs: 50 };
const loadedPlan: WorkEvent = { kind: 'loaded', found, atMs: 50 };
const loadedManifest: WorkEvent = { kind: 'loaded', found: { kind: 'manifest', manifest }, atMs: 50 };
const retried: WorkEvent = { kind: 'retried' };
const othersWrote: WorkEvent = { kind: 'othersWrote' };
const afterLoad = { readAtMs: 50, allReadAtMs: 50, othersSeenAtMs: 50 };

describe('an event changes the state', () => {
  test.each<readonly [string, WorkState, WorkEvent, WorkState]>([
    ['an empty destination is planned', loading, loaded, { ...planning, readAtMs: 50, tidyAtMs: 50 + tidyDelayMs }],
    [
      'a stored plan is continued',
      loading,
      loadedPlan,
      { ...exporting, ...afterLoad, verdicts: [verdict(1)], tidyAtMs: 50 + tidyDelayMs },
    ],
    [
      'after a retry during the first reading, everything is read again',
      nextState(loading, retried),
      loadedManifest,
      loading,
    ],
    [
      'the start of a process allows another round',
      loading,
      { ...loadedPlan, found: { ...found, verdicts: [1, 2, 3].map(verdict) } },
      {
        ...{ ...exporting, ...afterLoad, verdicts: [1, 2, 3].map(verdict), maxRounds: 4 },
        tidyAtMs: 50 + tidyDelayMs,
      },
    ],
    ['a stored manifest ends the export', loading, loadedManifest, complete],
    ['a worker still waits for the plan', planning, loaded, { ...planning, readAtMs: 50 }],
    ['a worker finds the plan', planning, loadedPlan, { ...exporting, ...afterLoad, verdicts: [verdict(1)] }],
    ['a worker finds the manifest', planning, loadedManifest, complete],
    ['nothing is read again before the plan', planning, retried, planning],
    [
      'leftovers are removed again later',
      planning,
      { kind: 'tidyBegan', atMs: 50 },
      { ...planning, tidyAtMs: 50 + tidyDelayMs },
    ],
    ['no leftovers remain', planning, { kind: 'tidied' }, { ...planning, tidyAtMs: never }],
    [
      'E2: after the planning, records of the same plan are read',
      planning,
      { kind: 'planned', plan },
      { ...exporting, records: [], unread: 'new' },
    ],
    [
      'leftovers are removed again later',
      exporting,
      { kind: 'tidyBegan', atMs: 50 },
      { ...exporting, tidyAtMs: 50 + tidyDelayMs },
    ],
    ['no leftovers remain', exporting, { kind: 'tidied' }, { ...exporting, tidyAtMs: never }],
    ['after a retry, all records are doubtful', exporting, retried, { ...exporting, unread: 'all' }],
    [
      'a retry allows another round',
      { ...exporting, verdicts: [1, 2, 3].map(verdict) },
      retried,
      { ...exporting, verdicts: [1, 2, 3].map(verdict), unread: 'all', maxRounds: 4 },
    ],
    ['others wrote', exporting, othersWrote, { ...exporting, unread: 'new' }],
    [
      'another process wrote records, which are doubtful',
      { ...exporting, unread: 'all' },
      othersWrote,
      { ...exporting, unread: 'all' },
    ],
    ['a reading begins', { ...exporting, unread: 'all' }, { kind: 'readingBegan' }, exporting],
    ['a reading fails', exporting, { kind: 'readingFailed' }, { ...exporting, unread: 'all' }],
    ['a reading finds nothing new', exporting, reading({}), { ...exporting, readAtMs: 50 }],
    [
      'a reading finds a record of another process',
      exporting,
      reading({ records: [first, second] }),
      { ...exporting, readAtMs: 50, othersSeenAtMs: 50, records: [first, second] },
    ],
    [
      'a reading finds a verdict of another process',
      exporting,
      reading({ verdicts: [verdict(1)] }),
      { ...exporting, readAtMs: 50, othersSeenAtMs: 50, verdicts: [verdict(1)] },
    ],
    [
      'a reading misses a removed record, but keeps a record that was written meanwhile',
      { ...exporting, records: [first, second] },
      reading({ records: [], gone: [first] }),
      { ...exporting, readAtMs: 50, records: [second] },
    ],
    ['a full reading', exporting, reading({ which: 'all' }), { ...exporting, readAtMs: 50, allReadAtMs: 50 }],
    [
      'a request during a reading is kept',
      { ...exporting, unread: 'new' },
      reading({}),
      { ...exporting, readAtMs: 50, unread: 'new' },
    ],
    [
      'a record is committed',
      exporting,
      { kind: 'committed', record: second },
      { ...exporting, records: [first, second] },
    ],
    ['a known record counts once', exporting, { kind: 'committed', record: first }, exporting],
    [
      'a verdict is stored',
      exporting,
      { kind: 'judged', verdict: verdict(1) },
      { ...exporting, verdicts: [verdict(1)] },
    ],
    ['the manifest is written', exporting, { kind: 'manifestBegan' }, { ...exporting, isManifestTried: true }],
    ['the manifest ends the export', exporting, { kind: 'finished', manifest }, complete],
    ['a complete export stays complete', complete, retried, complete],
  ])('%s', (_, state, event, expected) => {
    expect(nextState(state, event)).toEqual(expected);
  });
});

test('an event that cannot occur in a state throws', () => {
  const events: readonly (readonly [WorkEvent, readonly WorkState['kind'][]])[] = [
    [retried, ['loading', 'planning', 'exporting', 'complete']],
    [loaded, ['loading', 'planning']],
    [{ kind: 'tidyBegan', atMs: 50 }, ['planning', 'exporting']],
    [{ kind: 'tidied' }, ['planning', 'exporting']],
    [{ kind: 'planned', plan }, ['planning']],
    [{ kind: 'readingBegan' }, ['exporting']],
    [{ kind: 'readingFailed' }, ['exporting']],
    [reading({}), ['exporting']],
    [{ kind: 'committed', record: first }, ['exporting']],
    [othersWrote, ['exporting']],
    [{ kind: 'judged', verdict: verdict(1) }, ['exporting']],
    [{ kind: 'manifestBegan' }, ['exporting']],
    [{ kind: 'finished', manifest }, ['exporting']],
  ];
  for (const [event, possible] of events) {
    for (const state of states.filter(({ kind }) => !possible.includes(kind))) {
      const message = `the event ${event.kind} cannot occur while an export is ${state.kind}`;
      expect(() => nextState(state, event)).toThrow(expect.objectContaining({ code: 'bug.assertion', message }));
    }
  }
});
