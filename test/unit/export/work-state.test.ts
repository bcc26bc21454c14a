import { describe, expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportPlan } from '../../../src/destination/plan-object.ts';
import type { ExportDecision } from '../../../src/export/work/export-decision.ts';
import type { StoredExport } from '../../../src/export/work/stored-export.ts';
import {
  mostRounds,
  type PlannedState,
  step,
  type Task,
  type TaskFacts,
  unread,
  type WorkEvent,
  type WorkState,
} from '../../../src/export/work/work-state.ts';
import type { StoredManifest } from '../../../src/export/work/work-view.ts';

const plan: ExportPlan = { boundariesMs: [0, 1_000] };
const manifest = { url: 'memory://manifest' } as StoredManifest;

/** Content of the destination, reduced to the parts that the state machine of an export reads. */
function stored(more: Partial<Pick<StoredExport, 'plan' | 'manifest' | 'verdicts'>> = {}): StoredExport {
  return { plan: undefined, manifest: undefined, verdicts: [], ...more } as unknown as StoredExport;
}

const empty = stored();
const withPlan = stored({ plan });
const withManifest = stored({ plan, manifest });

const planned: PlannedState = {
  ...{ kind: 'planned', stored: withPlan, plan, records: 'current' },
  ...{ readAtMs: 0, readsInDisorder: 0, maxRounds: mostRounds },
};
const opened: WorkState = { kind: 'unread', stored: empty, isDoubted: false };
const unplanned: WorkState = { kind: 'unplanned', stored: empty };
const complete: WorkState = { kind: 'complete', stored: withManifest, manifest };

const facts: TaskFacts = {
  ...{ isHeld: false, isUntidy: false, needsProbe: false, isPaused: false, mayPlan: true },
  ...{ decision: undefined, searches: 0 },
};
const covered = { isCovered: true, unproven: [], coverage: {}, waitsFor: undefined } as unknown as ExportDecision;
const interval = { segment: 0 } as CommitRecord;
const unproven = { ...covered, unproven: [interval] };

describe('the next task', () => {
  test.each<readonly [string, WorkState, Partial<TaskFacts>, Task | undefined]>([
    ['an unread destination is read first', unread, {}, { kind: 'load' }],
    ['an unread destination is read even if a probe is needed', opened, { needsProbe: true }, { kind: 'load' }],
    ['nothing begins while a failure delays everything', opened, { isHeld: true }, undefined],
    ['leftovers are removed before the planning', unplanned, { isUntidy: true }, { kind: 'tidy' }],
    ['a failed destination is probed before the planning', unplanned, { needsProbe: true }, { kind: 'probe' }],
    ['a paused export writes no probe', unplanned, { needsProbe: true, isPaused: true, mayPlan: false }, undefined],
    ['an export without a plan is planned', unplanned, {}, { kind: 'plan' }],
    ['a limit prevents the planning', unplanned, { mayPlan: false }, undefined],
    [
      'records of other processes are read',
      { ...planned, records: 'old' },
      {},
      { kind: 'readRecords', isDoubted: false },
    ],
    ['doubted records are read anew', { ...planned, records: 'doubted' }, {}, { kind: 'readRecords', isDoubted: true }],
    ['searches alone run while ranges are left', planned, { decision: { ...covered, isCovered: false } }, undefined],
    ['a running search delays the manifest', planned, { decision: covered, searches: 1 }, undefined],
    [
      'a proven export gets its manifest',
      planned,
      { decision: covered },
      { kind: 'finish', coverage: covered.coverage },
    ],
    [
      'unproven intervals are proven',
      planned,
      { decision: unproven },
      { kind: 'prove', intervals: [interval], round: 1 },
    ],
    ['a wait prevents the proof', planned, { decision: { ...unproven, waitsFor: { kind: 'paused' } } }, undefined],
    ['a complete export has no task', complete, { isUntidy: true, needsProbe: true }, undefined],
  ])('%s', (_, state, more, task) => {
    const after = step(state, { kind: 'idle', facts: { ...facts, ...more } });
    expect(after.task).toEqual(task);
    const isReading = task?.kind === 'readRecords';
    expect(after.state).toEqual(isReading ? { ...state, records: 'reading' } : state);
  });
});

const ended = (task: Task['kind'], atMs = 7): WorkEvent => ({ kind: 'ended', task, atMs });
const failed = (task: Task['kind']): WorkEvent => ({ kind: 'failed', task, atMs: 7 });
const reading: PlannedState = { ...planned, records: 'reading' };
const withVerdicts = stored({ plan, verdicts: Array.from({ length: mostRounds }) });
const disorder = (atMs: number): WorkEvent => ({ kind: 'disorder', atMs });

describe('an event', () => {
  test.each<readonly [string, WorkState, WorkEvent, WorkState]>([
    ['the destination is opened', unread, { kind: 'opened', stored: empty }, opened],
    ['an empty destination is read', opened, ended('load'), unplanned],
    ['a plan is found', { ...opened, stored: withPlan }, ended('load'), { ...planned, readAtMs: 7 }],
    [
      'a user requested a check while the destination was read',
      { kind: 'unread', stored: withPlan, isDoubted: true },
      ended('load'),
      { ...planned, readAtMs: 7, records: 'doubted' },
    ],
    ['a manifest is found', { ...opened, stored: withManifest }, ended('load'), complete],
    ['the reading fails', opened, failed('load'), opened],
    [
      'a plan is written, and its other authors may have written records',
      { kind: 'unplanned', stored: withPlan },
      ended('plan'),
      { ...planned, readAtMs: 7, records: 'old' },
    ],
    ['the planning fails', unplanned, failed('plan'), unplanned],
    ['the records are read', reading, ended('readRecords'), { ...planned, readAtMs: 7 }],
    ['the records cannot be read', reading, failed('readRecords'), { ...planned, records: 'doubted' }],
    ['another process writes during the reading', reading, { kind: 'recordsWritten' }, { ...planned, records: 'old' }],
    [
      'records that were written during the reading are read next',
      { ...planned, records: 'old' },
      ended('readRecords'),
      { ...planned, records: 'old', readAtMs: 7 },
    ],
    [
      'another process writes while records are doubted',
      { ...planned, records: 'doubted' },
      { kind: 'recordsWritten' },
      { ...planned, records: 'doubted' },
    ],
    ['a round of the digest ends', planned, ended('prove'), planned],
    ['the manifest is written', { ...planned, stored: withManifest }, ended('finish'), complete],
    ['a user removed records before the manifest was written', planned, ended('finish'), planned],
    ['a user requests a check', planned, { kind: 'checkRequested' }, { ...planned, records: 'doubted' }],
    [
      'a user requests another round of the digest',
      { ...planned, stored: withVerdicts },
      { kind: 'checkRequested' },
      { ...planned, stored: withVerdicts, records: 'doubted', maxRounds: mostRounds + 1 },
    ],
    ['a user requests a check of a complete export', complete, { kind: 'checkRequested' }, complete],
    ['records have contradicted each other for a short time', planned, disorder(29_999), planned],
    [
      'records have contradicted each other for 30 seconds',
      planned,
      disorder(30_000),
      { ...planned, records: 'old', readsInDisorder: 1 },
    ],
    [
      'records contradict each other after 19 readings of their names',
      { ...planned, readsInDisorder: 19 },
      disorder(30_000),
      { ...planned, records: 'doubted', readsInDisorder: 20 },
    ],
    ['records contradict each other while they are read', reading, disorder(30_000), reading],
  ])('%s', (_, state, event, expected) => {
    expect(step(state, event)).toEqual({ state: expected });
  });
});
