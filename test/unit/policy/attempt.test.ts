/**
 * Tests of the states of an upgrade attempt: for each state and each kind of evidence, how the attempt changes (U3 to U7).
 * Refused requests are tested in `refusals.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import { type Evidence, evidenceFromMs, probeIsDue, settleEntry } from '../../../src/policy/attempts/attempt.ts';
import type { AttemptState, Entry } from '../../../src/policy/ledger/ledger.ts';
import {
  attempt,
  endedEntry,
  entry,
  epochMs,
  evidence,
  minuteMs,
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
  return settleEntry(before, evidence(more), moment(nowMs), settings);
}

test('an entry without an open attempt stays the very same', () => {
  const before = endedEntry('failed');
  expect(settle(before, { row: row(target, 10), task: task() }, 20)).toBe(before);
});

describe('intended', () => {
  const before = openEntry({ state: 'intended', sinceMs: 5 });

  test('U2: stays while its POST is on its way', () => {
    expect(settle(before, { inFlight: true }, 10)).toBe(before);
  });

  test('U3: is unknown when a process that is no more wrote it, from now on', () => {
    expect(settle(before, {}, 10)?.open).toEqual({ ...before.open, state: 'unknown', sinceMs: 10 });
  });

  test('U3: is accepted by a 202, with its id, from now on', () => {
    const after = settle(before, { posted: { kind: 'accepted', taskId: '9' } }, 10);
    expect(after).toEqual({ ...before, open: { ...before.open, state: 'accepted', taskId: '9', sinceMs: 10 } });
  });

  test('U3: is unknown after anything else, from now on', () => {
    const after = settle(before, { posted: { kind: 'unknown', message: 'reset' } }, 10);
    expect(after).toEqual({ ...before, open: { ...before.open, state: 'unknown', sinceMs: 10 } });
  });

  test('U2: is as if it had never been when it was withdrawn', () => {
    expect(settle(before, { posted: { kind: 'notSent' } }, 10)).toBeUndefined();
  });

  test('U2: a withdrawn retry leaves the ending and the attempts of before', () => {
    const failed = endedEntry('failed', {}, { used: 1 });
    const retry = { ...failed, used: 2, open: attempt({ state: 'intended' }) };
    expect(settle(retry, { posted: { kind: 'notSent' } }, 10)).toEqual(failed);
  });

  test.each(['updated', 'left'] as const)(
    'U2, U8: a withdrawn correction of who %s does not count as a drift',
    (kind) => {
      const before = endedEntry(kind, {}, { drifts: 1, open: attempt({ state: 'intended' }) });
      expect(settle(before, { posted: { kind: 'notSent' } }, 10)?.drifts).toBe(0);
    },
  );

  test('U7: no listing ends it, since it may not have been sent', () => {
    expect(settle(before, { inFlight: true, row: row(target, 100) }, 200)).toBe(before);
  });
});

describe('a probe', () => {
  const before = openEntry({ state: 'intended', probe: true, sinceMs: 5 });

  test('U3: 202 gives the id', () => {
    const after = settle(before, { posted: { kind: 'accepted', taskId: '9' } }, 100);
    expect(after?.open).toMatchObject({ state: 'accepted', taskId: '9', sinceMs: 100, number: 1 });
    expect(after?.used).toBe(1);
  });

  test.each([
    ['unknown', { kind: 'unknown', message: 'reset' }],
    ['withdrawn', { kind: 'notSent' }],
  ] as const)('U3: %s leaves the attempt unknown, and used', (_, posted) => {
    const after = settle(before, { posted }, 100);
    expect(after?.open?.state).toBe('unknown');
    expect(after?.used).toBe(1);
  });
});

describe('accepted', () => {
  const before = openEntry({ state: 'accepted', sinceMs: 1_000 });
  const read = (more: Parameters<typeof task>[0]) => ({ task: task(more) });

  test('U7: its task says that it succeeded', () => {
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

  test('its task says that it failed, and why', () => {
    const after = settle(before, read({ status: 'failed', message: 'disk full' }), 5_000);
    expect(after?.ending).toMatchObject({ kind: 'failed', message: 'disk full' });
  });

  test('a failure without a message still says something', () => {
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
  ])('U4: a task of %s is not believed', (_, more) => {
    expect(settle(before, read({ status: 'succeeded', ...more }), 5_000)).toBe(before);
    expect(settle(before, read({ status: 'failed', ...more }), 5_000)).toBe(before);
  });

  test.each(['077', 'task-77'])('U4: an id in another form (%s) says nothing against it', (id) => {
    expect(settle(before, read({ status: 'succeeded', id }), 5_000)?.ending?.kind).toBe('updated');
  });

  test('U7: a listing sent after the acceptance shows the target', () => {
    expect(settle(before, { row: row(target, 1_000) }, 5_000)?.ending?.kind).toBe('updated');
  });

  test('U7: a listing sent before the acceptance proves nothing', () => {
    expect(settle(before, { row: row(target, 999) }, 5_000)).toBe(before);
  });

  test('U7: after a takeover only a listing sent G later is evidence', () => {
    const taken = openEntry({ sinceMs: 1_000, needsGrace: true });
    expect(settle(taken, { row: row(target, 1_000 + graceMs - 1) }, 2 * graceMs)).toBe(taken);
    expect(settle(taken, { row: row(target, 1_000 + graceMs) }, 2 * graceMs)?.ending?.kind).toBe('updated');
  });

  test('U7: absence from the listing proves nothing before its time', () => {
    expect(settle(before, { sweptSinceMs: 4_000 }, 5_000)).toBe(before);
  });

  test('another version than before and the target leaves it open', () => {
    expect(settle(before, { row: row(newerVersion, 4_000) }, 5_000)).toBe(before);
  });
});

describe('unknown', () => {
  const before = openEntry({ state: 'unknown', sinceMs: 1_000 });

  test('U3: a listing sent G later shows the target', () => {
    expect(settle(before, { row: row(target, 1_000 + graceMs) }, 2 * graceMs)?.ending?.kind).toBe('updated');
  });

  test('U3: a listing sent earlier proves nothing', () => {
    expect(settle(before, { row: row(target, 1_000 + graceMs - 1) }, 2 * graceMs)).toBe(before);
  });

  test('U3: a listing at the old version leaves it open, for a probe', () => {
    expect(settle(before, { row: row(oldVersion, 1_000 + graceMs) }, 2 * graceMs)).toBe(before);
  });

  test('a task reading says nothing about it, since it has no id', () => {
    expect(settle(before, { task: task({ status: 'succeeded' }) }, 5_000)).toBe(before);
  });
});

describe('U5: 35 minutes after its acceptance, adoption or takeover', () => {
  const limitMs = 1_000 + openLimitMs;
  const states: readonly AttemptState[] = ['accepted', 'unknown', 'adopted'];

  test.each(states)('%s stays open one millisecond earlier', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    expect(settle(before, { row: row(oldVersion, limitMs - 1), sweptSinceMs: limitMs - 1 }, limitMs - 1)).toBe(before);
  });

  test.each(states)('%s is timed out by a fresh listing at the old version', (state) => {
    const before = openEntry({ state, sinceMs: 1_000 });
    const after = settle(before, { row: row(oldVersion, limitMs) }, limitMs);
    expect(after).toMatchObject({ open: undefined, used: 1 });
    expect(after?.ending).toMatchObject({ kind: 'timedOut', message: 'the upgrade did not end within 35 minutes' });
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

  test('it covers a task of unknown code, and one that was not read', () => {
    const before = openEntry({ sinceMs: 1_000 });
    for (const reading of [undefined, task({ status: 'unknown' })]) {
      const after = settle(before, { task: reading, row: row(oldVersion, limitMs) }, limitMs);
      expect(after?.ending?.kind).toBe('timedOut');
    }
  });

  test('a task that ended says so even then', () => {
    const reading = task({ status: 'succeeded' });
    const after = settle(openEntry({ sinceMs: 1_000 }), { task: reading, row: row(oldVersion, limitMs) }, limitMs);
    expect(after?.ending?.kind).toBe('updated');
  });

  test('U7: with a single build, who cannot be seen by then is not observable', () => {
    const before = openEntry({ sinceMs: 1_000 });
    const unseen = { observable: false, row: row(oldVersion, 500), sweptSinceMs: limitMs };
    expect(settle(before, unseen, limitMs + 1)?.ending?.kind).toBe('unobservable');
    expect(settle(before, { ...unseen, row: undefined }, limitMs + 1)?.ending?.kind).toBe('unobservable');
  });

  test('U7: a collector that sets out from a build that no listing shows is not gone for having no row', () => {
    const back = openEntry({ sinceMs: 1_000 }, { back: true });
    const unseen = { showsOrigin: false, sweptSinceMs: limitMs };
    expect(settle(back, unseen, limitMs + 1)).toMatchObject({ back: true, ending: { kind: 'timedOut' } });
    expect(settle(back, { ...unseen, showsOrigin: true }, limitMs + 1)).toBeUndefined();
  });

  test('U5, U7: with a single build, too, the judge is a fresh listing', () => {
    const before = openEntry({ sinceMs: 1_000 });
    const stale = { observable: false, row: row(oldVersion, 500), sweptSinceMs: limitMs - 1 };
    expect(settle(before, stale, limitMs + 1)).toBe(before);
    const shown = { observable: false, row: row(oldVersion, limitMs), sweptSinceMs: limitMs };
    expect(settle(before, shown, limitMs + 1)?.ending?.kind).toBe('timedOut');
  });
});

describe('U10: an upgrade that somebody else started', () => {
  const before = openEntry({ state: 'adopted', ours: false, sinceMs: 1_000 }, { used: 0 });
  const limitMs = 1_000 + openLimitMs;

  test('is open while the old version shows', () => {
    expect(settle(before, { row: row(oldVersion, 5_000) }, 6_000)).toBe(before);
  });

  test('has ended well when a fresh listing shows our target', () => {
    expect(settle(before, { row: row(target, 5_000) }, 6_000)).toMatchObject({ used: 0, ending: { kind: 'updated' } });
  });

  test('is forgotten when it led elsewhere', () => {
    expect(settle(before, { row: row(newerVersion, 5_000) }, 6_000)).toBeUndefined();
  });

  test('is not judged by a listing sent before the adoption', () => {
    expect(settle(before, { row: row(newerVersion, 999) }, 6_000)).toBe(before);
  });

  test('is neither a failure nor an attempt when it has no end', () => {
    expect(settle(before, { row: row(oldVersion, limitMs) }, limitMs)).toBeUndefined();
  });

  test('leaves the failure of before as it was', () => {
    const failed = endedEntry('failed', {}, { used: 1 });
    const adopted = { ...failed, open: attempt({ state: 'adopted', ours: false, sinceMs: 1_000 }) };
    expect(settle(adopted, { row: row(oldVersion, limitMs) }, limitMs)).toEqual(failed);
  });

  test('with an unknown version before, waits for its time', () => {
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
    ['with such a listing at a version of somebody else', unknown, row(newerVersion, from), true],
    ['not with a listing sent earlier', unknown, row(oldVersion, from - 1), false],
    ['not at the target', unknown, row(target, from), false],
    ['not without a row', unknown, undefined, false],
    ['not for an accepted attempt', attempt({ sinceMs: 1_000 }), row(oldVersion, from), false],
    ['not for an intended attempt', attempt({ state: 'intended', sinceMs: 1_000 }), row(oldVersion, from), false],
    ['not for an adopted one', attempt({ state: 'adopted', sinceMs: 1_000 }), row(oldVersion, from), false],
  ])('%s', (_, open, shown, due) => {
    expect(probeIsDue(open, shown, settings)).toBe(due);
  });
});

test.each([
  ['accepted', false, 0],
  ['accepted', true, graceMs],
  ['adopted', false, 0],
  ['unknown', false, graceMs],
  ['unknown', true, graceMs],
] as const)('U3, U7: %s (takeover: %s) takes listings sent %d ms later as evidence', (state, needsGrace, laterMs) => {
  expect(evidenceFromMs(attempt({ state, needsGrace, sinceMs: 500 }), settings)).toBe(500 + laterMs);
});

test('U5: an entry keeps what it knew when its attempt ends', () => {
  const before = openEntry({ sinceMs: 0 }, { used: 2, drifts: 1 });
  const after = settle(before, { task: task({ status: 'failed' }) }, 10);
  expect(after).toMatchObject({ collectorId: '1', before: oldVersion, used: 2, drifts: 1 });
  expect(entry()).toMatchObject({ collectorId: '1' });
});
