/** Tests upgrade requests that the service refuses (U11). */
import { describe, expect, test } from 'vitest';
import { type Evidence, evaluateEntry, evidenceFromMs, probeIsDue } from '../../../src/policy/attempts/attempt.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import { attempt, endedEntry, evidence, moment, oldVersion, openEntry, row, settings, target } from './builders.ts';

const { graceMs, openLimitMs } = settings;

function refuse(before: Entry, serviceCode: string, nowMs: number, more: Partial<Evidence> = {}): Entry | undefined {
  const posted = { kind: 'refused', serviceCode, message: `refused: ${serviceCode}` } as const;
  return evaluateEntry(before, evidence({ posted, ...more }), moment(nowMs), settings);
}

describe('a first attempt', () => {
  const before = openEntry({ state: 'intended', sinceMs: 5 });

  test.each([
    ['collector.not.alive', 'offline'],
    ['collector.type.invalid', 'refused'],
    ['collector.version.invalid', 'refused'],
    ['collector.invalid', 'invalid'],
    ['something.new', 'refused'],
    ['', 'refused'],
  ] as const)('U11: %s ends it as %s, and counts as no attempt', (code, kind) => {
    const after = refuse(before, code, 10);
    expect(after).toMatchObject({ open: undefined, used: 0, before: oldVersion });
    expect(after?.ending).toMatchObject({ kind, message: `refused: ${code}`, sinceMs: 10 });
  });

  test('U10: collector.in.upgrading adopts the upgrade of another tool, which does not count as an attempt', () => {
    const after = refuse(before, 'collector.in.upgrading', 10);
    expect(after).toMatchObject({ used: 0, ending: undefined });
    expect(after?.open).toMatchObject({ state: 'adopted', ours: false, sinceMs: 10, taskId: undefined });
  });

  test('U11: not.alive stores the newest heartbeat at that time', () => {
    const after = refuse(before, 'collector.not.alive', 10, { row: row(oldVersion, 1, { lastSeenAliveMs: 4_711 }) });
    expect(after?.ending?.lastSeenAliveMs).toBe(4_711);
  });

  test('U11: no other refusal waits for a heartbeat', () => {
    const after = refuse(before, 'collector.invalid', 10, { row: row(oldVersion, 1, { lastSeenAliveMs: 4_711 }) });
    expect(after?.ending?.lastSeenAliveMs).toBeUndefined();
  });
});

describe('a retry', () => {
  const failed = endedEntry('failed', {}, { used: 1 });
  const before = { ...failed, used: 2, open: attempt({ state: 'intended', number: 2 }) };

  test('U11: a refusal does not change the number of used attempts', () => {
    expect(refuse(before, 'collector.not.alive', 10)).toMatchObject({ used: 1, ending: { kind: 'offline' } });
  });

  test('U10: an adoption does not change the earlier failure', () => {
    const after = refuse(before, 'collector.in.upgrading', 10);
    expect(after).toMatchObject({ used: 1, ending: failed.ending, open: { state: 'adopted', ours: false } });
  });
});

describe('the correction of a drift', () => {
  const before = endedEntry('updated', {}, { drifts: 1, open: attempt({ state: 'intended' }) });

  test('U8, U10: does not count as a drift if another tool upgrades the collector already', () => {
    const after = refuse(before, 'collector.in.upgrading', 10);
    expect(after).toMatchObject({ drifts: 0, open: { state: 'adopted', ours: false } });
  });
});

describe('a probe', () => {
  const before = openEntry({ state: 'intended', probe: true, sinceMs: 5_000 }, { used: 1 });
  const nowMs = 5_000 + graceMs + 100;

  test('U3: in.upgrading adopts the upgrade that the attempt has started', () => {
    const after = refuse(before, 'collector.in.upgrading', nowMs);
    expect(after).toMatchObject({ used: 1, ending: undefined });
    expect(after?.open).toMatchObject({ state: 'adopted', ours: true, sinceMs: nowMs });
  });

  test('U3: collector.invalid ends the attempt, which stays used', () => {
    expect(refuse(before, 'collector.invalid', nowMs)).toMatchObject({ used: 1, ending: { kind: 'invalid' } });
  });

  test('U11: type.invalid ends the attempt', () => {
    expect(refuse(before, 'collector.type.invalid', nowMs)).toMatchObject({ used: 1, ending: { kind: 'refused' } });
  });

  test.each(['collector.version.invalid', 'collector.not.alive'])(
    '%s does not show the outcome of the attempt',
    (code) => {
      const after = refuse(before, code, nowMs);
      expect(after).toMatchObject({ used: 1, ending: undefined, open: { state: 'unknown' } });
    },
  );

  test.each(['collector.version.invalid', 'collector.not.alive'])(
    'U5: %s does not extend the time limit of the attempt',
    (code) => {
      const after = refuse(before, code, nowMs) as Entry;
      const limitMs = 5_000 + openLimitMs;
      const judged = evaluateEntry(after, evidence({ row: row(oldVersion, limitMs) }), moment(limitMs), settings);
      expect(judged?.ending?.kind).toBe('timedOut');
    },
  );

  test('U3: after version.invalid the next probe waits for a listing sent G after the refusal', () => {
    const { open } = refuse(before, 'collector.version.invalid', nowMs) as Entry;
    if (!open) throw new Error('it is open');
    expect(evidenceFromMs(open, settings)).toBe(nowMs + graceMs);
    expect(probeIsDue(open, row(oldVersion, nowMs + graceMs - 1), settings)).toBe(false);
    expect(probeIsDue(open, row(oldVersion, nowMs + graceMs), settings)).toBe(true);
  });

  test('U7: after version.invalid a listing at the target shows that the attempt has succeeded', () => {
    const after = refuse(before, 'collector.version.invalid', nowMs) as Entry;
    const laterMs = nowMs + graceMs;
    const judged = evaluateEntry(after, evidence({ row: row(target, laterMs) }), moment(laterMs), settings);
    expect(judged?.ending?.kind).toBe('updated');
  });

  test('U11: after not.alive nothing is posted until a newer heartbeat', () => {
    const known = row(oldVersion, nowMs, { lastSeenAliveMs: 100 });
    const { open } = refuse(before, 'collector.not.alive', nowMs, { row: known }) as Entry;
    if (!open) throw new Error('it is open');
    const laterMs = nowMs + 2 * graceMs;
    expect(probeIsDue(open, row(oldVersion, laterMs, { lastSeenAliveMs: 100 }), settings)).toBe(false);
    expect(probeIsDue(open, row(oldVersion, laterMs), settings)).toBe(false);
    expect(probeIsDue(open, row(oldVersion, laterMs, { lastSeenAliveMs: 101 }), settings)).toBe(true);
  });

  test('U5: a withdrawn probe does not delay the judgement of its attempt', () => {
    const after = evaluateEntry(before, evidence({ posted: { kind: 'notSent' } }), moment(nowMs), settings);
    expect(after?.open).toMatchObject({ state: 'unknown', sinceMs: 5_000 });
  });

  test('U5: a probe without a response does not change the age of its attempt, and waits for another listing', () => {
    const posted = { kind: 'unknown' } as const;
    const after = evaluateEntry(before, evidence({ posted }), moment(nowMs), settings);
    expect(after?.open).toMatchObject({ state: 'unknown', sinceMs: before.open?.sinceMs, probedAtMs: nowMs });
  });
});
