/**
 * Tests exports in Kubernetes Jobs on a real API server. No Job controller is running, so the tests create the pods.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { SearchExport } from '../../src/api/kinds.ts';
import { objectPath } from '../../src/host/kubernetes/api-paths.ts';
import { completionIndexLabel, jobNameLabel } from '../../src/host/worker-jobs.ts';
import { test as base, conditionOf, type Namespace } from '../e2e/support/cluster.ts';
import { exportManifest } from '../e2e/support/exports.ts';
import { logs, type Tenant } from '../e2e/support/simulator.ts';
import { callApi, userFor } from '../support/control-plane.ts';

const manifests = join(import.meta.dirname, '../../manifests');
const env = { LOGFLEET_WORKER_IMAGE: 'logfleet:test' };
const merge = { contentType: 'application/merge-patch+json' };

// biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern, even an empty one.
const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'logfleet-job-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
});

interface Job {
  readonly metadata: { readonly name: string; readonly annotations: object };
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly containers: readonly [{ readonly env: readonly { readonly name: string; readonly value: string }[] }];
      };
    };
  };
}

async function grant(namespace: string, file: string, account: string): Promise<void> {
  const [role] = parseAllDocuments(readFileSync(join(manifests, file), 'utf8')).map((document) => document.toJS());
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const { name } = role.metadata;
  expect((await callApi('POST', `${rbac}/roles`, { metadata: { name }, rules: role.rules })).status).toBe(201);
  const made = await callApi('POST', `${rbac}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  });
  expect(made.status).toBe(201);
}

async function applyExport(namespace: Namespace, tenant: Tenant, job: object = {}): Promise<void> {
  const place = { destination: { persistentVolumeClaim: { claimName: 'audit' } } } as never;
  const spec = { execution: { mode: 'Job', job } };
  await namespace.apply(namespace.secretManifest(tenant), exportManifest(place, namespace.name, spec));
}

async function jobsIn({ name }: Namespace): Promise<readonly Job[]> {
  const { body } = await callApi('GET', objectPath('jobs', name));
  return (body as { readonly items: readonly Job[] }).items;
}

async function oneJob(namespace: Namespace): Promise<Job> {
  // `expect.poll` cannot be used in concurrent tests.
  await vi.waitUntil(async () => (await jobsIn(namespace)).length === 1, { timeout: 300_000 });
  return (await jobsIn(namespace))[0] as Job;
}

test.concurrent('a full ResourceQuota delays the Job, and the export says so', async ({
  tenant,
  namespace,
  operator,
  installation,
}) => {
  await grant(namespace.name, 'export-jobs/role.yaml', installation.account);
  const quotas = `/api/v1/namespaces/${namespace.name}/resourcequotas`;
  const hard = { 'count/jobs.batch': '0' };
  await callApi('POST', quotas, { metadata: { name: 'jobs' }, spec: { hard } });
  // The test writes the quota's status itself, because no quota controller is running in the test cluster.
  await callApi('PATCH', `${quotas}/jobs/status`, { status: { hard, used: { 'count/jobs.batch': '0' } } }, merge);
  await operator('logfleet-0', [], { env });
  await applyExport(namespace, tenant);
  // Until the API server has noticed the new Role, the message names the missing rights.
  const waiting = await namespace.exportUntil(
    'audit',
    (resource) => conditionOf(resource, 'Ready')?.message.includes('ResourceQuota') === true,
  );
  expect(conditionOf(waiting, 'Ready')?.reason).toBe('JobPending');
  const message = conditionOf(waiting, 'Ready')?.message;
  expect(message).not.toContain('RBAC');
  expect(await jobsIn(namespace)).toEqual([]);
  await callApi('DELETE', `${quotas}/jobs`);
  await namespace.kubectl(['annotate', 'sx', 'audit', 'logfleet.dev/requestedAt=now']);
  await oneJob(namespace);
});

test.concurrent('an export waits while a queue suspends its Job, and says so', async ({
  tenant,
  namespace,
  operator,
  installation,
}) => {
  await grant(namespace.name, 'export-jobs/role.yaml', installation.account);
  await operator('logfleet-0', [], { env });
  const metadata = { labels: { 'kueue.x-k8s.io/queue-name': 'exports' } };
  await applyExport(namespace, tenant, { template: { metadata } });
  const job = await oneJob(namespace);
  expect(job.metadata).toMatchObject(metadata);
  const path = objectPath('jobs', namespace.name, job.metadata.name);
  const isSuspended = (message: string | undefined) => message?.includes('suspended') === true;
  expect((await callApi('PATCH', path, { spec: { suspend: true } }, merge)).status).toBe(200);
  const waiting = await namespace.exportUntil('audit', (resource) =>
    isSuspended(conditionOf(resource, 'Ready')?.message),
  );
  expect(conditionOf(waiting, 'Ready')?.reason).toBe('JobPending');
  // The operator must not change `suspend`, because that field belongs to Kueue, which queues the Job.
  await namespace.kubectl(['annotate', 'sx', 'audit', 'logfleet.dev/requestedAt=now']);
  // The operator has seen the request, but has not confirmed it yet.
  const asked = await namespace.editExport('audit');
  expect(asked.status?.lastHandledReconcileAt).toBeUndefined();
  expect((await callApi('GET', path)).body).toMatchObject({ spec: { suspend: true } });
  expect((await callApi('PATCH', path, { spec: { suspend: false } }, merge)).status).toBe(200);
  await namespace.exportUntil('audit', (resource) => !isSuspended(conditionOf(resource, 'Ready')?.message));
});

test.concurrent('two workers report a problem and their progress, and the termination message reports the result', async ({
  tenant,
  namespace,
  operator,
  installation,
  start,
  folder,
}) => {
  await grant(namespace.name, 'export-jobs/role.yaml', installation.account);
  const worker = await userFor(namespace.name, 'exporter');
  await grant(namespace.name, 'roles/export-progress-role.yaml', 'exporter');
  const labels = { 'logfleet.dev/export-worker': 'true', 'logfleet.dev/export-progress': 'true' };
  const account = `/api/v1/namespaces/${namespace.name}/serviceaccounts/exporter`;
  await callApi('PATCH', account, { metadata: { labels } }, merge);
  const claims = `/api/v1/namespaces/${namespace.name}/persistentvolumeclaims`;
  await callApi('POST', claims, {
    metadata: { name: 'audit' },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
  });
  await operator('logfleet-0', [], { env });
  await applyExport(namespace, tenant, { workers: 2, serviceAccountName: 'exporter' });
  const job = await oneJob(namespace);
  const { template } = job.spec;
  expect(template.spec.automountServiceAccountToken).toBe(true);
  const secret = join(folder, 'secrets', 'log-service');
  mkdirSync(secret, { recursive: true });
  mkdirSync(join(folder, 'claim'));
  for (const [key, value] of Object.entries(tenant.secret)) writeFileSync(join(secret, key), value);
  writeFileSync(join(folder, 'export.json'), template.metadata.annotations['logfleet.dev/search-export'] ?? '');
  const given = Object.fromEntries(template.spec.containers[0].env.map(({ name, value }) => [name, value]));
  const pods = [0, 1].map((index) => ({
    index,
    name: `${job.metadata.name}-${index}`,
    report: join(folder, `${index}`),
  }));
  for (const { name, index } of pods) {
    const metadata = {
      ...{ name, annotations: template.metadata.annotations },
      labels: {
        ...template.metadata.labels,
        ...{ [jobNameLabel]: job.metadata.name, [completionIndexLabel]: String(index) },
      },
    };
    expect((await callApi('POST', objectPath('pods', namespace.name), { metadata, spec: template.spec })).status).toBe(
      201,
    );
    await callApi(
      'PATCH',
      `${objectPath('pods', namespace.name, name)}/status`,
      { status: { phase: 'Running' } },
      merge,
    );
  }
  // The first worker plans the export, while the second waits for the plan.
  await tenant.equip({ faults: { away: { kind: 'status', status: 503, operations: ['createJob'] } } });
  const workers = await Promise.all(
    pods.map(({ index, report }) =>
      start(['export', 'export.json', '--log-format=json', '--volume=claim=claim'], {
        cwd: folder,
        env: {
          ...given,
          ...{ KUBECONFIG: worker.kubeconfig, JOB_COMPLETION_INDEX: String(index) },
          ...{ LOGFLEET_WORKER_REPORT: report, LOGFLEET_WORKER_SECRETS: join(folder, 'secrets') },
        },
      }),
    ),
  );
  const obstacleOf = ({ status }: SearchExport) => status?.workers?.find(({ index }) => index === 0)?.obstacle;
  const held = await namespace.exportUntil('audit', (resource) => obstacleOf(resource) !== undefined);
  expect(obstacleOf(held)?.reason).toBe('ServiceUnavailable');
  await namespace.exportUntil('audit', (resource) => conditionOf(resource, 'Ready')?.message?.includes('503') === true);
  // The workers report only every 10 s. The pages are slow, so that the workers do not end before the next report.
  const slow = { kind: 'delay', delay: '15s', operations: ['listMessages'] } as const;
  await tenant.equip({ faults: { away: null, slow } });
  await namespace.exportUntil('audit', (resource) => obstacleOf(resource) === undefined);
  const shown = await namespace.exportUntil('audit', ({ status }) => (status?.workers ?? []).length === 2);
  const shownBy = shown.status?.workers?.map(({ index, job: of }) => [index, of]) ?? [];
  expect(shownBy.sort()).toEqual(pods.map(({ index }) => [index, job.metadata.name]));
  await tenant.equip({ faults: { slow: null } });
  const ends = await Promise.all(workers.map(({ ended }) => ended));
  expect(ends.map(({ status }) => status)).toEqual([0, 0]);
  for (const { name, report } of pods) {
    const terminated = { exitCode: 0, message: readFileSync(report, 'utf8') };
    const status = { phase: 'Succeeded', containerStatuses: [containerStatus(terminated)] };
    const written = await callApi('PATCH', `${objectPath('pods', namespace.name, name)}/status`, { status }, merge);
    expect(written.status).toBe(200);
  }
  const now = new Date().toISOString().replace(/\.\d+Z/, 'Z');
  const condition = (type: string) => ({ type, status: 'True', reason: 'SuccessPolicy', lastTransitionTime: now });
  const status = {
    ...{ startTime: now, completionTime: now, succeeded: 2, completedIndexes: '0,1', terminating: 0, ready: 0 },
    conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
  };
  const ended = await callApi(
    'PATCH',
    `${objectPath('jobs', namespace.name, job.metadata.name)}/status`,
    { status },
    merge,
  );
  expect({ status: ended.status, body: ended.status === 200 ? '' : ended.body }).toEqual({ status: 200, body: '' });
  const done = await namespace.exportReason('audit', 'Exported');
  expect(done.status).toMatchObject({ manifest: { rows: logs.messages, complete: true } });
  expect(done.status?.workers).toBeUndefined();
});

function containerStatus(terminated: object): object {
  return {
    ...{ name: 'export', image: 'logfleet:test', imageID: 'x', ready: false, restartCount: 0 },
    state: { terminated: { ...terminated, startedAt: '2026-11-01T00:00:00Z', finishedAt: '2026-11-01T00:00:01Z' } },
  };
}
