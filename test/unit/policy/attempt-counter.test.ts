/** Tests that each upgrade attempt is counted exactly once, when it ends. */
import { expect, test } from 'vitest';
import type { Attempt, Ending, Entry } from '../../../src/policy/ledger/ledger.ts';
import { AttemptCounter } from '../../../src/policy/policy-environment.ts';
import { CountingMetrics } from '../../support/counting-metrics.ts';

const open = { ours: true, toVersion: '19.500-1', state: 'accepted' } as Attempt;
const entry = { collectorId: '1', open, ending: undefined } as Entry;
const ended = (kind: Ending['kind']): Entry => ({ ...entry, open: undefined, ending: { kind } as Ending });

test('an ended attempt of this policy is counted by its outcome', () => {
  const metrics = new CountingMetrics();
  const counter = new AttemptCounter(metrics);
  const updated = ended('updated');
  counter.changed(undefined, entry);
  counter.changed(entry, { ...entry, open: { ...open, taskId: '7' } });
  counter.changed(entry, updated);
  counter.changed(entry, ended('failed'));
  // The collector goes offline after its upgrade has ended, so the attempt is not counted again.
  counter.changed(updated, ended('died'));
  counter.changed({ ...entry, open: { ...open, ours: false } }, updated);
  counter.changed(entry, undefined);
  expect([...metrics.values].filter(([, value]) => value !== 0)).toEqual([
    ['logfleet_upgrade_attempts_total{updated}', 1],
    ['logfleet_upgrade_attempts_total{failed}', 1],
  ]);
});

test('the counter has the value 0 for each outcome before the first attempt ends', () => {
  const metrics = new CountingMetrics();
  expect(new AttemptCounter(metrics)).toBeDefined();
  const outcomes = ['updated', 'failed', 'timedOut', 'refused', 'offline', 'invalid', 'unobservable'];
  expect(Object.fromEntries(metrics.values)).toEqual(
    Object.fromEntries(outcomes.map((outcome) => [`logfleet_upgrade_attempts_total{${outcome}}`, 0])),
  );
});
