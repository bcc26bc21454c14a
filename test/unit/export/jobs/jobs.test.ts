import { describe, expect, test } from 'vitest';
import type { WorkerStatus } from '../../../../src/api/generated/search-export.ts';
import type { SearchExport } from '../../../../src/api/kinds.ts';
import {
  buildJob,
  causeHash,
  isOfRun,
  type JobInput,
  jobAnnotations,
  jobName,
  readShare,
  runHash,
  workerManifest,
  workHash,
} from '../../../../src/export/jobs/job-manifest.ts';
import { hasEnded, readJob } from '../../../../src/export/jobs/job-state.ts';
import { readReport, renderReport, type WorkerReport } from '../../../../src/export/jobs/worker-report.ts';
import { secretNames } from '../../../../src/export/resource/export-resource.ts';
import { completionIndexLabel, type WorkerJob, type WorkerPod } from '../../../../src/host/worker-jobs.ts';
import { exportOf } from '../sample-view.ts';

const held = { user: 'u', workers: 1, share: { requestsPerSecond: 1, maxConcurrentRequests: 2 } };
const claim = { persistentVolumeClaim: { claimName: 'audit', path: 'logs' } };
const s3 = { s3: { bucket: 'b', credentialsSecretRef: { name: 'store' }, forcePathStyle: false, insecure: false } };

function inputOf(spec: object = {}, more: Partial<SearchExport> = {}): JobInput {
  const resource = exportOf({ execution: { mode: 'Job' }, destination: claim, ...spec }, more);
  return { resource, image: 'logfleet:1', share: held, credentials: 'c' };
}

interface Built {
  readonly metadata: {
    readonly labels: object;
    readonly annotations: object;
    readonly ownerReferences: readonly object[];
  };
  readonly spec: {
    readonly podFailurePolicy: { readonly rules: readonly object[] };
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [
          {
            readonly args: readonly string[];
            readonly env: readonly object[];
            readonly volumeMounts: readonly object[];
          },
        ];
        readonly volumes: readonly object[];
      };
    };
  };
}

const built = (input: JobInput) => buildJob(input) as Built;

describe('the Kubernetes Job of an export', () => {
  test('meets the restricted Pod Security Standard, and gets no API server token', () => {
    expect(built(inputOf()).spec.template.spec).toMatchObject({
      automountServiceAccountToken: false,
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    });
  });

  test('belongs to the export, and replaces a pod only when it has ended', () => {
    const { metadata, spec } = built(inputOf());
    expect(metadata.ownerReferences).toMatchObject([
      { kind: 'SearchExport', name: 'audit', uid: 'u1', controller: true },
    ]);
    expect(spec).toMatchObject({
      ...{ completionMode: 'Indexed', completions: 1, parallelism: 1, podReplacementPolicy: 'Failed' },
      successPolicy: { rules: [{ succeededCount: 1 }] },
      ...{ backoffLimitPerIndex: 6, ttlSecondsAfterFinished: 3_600 },
    });
    expect(spec).not.toHaveProperty('activeDeadlineSeconds');
  });

  test("has one pod per worker, each with one worker's share", () => {
    const { spec } = built({ ...inputOf(), share: { ...held, workers: 3 } });
    expect(spec).toMatchObject({ completions: 3, parallelism: 3 });
    expect(spec.template.spec.containers[0].env).toContainEqual({ name: 'LOGFLEET_WORKERS', value: '3' });
  });

  test("has pods that use the operator's proxy, which replaces a Job only after its end", () => {
    const proxy = [{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' }] as const;
    const withProxy = { ...inputOf(), proxy };
    expect(built(withProxy).spec.template.spec.containers[0].env).toContainEqual(proxy[0]);
    expect(causeHash(withProxy)).not.toBe(causeHash(inputOf()));
  });

  test('fails immediately for errors that a user must correct, and ignores evictions', () => {
    expect(built(inputOf()).spec.podFailurePolicy.rules).toMatchObject([
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] },
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [2, 3] } },
    ]);
  });

  test('mounts each Secret as files, and names no Secret in an argument', () => {
    const { spec } = built(inputOf({ destination: s3 })).spec.template;
    expect(spec.volumes).toContainEqual({ name: 'secret-0', secret: { secretName: 'log-service' } });
    expect(spec.volumes).toContainEqual({ name: 'secret-1', secret: { secretName: 'store' } });
    const flags = ['--log-format=json', '--log-level=info'];
    expect(spec.containers[0].args).toEqual(['export', '/logfleet-worker/export/export.json', ...flags]);
    expect(JSON.stringify(spec.containers[0].env)).not.toContain('log-service');
  });

  test('mounts the claim of the export', () => {
    const { spec } = built(inputOf()).spec.template;
    expect(spec.volumes).toContainEqual({ name: 'claim', persistentVolumeClaim: { claimName: 'audit' } });
    expect(spec.containers[0].args).toContain('--volume=claim=/logfleet-worker/claim');
  });

  test('takes the settings of spec.execution.job, and keeps its own labels', () => {
    const template = {
      metadata: { labels: { queue: 'q', 'logfleet.dev/export-uid': 'x' } },
      spec: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k' }], resources: { requests: { cpu: '2' } } },
    };
    const job = { serviceAccountName: 'exporter', template, backoffLimitPerIndex: 1, ttlSecondsAfterFinished: 5 };
    const { metadata, spec } = built(inputOf({ execution: { mode: 'Job', job }, activeDeadlineSeconds: 60 }));
    expect(metadata.labels).toMatchObject({ queue: 'q', 'logfleet.dev/export-uid': 'u1' });
    expect(spec).toMatchObject({ activeDeadlineSeconds: 60, backoffLimitPerIndex: 1, ttlSecondsAfterFinished: 5 });
    expect(spec.template.spec).toMatchObject({
      ...{ serviceAccountName: 'exporter', nodeSelector: { a: 'b' }, tolerations: [{ key: 'k' }] },
      containers: [{ resources: { requests: { cpu: '2' } } }],
    });
  });

  test('carries its share of the request budget in an annotation and in the environment', () => {
    const { metadata, spec } = built(inputOf());
    expect(readShare(metadata.annotations as Record<string, string>)).toEqual(held);
    expect(readShare(spec.template.metadata.annotations)).toEqual(held);
    expect(spec.template.spec.containers[0].env).toContainEqual({
      ...{ name: 'LOGFLEET_WORKER_REQUESTS_PER_SECOND', value: '1' },
    });
    expect(readShare({})).toBeUndefined();
    expect(readShare({ [jobAnnotations.share]: '{"user":"u","workers":0}' })).toBeUndefined();
    expect(readShare({ [jobAnnotations.share]: 'no JSON' })).toBeUndefined();
  });

  test('runs a manifest without the fields that only the operator or Kubernetes uses', () => {
    const input = inputOf({ activeDeadlineSeconds: 60, ttlSecondsAfterFinished: 60 });
    const manifest = JSON.parse(workerManifest(input.resource)) as SearchExport;
    expect(manifest.metadata).toEqual({ name: 'audit', namespace: 'logging' });
    expect(manifest.spec.destination).toEqual({ volume: { name: 'claim', path: 'logs' } });
    for (const member of ['execution', 'paused', 'activeDeadlineSeconds', 'ttlSecondsAfterFinished']) {
      expect(manifest.spec).not.toHaveProperty(member);
    }
  });

  test('has a DNS label as its name, which is short enough for an index even if the export has a long name', () => {
    const { metadata } = inputOf().resource;
    const name = jobName(inputOf({}, { metadata: { ...metadata, name: `a.${'b'.repeat(180)}` } }));
    expect(name).toMatch(/^a-b{38}-[0-9a-f]{16}$/);
  });

  test('has another name if its work, its cause or the request differs, and the same name otherwise', () => {
    const input = inputOf();
    const { metadata } = input.resource;
    const asked = inputOf({}, { metadata: { ...metadata, annotations: { 'logfleet.dev/requestedAt': 'now' } } });
    expect(jobName(inputOf())).toBe(jobName(input));
    for (const other of [
      inputOf({ parallelism: 2 }),
      asked,
      { ...input, credentials: 'd' },
      { ...input, image: 'x:2' },
    ]) {
      expect(jobName(other)).not.toBe(jobName(input));
    }
    expect(workHash(asked.resource)).toBe(workHash(input.resource));
    expect(runHash(asked.resource)).not.toBe(runHash(input.resource));
  });

  test('shows in its name to which run it belongs', () => {
    const input = inputOf();
    const isOfThisRun = (other: JobInput) => isOfRun(jobName(other), input.resource);
    const { metadata } = input.resource;
    const asked = { ...metadata, annotations: { 'logfleet.dev/requestedAt': 'now' } };
    expect(isOfThisRun({ ...input, credentials: 'd', image: 'logfleet:2', share: { ...held, user: 'x' } })).toBe(true);
    expect(isOfThisRun(inputOf({ parallelism: 2 }))).toBe(false);
    expect(isOfThisRun(inputOf({}, { metadata: asked }))).toBe(false);
  });

  test('finds each Secret of the spec once', () => {
    expect(secretNames(exportOf({ destination: s3 }))).toEqual(['log-service', 'store']);
    expect(secretNames(exportOf({ destination: { s3: { credentialsSecretRef: { name: 'log-service' } } } }))).toEqual([
      'log-service',
    ]);
  });
});

const report: WorkerReport = { end: 'complete', reason: 'Exported', message: 'done', status: { fingerprint: 'f' } };

function jobOf(status: WorkerJob['status'], spec: WorkerJob['spec'] = {}): WorkerJob {
  const metadata = {
    namespace: 'logging',
    name: 'audit-1',
    uid: 'j',
    resourceVersion: '1',
    labels: {},
    annotations: {},
  };
  return { metadata, spec, status };
}

function podOf(status: WorkerPod['status']): WorkerPod {
  return { ...jobOf({}), status };
}

const complete = jobOf({ conditions: [{ type: 'Complete', status: 'True' }] });
const failed = (reason: string) => jobOf({ failed: 2, conditions: [{ type: 'Failed', status: 'True', reason }] });
const ended = (exitCode: number, message?: string): WorkerPod =>
  podOf({
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [{ state: { terminated: { exitCode, ...(message === undefined ? {} : { message }) } } }],
  });

describe('the state of a Kubernetes Job', () => {
  const unscheduled = [{ type: 'PodScheduled', status: 'False', message: 'no cpu' }];
  const stalled = { ...report, end: 'stalled', reason: 'QueryRefused' } as const;
  test.each<[string, WorkerJob, readonly WorkerPod[], object]>([
    ['without a pod', jobOf({}), [], { phase: 'waiting', reason: 'JobPending' }],
    [
      'suspended by a queue',
      jobOf({}, { suspend: true }),
      [],
      { phase: 'waiting', message: expect.stringContaining('suspended') },
    ],
    [
      'whose pod has no node',
      jobOf({}),
      [podOf({ phase: 'Pending', conditions: unscheduled })],
      { phase: 'waiting', message: expect.stringContaining('no cpu') },
    ],
    [
      'whose image cannot be pulled',
      jobOf({}),
      [podOf({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] })],
      { phase: 'waiting', message: expect.stringContaining('ImagePullBackOff') },
    ],
    [
      'whose only pod was deleted',
      jobOf({}),
      [ended(130)],
      { phase: 'waiting', message: expect.stringContaining('will start another pod') },
    ],
    [
      'whose pod is complete, but the Job is not',
      jobOf({}),
      [ended(0, renderReport(report))],
      { phase: 'running', reason: 'Exporting', message: expect.stringContaining('is ending the Job') },
    ],
    [
      'with a complete pod and another that is still running',
      jobOf({}, { parallelism: 2 }),
      [ended(0, renderReport(report)), podOf({ phase: 'Running' })],
      { phase: 'running', message: expect.stringContaining('is ending the Job') },
    ],
    [
      'with a complete pod and another that has no node',
      jobOf({}, { parallelism: 2 }),
      [ended(0, renderReport(report)), podOf({ phase: 'Pending', conditions: unscheduled })],
      { phase: 'waiting', message: expect.stringContaining('no cpu') },
    ],
    [
      'with a running pod after one that failed',
      jobOf({ failed: 1 }),
      [podOf({ phase: 'Running' })],
      { phase: 'running', message: expect.stringContaining(' 1 earlier pod of') },
    ],
    [
      'with a running pod',
      jobOf({ failed: 2 }),
      [podOf({ phase: 'Running' })],
      { phase: 'running', reason: 'Exporting', failedPods: 2 },
    ],
    [
      'with one running pod of two',
      jobOf({}, { parallelism: 2 }),
      [podOf({ phase: 'Running' }), podOf({ phase: 'Pending', conditions: unscheduled })],
      { phase: 'running', message: expect.stringMatching(/^1 of 2 pods .*no cpu/) },
    ],
    [
      'failed with one pod that found the manifest',
      failed('FailedIndexes'),
      [ended(137), ended(0, renderReport(report))],
      { phase: 'complete', report },
    ],
    ['complete', complete, [ended(137), ended(0, renderReport(report))], { phase: 'complete', report }],
    ['complete without a report', complete, [], { phase: 'complete', reason: 'JobFailed', report: undefined }],
    [
      'failed by its worker',
      failed('PodFailurePolicy'),
      [ended(3, renderReport(stalled))],
      { phase: 'failed', report: stalled },
    ],
    ['failed without a report', failed('FailedIndexes'), [ended(137)], { phase: 'failed', reason: 'JobFailed' }],
    ['complete, with a pod that has not ended', complete, [podOf({ phase: 'Running' })], { phase: 'running' }],
    [
      'failed, with a pod that has not ended',
      failed('FailedIndexes'),
      [podOf({ phase: 'Running' })],
      { phase: 'running' },
    ],
    ['too late', failed('DeadlineExceeded'), [], { phase: 'failed', reason: 'DeadlineExceeded' }],
    [
      'too late, after a pod stalled',
      failed('DeadlineExceeded'),
      [ended(3, renderReport(stalled))],
      { phase: 'failed', reason: 'DeadlineExceeded', report: undefined },
    ],
  ])('%s', (_, job, pods, expected) => {
    expect(readJob(job, pods)).toMatchObject(expected);
  });

  const startTime = '2026-11-01T00:00:00.000Z';
  const heldAt = (index: number, job = 'audit-1') => ({
    ...{ index, job, obstacle: { reason: 'DestinationFull', message: 'The claim is full.', startTime } },
  });
  const runningAt = (index: number): WorkerPod => {
    const { metadata, ...pod } = podOf({ phase: 'Running' });
    return { ...pod, metadata: { ...metadata, labels: { [completionIndexLabel]: String(index) } } };
  };
  const held = { reason: 'DestinationFull', isHeldUp: true };
  const working = { reason: 'Exporting', isHeldUp: false };
  test.each<[string, readonly WorkerStatus[], object]>([
    ['blocks the export if each running pod has one', [heldAt(0), heldAt(1)], held],
    [
      'is only mentioned while another pod works',
      [heldAt(1)],
      { ...working, message: expect.stringContaining('Pod 1') },
    ],
    [
      'is ignored if its pod no longer runs',
      [heldAt(2)],
      { ...working, message: expect.not.stringContaining('Pod 2') },
    ],
    ['is ignored if it belongs to a former Job', [heldAt(0, 'old'), heldAt(1, 'old')], working],
  ])('an obstacle of a pod %s', (_, workers, expected) => {
    const state = readJob(jobOf({}, { parallelism: 2 }), [runningAt(0), runningAt(1)], workers);
    expect({ isHeldUp: false, ...state }).toMatchObject({ phase: 'running', ...expected });
  });

  test('has ended only when all its pods have ended', () => {
    const running = podOf({ phase: 'Running' });
    expect(hasEnded(complete, [ended(0)])).toBe(true);
    expect(hasEnded(complete, [running])).toBe(false);
    expect(hasEnded(undefined, [running])).toBe(false);
    expect(hasEnded(undefined, [])).toBe(true);
    expect(hasEnded(jobOf({}), [ended(1)])).toBe(false);
    expect(hasEnded(jobOf({ ...complete.status, terminating: 1 }), [])).toBe(false);
  });
});

describe('the report of a worker', () => {
  test('has at most 4,096 bytes, however long the messages of the export are', () => {
    const manifest = { url: 'u'.repeat(2_048), rows: 1 };
    const fingerprint = 'f'.repeat(64);
    const status = { manifest, fingerprint, location: 'l'.repeat(2_048), jobs: ['unknown to the operator'] };
    const text = renderReport({ ...report, message: 'é'.repeat(5_000), status });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
    expect(readReport(text)).toMatchObject({ end: 'complete', reason: 'Exported', status: { manifest, fingerprint } });
    expect(readReport(text)?.status).not.toHaveProperty('jobs');
  });

  test.each([
    undefined,
    '',
    'Killed',
    '[]',
    '{"end":"complete"}',
    '{"end":"else","reason":"r","message":"m","status":{}}',
  ])('is not read from %j', (text) => {
    expect(readReport(text)).toBeUndefined();
  });
});
