/** Effect of listing rows and retries on ended attempts: later failures, later successes, and forgiveness. */
import { describe, expect, test } from 'vitest';
import { annotations } from '../../../src/api/annotations.ts';
import type { EndingKind, Entry, LedgerHeader } from '../../../src/policy/ledger.ts';
import { endedEntry, oldVersion, openEntry, settings, target } from './builders.ts';
import { decided, fleetOf, PolicyBench, type Seen } from './policy-bench.ts';

const rolloutId = `1-${target}`;
const underWay = { stages: [{ name: 'canary', startedAtMs: 0 }] } satisfies Partial<LedgerHeader>;
const over = { stages: [{ name: 'canary', startedAtMs: 0, endedAtMs: 1 }] } satisfies Partial<LedgerHeader>;
const inStages = {
  strategy: {
    maxInProgress: 1_000,
    order: 'Name',
    stages: [
      { name: 'canary', size: 1, soakDuration: '0s' },
      { name: 'rest', soakDuration: '0s' },
    ],
  },
} as const;
const canary = { stage: 'canary' } as const;
const retry = { policy: { metadata: { annotations: { [annotations.retry]: rolloutId } } } };

interface Shown {
  readonly version?: string;
  readonly alive?: boolean;
  readonly header?: Partial<LedgerHeader>;
}

/** The entry of collector 1 after a decision with this row. */
function settled(known: Entry, { version = target, alive = true, header = underWay }: Shown, seen: Seen = {}) {
  const collectors = fleetOf(1, () => ({ collectorVersion: version, alive }));
  const bench = new PolicyBench({ spec: inStages, header, entries: [known], collectors, seenAtMs: settings.graceMs });
  const { changes, header: next } = decided(bench, { nowMs: settings.graceMs + 1_000, room: 0, ...seen });
  const [change] = changes;
  return { entry: change ? change.entry : known, header: next };
}

describe('a collector that was brought to the target', () => {
  const updated = endedEntry('updated', {}, canary);

  test('and fell silent before its stage has ended has died, and counts as a failure', () => {
    const { entry } = settled(updated, { alive: false });
    expect(entry).toMatchObject({
      failures: 1,
      ending: { kind: 'died', message: 'fell silent within the soak of its stage' },
    });
  });

  test('U8: and left it before its stage has ended counts as a failure', () => {
    const { entry } = settled(updated, { version: oldVersion });
    expect(entry).toMatchObject({ failures: 1, ending: { kind: 'left' } });
  });

  test.each<[string, Entry, Shown]>([
    ['after its stage has ended', updated, { alive: false, header: over }],
    ['in a rollout whose stage has not begun by the ledger', updated, { alive: false, header: {} }],
    ['although it came late to its stage', endedEntry('updated'), { alive: false }],
    ['U10: by somebody else', endedEntry('updated', {}, { ...canary, used: 0 }), { alive: false }],
    ['and is on its way again', openEntry({}, canary), { alive: false }],
    ['and died before it was seen there', updated, { version: oldVersion, alive: false }],
  ])('%s: no failure', (_, known, shown) => {
    expect(settled(known, shown).entry?.failures).toBe(0);
  });

  test.each([
    ['who runs again', endedEntry('died', {}, { ...canary, failures: 1 })],
    ['who came back by itself', endedEntry('left', {}, { ...canary, failures: 1 })],
    ['U6: who reached the target after it had timed out', endedEntry('timedOut', {}, { ...canary, failures: 1 })],
    ['U6: who reached the target after it had failed', endedEntry('failed', {}, { ...canary, failures: 1 })],
  ])('%s leaves the tally, and is updated', (_, known) => {
    expect(settled(known, {}).entry).toMatchObject({ failures: 0, ending: { kind: 'updated', toVersion: target } });
  });

  test('U6: only the last failure is rolled back: the ones before it were some', () => {
    const known = endedEntry('failed', {}, { ...canary, used: 3, failures: 3 });
    expect(settled(known, {}).entry).toMatchObject({ failures: 2, used: 3 });
  });
});

describe('a person tries again', () => {
  test('and the stop is lifted', () => {
    const stop = { kind: 'failures', message: 'Too many.', atMs: 1 } as const;
    const { header } = settled(endedEntry('updated', {}, canary), { header: { ...underWay, stop } }, retry);
    expect(header.stop).toBeUndefined();
    expect(header.handled).toEqual({ retry: rolloutId, liftedAtMs: 1 });
  });

  test.each<[EndingKind, Partial<Entry>, Partial<Entry> | undefined]>([
    ['failed', { used: 3, failures: 3 }, { used: 0, failures: 0 }],
    ['timedOut', { used: 1, failures: 1 }, { used: 0, failures: 0 }],
  ])('a collector that %s has all attempts again', (kind, known, expected) => {
    expect(settled(endedEntry(kind, {}, { ...canary, ...known }), { version: oldVersion }, retry).entry).toMatchObject({
      ...expected,
      ...canary,
      ending: { kind },
    });
  });

  test.each<[string, Entry]>([
    ['who failed once before it arrived', endedEntry('updated', {}, { ...canary, used: 2, failures: 1 })],
    ['who arrived, and died', endedEntry('died', {}, { ...canary, used: 1, failures: 1 })],
  ])('U14: %s has been brought there by this rollout all the same, and can be rolled back', (_, known) => {
    expect(settled(known, { alive: known.ending?.kind !== 'died' }, retry).entry).toMatchObject({
      used: 1,
      failures: 0,
      before: oldVersion,
      ending: { kind: 'updated' },
    });
  });

  test('a collector that died is found dead no second time', () => {
    const died = endedEntry('died', {}, { ...canary, failures: 1 });
    const { entry } = settled(died, { alive: false }, retry);
    expect(settled(entry as Entry, { alive: false }).entry).toMatchObject({ failures: 0, ending: { kind: 'updated' } });
  });

  test('U10: what somebody else did is no more ours than before', () => {
    const known = endedEntry('updated', {}, { ...canary, used: 0, failures: 1 });
    expect(settled(known, {}, retry).entry).toMatchObject({ used: 0, failures: 0 });
  });

  test('U11: a collector that is not ours to upgrade is reported once a list shows it still, or it was only uninstalled', () => {
    const shown = (seenAtMs: number) => {
      const entries = [endedEntry('invalid', {}, { used: 0 })];
      const bench = new PolicyBench({ entries, collectors: fleetOf(1), seenAtMs });
      return decided(bench, { nowMs: 2 * settings.graceMs }).health.reason;
    };
    expect(shown(settings.graceMs - 1)).toBe('AllUpdated');
    expect(shown(settings.graceMs)).toBe('CollectorsRefused');
  });

  test.each(['refused', 'invalid'] as const)('who was %s is asked for again, as if for the first time', (kind) => {
    const known = endedEntry(kind, {}, { used: 0, failures: 0 });
    expect(settled(known, { version: oldVersion }, retry).entry).toBeUndefined();
    expect(settled({ ...known, used: 2, failures: 1 }, { version: oldVersion }, retry).entry).toBeUndefined();
    expect(settled(known, { version: oldVersion }).entry).toBe(known);
  });

  test('U8: a collector that is contested may be corrected once more', () => {
    const contested = endedEntry('updated', {}, { ...canary, drifts: 1 });
    const { entry } = settled(contested, { version: oldVersion, header: over }, retry);
    expect(entry).toMatchObject({ drifts: 0, used: 1, ending: { kind: 'updated' } });
    expect(settled(contested, { version: oldVersion, header: over }).entry).toBe(contested);
  });

  test('a collector that was rolled back is as any other, and begins again', () => {
    const back = endedEntry('updated', { toVersion: oldVersion }, { back: true });
    expect(settled(back, { version: oldVersion }, retry).entry).toBeUndefined();
  });

  test.each(['failed', 'timedOut', 'refused', 'offline'] as const)(
    'U14: a collector that could not be rolled back (%s) is where this rollout brought it, and can be rolled back later',
    (kind) => {
      const stuck = endedEntry(kind, { toVersion: oldVersion }, { back: true, used: 3 });
      expect(settled(stuck, {}, retry).entry).toMatchObject({
        back: false,
        used: 1,
        before: oldVersion,
        ending: { kind: 'updated', toVersion: target },
      });
    },
  );

  test('a collector that is on the rollback ends that first, and is then as any other', () => {
    const back = openEntry({ toVersion: oldVersion }, { back: true });
    expect(settled(back, {}, retry).entry).toMatchObject({ back: false, open: { toVersion: oldVersion } });
  });
});
