/** Tests how responses, task statuses and collector lists change an upgrade attempt (U3 to U7). */
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { type Evidence, evaluateEntry, evidenceFromMs, probeIsDue } from '../../../src/policy/attempts/attempt.ts';
import type { AttemptState, Entry } from '../../../src/policy/ledger/ledger.ts';
import {
  attempt,
  endedEntry,
  entry,
  epochMs,
  evidence,
  moment,
  newerVersion,
  oldVersion,
  openEntry,
  row,
  settings,
  target,
  task,
} from './builders.ts';

const { graceMs, openLimitMs } = settings;

function settle(before: Entry, more: Partial<Evidence>, nowMs: number): Entry | undefined {
  return evaluateEntry(before, evidence(more), moment(nowMs), settings);
}

test('an entry without an open attempt is returned unchanged', () => {
  const before = endedEntry('failed');
  expect(settle(before, { row: row(target, 10), task: task() }, 20)).toBe(before);
});

describe('an intended attempt', () => {
  const before = openEntry({ state: 'intended', sinceMs: 5 });

  test('U2: stays intended while its POST is in flight', () => {
    expect(settle(before, { inFlight: true }, 10)).toBe(before);
  });

  test('U3: has an unknown outcome from now on if a former process wrote it', () => {
    expect(settle(before, {}, 10)?.open).toEqual({ ...before.open, state: 'unknown', sinceMs: 10 });
  });

  test('U3: is accepted from now on by a 202, with the id of the task', () => {
    const after = settle(before, { posted: { kind: 'accepted', taskId: '9' } }, 10);
    expect(after).toEqual({ ...before, open: { ...before.open, state: 'accepted', taskId: '9', sinceMs: 10 } });
  });

  test('U3: has an unknown outcome from now on after any other response', () => {
    const after = settle(before, { posted: { kind: 'unknown' } }, 10);
    expect(after).toEqual({ ...before, open: { ...before.open, state: 'unknown', sinceMs: 10 } });
  });

  test('U2: leaves no trace when it is withdrawn', () => {
    expect(settle(before, { posted: { kind: 'notSent' } }, 10)).toBeUndefined();
  });

  test('U2: of a retry that is withdrawn leaves the former end and the used attempts', () => {
    const failed = endedEntry('failed', {}, { used: 1 });
    const retry = { ...failed, used: 2, open: attempt({ state: 'intended' }) };
    expect(settle(retry, { posted: { kind: 'notSent' } }, 10)).toEqual(failed);
  });

  test.each(['updated', 'left'] as const)(
    'U2, U8: a withdrawn correction of an entry with the ending %s does not count as a drift',
    (kind) => {
      const before = endedEntry(kind, {}, { drifts: 1, open: attempt({ state: 'intended' }) });
      expect(settle(before, { posted: { kind: 'notSent' } }, 10)?.drifts).toBe(0);
    },
  );

  test('U7: is not ended by a listing, because it may not have been sent', () => {
    expect(settle(before, { inFlight: true, row: row(target, 100) }, 200)).toBe(before);
  });
});

describe('a probe', () => {
  const before = openEntry({ state: 'intended', probe: true, sinceMs: 5 });

  test('U3: gets its task id from a 202', () => {
    const after = settle(before, { posted: { kind: 'accepted', taskId: '9' } }, 100);
    expect(after?.open).toMatchObject({ state: 'accepted', taskId: '9', sinceMs: 100, number: 1 });
    expect(after?.used).toBe(1);
  });

  test.each([
    ['unknown', { kind: 'unknown' }],
    ['withdrawn', { kind: 'notSent' }],
  ] as const)('U3: %s leaves the attempt unknown, and used', (_, posted) => {
    const after = settle(before, { posted }, 100);
    expect(after?.open?.state).toBe('unknown');
    expect(after?.used).toBe(1);
  });
});

describe('an accepted attempt', () => {
  const before = openEntry({ state: 'accepted', sinceMs: 1_000 });
  const read = (more: Parameters<typeof task>[0]) => ({ task: task(more) });

  test('U7: ends when its task has succeeded', () => {
    const after = settle(before, read({ status: 'succeeded' }), 5_000);
    expect(after).toMatchObject({ open: undefined, used: 1, before: oldVersion });
    expect(after?.ending).toEqual({
      kind: 'updated',
      toVersion: target,
      taskId: '77',
      message: '',
      startedAtMs: epochMs,
      endedAtMs: epochMs + 5_000,
      sinceMs: 5_000,
      lastSeenAliveMs: undefined,
    });
  });

  test('ends when its task has failed, with the reason of the service', () => {
    const after = settle(before, read({ status: 'failed', message: 'disk full' }), 5_000);
    expect(after?.ending).toMatchObject({ kind: 'failed', message: 'disk full' });
  });

  test('has a message also if its task failed without one', () => {
    expect(settle(before, read({ status: 'failed' }), 5_000)?.ending?.message).toBe('the service gave no reason');
  });

  test.each(['notStarted', 'pending', 'progressing', 'unknown'] as const)(
    'a task that is %s leaves it open',
    (status) => {
      expect(settle(before, read({ status }), 5_000)).toBe(before);
    },
  );

  test.each([
    ['another collector', { collectorId: '2' }],
    ['another version', { toVersion: newerVersion }],
    ['an earlier attempt', { id: '76' }],
  ])('U4: ignores a task of %s', (_, more) => {
    expect(settle(before, read({ status: 'succeeded', ...more }), 5_000)).toBe(before);
    expect(settle(before, read({ status: 'failed', ...more }), 5_000)).toBe(before);
  });

  test.each(['077', 'task-77'])('U4: an id in another form (%s) does not contradict it', (id) => {
    expect(settle(before, read({ status: 'succeeded', id }), 5_000)?.ending?.kind).toBe('updated');
  });

  test('U7: ends by a listing that was sent after the acceptance and shows the target', () => {
    expect(settle(before, { row: row(target, 1_000) }, 5_000)?.ending?.kind).toBe('updated');
  });

  test('U7: is not ended by a listing sent before the acceptance', () => {
    expect(settle(before, { row: row(target, 999) }, 5_000)).toBe(before);
  });

  test('U7: after a takeover is ended only by a listing sent G later', () => {
    const taken = openEntry({ sinceMs: 1_000, needsGrace: true });
    expect(settle(taken, { row: row(target, 1_000 + graceMs - 1) }, 2 * graceMs)).toBe(taken);
    expect(settle(taken, { row: row(target, 1_000 + graceMs) }, 2 * graceMs)?.ending?.kind).toBe('updated');
  });

  test('U7: is not ended early by its absence from the listing', () => {
    expect(settle(before, { sweptSinceMs: 4_000 }, 5_000)).toBe(before);
  });

  test('stays open while the collector runs another version than the former one and the target', () => {
    expect(settle(before, { row: row(newerVersion, 4_000) }, 5_000)).toBe(before);
  });
});

describe('an attempt with unknown outcome', () => {
  const before = openEntry({ state: 'unknown', sinceMs: 1_000 });

  test('U3: ends by a listing sent G later that shows the target', () => {
    expect(settle(before, { row: row(target, 1_000 + graceMs) }, 2 * graceMs)?.ending?.kind).toBe('updated');
  });

  test('U3: is not ended by a listing sent earlier', () => {
    expect(settle(before, { row: row(target, 1_000 + graceMs - 1) }, 2 * graceMs)).toBe(before);
  });

  test('U3: stays open, for a probe, while a listing shows the former version', () => {
    expect(settle(before, { row: row(oldVersion, 1_000 + graceMs) }, 2 * graceMs)).toBe(before);
  });

  test('is not changed by the status of a task, because it has no task id', () => {
    expect(settle(before, { task: task({ status: 'succeeded' }) }, 5_000)).toBe(before);
  });
});

describe('U5: an attempt 35 minutes after its acceptance, adoption or takeover', () => {
  const limitMs = 1_000 + openLimitMs;
  const states: readonly AttemptState[] = ['accepted', 'unknown', 'adopted'];

  test.each(states)('%s stays open one millisecond earlier', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    expect(settle(before, { row: row(oldVersion, limitMs - 1), sweptSinceMs: limitMs - 1 }, limitMs - 1)).toBe(before);
  });

  test.each(states)('%s is timed out by a fresh listing at the old version', (state) => {
    const before = openEntry({ state, sinceMs: 1_000, probe: state === 'unknown' });
    const after = settle(before, { row: row(oldVersion, limitMs) }, limitMs);
    expect(after).toMatchObject({ open: undefined, used: 1 });
    expect(after?.ending).toMatchObject({ kind: 'timedOut', message: 'the upgrade did not end within 35 minutes' });
  });

  test('unknown is forgotten at the old version if its request was not repeated', () => {
    const before = openEntry({ state: 'unknown', sinceMs: 1_000 });
    expect(settle(before, { row: row(oldVersion, limitMs) }, limitMs)).toBeUndefined();
  });

  test.each(states)('%s is updated by a fresh listing at the target', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    expect(settle(before, { row: row(target, limitMs) }, limitMs)?.ending?.kind).toBe('updated');
  });

  test.each(states)('%s waits for a listing that is fresh', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    expect(settle(before, { row: row(oldVersion, limitMs - 1) }, limitMs + minuteMs)).toBe(before);
  });

  test.each(states)('%s is forgotten when the collector is gone from a fresh listing', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    expect(settle(before, { sweptSinceMs: limitMs }, limitMs + minuteMs)).toBeUndefined();
    expect(settle(before, { sweptSinceMs: limitMs - 1 }, limitMs + minuteMs)).toBe(before);
  });

  test('a task with an unknown code, or without a known status, times out', () => {
    const before = openEntry({ sinceMs: 1_000 });
    for (const reading of [undefined, task({ status: 'unknown' })]) {
      const after = settle(before, { task: reading, row: row(oldVersion, limitMs) }, limitMs);
      expect(after?.ending?.kind).toBe('timedOut');
    }
  });

  test('the status of an ended task still decides the outcome', () => {
    const reading = task({ status: 'succeeded' });
    const after = settle(openEntry({ sinceMs: 1_000 }), { task: reading, row: row(oldVersion, limitMs) }, limitMs);
    expect(after?.ending?.kind).toBe('updated');
  });

  test('U7: with a single build, a collector that no listing shows is not observable', () => {
    const before = openEntry({ sinceMs: 1_000 });
    const unseen = { observable: false, row: row(oldVersion, 500), sweptSinceMs: limitMs };
    expect(settle(before, unseen, limitMs + 1)?.ending?.kind).toBe('unobservable');
    expect(settle(before, { ...unseen, row: undefined }, limitMs + 1)?.ending?.kind).toBe('unobservable');
  });

  test('U7: a rollback from a build that no listing shows does not count as a removal of the collector', () => {
    const back = openEntry({ sinceMs: 1_000 }, { isRollback: true });
    const unseen = { showsOrigin: false, sweptSinceMs: limitMs };
    expect(settle(back, unseen, limitMs + 1)).toMatchObject({ isRollback: true, ending: { kind: 'timedOut' } });
    expect(settle(back, { ...unseen, showsOrigin: true }, limitMs + 1)).toBeUndefined();
  });

  test('U5, U7: with a single build, a new listing decides as well', () => {
    const before = openEntry({ sinceMs: 1_000 });
    const stale = { observable: false, row: row(oldVersion, 500), sweptSinceMs: limitMs - 1 };
    expect(settle(before, stale, limitMs + 1)).toBe(before);
    const shown = { observable: false, row: row(oldVersion, limitMs), sweptSinceMs: limitMs };
    expect(settle(before, shown, limitMs + 1)?.ending?.kind).toBe('timedOut');
  });
});

describe('U10: an upgrade that another tool started', () => {
  const before = openEntry({ state: 'adopted', ours: false, sinceMs: 1_000 }, { used: 0 });
  const limitMs = 1_000 + openLimitMs;

  test('is open while listings show the former version', () => {
    expect(settle(before, { row: row(oldVersion, 5_000) }, 6_000)).toBe(before);
  });

  test('has succeeded when a new listing shows the target', () => {
    expect(settle(before, { row: row(target, 5_000) }, 6_000)).toMatchObject({ used: 0, ending: { kind: 'updated' } });
  });

  test('is removed when it led to another version', () => {
    expect(settle(before, { row: row(newerVersion, 5_000) }, 6_000)).toBeUndefined();
  });

  test('to the former version, during a rollback, is open while listings show the target', () => {
    const rollback = openEntry({ ...before.open, toVersion: oldVersion }, { isRollback: true });
    expect(settle(rollback, { row: row(target, 5_000) }, 6_000)).toBe(rollback);
  });

  test('is not judged by a listing sent before the adoption', () => {
    expect(settle(before, { row: row(newerVersion, 999) }, 6_000)).toBe(before);
  });

  test('counts neither as a failure nor as an attempt when its end is unknown', () => {
    expect(settle(before, { row: row(oldVersion, limitMs) }, limitMs)).toBeUndefined();
  });

  test('leaves an earlier failure unchanged', () => {
    const failed = endedEntry('failed', {}, { used: 1 });
    const adopted = { ...failed, open: attempt({ state: 'adopted', ours: false, sinceMs: 1_000 }) };
    expect(settle(adopted, { row: row(oldVersion, limitMs) }, limitMs)).toEqual(failed);
  });

  test('with an unknown former version waits for its time limit', () => {
    const blind = { ...before, before: undefined };
    expect(settle(blind, { row: row(newerVersion, 5_000) }, 6_000)).toBe(blind);
    expect(settle(blind, { row: row(newerVersion, limitMs) }, limitMs)).toBeUndefined();
  });
});

describe('U3: a probe is due', () => {
  const unknown = attempt({ state: 'unknown', sinceMs: 1_000 });
  const from = 1_000 + graceMs;

  test.each([
    ['with a listing sent G later at the old version', unknown, row(oldVersion, from), true],
    ['with such a listing at the version of another tool', unknown, row(newerVersion, from), true],
    ['not with a listing sent earlier', unknown, row(oldVersion, from - 1), false],
    ['not at the target', unknown, row(target, from), false],
    ['not without a row in the listing', unknown, undefined, false],
    ['not for an accepted attempt', attempt({ sinceMs: 1_000 }), row(oldVersion, from), false],
    ['not for an intended attempt', attempt({ state: 'intended', sinceMs: 1_000 }), row(oldVersion, from), false],
    ['not for an adopted one', attempt({ state: 'adopted', sinceMs: 1_000 }), row(oldVersion, from), false],
  ])('%s', (_, open, shown, due) => {
    expect(probeIsDue(open, shown, settings)).toBe(due);
  });

  test('only when the collector has been alive since the service refused the last probe because it was not', () => {
    const silent = { ...unknown, silentSinceMs: 700 };
    const due = (lastSeenAliveMs: number) => probeIsDue(silent, row(oldVersion, from, { lastSeenAliveMs }), settings);
    expect([700, 701].map(due)).toEqual([false, true]);
  });
});

test('U3: after a probe, only a listing sent G later is evidence', () => {
  expect(evidenceFromMs(attempt({ state: 'unknown', sinceMs: 500, probedAtMs: 900 }), settings)).toBe(900 + graceMs);
});

test.each([true, false])(
  'U10, U11: a running upgrade belongs to this attempt if its probe found it (probe: %s)',
  (probe) => {
    const before = openEntry({ state: 'intended', sinceMs: 5, probe });
    const posted = { kind: 'refused', serviceCode: 'collector.in.upgrading', message: 'busy' } as const;
    const after = settle(before, { posted }, 100);
    expect(after?.open).toMatchObject({ state: 'adopted', ours: probe, sinceMs: 100 });
    expect(after?.used).toBe(probe ? 1 : 0);
  },
);

test.each([
  ['accepted', false, 0],
  ['accepted', true, graceMs],
  ['adopted', false, 0],
  ['unknown', false, graceMs],
  ['unknown', true, graceMs],
] as const)('U3, U7: %s (takeover: %s) takes listings sent %d ms later as evidence', (state, needsGrace, laterMs) => {
  expect(evidenceFromMs(attempt({ state, needsGrace, sinceMs: 500 }), settings)).toBe(500 + laterMs);
});

test('U5: the end of an attempt keeps the other data of the entry', () => {
  const before = openEntry({ sinceMs: 0 }, { used: 2, drifts: 1 });
  const after = settle(before, { task: task({ status: 'failed' }) }, 10);
  expect(after).toMatchObject({ collectorId: '1', before: oldVersion, used: 2, drifts: 1 });
  expect(entry()).toMatchObject({ collectorId: '1' });
});
