/** Tests the health of a policy, as shown by its `Ready` condition. */
import { describe, expect, test } from 'vitest';
import { LogfleetError } from '../../../src/base/errors.ts';
import { type Counts, countUnfinished } from '../../../src/policy/members/state-counts.ts';
import { eligibleMembers, type HealthInput, healthOf } from '../../../src/policy/status/policy-health.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';
import { counts, spec, target } from './builders.ts';

function fleet(more: Partial<Counts>, toExamine = 0): NonNullable<HealthInput['fleet']> {
  const all = counts(more);
  return { counts: all, matched: Object.values(all).reduce((sum, count) => sum + count, 0), toExamine };
}

function input(more: Partial<HealthInput> = {}): HealthInput {
  return {
    spec: spec(),
    pausedBy: undefined,
    problem: undefined,
    notOffered: undefined,
    targetVersion: target,
    fleet: fleet({ updated: 10 }),
    ledgerFull: false,
    badCalendar: undefined,
    wait: undefined,
    state: undefined,
    ...more,
  };
}

const problem = (kind: 'stall' | 'backoff') =>
  new LogfleetError({ code: 'x.y', reason: 'Unauthorized', message: 'The key is wrong.', handling: { kind } });

const stalled = { ready: 'False', reconciling: false, stalled: true };
const atWork = { ready: 'False', reconciling: true, stalled: false };

describe('each situation', () => {
  test('all collectors at the target: ready', () => {
    expect(healthOf(input())).toEqual({
      ready: 'True',
      reason: 'AllUpdated',
      message: `10 of 10 collectors run ${target}.`,
      reconciling: false,
      stalled: false,
    });
  });

  test('offline, hosted and foreign collectors do not prevent ready, and are counted in the message', () => {
    const health = healthOf(input({ fleet: fleet({ updated: 7, offline: 1, skipped: 2, foreign: 3 }) }));
    expect(health).toMatchObject({ ready: 'True', reason: 'AllUpdated' });
    expect(health.message).toContain('1 offline, 2 that cannot be upgraded, 3 owned by other policies');
  });

  test.each(['pending', 'inProgress', 'retrying', 'drifting'] as const)('some are %s: rolling', (memberState) => {
    expect(healthOf(input({ fleet: fleet({ updated: 3, [memberState]: 2 }) }))).toMatchObject({
      ...atWork,
      reason: 'RollingOut',
    });
  });

  test('if only offline collectors are left, the policy waits for them and not for a window', () => {
    const wait = { waitingFor: 'the maintenance window that opens tonight', reason: 'WaitingForWindow' };
    const asked = { wait, spec: spec({ offlinePolicy: 'Wait' }), fleet: fleet({ updated: 8, offline: 2 }) };
    const health = healthOf(input(asked));
    expect(health).toMatchObject({ ...atWork, reason: 'RollingOut' });
    expect(health.message).toContain(waitText({ kind: 'online', collectors: 2 }));
    expect(healthOf(input({ ...asked, fleet: fleet({ pending: 8, offline: 2 }) })).reason).toBe('WaitingForWindow');
  });

  test('the message of a rollout has its progress and what it waits for', () => {
    const rolling = {
      fleet: fleet({ updated: 3, inProgress: 2, pending: 5, foreign: 1 }),
      wait: { waitingFor: 'a place', reason: undefined },
    };
    expect(healthOf(input(rolling)).message).toBe(
      `3 of 10 collectors run ${target}, 2 are being upgraded; waiting for a place.`,
    );
  });

  test('paused: unknown, with the number of upgrades in flight', () => {
    const health = healthOf(input({ pausedBy: 'spec.paused', fleet: fleet({ pending: 5, inProgress: 2 }) }));
    expect(health).toMatchObject({ ready: 'Unknown', reason: 'Paused', reconciling: false, stalled: false });
    expect(health.message).toBe(
      'Paused by spec.paused: no upgrade starts. 2 upgrades in progress will run to completion.',
    );
  });

  test('paused before anything else is known', () => {
    expect(healthOf(input({ pausedBy: 'spec.paused', fleet: undefined })).reason).toBe('Paused');
  });

  test('a problem that a user must correct: stalled, with its reason', () => {
    expect(healthOf(input({ problem: problem('stall') }))).toEqual({
      ...stalled,
      reason: 'Unauthorized',
      message: 'The key is wrong.',
    });
  });

  test('a problem that may pass: in progress', () => {
    expect(healthOf(input({ problem: problem('backoff') }))).toEqual({
      ...atWork,
      outage: true,
      reason: 'Unauthorized',
      message: 'The key is wrong. logfleet retries.',
    });
  });

  test('a target that is not offered: stalled', () => {
    expect(healthOf(input({ notOffered: 'It offers 1.' }))).toEqual({
      ...stalled,
      reason: 'VersionNotOffered',
      message: 'It offers 1.',
    });
  });

  test('a withdrawn target while another build reaches minAge: in progress', () => {
    expect(healthOf(input({ notOffered: 'It is gone.', awaitsBuild: true }))).toEqual({
      ...atWork,
      reason: 'WaitingForBuildAge',
      message: 'It is gone.',
    });
  });

  test('nothing known yet: in progress', () => {
    expect(healthOf(input({ fleet: undefined }))).toMatchObject({ ...atWork, reason: 'Progressing' });
  });

  test('a selector without matches: stalled', () => {
    expect(healthOf(input({ fleet: fleet({}) }))).toMatchObject({ ...stalled, reason: 'NoCollectorsMatched' });
  });

  test('U1: a full ledger: stalled', () => {
    expect(healthOf(input({ ledgerFull: true }))).toMatchObject({ ...stalled, reason: 'LedgerFull' });
  });

  test('mode Observe with outdated collectors: not ready, and no upgrade starts', () => {
    const observe = { spec: spec({ mode: 'Observe' as const }) };
    const health = healthOf(input({ ...observe, fleet: fleet({ updated: 1, pending: 1 }) }));
    expect(health).toMatchObject({ ready: 'False', reason: 'Observing', reconciling: false, stalled: false });
    expect(health.message).toContain(`logfleet would upgrade 1 collector to ${target}`);
    expect(healthOf(input({ ...observe, fleet: fleet({ updated: 1 }) })).reason).toBe('AllUpdated');
    const waits = { spec: spec({ mode: 'Observe' as const, offlinePolicy: 'Wait' as const }) };
    const offline = healthOf(input({ ...waits, fleet: fleet({ updated: 1, offline: 2 }) }));
    expect(offline).toMatchObject({ reason: 'Observing', reconciling: false });
    expect(offline.message).toContain(`logfleet would upgrade 2 collectors, once they run, to ${target}`);
  });

  test('newer collectors without allowDowngrade: stalled, and the message names the field', () => {
    const health = healthOf(input({ fleet: fleet({ updated: 5, newer: 2 }) }));
    expect(health).toMatchObject({ ...stalled, reason: 'DowngradeNotAllowed' });
    expect(health.message).toContain('set spec.allowDowngrade to true');
  });

  test('failed collectors: stalled', () => {
    expect(healthOf(input({ fleet: fleet({ updated: 5, failed: 2 }) }))).toMatchObject({
      ...stalled,
      reason: 'CollectorsFailed',
    });
  });

  test.each<[Partial<Counts>, number, string]>([
    [
      { failed: 1 },
      0,
      `1 collector could not be upgraded to ${target}, and has no retries left or is offline. status.failureReasons lists the causes. Correct the cause and run \`logfleet retry\`, or exclude it.`,
    ],
    [
      { failed: 2 },
      0,
      `2 collectors could not be upgraded to ${target}, and have no retries left or are offline. status.failureReasons lists the causes. Correct the cause and run \`logfleet retry\`, or exclude them.`,
    ],
    [
      { skipped: 1 },
      1,
      '1 collector is not upgraded: the service refuses to upgrade it, or it repeatedly left the target version; status.skippedReasons lists the causes. Correct the cause and run `logfleet retry`, or exclude it.',
    ],
    [
      { newer: 1 },
      0,
      `1 collector runs a newer version than ${target}, but spec.allowDowngrade is not true. To downgrade it, set spec.allowDowngrade to true.`,
    ],
    [{ inProgress: 1 }, 0, `5 of 6 collectors run ${target}, 1 is being upgraded.`],
  ])('says what a user can do about %j, for one collector and for several', (some, toExamine, message) => {
    expect(healthOf(input({ fleet: fleet({ updated: 5, ...some }, toExamine) })).message).toBe(message);
  });
});

describe('the first situation in the order of precedence decides', () => {
  /** Each reason with an input that produces it. Reasons with a higher precedence come first. */
  const situations: readonly (readonly [string, Partial<HealthInput>])[] = [
    ['Paused', { pausedBy: 'spec.paused' }],
    ['Unauthorized', { problem: problem('stall') }],
    ['VersionNotOffered', { notOffered: 'It offers 1.' }],
    ['LedgerFull', { ledgerFull: true }],
    ['RollingOut', { fleet: fleet({ updated: 1, pending: 1, newer: 1, failed: 1 }) }],
  ];

  for (const [first, [reason]] of situations.entries()) {
    for (const [second, [later]] of situations.entries()) {
      if (second <= first) continue;
      test(`${reason} before ${later}`, () => {
        expect(healthOf(input({ ...situations[second]?.[1], ...situations[first]?.[1] })).reason).toBe(reason);
      });
    }
  }

  test.each<[string, Partial<HealthInput>, string]>([
    [
      'a target not offered, before a problem that passes',
      { notOffered: 'x', problem: problem('backoff') },
      'VersionNotOffered',
    ],
    ['a problem that passes, before nothing known', { problem: problem('backoff'), fleet: undefined }, 'Unauthorized'],
    [
      'a problem that passes, before rolling',
      { problem: problem('backoff'), fleet: fleet({ pending: 1 }) },
      'Unauthorized',
    ],
    ['no matching collector, before a full ledger', { fleet: fleet({}), ledgerFull: true }, 'NoCollectorsMatched'],
    [
      'a full ledger, before observing',
      { ledgerFull: true, spec: spec({ mode: 'Observe' }), fleet: fleet({ pending: 1 }) },
      'LedgerFull',
    ],
    ['observing, before rolling', { spec: spec({ mode: 'Observe' }), fleet: fleet({ pending: 1 }) }, 'Observing'],
    ['newer collectors, before failed ones', { fleet: fleet({ newer: 1, failed: 1 }) }, 'DowngradeNotAllowed'],
    ['failed collectors, before ready', { fleet: fleet({ updated: 9, failed: 1 }) }, 'CollectorsFailed'],
  ])('%s', (_, more, reason) => {
    expect(healthOf(input(more)).reason).toBe(reason);
  });
});

test('outstanding and eligible collectors', () => {
  const all = counts({ updated: 1, pending: 2, inProgress: 4, retrying: 8, drifting: 16, failed: 32, offline: 64 });
  expect(countUnfinished(all)).toBe(30);
  expect(eligibleMembers({ counts: counts({ foreign: 3 }), matched: 10, toExamine: 0 })).toBe(7);
  // Two of the five skipped collectors count as eligible, because the user must examine why these two are skipped.
  expect(eligibleMembers({ counts: counts({ skipped: 5, offline: 1 }), matched: 10, toExamine: 2 })).toBe(6);
});

test('a refused collector prevents ready, and a hosted one does not', () => {
  expect(healthOf(input({ fleet: fleet({ updated: 3, skipped: 2 }, 1) }))).toMatchObject({
    ready: 'False',
    stalled: true,
    reason: 'CollectorsRefused',
  });
  expect(healthOf(input({ fleet: fleet({ updated: 3, skipped: 2 }) }))).toMatchObject({ ready: 'True' });
});
