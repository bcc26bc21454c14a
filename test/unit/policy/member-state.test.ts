/** Tests the state of a collector in a policy's status. */
import { describe, expect, test } from 'vitest';
import { parseBuildVersion } from '../../../src/base/build-version.ts';
import type { Row } from '../../../src/fleet/fleet-rows.ts';
import {
  driftSinceMs,
  isEligible,
  isSilent,
  isUpdatedAfterFailure,
  type MemberContext,
  type MemberInput,
  type MemberState,
  memberStateOf,
  skipReason,
} from '../../../src/policy/members/member-state.ts';
import { endedEntry, entry, newerVersion, oldVersion, openEntry, row, settings, target } from './builders.ts';

const { graceMs } = settings;

const context = (more: Partial<MemberContext> = {}): MemberContext => ({
  targetVersion: target,
  target: parseBuildVersion(target),
  allowDowngrade: false,
  offlinePolicy: 'Skip',
  retryLimit: 2,
  settings,
  ...more,
});

const input = (more: Partial<MemberInput> = {}): MemberInput => ({
  row: row(oldVersion, 0),
  entry: undefined,
  owned: true,
  awaited: false,
  elsewhere: undefined,
  drifted: false,
  unstaged: false,
  zoneless: false,
  ...more,
});

const offlineRow = (version = oldVersion): Row => row(version, 0, { alive: false });
const hosted = row('', 0, { collectorType: 'Hosted' });
const unreadable = row('nightly', 0);

describe('each state of a collector', () => {
  test.each<[string, Partial<MemberInput>, string]>([
    ['at the old version', {}, 'pending'],
    ['without a row or an entry', { row: undefined }, 'pending'],
    ['at the target', { row: row(target, 0) }, 'updated'],
    ['with an open attempt', { entry: openEntry() }, 'inProgress'],
    ['U13: in flight, but missing in the ledger', { elsewhere: target }, 'inProgress'],
    ['at a newer version', { row: row(newerVersion, 0) }, 'newer'],
    ['not alive', { row: offlineRow() }, 'offline'],
    ['hosted', { row: hosted }, 'skipped'],
    ['at a version that cannot be parsed', { row: unreadable }, 'skipped'],
    ['of another policy', { owned: false }, 'foreign'],
    ['of another policy until its upgrade has ended', { owned: false, awaited: true }, 'inProgress'],
    ['failed with attempts left', { entry: endedEntry('failed', {}, { used: 2 }) }, 'retrying'],
    ['timed out with attempts left', { entry: endedEntry('timedOut', {}, { used: 1 }) }, 'retrying'],
    ['failed without attempts left', { entry: endedEntry('failed', {}, { used: 3 }) }, 'failed'],
    ['timed out without attempts left', { entry: endedEntry('timedOut', {}, { used: 3 }) }, 'failed'],
    ['U8: no longer at the target', { drifted: true }, 'drifting'],
    ['U11: refused', { entry: endedEntry('refused') }, 'skipped'],
    ['U11: unknown to the service', { entry: endedEntry('invalid') }, 'skipped'],
    ['U7: not observable', { entry: endedEntry('unobservable') }, 'skipped'],
    ['an adoption that has ended', { entry: entry({ used: 0 }) }, 'pending'],
  ])('%s', (_, more, memberState) => {
    expect(memberStateOf(input(more), context())).toBe(memberState);
  });
});

describe('U7, U8: an attempt that succeeded', () => {
  const updated = endedEntry('updated', { sinceMs: 1_000 });

  test.each<[string, Row | undefined, string]>([
    ['is updated without a row', undefined, 'updated'],
    ['is updated while the listing is older than G', row(oldVersion, 1_000 + graceMs - 1), 'updated'],
    ['is drifting by a listing sent G later', row(oldVersion, 1_000 + graceMs), 'drifting'],
    ['is updated by a listing at the target', row(target, 1_000 + graceMs), 'updated'],
    ['is newer by a listing sent G later at a newer version', row(newerVersion, 1_000 + graceMs), 'newer'],
    ['is offline when it has drifted and is silent', row(oldVersion, 1_000 + graceMs, { alive: false }), 'offline'],
  ])('%s', (_, shown, memberState) => {
    expect(memberStateOf(input({ row: shown, entry: updated }), context())).toBe(memberState);
  });

  test('U8: a collector that drifts a second time is skipped', () => {
    const again = input({ row: row(oldVersion, 1_000 + graceMs), entry: { ...updated, drifts: 1 } });
    expect(memberStateOf(again, context())).toBe('skipped');
    expect(skipReason(again, context())).toBe('Contested');
  });

  test('U8: an outdated listing makes no collector contested', () => {
    const lagging = input({ row: row(oldVersion, 1_000 + graceMs - 1), entry: { ...updated, drifts: 1 } });
    expect(memberStateOf(lagging, context())).toBe('updated');
    expect(skipReason(lagging, context())).toBeUndefined();
  });

  test('U8: a collector whose correction fails is retried, not contested', () => {
    const failed = endedEntry('failed', {}, { drifts: 1, used: 1 });
    expect(memberStateOf(input({ entry: failed }), context())).toBe('retrying');
  });
});

describe('U6: an attempt that failed', () => {
  const failed = endedEntry('timedOut', { sinceMs: 1_000 }, { used: 3 });

  test('becomes updated by a listing that shows the target', () => {
    expect(memberStateOf(input({ row: row(target, 1_000), entry: failed }), context())).toBe('updated');
  });

  test('stays failed while that listing is older than the end of the attempt', () => {
    expect(memberStateOf(input({ row: row(target, 999), entry: failed }), context())).toBe('failed');
  });

  test('U8: and whose collector later leaves the target is a drift', () => {
    const left = input({ row: row(oldVersion, 2_000), entry: failed, drifted: true });
    expect(memberStateOf(left, context())).toBe('drifting');
  });
});

describe('U11: a collector refused as offline', () => {
  const refused = endedEntry('offline', { lastSeenAliveMs: 500 }, { used: 0 });
  const seen = (lastSeenAliveMs: number | undefined) => row(oldVersion, 10, { lastSeenAliveMs });

  test.each<[string, Row, string]>([
    ['stays offline with the same heartbeat', seen(500), 'offline'],
    ['stays offline with an older heartbeat', seen(400), 'offline'],
    ['stays offline without a heartbeat', seen(undefined), 'offline'],
    ['may be upgraded after a newer heartbeat', seen(501), 'pending'],
  ])('%s', (_, shown, memberState) => {
    expect(memberStateOf(input({ row: shown, entry: refused }), context())).toBe(memberState);
  });

  test('may be upgraded after any heartbeat if none was known', () => {
    const blind = endedEntry('offline', {}, { used: 0 });
    expect(memberStateOf(input({ row: seen(1), entry: blind }), context())).toBe('pending');
  });
});

test.each([
  ['Skip', 2, 'failed'],
  ['Wait', 2, 'offline'],
  ['Wait', 3, 'failed'],
] as const)(
  'R5: with offlinePolicy %s, a collector that is offline after %d failed attempts is %s',
  (offlinePolicy, used, memberState) => {
    const known = endedEntry('failed', {}, { used });
    expect(memberStateOf(input({ row: offlineRow(), entry: known }), context({ offlinePolicy }))).toBe(memberState);
  },
);

describe('U7: a collector that no listing shows, at a service with a single build', () => {
  test.each<[string, MemberInput['entry'], string]>([
    ['failed with attempts left: is skipped', endedEntry('timedOut', {}, { used: 1 }), 'skipped'],
    ['refused as offline: is skipped', endedEntry('offline', {}, { used: 0 }), 'skipped'],
    ['failed with exhausted retries: stays failed', endedEntry('timedOut', {}, { used: 3 }), 'failed'],
    ['upgraded: stays updated', endedEntry('updated'), 'updated'],
    ['in flight: stays in flight', openEntry(), 'inProgress'],
  ])('%s', (_, known, memberState) => {
    expect(memberStateOf(input({ row: undefined, entry: known }), context())).toBe(memberState);
    const reason = memberState === 'skipped' ? 'VersionNotObservable' : undefined;
    expect(skipReason(input({ row: undefined, entry: known }), context())).toBe(reason);
  });
});

describe('the state is the first of two that apply', () => {
  const everything = { row: offlineRow(newerVersion), drifted: true, elsewhere: target, owned: false };

  test.each<[string, Partial<MemberInput>, string]>([
    ['inProgress before foreign and all others', { ...everything, entry: openEntry() }, 'inProgress'],
    ['inProgress before updated', { row: row(target, 0), entry: openEntry() }, 'inProgress'],
    ['awaited before updated', { row: row(target, 0), owned: false, awaited: true }, 'inProgress'],
    ['foreign before updated', { row: row(target, 0), owned: false }, 'foreign'],
    ['foreign before skipped', { row: hosted, owned: false }, 'foreign'],
    ['foreign before busy', { elsewhere: target, owned: false }, 'foreign'],
    ['foreign before failed', { entry: endedEntry('failed', {}, { used: 3 }), owned: false }, 'foreign'],
    ['updated before skipped', { row: row(target, 0, { collectorType: 'Hosted' }) }, 'updated'],
    ['updated before busy', { row: row(target, 0), elsewhere: target }, 'updated'],
    ['U8: busy with another version before updated', { row: row(target, 0), elsewhere: oldVersion }, 'inProgress'],
    ['updated before offline', { row: offlineRow(target) }, 'updated'],
    ['updated before refused', { row: row(target, 0), entry: endedEntry('refused') }, 'updated'],
    ['skipped before busy', { row: hosted, elsewhere: target }, 'skipped'],
    ['skipped before offline', { row: row('nightly', 0, { alive: false }) }, 'skipped'],
    ['skipped before drifting', { row: unreadable, drifted: true }, 'skipped'],
    ['busy before newer', { row: row(newerVersion, 0), elsewhere: target }, 'inProgress'],
    ['busy before offline', { row: offlineRow(), elsewhere: target }, 'inProgress'],
    ['newer before offline', { row: offlineRow(newerVersion) }, 'newer'],
    ['newer before retrying', { row: row(newerVersion, 0), entry: endedEntry('failed') }, 'newer'],
    ['failed before offline', { row: offlineRow(), entry: endedEntry('failed', {}, { used: 3 }) }, 'failed'],
    ['failed if it is offline after an attempt', { row: offlineRow(), entry: endedEntry('failed') }, 'failed'],
    [
      'U8: failed if it is offline after a failed attempt to correct a drift',
      { row: offlineRow(), entry: endedEntry('failed'), drifted: true },
      'failed',
    ],
    [
      'offline if a retry cleared its attempts',
      { row: offlineRow(), entry: endedEntry('failed', {}, { used: 0 }) },
      'offline',
    ],
    ['offline before drifting', { row: offlineRow(), drifted: true }, 'offline'],
  ])('%s', (_, more, memberState) => {
    expect(memberStateOf(input(more), context())).toBe(memberState);
  });
});

describe('allowDowngrade', () => {
  test('allows downgrades', () => {
    expect(memberStateOf(input({ row: row(newerVersion, 0) }), context({ allowDowngrade: true }))).toBe('pending');
  });

  test('does not change older collectors', () => {
    expect(memberStateOf(input(), context({ allowDowngrade: true }))).toBe('pending');
  });

  test('if versions cannot be compared, no collector is newer', () => {
    const odd = context({ targetVersion: 'edge', target: undefined });
    expect(memberStateOf(input({ row: row(newerVersion, 0) }), odd)).toBe('pending');
  });
});

test.each([
  [0, 1, 'failed'],
  [1, 1, 'retrying'],
  [1, 2, 'failed'],
  [10, 10, 'retrying'],
  [10, 11, 'failed'],
])('U15: with retryPolicy.limit %d, %d attempts used are %s', (retryLimit, used, memberState) => {
  expect(memberStateOf(input({ entry: endedEntry('failed', {}, { used }) }), context({ retryLimit }))).toBe(
    memberState,
  );
});

describe('reasons of skipped collectors', () => {
  test.each<[string, Partial<MemberInput>, string | undefined]>([
    ['hosted', { row: hosted }, 'HostedCollector'],
    ['an unreadable version', { row: unreadable }, 'VersionUnreadable'],
    ['no version', { row: row('', 0) }, 'VersionUnreadable'],
    ['not observable', { entry: endedEntry('unobservable') }, 'VersionNotObservable'],
    ['refused', { entry: endedEntry('refused') }, 'RefusedByService'],
    ['invalid', { entry: endedEntry('invalid') }, 'NotPermitted'],
    ['contested without an entry of an upgrade', { drifted: true, entry: entry({ drifts: 1 }) }, 'Contested'],
    ['a refusal of the service before the row', { row: hosted, entry: endedEntry('refused') }, 'RefusedByService'],
    ['hosted before its version', { row: hosted }, 'HostedCollector'],
    ['pending', {}, undefined],
    ['a first drift', { drifted: true, entry: entry({ drifts: 0 }) }, undefined],
    ['no row', { row: undefined }, undefined],
    ['failed', { entry: endedEntry('failed', {}, { used: 9 }) }, undefined],
  ])('%s', (_, more, reason) => {
    expect(skipReason(input(more), context())).toBe(reason);
  });
});

describe('stages and windows', () => {
  test.each<[string, Partial<MemberInput>, string, string | undefined]>([
    ['a collector in no stage is skipped', { unstaged: true }, 'skipped', 'NoStage'],
    ['even if it is offline', { unstaged: true, row: offlineRow() }, 'skipped', 'NoStage'],
    ['a collector without a readable time zone is skipped', { zoneless: true }, 'skipped', 'TimeZoneUnreadable'],
    ['the reason about the stage takes precedence', { unstaged: true, zoneless: true }, 'skipped', 'NoStage'],
    [
      'a collector at the target needs neither a stage nor a time zone',
      { unstaged: true, zoneless: true, row: row(target, 0) },
      'updated',
      undefined,
    ],
    ['an upgrade in flight continues', { unstaged: true, zoneless: true, entry: openEntry() }, 'inProgress', undefined],
    [
      'a failed collector is retried',
      { unstaged: true, zoneless: true, entry: endedEntry('failed', {}, { used: 1 }) },
      'skipped',
      'NoStage',
    ],
    [
      'the failure of a collector whose time zone is no longer readable remains visible',
      { zoneless: true, entry: endedEntry('failed', {}, { used: 9 }) },
      'failed',
      undefined,
    ],
    ['a hosted collector is skipped as hosted', { unstaged: true, row: hosted }, 'skipped', 'HostedCollector'],
  ])('%s', (_, more, memberState, reason) => {
    expect(memberStateOf(input(more), context())).toBe(memberState);
    if (memberState !== 'inProgress')
      expect(skipReason(input(more), context())).toBe(memberState === 'updated' ? 'NoStage' : reason);
  });
});

describe('a collector that dies after it reached the target', () => {
  const died = endedEntry('died', { sinceMs: 1_000 });

  test.each<[string, Row | undefined, string]>([
    ['is failed, with any number of attempts left', row(target, 2_000, { alive: false }), 'failed'],
    ['is updated once it is alive again', row(target, 2_000, { alive: true }), 'updated'],
    [
      'is also failed at another version, because another upgrade could make it stop again',
      row(oldVersion, 2_000),
      'failed',
    ],
  ])('%s', (_, shown, memberState) => {
    expect(memberStateOf(input({ row: shown, entry: died }), context({ retryLimit: 10 }))).toBe(memberState);
  });

  test('does not count as stopped before it reached the target, or while it is upgraded again', () => {
    const silent = row(target, 2_000, { alive: false });
    const updated = endedEntry('updated', { sinceMs: 1_000 });
    expect(isSilent({ row: silent, entry: updated }, context())).toBe(true);
    expect(isSilent({ row: row(target, 999, { alive: false }), entry: updated }, context())).toBe(false);
    expect(isSilent({ row: row(oldVersion, 2_000, { alive: false }), entry: updated }, context())).toBe(false);
    expect(isSilent({ row: row(target, 2_000), entry: updated }, context())).toBe(false);
    expect(isSilent({ row: undefined, entry: updated }, context())).toBe(false);
    expect(isSilent({ row: silent, entry: undefined }, context())).toBe(false);
    expect(isSilent({ row: silent, entry: { ...updated, open: openEntry().open } }, context())).toBe(false);
    expect(isSilent({ row: silent, entry: { ...updated, isRollback: true } }, context())).toBe(false);
    expect(isSilent({ row: silent, entry: endedEntry('failed') }, context())).toBe(false);
  });
});

describe('a collector that leaves the target during a soak', () => {
  const left = endedEntry('left', { sinceMs: 1_000 });

  test.each<[string, Row | undefined, Partial<MemberInput>, string]>([
    ['drifts', row(oldVersion, 2_000), {}, 'drifting'],
    ['is updated once it is at the target again', row(target, 2_000), {}, 'updated'],
    ['is contested after the second time', row(oldVersion, 2_000), { entry: { ...left, drifts: 1 } }, 'skipped'],
    ['is failed if it is not alive', row(oldVersion, 2_000, { alive: false }), {}, 'failed'],
    [
      'is offline if it is not alive after a retry',
      row(oldVersion, 2_000, { alive: false }),
      { entry: { ...left, used: 0 } },
      'offline',
    ],
  ])('%s', (_, shown, more, memberState) => {
    expect(memberStateOf(input({ row: shown, entry: left, ...more }), context())).toBe(memberState);
  });
});

test('R7: a collector that a rollback returned to its former version has not drifted', () => {
  const back = endedEntry('updated', { sinceMs: 1_000, toVersion: oldVersion }, { isRollback: true });
  const shown = row(oldVersion, 10 * settings.graceMs);
  expect(driftSinceMs(undefined, shown, back, 'updated', context())).toBeUndefined();
  expect(driftSinceMs(undefined, shown, { ...back, isRollback: false }, 'updated', context())).toBe(shown.seenAtMs);
});

describe('U6: a collector that is no longer failed', () => {
  const at = (version: string, alive = true) => row(version, 2_000, { alive });

  test.each<[string, Row, MemberInput['entry'], boolean]>([
    ['timed out, and reached the target', at(target), endedEntry('timedOut', { sinceMs: 1_000 }), true],
    ['failed, and reached the target', at(target), endedEntry('failed', { sinceMs: 1_000 }), true],
    ['failed, with a row from before', row(target, 500), endedEntry('failed', { sinceMs: 1_000 }), false],
    ['failed, and is at the former version', at(oldVersion), endedEntry('failed', { sinceMs: 1_000 }), false],
    ['died, and is alive again', at(target), endedEntry('died', { sinceMs: 1_000 }), true],
    ['died, and is not alive', at(target, false), endedEntry('died', { sinceMs: 1_000 }), false],
    ['left the target, and returned', at(target), endedEntry('left', { sinceMs: 1_000 }), true],
    ['failed, and reached the target after a refused retry', at(target), endedEntry('offline'), true],
    ['was refused as offline, and reached the target', at(target), endedEntry('offline', {}, { used: 0 }), false],
    ['was updated and has never failed', at(target), endedEntry('updated', { sinceMs: 1_000 }), false],
    ['is retried', at(target), { ...endedEntry('failed'), ...openEntry() }, false],
    ['failed in a rollback', at(target), endedEntry('failed', { sinceMs: 1_000 }, { isRollback: true }), false],
  ])('%s: %s', (_, shown, known, expected) => {
    expect(isUpdatedAfterFailure({ row: shown, entry: known }, context())).toBe(expected);
  });
});

describe('during a rollback', () => {
  const back = (more: object = {}) => endedEntry('updated', { toVersion: oldVersion, ...more }, { isRollback: true });

  test.each<[string, Partial<MemberInput>, string]>([
    [
      'a collector at its former version waits for the next rollout',
      { row: row(oldVersion, 2_000), entry: back() },
      'pending',
    ],
    ['even if lists are outdated', { row: row(target, 2_000), entry: back() }, 'pending'],
    [
      'a collector whose rollback is in flight is in progress',
      { row: row(target, 2_000), entry: openEntry({}, { isRollback: true }) },
      'inProgress',
    ],
    [
      'a collector that could not be rolled back is at the target',
      { row: row(target, 2_000), entry: endedEntry('failed', {}, { isRollback: true }) },
      'updated',
    ],
    ['a collector of another policy is foreign', { row: row(target, 2_000), entry: back(), owned: false }, 'foreign'],
  ])('%s', (_, more, memberState) => {
    expect(memberStateOf(input(more), context())).toBe(memberState);
  });
});

describe('collectors that count as proof for later stages', () => {
  const never: readonly MemberState[] = ['foreign', 'newer', 'skipped'];
  const always: readonly MemberState[] = ['updated', 'inProgress', 'pending', 'retrying', 'drifting', 'failed'];

  test.each([
    ...never.map((memberState) => [memberState, 'Skip', false] as const),
    ...never.map((memberState) => [memberState, 'Wait', false] as const),
    ...always.map((memberState) => [memberState, 'Skip', true] as const),
    ['offline', 'Skip', false] as const,
    ['offline', 'Wait', true] as const,
  ])('%s, with offlinePolicy %s: %s', (memberState, offlinePolicy, expected) => {
    expect(isEligible(memberState, { offlinePolicy })).toBe(expected);
  });
});
