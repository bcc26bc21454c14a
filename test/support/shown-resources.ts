/** Policies, exports and schedules in various states, for tests and pictures of `logfleet ui`. */
import type { Condition, ConditionType } from '../../src/api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { SearchExportStatus } from '../../src/api/generated/search-export.ts';
import type { SearchExportScheduleStatus } from '../../src/api/generated/search-export-schedule.ts';
import type { AnyResource, KindName, ObjectMeta, ResourceOf } from '../../src/api/kinds.ts';
import { applyDefaults } from '../../src/api/schemas.ts';
import { isoSeconds } from '../../src/base/time-text.ts';
import { hourMs, minuteMs } from '../../src/base/time-units.ts';

type ShownStatusOf<K extends KindName> = NonNullable<ResourceOf<K>['status']>;

interface WantedResource<K extends KindName> {
  readonly kind: K;
  readonly name: string;
  readonly namespace?: string;
  readonly spec?: object;
  readonly status?: ShownStatusOf<K>;
  readonly metadata?: Partial<ObjectMeta>;
}

const minimalSpecs: { readonly [K in KindName]: object } = {
  CollectorVersionPolicy: {
    credentialsSecretRef: { name: 'log-service' },
    target: { version: '19.500-1' },
    selector: { matchFields: { osName: 'Linux' } },
  },
  SearchExport: {
    credentialsSecretRef: { name: 'log-service' },
    query: '_sourceCategory=prod/* error',
    timeRange: { from: '2026-10-01T00:00:00', to: '2026-11-01T00:00:00', timeZone: 'Europe/Berlin' },
    output: { format: 'Parquet', compression: 'Zstd' },
    destination: { s3: { bucket: 'audit', region: 'eu-central-1', prefix: 'logs' } },
  },
  SearchExportSchedule: {
    schedule: '0 * * * *',
    template: {
      spec: {
        credentialsSecretRef: { name: 'log-service' },
        query: '_sourceCategory=prod/* error',
        destination: { s3: { bucket: 'audit', region: 'eu-central-1' } },
      },
    },
  },
};

/** Returns a resource with its CRD's defaults. */
export function shownResource<K extends KindName>(wanted: WantedResource<K>): ResourceOf<K> {
  const { kind, name, namespace = 'logging', spec = {}, status, metadata = {} } = wanted;
  const document = { apiVersion: 'logfleet.dev/v1alpha1', kind, spec: { ...minimalSpecs[kind], ...spec } };
  const { spec: complete } = applyDefaults(kind, document) as { readonly spec: object };
  return {
    ...{ apiVersion: 'logfleet.dev/v1alpha1', kind, spec: complete, ...(status && { status }) },
    metadata: {
      ...{ name, namespace, uid: `${kind}-${namespace}-${name}`, generation: 1, resourceVersion: '1', annotations: {} },
      ...{ creationTimestamp: '2026-11-01T00:00:00Z', ...metadata },
    },
  } as unknown as ResourceOf<K>;
}

/**
 * Returns the conditions of a resource whose condition `type` is True. If `type` is undefined, returns the conditions
 * of a paused resource.
 */
export function conditionsOf(
  type: Extract<ConditionType, 'Ready' | 'Reconciling' | 'Stalled'> | undefined,
  reason: string,
  message: string,
  sinceMs: number,
): readonly Condition[] {
  const rest = { reason, message, lastTransitionTime: isoSeconds(sinceMs), observedGeneration: 1 };
  const isReady = type === 'Ready';
  const ready: Condition = { type: 'Ready', status: isReady ? 'True' : type ? 'False' : 'Unknown', ...rest };
  return isReady || type === undefined ? [ready] : [ready, { type, status: 'True', ...rest }];
}

/** Returns policies, exports and schedules in typical states, as of `nowMs`. */
export function exampleResources(nowMs: number): readonly AnyResource[] {
  return [...examplePolicies(nowMs), ...exampleExports(nowMs), ...exampleSchedules(nowMs)];
}

function examplePolicies(nowMs: number): readonly AnyResource[] {
  const kind = 'CollectorVersionPolicy';
  const stages = [
    { name: 'canary', size: 20, soakDuration: '35m', analysis: { messages: {} } },
    { name: 'linux', size: '30%', soakDuration: '1h' },
    { name: 'rest', approval: 'Required' },
  ];
  const staged = { strategy: { maxInProgress: '5%', stages }, failurePolicy: { maxFailures: 5 } };
  return [
    shownResource({ kind, name: 'production', spec: staged, status: soaking(nowMs) }),
    shownResource({ kind, name: 'payments', namespace: 'payments', spec: staged, status: stopped(nowMs) }),
    shownResource({ kind, name: 'edge', namespace: 'network', spec: staged, status: awaitingApproval(nowMs) }),
    shownResource({ kind, name: 'office', namespace: 'it', status: allUpdated(nowMs) }),
  ];
}

const noCollectors = { updated: 0, inProgress: 0, pending: 0, failed: 0, offline: 0, newer: 0, skipped: 0, foreign: 0 };

function soaking(nowMs: number): CollectorVersionPolicyStatus {
  const startMs = nowMs - 190 * minuteMs;
  const task = { from: '19.253-26', to: '19.500-1' };
  return {
    observedGeneration: 1,
    targetVersion: '19.500-1',
    summary: { updated: '618/1912', state: 'Soaking' },
    rollout: {
      id: '7-19.500-1',
      startTime: isoSeconds(startMs),
      stage: 'linux',
      waitingFor: 'the end of the soak of stage linux',
      actions: [{ action: 'Approve', time: isoSeconds(startMs + 5 * minuteMs), stage: 'canary', by: 'logfleet-cli' }],
    },
    stages: [
      {
        ...{ name: 'canary', members: 20, updated: 20, failed: 0, state: 'Completed', startTime: isoSeconds(startMs) },
        soakedUntil: isoSeconds(startMs + 50 * minuteMs),
        analysis: { state: 'Passed', judged: 18, quiet: 0, unjudged: 2 },
      },
      {
        ...{ name: 'linux', members: 600, updated: 597, failed: 3, failedAttempts: 4, state: 'Soaking' },
        startTime: isoSeconds(startMs + 55 * minuteMs),
        soakedUntil: isoSeconds(nowMs + 23 * minuteMs),
      },
      { name: 'rest', members: 1_292, updated: 1, failed: 0, state: 'Pending' },
    ],
    nextWindow: { startTime: isoSeconds(nowMs - 4 * hourMs), endTime: isoSeconds(nowMs + 3 * hourMs) },
    collectors: { ...noCollectors, matched: 1_960, updated: 618, pending: 1_291, failed: 3, offline: 42, skipped: 6 },
    versions: [
      { version: '19.253-26', count: 1_104 },
      { version: '19.500-1', count: 618 },
      { version: '19.228-5', count: 204 },
      { version: '19.182-25', count: 34 },
    ],
    tasks: [
      {
        ...{ id: '812', collector: 'web-117', collectorId: '117', ...task, state: 'Failed' },
        ...{ startTime: isoSeconds(nowMs - 61 * minuteMs), endTime: isoSeconds(nowMs - 58 * minuteMs) },
        message: 'No space left on device',
      },
      {
        ...{ id: '811', collector: 'web-42', collectorId: '42', ...task, state: 'Succeeded' },
        ...{ startTime: isoSeconds(nowMs - 64 * minuteMs), endTime: isoSeconds(nowMs - 61 * minuteMs) },
      },
    ],
    failureReasons: [
      { reason: 'No space left on device', count: 2, examples: ['web-117', 'web-203'] },
      { reason: 'The collector did not start again', count: 1, examples: ['db-9'] },
    ],
    skippedReasons: [{ reason: 'Hosted', count: 6, examples: ['cloud-1', 'cloud-2', 'cloud-3', 'cloud-4', 'cloud-5'] }],
    history: [
      {
        ...{ id: '6-19.253-26', targetVersion: '19.253-26', outcome: 'Completed', updated: 1_902, failed: 0 },
        ...{ startTime: isoSeconds(nowMs - 800 * hourMs), completionTime: isoSeconds(nowMs - 789 * hourMs) },
      },
    ],
    conditions: conditionsOf(
      'Reconciling',
      'Soaking',
      '618 of 1912 collectors run 19.500-1. Waiting for the end of the soak of stage linux.',
      nowMs - 37 * minuteMs,
    ),
  };
}

function stopped(nowMs: number): CollectorVersionPolicyStatus {
  const time = isoSeconds(nowMs - 12 * minuteMs);
  const message =
    'Rollout stopped: 6 of 20 upgrades in stage canary failed, maxFailures is 5. Set another target, or run: logfleet retry cvp/payments';
  return {
    observedGeneration: 1,
    targetVersion: '19.500-1',
    summary: { updated: '20/248', state: 'RolloutStopped' },
    rollout: {
      ...{ id: '2-19.500-1', startTime: isoSeconds(nowMs - 70 * minuteMs), stage: 'canary' },
      stopped: { reason: 'RolloutStopped', time, stage: 'canary', message },
    },
    stages: [
      {
        ...{ name: 'canary', members: 20, updated: 20, failed: 0, failedAttempts: 6, state: 'Stopped' },
        startTime: isoSeconds(nowMs - 70 * minuteMs),
        analysis: {
          ...{ state: 'Failed', judged: 20, quiet: 6, unjudged: 0 },
          quietest: [
            { id: '31', name: 'pay-31', messages: 0, baseline: 4_310 },
            { id: '12', name: 'pay-12', messages: 12, baseline: 3_982 },
            { id: '40', name: 'pay-40', messages: 15, baseline: 3_101 },
          ],
        },
      },
      { name: 'linux', members: 75, updated: 0, failed: 0, state: 'Pending' },
      { name: 'rest', members: 153, updated: 0, failed: 0, state: 'Pending' },
    ],
    collectors: { ...noCollectors, matched: 250, updated: 20, pending: 228, offline: 2 },
    versions: [
      { version: '19.253-26', count: 230 },
      { version: '19.500-1', count: 20 },
    ],
    conditions: conditionsOf('Stalled', 'RolloutStopped', message, nowMs - 12 * minuteMs),
  };
}

function awaitingApproval(nowMs: number): CollectorVersionPolicyStatus {
  return {
    observedGeneration: 1,
    targetVersion: '19.500-1',
    summary: { updated: '62/320', state: 'AwaitingApproval' },
    rollout: {
      ...{ id: '4-19.500-1', startTime: isoSeconds(nowMs - 300 * minuteMs), stage: 'rest' },
      waitingFor: 'the approval of stage rest',
    },
    stages: [
      { name: 'canary', members: 20, updated: 20, failed: 0, state: 'Completed' },
      { name: 'linux', members: 42, updated: 42, failed: 0, state: 'Completed' },
      { name: 'rest', members: 258, updated: 0, failed: 0, state: 'AwaitingApproval' },
    ],
    collectors: { ...noCollectors, matched: 320, updated: 62, pending: 258 },
    versions: [
      { version: '19.253-26', count: 258 },
      { version: '19.500-1', count: 62 },
    ],
    conditions: conditionsOf(
      'Reconciling',
      'AwaitingApproval',
      'Stage rest waits for an approval. To approve: logfleet approve cvp/edge',
      nowMs - 100 * minuteMs,
    ),
  };
}

function allUpdated(nowMs: number): CollectorVersionPolicyStatus {
  return {
    observedGeneration: 1,
    targetVersion: '19.500-1',
    summary: { updated: '75/75', state: 'AllUpdated' },
    collectors: { ...noCollectors, matched: 75, updated: 75 },
    versions: [{ version: '19.500-1', count: 75 }],
    conditions: conditionsOf('Ready', 'AllUpdated', '75 of 75 collectors run 19.500-1.', nowMs - 50 * hourMs),
  };
}

const october = { startTime: '2026-09-30T22:00:00Z', endTime: '2026-10-31T23:00:00Z' };
const rowsOfSlice = (slice: number) =>
  Math.round(52_000 + 30_000 * Math.sin(slice / 3.1) + 9_000 * Math.cos(slice * 1.7));

function exampleExports(nowMs: number): readonly AnyResource[] {
  const kind = 'SearchExport';
  return [
    shownResource({ kind, name: 'october-audit', namespace: 'audit', status: exporting(nowMs) }),
    shownResource({ kind, name: 'incident-4711', namespace: 'security', status: incomplete(nowMs) }),
    shownResource({ kind, name: 'september-audit', namespace: 'audit', status: exported(nowMs) }),
  ];
}

function exporting(nowMs: number): SearchExportStatus {
  const rowHistogram = Array.from({ length: 60 }, (_, slice) => (slice > 36 && slice !== 41 ? -1 : rowsOfSlice(slice)));
  const rowsWritten = rowHistogram.reduce((sum, count) => sum + Math.max(0, count), 0);
  const search = { state: 'GATHERING RESULTS', messageCount: 48_200 };
  return {
    observedGeneration: 1,
    summary: { state: 'Exporting', progress: '63%', rows: '2.0M' },
    startTime: isoSeconds(nowMs - 14 * minuteMs),
    estimatedCompletionTime: isoSeconds(nowMs + 8 * minuteMs),
    timeRange: october,
    location: 's3://audit/logs/audit/october-audit/439b4d31',
    progress: {
      ...{ coveredPercent: 63, intervalsPlanned: 62, intervalsDone: 39, rowsWritten, bytesWritten: 214_958_080 },
      ...{ bytesScanned: 9_663_676_416, duplicatesDropped: 31, rowsPerSecond: 2_410, bytesPerSecond: 1_900_000 },
    },
    jobs: [
      { id: '1A2B3C', from: '2026-10-20T00:00:00Z', to: '2026-10-20T12:00:00Z', ...search },
      { id: '1A2B3D', from: '2026-10-20T12:00:00Z', to: '2026-10-21T00:00:00Z', ...search, messageCount: 12_007 },
    ],
    rowHistogram,
    conditions: conditionsOf(
      'Reconciling',
      'Exporting',
      '63% of the export is done; 2.0M rows have been written; 2 searches are running.',
      nowMs,
    ),
  };
}

function incomplete(nowMs: number): SearchExportStatus {
  const rowHistogram = Array.from({ length: 60 }, (_, slice) => (slice === 22 ? -1 : rowsOfSlice(slice)));
  const message =
    'The interval 2026-10-12T04:00:00Z to 2026-10-12T10:00:00Z is not proven complete: 41,881 rows received, 41,902 expected. Set incompletePolicy: Keep to accept it.';
  return {
    observedGeneration: 1,
    summary: { state: 'IntervalIncomplete', progress: '98%', rows: '3.0M' },
    timeRange: october,
    progress: {
      ...{ coveredPercent: 98, intervalsPlanned: 62, intervalsDone: 61, rowsWritten: 3_012_881 },
      ...{ bytesWritten: 320_000_000, duplicatesDropped: 0 },
    },
    rowHistogram,
    incomplete: [
      {
        ...{ from: '2026-10-12T04:00:00Z', to: '2026-10-12T10:00:00Z', reason: 'CountDiffers' },
        ...{ received: 41_881, expected: 41_902 },
      },
    ],
    conditions: conditionsOf('Stalled', 'IntervalIncomplete', message, nowMs - 3 * hourMs),
  };
}

function exported(nowMs: number): SearchExportStatus {
  return {
    observedGeneration: 1,
    summary: { state: 'Exported', progress: '100%', rows: '3.1M' },
    startTime: isoSeconds(nowMs - 100 * hourMs),
    completionTime: isoSeconds(nowMs - 100 * hourMs + 26 * minuteMs),
    timeRange: { startTime: '2026-08-31T22:00:00Z', endTime: '2026-09-30T22:00:00Z' },
    fingerprint: '439b4d31'.repeat(8),
    location: 's3://audit/logs/audit/september-audit/439b4d31',
    progress: {
      ...{ coveredPercent: 100, intervalsPlanned: 60, intervalsDone: 60, rowsWritten: 3_104_212 },
      ...{ bytesWritten: 331_350_016, bytesScanned: 14_000_000_000, duplicatesDropped: 12 },
    },
    rowHistogram: Array.from({ length: 60 }, (_, slice) => rowsOfSlice(slice)),
    manifest: {
      url: 's3://audit/logs/audit/september-audit/439b4d31/manifest.json',
      ...{
        sha256: '9f2c77ab'.repeat(8),
        rows: 3_104_212,
        files: 14,
        bytes: 331_350_016,
        complete: true,
        proof: 'Digest',
      },
    },
    conditions: [
      ...conditionsOf('Ready', 'Exported', '3,104,212 rows in 14 files, each row once.', nowMs - 99 * hourMs),
      {
        ...{ type: 'Complete', status: 'True', reason: 'Exported', message: 'The export manifest is written.' },
        lastTransitionTime: isoSeconds(nowMs - 99 * hourMs),
      },
    ],
  };
}

function exampleSchedules(nowMs: number): readonly AnyResource[] {
  const kind = 'SearchExportSchedule';
  return [
    shownResource({ kind, name: 'errors', namespace: 'logging', status: upToDate(nowMs) }),
    shownResource({ kind, name: 'access-log', namespace: 'web', status: withGaps(nowMs) }),
    shownResource({ kind, name: 'clickstream', namespace: 'web', status: backfilling(nowMs) }),
  ];
}

const hourOf = (timeMs: number) => Math.floor(timeMs / hourMs) * hourMs;

function runs(schedule: string, endMs: number, states: readonly ('Active' | 'Failed' | 'Complete')[]) {
  return states.map((state, index) => {
    const [fromMs, toMs] = [endMs - (index + 1) * hourMs, endMs - index * hourMs];
    const name = `${schedule}-${isoSeconds(fromMs).replaceAll(/[-:Z]/g, '').replace('T', 't')}z`;
    const files = state === 'Complete' ? { rows: rowsOfSlice(index), bytes: 4_400_000 + 90_000 * index } : {};
    return { name, from: isoSeconds(fromMs), to: isoSeconds(toMs), state, ...files };
  });
}

function upToDate(nowMs: number): SearchExportScheduleStatus {
  const endMs = hourOf(nowMs);
  return {
    observedGeneration: 1,
    summary: { state: 'UpToDate', active: 1, lagSince: isoSeconds(endMs - hourMs) },
    ...{ startTime: isoSeconds(endMs - 72 * hourMs), coveredUntil: isoSeconds(endMs - hourMs) },
    ...{ lastScheduleTime: isoSeconds(endMs), nextScheduleTime: isoSeconds(endMs + hourMs), pendingRuns: 0 },
    covered: [{ from: isoSeconds(endMs - 72 * hourMs), to: isoSeconds(endMs - hourMs) }],
    runs: runs('errors', endMs, ['Active', 'Complete', 'Complete', 'Complete', 'Complete']),
    conditions: conditionsOf('Ready', 'UpToDate', 'All time until the newest run is exported.', nowMs - 40 * hourMs),
  };
}

function withGaps(nowMs: number): SearchExportScheduleStatus {
  const endMs = hourOf(nowMs);
  const at = (hoursAgo: number) => isoSeconds(endMs - hoursAgo * hourMs);
  const gap = (hoursAgo: number) => ({
    ...{ from: at(hoursAgo), to: at(hoursAgo - 1), reason: 'IntervalIncomplete' },
    run: `access-log-${at(hoursAgo).replaceAll(/[-:Z]/g, '').replace('T', 't')}z`,
  });
  const message =
    '2 runs failed, so their time is not exported. To export it again, run: logfleet retry sxs/access-log';
  return {
    observedGeneration: 1,
    summary: { state: 'RunsFailed', active: 1, failedRuns: 2, lagSince: at(31) },
    ...{ startTime: at(96), coveredUntil: at(31), lastScheduleTime: at(0), nextScheduleTime: at(-1), pendingRuns: 0 },
    covered: [
      { from: at(96), to: at(31) },
      { from: at(30), to: at(12) },
      { from: at(11), to: at(1) },
    ],
    gaps: [gap(31), gap(12)],
    runs: runs('access-log', endMs, ['Active', 'Complete', 'Complete', 'Complete']),
    conditions: conditionsOf('Stalled', 'RunsFailed', message, nowMs - 11 * hourMs),
  };
}

function backfilling(nowMs: number): SearchExportScheduleStatus {
  const endMs = hourOf(nowMs);
  const at = (hoursAgo: number) => isoSeconds(endMs - hoursAgo * hourMs);
  const message = 'Exports 412 runs of earlier time, 2 at a time, newest first.';
  return {
    observedGeneration: 1,
    summary: { state: 'Backfilling', active: 2, lagSince: at(720) },
    ...{
      startTime: at(720),
      coveredUntil: at(720),
      lastScheduleTime: at(0),
      nextScheduleTime: at(-1),
      pendingRuns: 412,
    },
    covered: [{ from: at(306), to: at(0) }],
    runs: [
      ...['307', '308'].map((hours) => ({
        ...{
          name: `clickstream-${hours}`,
          from: at(Number(hours)),
          to: at(Number(hours) - 1),
          state: 'Active' as const,
        },
      })),
      ...runs('clickstream', endMs, ['Complete', 'Complete']),
    ],
    conditions: conditionsOf('Reconciling', 'Backfilling', message, nowMs - 20 * hourMs),
  };
}

/** Returns `count` exports created by schedules, for testing long lists. Most of them are complete. */
export function manyRuns(count: number, nowMs: number): readonly AnyResource[] {
  const complete = exported(nowMs);
  const stalled = incomplete(nowMs);
  return Array.from({ length: count }, (_, index) =>
    shownResource({
      kind: 'SearchExport',
      name: `errors-run-${String(index).padStart(5, '0')}`,
      namespace: `team-${index % 40}`,
      status: index % 500 === 0 ? stalled : complete,
    }),
  );
}
