/** Tests the texts that explain why upgrades and stages are waiting. */
import { expect, test } from 'vitest';
import type { StageAnalysis } from '../../../src/policy/ledger/ledger.ts';
import type { WaitCause } from '../../../src/policy/rollout/wait-cause.ts';
import { waitText } from '../../../src/policy/status/wait-text.ts';

type Kind = WaitCause['kind'];
type Fields<K extends Kind> = Omit<WaitCause & { readonly kind: K }, 'kind'>;

const stage = 'canary';
const outcome = { judged: 3, unjudged: 0, scannedBytes: 0, quiet: 1 };
const analysis: StageAnalysis = {
  ...{ minRatio: 50, durationMs: 3_600_000, baseline: 'BeforeUpgrade', minMessages: 10 },
  outcome: { ...outcome, quietest: [{ id: '1', name: 'web-1', messages: 2, baseline: 80 }] },
};
const quiet = '1 collector sent too few messages after its upgrade (web-1: 2 messages in 1h, 80 before the upgrade)';

const texts: { readonly [K in Kind]: string | readonly (readonly [Fields<K>, string])[] } = {
  unusableManifest: 'a user to correct or delete the unusable manifest',
  pausedForAll: [[{ by: 'the flag' }, 'a user to resume all policies, which are paused by the flag']],
  paused: [[{ by: 'spec.paused' }, 'the policy to be resumed (paused by spec.paused)']],
  deletion: 'the deletion of the policy to finish',
  observeMode: 'spec.mode to be Enforce',
  stopped: 'a user to run `logfleet retry` or to set another target, because the rollout is stopped',
  notOffered: 'the service to offer the target build',
  shutdown: 'the next start of logfleet, which is shutting down',
  claims: [[{ policy: { namespace: 'a', name: 'b' } }, 'policy a/b to report which collectors it selects']],
  buildList: 'a new list of builds, because the service refused the requested build',
  listRead: "a successful read of the service's lists, because the last read failed",
  requestBackOff: 'the back-off after a failed request to the service',
  ledgerFull: 'free space in the ledger',
  calendarProblem: [
    [{ problem: 'timeZone: "x" is unknown' }, 'a correction of spec.maintenance: timeZone: "x" is unknown'],
  ],
  exclusion: [[{ name: 'year end' }, 'the end of maintenance exclusion "year end"']],
  window: 'the next maintenance window',
  noWindow: [[{ cutoffMs: 1_800_000 }, 'a maintenance window, but no future window is longer than the cutoff of 30m']],
  timeZone: 'the collector to report a valid time zone',
  backOff: 'the back-off after a failed upgrade',
  versionAfterFailure: 'a new list of collectors that shows the version after the failed upgrade',
  secondListing: 'a second list of collectors, to confirm that the collector left the target version',
  newerListing: 'a newer list of collectors, because the last list may show an outdated version',
  stageLimit: [
    [{ stage, max: 0 }, 'a running upgrade to end, because stage canary allows at most 0 upgrades at once'],
    [{ stage, max: 1 }, 'a running upgrade to end, because stage canary allows at most 1 upgrade at once'],
  ],
  policyLimit: [
    [{ max: 1 }, 'a running upgrade to end, because strategy.maxInProgress allows at most 1 upgrade at once'],
  ],
  openLimit: [[{ max: 100 }, 'a running upgrade to end, because a policy may have at most 100 upgrades in progress']],
  stageEnd: [
    [{ stage, offline: 0 }, 'the end of stage canary'],
    [{ stage, offline: 1 }, 'the end of stage canary, of which 1 collector must come back online'],
  ],
  soak: [
    [{ stage, soakMs: 35 * 60_000 }, 'the end of the soak of stage canary'],
    [
      { stage, soakMs: 35 * 60_000 - 1 },
      'the end of the soak of stage canary (the service can take 35m to show that a collector is offline)',
    ],
  ],
  soakListing: [[{ stage }, 'a new list of collectors after the soak of stage canary']],
  analysis: [
    [{ stage }, 'the message analysis of stage canary'],
    [{ stage, error: 'The query is invalid.' }, 'the message analysis of stage canary: The query is invalid'],
  ],
  failures: [
    [
      { stage, failed: 1, analysis: undefined },
      'a user to examine 1 collector that failed or went offline in stage canary, because the policy sets no maxFailures',
    ],
    [
      { stage, failed: 2, analysis },
      `a user to examine 2 collectors that failed or went offline in stage canary, in which ${quiet}, because the policy sets no maxFailures`,
    ],
    [
      { stage, failed: 0, analysis },
      `a user to examine stage canary, in which ${quiet}, because the policy sets no maxFailures`,
    ],
  ],
  approval: [[{ stage }, 'the approval of stage canary']],
  emptyStage: [
    [
      { stage },
      'a collector that stage canary can upgrade: to skip this empty stage, approve it or remove it from the policy',
    ],
  ],
  stageCollector: [[{ stage }, 'a collector for stage canary']],
  anyCollector: 'a collector that can be upgraded',
  online: [[{ collectors: 2 }, '2 collectors to come back online']],
};

const rows = Object.entries(texts).flatMap(([kind, cases]) => {
  const each = typeof cases === 'string' ? ([[{}, cases]] as const) : cases;
  return each.map(([fields, text]) => [text, { kind, ...fields } as WaitCause] as const);
});

test.each(rows)('waiting for %s', (text, cause) => {
  expect(waitText(cause)).toBe(text);
});
