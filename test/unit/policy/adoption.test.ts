/** U1: where ledger and status disagree, the stricter wins. */
import { expect, test } from 'vitest';
import type { TaskSample } from '../../../src/api/generated/collector-version-policy.ts';
import { adoptFromStatus } from '../../../src/policy/adoption.ts';
import { Ledger } from '../../../src/policy/ledger.ts';
import { endedEntry, header, oldVersion, openEntry, target } from './builders.ts';

const sample = (more: Partial<TaskSample> = {}): TaskSample => ({
  id: '9',
  collector: 'web-1',
  collectorId: '1',
  from: oldVersion,
  to: target,
  state: 'Running',
  startTime: '2026-11-01T00:00:10Z',
  ...more,
});

test('U1: without a status there is nothing to take over', () => {
  expect(adoptFromStatus(undefined, new Ledger(header()), 5)).toEqual([]);
  expect(adoptFromStatus({}, new Ledger(header()), 5)).toEqual([]);
});

test('U1: a running task that the ledger does not know is taken for running, from the takeover on', () => {
  const [change] = adoptFromStatus({ tasks: [sample()] }, new Ledger(header()), 5);
  expect(change).toEqual({
    collectorId: '1',
    entry: {
      collectorId: '1',
      before: oldVersion,
      used: 1,
      drifts: 0,
      failures: 0,
      stage: undefined,
      back: false,
      ending: undefined,
      open: {
        number: 0,
        toVersion: target,
        state: 'accepted',
        taskId: '9',
        ours: true,
        probe: false,
        startedAtMs: Date.UTC(2026, 10, 1, 0, 0, 10),
        sinceMs: 5,
        needsGrace: true,
      },
    },
  });
});

test('U1: one without an id has an unknown outcome', () => {
  const { id: _, ...nameless } = sample({ state: 'Starting' });
  const [change] = adoptFromStatus({ tasks: [nameless] }, new Ledger(header()), 5);
  expect(change?.entry?.open).toMatchObject({ state: 'unknown', taskId: undefined });
});

test('U10: what somebody else began is taken over as that, and counts as no attempt', () => {
  const { id: _, ...adopted } = sample({ state: 'Adopted' });
  const [change] = adoptFromStatus({ tasks: [adopted] }, new Ledger(header()), 5);
  expect(change?.entry).toMatchObject({ used: 0, open: { state: 'adopted', ours: false } });
});

test('U1: one that began after all that the ledger tells is running, and counts beside those before it', () => {
  const known = endedEntry('failed', {}, { used: 1 });
  const endedAtMs = known.ending?.endedAtMs ?? 0;
  const later = sample({ startTime: new Date(endedAtMs + 1_000).toISOString() });
  const [change] = adoptFromStatus({ tasks: [later] }, new Ledger(header(), [known]), 5);
  expect(change?.entry).toMatchObject({ used: 2, ending: known.ending, open: { state: 'accepted', taskId: '9' } });
  const earlier = sample({ startTime: new Date(endedAtMs - 1_000).toISOString() });
  expect(adoptFromStatus({ tasks: [earlier] }, new Ledger(header(), [known]), 5)).toEqual([]);
});

test('U1: what ended in the status is not taken over', () => {
  const tasks = [sample({ state: 'Succeeded', endTime: '2026-11-01T00:03:00Z' })];
  expect(adoptFromStatus({ tasks }, new Ledger(header()), 5)).toEqual([]);
});

test.each([
  ['open', openEntry()],
  ['ended', endedEntry('failed', { endedAtMs: Date.UTC(2026, 10, 1, 0, 5) })],
])('U1: where the ledger knows the attempt as %s, it is right', (_, known) => {
  expect(adoptFromStatus({ tasks: [sample()] }, new Ledger(header(), [known]), 5)).toEqual([]);
});
