/**
 * Tests the type of Events about a resource's health, and the message about an outage. The type is Warning if a user has
 * to act, otherwise Normal (H1).
 */
import { expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { describeHealth, transitionsTo } from '../../../src/controller/health.ts';

const working = { ready: 'False', message: 'x', reconciling: true, stalled: false } as const;
const waiting = { ready: 'False', message: 'x', reconciling: false, stalled: true } as const;
const done = { ready: 'True', message: 'x', reconciling: false, stalled: false } as const;
const before = [
  { type: 'Ready', status: 'False', reason: 'Other', message: 'x', lastTransitionTime: '2026-11-01T00:00:00Z' },
] as const;

test.each([
  [reasons.rollingOut, working, 'Normal'],
  [reasons.soaking, working, 'Normal'],
  [reasons.allUpdated, done, 'Normal'],
  [reasons.exported, done, 'Normal'],
  [reasons.awaitingApproval, working, 'Warning'],
  [reasons.rollingBack, working, 'Warning'],
  [reasons.exportedIncomplete, done, 'Warning'],
  [reasons.rolloutStopped, waiting, 'Warning'],
  [reasons.serviceUnreachable, { ...working, outage: true }, 'Warning'],
] as const)('a change to %s is an Event', (reason, health, type) => {
  const [event] = transitionsTo(before, before, { ...health, reason }, false);
  expect(event).toMatchObject({ type, reason, stalled: health.stalled });
});

test.each([
  [false, 'x This has lasted since 2026-11-01T00:00:00Z.'],
  [true, 'x'],
])('the start of an outage is in the message once (already mentioned: %s)', (mentionsOutageStart, message) => {
  const health = { ...working, reason: reasons.serviceUnreachable, outage: true, mentionsOutageStart };
  const { conditions } = describeHealth(undefined, health, 1, '2026-11-01T00:00:00Z');
  expect(conditions.find(({ type }) => type === 'Ready')?.message).toBe(message);
});
