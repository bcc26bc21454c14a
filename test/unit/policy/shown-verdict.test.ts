/** Tests that a policy's status shows the same reason before and after a restart (H1). */
import { describe, expect, test } from 'vitest';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import type { Health } from '../../../src/controller/health.ts';
import { staysUntilClaimed, stillHolds } from '../../../src/policy/status/shown-verdict.ts';
import { policy, target } from './builders.ts';

function shows(reason: string) {
  const ready = { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '2026-11-01T00:00:00Z' };
  const status = { targetVersion: target, conditions: [{ ...ready, observedGeneration: 3 }] };
  return policy({ status: status as CollectorVersionPolicyStatus });
}

function found(reason: string): Health {
  return { ready: 'False', reason, message: '', reconciling: true, stalled: false };
}

describe('before the fleet was read', () => {
  const unanswered = { target, sameService: true, answered: false };

  test.each(['LedgerMissing', 'LedgerNotInstalled', 'LedgerUnreadable', 'ManifestUnusable', 'SecretNotFound'])(
    '%s does not stay, because only the host reports it',
    (reason) => {
      expect(stillHolds(shows(reason), found('Progressing'), unanswered)).toBe(false);
    },
  );

  test.each(['AllUpdated', 'ServiceUnavailable'])('%s stays', (reason) => {
    expect(stillHolds(shows(reason), found('Progressing'), unanswered)).toBe(true);
  });
});

describe('before all policies have claimed their collectors', () => {
  test.each([
    ['AllUpdated', 'RollingOut', true],
    ['RolloutStopped', 'AllUpdated', true],
    ['Paused', 'Paused', true],
    ['AllUpdated', 'Paused', false],
    ['AllUpdated', 'ServiceUnavailable', false],
    ['ServiceUnavailable', 'AllUpdated', false],
    ['VersionNotOffered', 'AllUpdated', false],
  ])('%s stays if %s is found: %s', (shown, reason, stays) => {
    expect(staysUntilClaimed(shows(shown), found(reason), target)).toBe(stays);
    expect(staysUntilClaimed(shows(shown), found(reason), '19.999-9')).toBe(false);
  });
});
