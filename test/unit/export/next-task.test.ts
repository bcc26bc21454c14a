import { describe, expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import type { ExportDecision } from '../../../src/export/work/export-decision.ts';
import { nextTask, type Task, type TaskFacts } from '../../../src/export/work/next-task.ts';

const current = { recordsState: 'current', isUntidy: false, verdicts: [] } as const;
const loading: TaskFacts['stored'] = { ...current, stage: 'loading' };
const planning: TaskFacts['stored'] = { ...current, stage: 'planning' };
const planned: TaskFacts['stored'] = { ...current, stage: 'planned' };
const complete: TaskFacts['stored'] = { ...current, stage: 'complete' };

const facts: Omit<TaskFacts, 'stored'> = {
  ...{
    isHeld: false,
    needsProbe: false,
    isPaused: false,
    mayPlan: true,
    awaitsPlan: false,
    isOutdated: false,
    decision: undefined,
    searches: 0,
  },
};
const covered = { isCovered: true, unproven: [], coverage: {}, waitsFor: undefined } as unknown as ExportDecision;
const interval = { segment: 0 } as CommitRecord;
const unproven = { ...covered, unproven: [interval] };

describe('the next task', () => {
  test.each<readonly [string, TaskFacts['stored'], Partial<TaskFacts>, Task | undefined]>([
    ['an unread destination is read first', loading, {}, { kind: 'load' }],
    ['an unread destination is read even if a probe is needed', loading, { needsProbe: true }, { kind: 'load' }],
    ['nothing begins while a failure delays everything', loading, { isHeld: true }, undefined],
    ['leftovers are removed before the planning', { ...planning, isUntidy: true }, {}, { kind: 'tidy' }],
    ['a failed destination is probed before the planning', planning, { needsProbe: true }, { kind: 'probe' }],
    ['a paused export writes no probe', planning, { needsProbe: true, isPaused: true, mayPlan: false }, undefined],
    ['an export without a plan is planned', planning, {}, { kind: 'plan' }],
    ['a worker leaves the planning to the first worker', planning, { awaitsPlan: true }, undefined],
    ['a worker reads the plan of the first worker', planning, { awaitsPlan: true, isOutdated: true }, { kind: 'load' }],
    ['a limit prevents the planning', planning, { mayPlan: false }, undefined],
    ['records of other processes are read', { ...planned, recordsState: 'old' }, {}, { kind: 'readRecords' }],
    ['doubted records are read anew', { ...planned, recordsState: 'doubted' }, {}, { kind: 'readRecords' }],
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
    ['a complete export has no task', { ...complete, isUntidy: true }, { needsProbe: true }, undefined],
  ])('%s', (_, stored, more, task) => {
    expect(nextTask({ ...facts, ...more, stored })).toEqual(task);
  });
});
