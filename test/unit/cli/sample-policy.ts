/** Sample policy in a rollout, with a value in every field of its status. */
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy, ObjectMeta } from '../../../src/api/kinds.ts';

export const nowMs = Date.UTC(2026, 10, 2, 12, 0, 0);

/** Returns the time `seconds` before `nowMs`, in RFC 3339 format. */
export function ago(seconds: number): string {
  return new Date(nowMs - seconds * 1_000).toISOString();
}

export const rollingStatus: CollectorVersionPolicyStatus = {
  observedGeneration: 3,
  targetVersion: '19.500-1',
  summary: { updated: '180/197', state: 'RollingOut' },
  rollout: { id: 'r-7', startTime: ago(300), estimatedCompletionTime: ago(-90) },
  collectors: {
    matched: 200,
    updated: 180,
    inProgress: 6,
    pending: 9,
    failed: 2,
    offline: 3,
    newer: 0,
    skipped: 0,
    foreign: 0,
  },
  versions: [
    { version: '19.500-1', count: 180 },
    { version: '19.253-26', count: 20 },
  ],
  tasks: [
    {
      id: '900',
      collector: 'web-12',
      collectorId: '12',
      from: '19.253-26',
      to: '19.500-1',
      state: 'Progressing',
      startTime: ago(80),
    },
    {
      id: '800',
      collector: 'web-3',
      collectorId: '3',
      from: '19.253-26',
      to: '19.500-1',
      state: 'Failed',
      startTime: ago(400),
      endTime: ago(200),
      message: 'disk full',
    },
  ],
  failureReasons: [{ reason: 'disk full', count: 2, examples: ['web-3'] }],
  history: [
    {
      id: 'r-6',
      targetVersion: '19.253-26',
      startTime: ago(90_000),
      completionTime: ago(86_400),
      outcome: 'Completed',
      updated: 200,
      failed: 0,
    },
  ],
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'RollingOut',
      message: '9 collectors are still to be upgraded.',
      lastTransitionTime: ago(300),
    },
    { type: 'Reconciling', status: 'True', reason: 'RollingOut', message: 'Upgrading.', lastTransitionTime: ago(300) },
  ],
};

/** Status with a completed stage, a soaking stage, and a stage that is waiting for approval. */
export const stagedStatus: CollectorVersionPolicyStatus = {
  ...rollingStatus,
  rollout: {
    id: '7-19.500-1',
    startTime: ago(7_300),
    stage: 'linux',
    waitingFor: 'the end of the soak of stage linux',
    actions: [
      { action: 'Pause', time: ago(7_200), by: 'logfleet-cli' },
      { action: 'Resume', time: ago(7_100), by: 'logfleet-cli' },
      { action: 'Approve', time: ago(3_600), stage: 'linux', by: 'kubectl-annotate' },
    ],
  },
  nextWindow: { startTime: '2026-11-02T10:00:00Z', endTime: '2026-11-02T16:30:00Z' },
  stages: [
    {
      name: 'canary',
      members: 2,
      updated: 2,
      failed: 0,
      state: 'Completed',
      startTime: ago(7_300),
      soakedUntil: ago(3_700),
    },
    {
      name: 'linux',
      members: 120,
      updated: 118,
      failed: 2,
      state: 'Soaking',
      startTime: ago(3_600),
      soakedUntil: ago(-750),
    },
    { name: 'rest', members: 78, updated: 60, failed: 0, state: 'Pending' },
  ],
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'Soaking',
      message: '180 of 197 collectors run 19.500-1; waiting for the end of the soak of stage linux.',
      lastTransitionTime: ago(300),
    },
    { type: 'Reconciling', status: 'True', reason: 'Soaking', message: 'Watching.', lastTransitionTime: ago(300) },
  ],
};

interface PolicyChanges {
  readonly metadata?: Partial<ObjectMeta>;
  readonly paused?: boolean;
  readonly status?: CollectorVersionPolicyStatus | undefined;
}

export function samplePolicy(changes: PolicyChanges = {}): CollectorVersionPolicy {
  const status = 'status' in changes ? changes.status : rollingStatus;
  const name = changes.metadata?.name ?? 'production';
  return {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'CollectorVersionPolicy',
    metadata: {
      name,
      namespace: 'logging',
      uid: `uid-of-${changes.metadata?.namespace ?? 'logging'}-${name}`,
      generation: 3,
      resourceVersion: '1',
      creationTimestamp: ago(7_500),
      annotations: {},
      ...changes.metadata,
    },
    spec: {
      credentialsSecretRef: { name: 'log-service' },
      target: { version: '19.500-1' },
      allowDowngrade: false,
      selector: {},
      priority: 0,
      mode: 'Enforce',
      paused: changes.paused ?? false,
      resyncInterval: '5m',
      offlinePolicy: 'Skip',
      strategy: { maxInProgress: '5%', order: 'OldestVersionFirst' },
      retryPolicy: { limit: 2, backoff: { duration: '5m', factor: 2, cap: '1h' } },
    },
    ...(status === undefined ? {} : { status }),
  };
}
