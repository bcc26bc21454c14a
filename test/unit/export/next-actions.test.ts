import { describe, expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportDecision } from '../../../src/export/work/export-decision.ts';
import {
  type Decided,
  type DecidedState,
  nextActions,
  type RunningStep,
  type Step,
  type WorkFacts,
} from '../../../src/export/work/next-actions.ts';
import type { Exporting, Planning } from '../../../src/export/work/work-state.ts';

const settleDelayMs = 1_000;
const interval = { segment: 0 } as CommitRecord;
const order = { segment: 1, fromMs: 0, toMs: 10 };
const coverage = { intervals: [interval], remaining: [], strays: [], voided: [] };
const searching = { coverage, start: [], stop: [], endAsCut: [], isCovered: false, unproven: [] };
const covered = { isCovered: true, waitsFor: undefined };
const unproven = { ...covered, unproven: [interval] };
const read = { readAtMs: 100_000, othersSeenAtMs: 100_000, tidyAtMs: Number.POSITIVE_INFINITY };
const loading: DecidedState = { kind: 'loading', startedAtMs: 0, unread: 'none' };
const complete = { kind: 'complete', manifest: {} } as DecidedState;

const planning = (more: Partial<Planning> = {}): Planning => ({ kind: 'planning', ...read, ...more });

function exporting(decision: Partial<ExportDecision> = {}, more: Partial<Exporting> = {}): Decided {
  return {
    ...{ kind: 'exporting', plan: { boundariesMs: [0, 10] }, records: [], verdicts: [], unread: 'none' },
    ...{ ...read, allReadAtMs: read.readAtMs, maxRounds: 3, isManifestTried: false, ...more },
    decision: { ...searching, ...decision } as ExportDecision,
  };
}

const facts: WorkFacts = {
  now: { wallMs: 0, monotonicMs: 100_500, clockBehindMs: 0 },
  limits: {
    ...{ isPaused: false, parallelism: 2, settleDelayMs, incompletePolicy: 'Fail', proof: 'Digest' },
    ...{ maxMessages: undefined, maxBytesScanned: undefined, deadlineMs: undefined },
  },
  worker: { index: 0, workers: 1 },
  ...{ trouble: undefined, needsProbe: false, endedBytes: 0, searches: 0, running: undefined },
};
const paused = { limits: { ...facts.limits, isPaused: true } };
const second = { worker: { index: 1, workers: 2 } };
const sinceRead = (ms: number) => ({ now: { ...facts.now, monotonicMs: 100_000 + ms } });
const running = (step: Step): { readonly running: RunningStep } => ({
  running: { step, begunAtMs: 0, settlesAtMs: undefined },
});
const disorder = { waitsFor: { kind: 'disorder', strays: [] } } as const;
const trouble = { error: {} as never, untilMs: 200_000 };
const plan: Step = { kind: 'plan', settleDelayMs };
const readNew: Step = { kind: 'readRecords', which: 'new' };
const readAll: Step = { kind: 'readRecords', which: 'all' };

describe('the next step', () => {
  test.each<readonly [string, DecidedState, Partial<WorkFacts>, Step | undefined]>([
    ['an unread destination is read first', loading, {}, { kind: 'load' }],
    ['an unread destination is read even if a probe is needed', loading, { needsProbe: true }, { kind: 'load' }],
    ['nothing begins while a failure delays everything', loading, { trouble }, undefined],
    ['nothing begins while a step runs', loading, running({ kind: 'load' }), undefined],
    ['leftovers are removed before the planning', planning({ tidyAtMs: 0 }), {}, { kind: 'tidy' }],
    ['leftovers are removed before the proof', exporting(unproven, { tidyAtMs: 0 }), {}, { kind: 'tidy' }],
    ['a failed destination is probed before the planning', planning(), { needsProbe: true }, { kind: 'probe' }],
    ['a paused export writes no probe', planning(), { needsProbe: true, ...paused }, undefined],
    ['an export without a plan is planned', planning(), {}, plan],
    ['a worker leaves the planning to the first worker', planning(), second, undefined],
    ['a worker reads the plan of the first worker', planning(), { ...second, ...sinceRead(1_000) }, { kind: 'load' }],
    ['a worker plans if the first worker no longer runs', planning(), { ...second, ...sinceRead(300_000) }, plan],
    ['a pause prevents the planning', planning(), paused, undefined],
    ['records of other processes are read', exporting({}, { unread: 'new' }), {}, readNew],
    ['all doubtful records are read again', exporting({}, { unread: 'all' }), {}, readAll],
    ['a busy worker reads records every 15 s', exporting(), { ...second, ...sinceRead(15_000), searches: 1 }, readNew],
    [
      'a busy worker does not read them earlier',
      exporting(),
      { ...second, ...sinceRead(14_999), searches: 1 },
      undefined,
    ],
    [
      'a worker reads records before a search',
      exporting({ start: [order] }),
      { ...second, ...sinceRead(3_000) },
      readNew,
    ],
    ['contradictory records are read after 30 s', exporting(disorder), sinceRead(30_000), readNew],
    ['contradictory records are not read earlier', exporting(disorder), sinceRead(29_999), undefined],
    ['contradictory records are all read after 10 min', exporting(disorder), sinceRead(600_000), readAll],
    ['only searches run while ranges remain', exporting(), {}, undefined],
    ['a running search delays the manifest', exporting(covered), { searches: 1 }, undefined],
    ['a proven export gets its manifest', exporting(covered), {}, { kind: 'finish', coverage, isRepeated: false }],
    [
      'another attempt at the manifest is marked as such',
      exporting(covered, { isManifestTried: true }),
      {},
      { kind: 'finish', coverage, isRepeated: true },
    ],
    ['unproven intervals are proven', exporting(unproven), {}, { kind: 'prove', intervals: [interval], round: 1 }],
    ['a wait prevents the proof', exporting({ ...unproven, waitsFor: { kind: 'paused' } }), {}, undefined],
    ['a complete export has no step', complete, { needsProbe: true }, undefined],
  ])('%s', (_, state, more, step) => {
    expect(nextActions(state, { ...facts, ...more }).step).toEqual(step);
  });
});

describe('searches', () => {
  test.each<readonly [string, Partial<Exporting>, Partial<WorkFacts>, boolean]>([
    ['start when the records are known', {}, {}, true],
    ['wait for records of other processes', { unread: 'new' }, {}, false],
    ['wait for a running reading', {}, running(readNew), false],
    ['start while leftovers are removed', {}, running({ kind: 'tidy' }), true],
    ['wait if other workers may have written', {}, { ...second, ...sinceRead(3_000) }, false],
  ])('%s (E3)', (_, state, more, isStarted) => {
    const { start } = nextActions(exporting({ start: [order] }, state), { ...facts, ...more });
    expect(start).toEqual(isStarted ? [order] : []);
  });
});

describe('a running step is aborted', () => {
  const prove: Step = { kind: 'prove', intervals: [interval], round: 1 };
  test.each<readonly [string, DecidedState, Step, Partial<WorkFacts>, boolean]>([
    ['not while nothing has changed', planning(), plan, {}, false],
    ['if a pause stops the planning', planning(), plan, paused, true],
    ['if the planning uses another settleDelay (E11)', planning(), { ...plan, settleDelayMs: 1 }, {}, true],
    ['if the deadline ends the proof', exporting({ waitsFor: { kind: 'deadline' } }), prove, {}, true],
    ['if the proof scans too much', exporting({ waitsFor: { kind: 'maxBytesScanned' } }), prove, {}, true],
    ['but a pause does not stop the proof', exporting({ waitsFor: { kind: 'paused' } }), prove, paused, false],
    ['but a pause does not stop a reading', loading, { kind: 'load' }, paused, false],
  ])('%s', (_, state, step, more, isAborted) => {
    expect(nextActions(state, { ...facts, ...running(step), ...more }).abortsStep).toBe(isAborted);
  });
});
