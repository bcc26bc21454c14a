/** Tests the annotations by which users act on a rollout. Each value takes effect once. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { LedgerHeader } from '../../../src/policy/ledger/ledger.ts';
import { applyAnnotations, newRequest } from '../../../src/policy/rollout/annotation-actions.ts';
import { epochMs, header, policy, target } from './builders.ts';

const rolloutId = `1-${target}`;
const laterMs = epochMs + 60_000;
const stages = [
  { name: 'canary', soakDuration: '0s' },
  { name: 'rest', soakDuration: '0s', approval: 'Required' },
] as const;
const spec = { strategy: { maxInProgress: 1_000, order: 'Name', stages } } as const;

function applied(values: Readonly<Record<string, string>>, before: Partial<LedgerHeader> = {}, more: object = {}) {
  return applyAnnotations(policy({ spec, metadata: { annotations: values, ...more } }), header(before), laterMs);
}

const stop = { kind: 'failures', message: 'Too many.', atMs: 1 } as const;

test('without annotations, the header is the same object', () => {
  const before = header();
  expect(applyAnnotations(policy({ spec }), before, laterMs)).toEqual({ header: before, retried: false });
  expect(applyAnnotations(policy({ spec }), before, laterMs).header).toBe(before);
});

describe('approve', () => {
  test('records the stage as approved', () => {
    const { header } = applied({ [annotations.approve]: `${rolloutId}/rest` });
    expect(header).toMatchObject({
      approved: ['rest'],
      actions: [{ action: 'Approve', stage: 'rest', atMs: laterMs }],
    });
  });

  test('works for a stage before its turn, and for several stages one after another', () => {
    const { header } = applied({ [annotations.approve]: `${rolloutId}/canary` }, { approved: ['rest'] });
    expect(header.approved).toEqual(['rest', 'canary']);
  });

  test('ends the stop of an inconclusive stage, which an outdated status then does not restore', () => {
    const started = { name: 'canary', startedAtMs: epochMs, soakMs: 0, tally: { finished: 1, failed: 0 } };
    const inconclusive = {
      kind: 'inconclusive',
      message: 'No member is left.',
      atMs: epochMs,
      stage: 'canary',
    } as const;
    const before = { stop: inconclusive, stages: [started] };
    const { header } = applied({ [annotations.approve]: `${rolloutId}/canary` }, before);
    expect(header.stop).toBeUndefined();
    expect(header.stages).toEqual([{ ...started, endedAtMs: laterMs }]);
    expect(header.handled).toMatchObject({ liftedAtMs: inconclusive.atMs });
  });

  test.each([
    ['of another rollout', `2-${target}/rest`],
    ['of the former rollout to the same version', `0-${target}/rest`],
    ['of a stage that does not exist', `${rolloutId}/beta`],
    ['without a stage', rolloutId],
    ['of nothing', ''],
    ['approved before', `${rolloutId}/rest`],
  ])('a value %s does nothing', (what, value) => {
    const before = what === 'approved before' ? { approved: ['rest'] } : {};
    expect(applied({ [annotations.approve]: value }, before).header).toEqual(header(before));
  });
});

describe.each([
  ['retry', annotations.retry, 'Retry'],
  ['abort', annotations.abort, 'Abort'],
] as const)('%s', (name, annotation, action) => {
  test.each([rolloutId, `${rolloutId}/2026-11-01T00:00:00Z`])('%s has an effect once', (value) => {
    const first = applied({ [annotation]: value });
    expect(first.header).toMatchObject({ handled: { [name]: value }, actions: [{ action }] });
    const again = applied({ [annotation]: value }, first.header);
    expect(again.header).toEqual(first.header);
    expect(again.retried).toBe(false);
  });

  test('another value for the same rollout has an effect again', () => {
    const { header } = applied({ [annotation]: `${rolloutId}/b` }, { handled: { [name]: `${rolloutId}/a` } });
    expect(header.actions).toMatchObject([{ action }]);
  });

  test('a value that is restored after another value has no effect again (R9)', () => {
    let one = applied({ [annotation]: `${rolloutId}/first` });
    one = applied({ [annotation]: `${rolloutId}/second` }, one.header);
    expect(one.header.actions).toHaveLength(2);
    expect(applied({ [annotation]: `${rolloutId}/first` }, one.header).header).toEqual(one.header);
  });

  test.each([`2-${target}`, `0-${target}/x`, '', 'yes', `${rolloutId}x`])('%s has no effect', (value) => {
    expect(applied({ [annotation]: value }, { stop }).header).toEqual(header({ stop }));
  });
});

test('an approval that is restored after a rollback and a retry has no effect (R4, R9)', () => {
  const approve = (stage: string) => ({ [annotations.approve]: `${rolloutId}/${stage}` });
  const canary = applied(approve('canary')).header;
  const rest = applied(approve('rest'), canary).header;
  const rolledBack = { ...rest, stop: { ...stop, kind: 'rollback' } } as const;
  const retried = applied({ ...approve('rest'), [annotations.retry]: rolloutId }, rolledBack).header;
  expect(retried.approved).toBeUndefined();
  expect(applied(approve('canary'), retried).header.approved).toBeUndefined();
  expect(applied(approve('canary/again'), retried).header.approved).toEqual(['canary']);
});

test('retry ends a stop of any kind', () => {
  for (const kind of ['failures', 'rollback', 'abort'] as const) {
    const { header, retried } = applied({ [annotations.retry]: rolloutId }, { stop: { ...stop, kind } });
    expect(header.stop).toBeUndefined();
    expect(retried).toBe(true);
  }
});

test('abort replaces another stop, and ends a rollback', () => {
  const { header } = applied({ [annotations.abort]: rolloutId }, { stop: { ...stop, kind: 'rollback' } });
  expect(header.stop).toEqual({ kind: 'abort', message: 'Aborted by a person.', atMs: laterMs });
});

test('a retry after an aborted rollback begins with the first stage', () => {
  const started = [{ name: 'canary', startedAtMs: 1, soakMs: 0, tally: { finished: 0, failed: 0 } }];
  const before = { stop: { ...stop, kind: 'rollback' }, stages: started, approved: ['rest'] } as const;
  const aborted = applied({ [annotations.abort]: rolloutId }, before).header;
  const { header } = applied({ [annotations.retry]: rolloutId }, aborted);
  expect(header).toMatchObject({ unproven: true, unprovenSinceMs: epochMs });
  expect([header.stop, header.stages, header.approved]).toEqual([undefined, undefined, undefined]);
});

test('a second rollback does not change when the rollout first became unproven', () => {
  const before = { stop: { ...stop, kind: 'rollback' }, unproven: true, unprovenSinceMs: 7 } as const;
  expect(applied({ [annotations.retry]: rolloutId }, before).header.unprovenSinceMs).toBe(7);
});

test('a retry records which stop it has ended', () => {
  expect(applied({ [annotations.retry]: rolloutId }, { stop }).header.handled).toMatchObject({ liftedAtMs: stop.atMs });
});

test('the approval of another stage does not resume an inconclusive rollout', () => {
  const before = { stop: { ...stop, kind: 'inconclusive', stage: 'canary' }, stages: [] } as const;
  const { header } = applied({ [annotations.approve]: `${rolloutId}/rest` }, before);
  expect(header).toMatchObject({ approved: ['rest'], stop: { kind: 'inconclusive' } });
});

describe('a retry and an abort that are read together are both recorded, and only one has an effect:', () => {
  const at = (second: number) => `${rolloutId}/2026-11-01T00:00:0${second}Z`;
  const both = (retry: string, abort: string, before: Partial<LedgerHeader> = {}) =>
    applied({ [annotations.retry]: retry, [annotations.abort]: abort }, before);

  test.each<[string, Parameters<typeof both>, string]>([
    ['the retry, if the times of the commands say so', [at(2), at(1)], 'Abort, Retry'],
    ['the abort, if the times of the commands say so', [at(1), at(2)], 'Retry, Abort'],
    ['the abort, if only one value contains a time', [at(2), rolloutId], 'Retry, Abort'],
    ['the abort, if no value contains a time', [rolloutId, rolloutId], 'Retry, Abort'],
    ['the abort, if the suffixes are not times', [`${rolloutId}/again-2`, `${rolloutId}/1`], 'Retry, Abort'],
  ])('%s', (_, asked, order) => {
    const { header, retried } = both(...asked);
    expect(header.actions?.map(({ action }) => action).join(', ')).toBe(order);
    expect(header.stop?.kind).toBe(order.endsWith('Abort') ? 'abort' : undefined);
    expect(retried).toBe(true);
  });

  test('a value that had its effect before does not count again', () => {
    const { header } = both(at(2), at(1), { handled: { retry: at(2) } });
    expect(header).toMatchObject({ actions: [{ action: 'Abort' }], stop: { kind: 'abort' } });
  });
});

describe('pause and resume', () => {
  test('are recorded once each', () => {
    const paused = applied({ [annotations.paused]: 'true' }).header;
    expect(paused).toMatchObject({ actions: [{ action: 'Pause' }] });
    expect(applied({ [annotations.paused]: 'true' }, paused).header).toEqual(paused);
    const resumed = applied({}, paused).header;
    expect(resumed).toMatchObject({ actions: [{ action: 'Pause' }, { action: 'Resume' }] });
    expect(applied({}, resumed).header).toEqual(resumed);
  });
});

describe('author and time of an action', () => {
  const writer = { by: 'kubectl-annotate', atMs: epochMs + 30_000 };

  test.each([
    ['Approve', annotations.approve, `${rolloutId}/rest`],
    ['Retry', annotations.retry, rolloutId],
    ['Abort', annotations.abort, rolloutId],
    ['Pause', annotations.paused, 'true'],
  ])('%s: come from the API server', (action, annotation, value) => {
    const { header } = applied({ [annotation]: value }, {}, { annotationWriters: { [annotation]: writer } });
    expect(header.actions).toMatchObject([{ action, ...writer }]);
  });

  test('are absent and the time of reading, if the API server does not name them', () => {
    const { header } = applied({ [annotations.abort]: rolloutId });
    expect(header.actions).toEqual([{ action: 'Abort', atMs: laterMs, value: rolloutId }]);
  });

  test('the last 20 actions are kept', () => {
    const actions = Array.from({ length: 20 }, (_, atMs) => ({ action: 'Abort', atMs }) as const);
    const { header } = applied({ [annotations.retry]: rolloutId }, { actions });
    expect(header.actions).toHaveLength(20);
    expect(header.actions?.at(0)?.atMs).toBe(1);
    expect(header.actions?.at(-1)?.action).toBe('Retry');
  });

  test('the newest approval of each stage and the newest retry are always kept', () => {
    const approved = (stage: string, atMs: number) => ({ action: 'Approve', stage, atMs }) as const;
    const retried = (atMs: number) => ({ action: 'Retry', atMs }) as const;
    let before: Partial<LedgerHeader> = {
      actions: [approved('rest', 1), retried(2), approved('rest', 3), approved('canary', 4), retried(5)],
      approved: ['rest', 'canary'],
    };
    for (let times = 0; times < 30; times++) {
      before = applied({ [annotations.abort]: `${rolloutId}/${times}` }, before).header;
    }
    expect(before.actions).toHaveLength(20);
    expect(before.actions?.slice(0, 3)).toEqual([approved('rest', 3), approved('canary', 4), retried(5)]);
    expect(before.actions?.slice(3).every(({ action }) => action === 'Abort')).toBe(true);
  });

  test('are kept during many pauses, so that an old value has no effect again (R9)', () => {
    const abort = (suffix: string) => ({ [annotations.abort]: `${rolloutId}/${suffix}` });
    let before = applied(abort('second'), applied(abort('first')).header).header;
    for (let times = 0; times < 30; times++) {
      before = applied({ [annotations.paused]: times % 2 === 0 ? 'true' : 'false' }, before).header;
    }
    expect(before.actions).toHaveLength(20);
    expect(applied(abort('first'), before).header).toEqual(before);
  });
});

test.each([
  [rolloutId, undefined, true],
  [`${rolloutId}/b`, `${rolloutId}/a`, true],
  [rolloutId, rolloutId, false],
  [`2-${target}`, undefined, false],
])('U2: %s, with %s handled, aborts before a POST: %s', (value, abort, expected) => {
  const asking = policy({ metadata: { annotations: { [annotations.abort]: value } } });
  const handled = header(abort === undefined ? {} : { handled: { abort } });
  expect(newRequest(asking.metadata, 'abort', handled) !== undefined).toBe(expected);
});
