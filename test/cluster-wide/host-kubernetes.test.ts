/** Tests the operator on a real API server, with exactly the permissions that `manifests/` grants. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { CollectorVersionPolicy, SearchExport, SearchExportSchedule } from '../../src/api/kinds.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openCluster } from '../../src/cli/resources/cluster-access.ts';
import { buildJob, jobName } from '../../src/export/jobs/job-manifest.ts';
import type { OwnerRef } from '../../src/host/host.ts';
import { ApiClient } from '../../src/host/kubernetes/api-client.ts';
import { objectPath, resourcePath } from '../../src/host/kubernetes/api-paths.ts';
import { connectToCluster } from '../../src/host/kubernetes/cluster-connection.ts';
import { KubernetesHost } from '../../src/host/kubernetes/kubernetes-host.ts';
import { callApi, controlPlane, createNamespace, kubectl } from '../support/control-plane.ts';
import { CountingMetrics } from '../support/counting-metrics.ts';
import { type Installation, install, installs, releasedLease } from '../support/installation.ts';
import { recordingContext } from '../support/recording-context.ts';
import { exportOf } from '../unit/export/sample-view.ts';

const kind = 'CollectorVersionPolicy';
const plural = 'collectorversionpolicies';

/** Reports whether the API server has sent the given response, such as `WATCH configmaps 200`. */
function hasAnswered({ values }: CountingMetrics, response: string): boolean {
  return values.has(`logfleet_kubernetes_requests_total{${response.replaceAll(' ', ',')}}`);
}

/** Returns the requests that the API server has refused. */
function refusals({ values }: CountingMetrics): readonly string[] {
  return [...values.keys()].filter((series) => series.startsWith('logfleet_kubernetes') && series.endsWith(',403}'));
}

const running: KubernetesHost[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((host) => host.stop()));
  vi.unstubAllEnvs();
});

interface RunningHost {
  readonly host: KubernetesHost;
  readonly metrics: CountingMetrics;
}

async function operate(
  installation: Installation,
  identity = 'operator-0',
  workerImage?: string,
): Promise<RunningHost> {
  const { api } = await connectToCluster({ kubeconfig: installation.kubeconfig });
  const metrics = new CountingMetrics();
  const host = new KubernetesHost({
    api,
    namespaces: installation.serves,
    operatorNamespace: installation.namespace,
    identity,
    leaderElection: true,
    ...(workerImage !== undefined && { workerImage }),
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    metrics,
  });
  running.push(host);
  host.resources(kind);
  host.resources('SearchExport');
  host.resources('SearchExportSchedule');
  host.start();
  return { host, metrics };
}

async function createPolicy(namespace: string, name = 'production'): Promise<OwnerRef> {
  const { status, body } = await callApi('POST', resourcePath(kind, namespace), {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind,
    metadata: { name },
    spec: { credentialsSecretRef: { name: 'log-service' }, target: { version: '19.500-1' }, selector: {} },
  });
  expect(status).toBe(201);
  return { kind, namespace, name, uid: body.metadata.uid };
}

async function cached(host: KubernetesHost, key: OwnerRef): Promise<CollectorVersionPolicy> {
  return vi.waitUntil(() => host.resources(kind).get(key), { timeout: 300_000, interval: 5 });
}

const runSpec = {
  credentialsSecretRef: { name: 'log-service' },
  query: '*',
  destination: { volume: { name: 'exports' } },
};

async function createSchedule(host: KubernetesHost, namespace: string): Promise<SearchExportSchedule> {
  const name = 'hourly';
  await callApi('POST', resourcePath('SearchExportSchedule', namespace), {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'SearchExportSchedule',
    metadata: { name },
    spec: { schedule: '0 * * * *', template: { spec: runSpec } },
  });
  return vi.waitUntil(() => host.resources('SearchExportSchedule').get({ namespace, name }), {
    timeout: 300_000,
    interval: 5,
  });
}

async function createRun(host: KubernetesHost, { metadata }: SearchExportSchedule): Promise<SearchExport> {
  const { namespace, uid } = metadata;
  const name = 'hourly-20261001t000000z-010000z';
  const timeRange = { from: '2026-10-01T00:00:00Z', to: '2026-10-01T01:00:00Z' };
  const created = await host.create({
    kind: 'SearchExport',
    metadata: { namespace, name, labels: {}, annotations: {} },
    spec: { ...runSpec, timeRange },
    owner: { kind: 'SearchExportSchedule', namespace, name: metadata.name, uid },
  });
  expect(created).toBe('created');
  return vi.waitUntil(() => host.resources('SearchExport').get({ namespace, name }), { timeout: 300_000, interval: 5 });
}

async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { timeout: 300_000, interval: 5 });
}

function withTarget(policy: CollectorVersionPolicy, targetVersion: string): CollectorVersionPolicy {
  return { ...policy, status: { ...policy.status, targetVersion } as NonNullable<CollectorVersionPolicy['status']> };
}

/** Waits until the condition holds. Throws if the API server refuses a request. */
async function untilAllowed(metrics: CountingMetrics, condition: () => boolean): Promise<void> {
  await until(() => condition() || refusals(metrics).length > 0);
  if (refusals(metrics).length > 0) throw new Error(refusals(metrics).join());
}

async function doEverything({ host, metrics }: RunningHost, owner: OwnerRef): Promise<void> {
  const allowed = (condition: () => boolean) => untilAllowed(metrics, condition);
  await allowed(() => host.leadership.isLeader() && host.unready().length === 0);
  const followed = [plural, 'searchexports', 'searchexportschedules', 'configmaps'];
  await allowed(() => followed.every((resource) => hasAnswered(metrics, `WATCH ${resource} 200`)));
  await host.writeStatus(kind, withTarget(await cached(host, owner), '19.500-1'));
  const schedule = await createSchedule(host, owner.namespace);
  await host.writeStatus('SearchExportSchedule', { ...schedule, status: {} });
  const run = await createRun(host, schedule);
  expect(run.metadata.owner).toEqual({ kind: 'SearchExportSchedule', name: 'hourly', uid: schedule.metadata.uid });
  await host.remove(await host.writeStatus('SearchExport', { ...run, status: {} }));
  await host.ledgers.read(owner, 'head');
  const version = await host.ledgers.write(owner, 'head', 'one', undefined);
  await host.ledgers.write(owner, 'head', 'two', version);
  await host.ledgers.read(owner, 'head');
  await host.secrets.get({ namespace: owner.namespace, name: 'log-service' });
  for (const response of ['POST events 201', 'PATCH events 200']) {
    host.events.publish(owner, { type: 'Normal', reason: 'RolloutStarted', message: 'to 19.500-1' });
    await allowed(() => hasAnswered(metrics, response));
  }
}

describe.each(installs)('under the RBAC of %s', (way) => {
  async function setting(): Promise<RunningHost & { readonly installation: Installation; readonly owner: OwnerRef }> {
    const installation = await install(way);
    const owner = await createPolicy(installation.home);
    const operator = await operate(installation);
    return { ...operator, installation, owner };
  }

  test('every request of the operator is allowed', async () => {
    const at = await setting();
    await doEverything(at, at.owner);
    expect(refusals(at.metrics)).toEqual([]);
  });

  test('changes to resources are noticed, and a recreated policy has another identity', async () => {
    const { host, owner } = await setting();
    const first = await cached(host, owner);
    expect(Object.keys(first.metadata)).not.toContain('managedFields');
    const path = resourcePath(kind, owner.namespace, owner.name);
    const patch = { contentType: 'application/merge-patch+json' };
    await callApi('PATCH', path, { spec: { target: { version: '19.501-1' } } }, patch);
    await until(() => host.resources(kind).get(owner)?.spec.target.version === '19.501-1');
    expect(host.resources(kind).get(owner)?.metadata.generation).toBe(2);
    await callApi('DELETE', path);
    const again = await createPolicy(owner.namespace);
    await until(() => host.resources(kind).get(owner)?.metadata.uid === again.uid);
    expect(again.uid).not.toBe(owner.uid);
  });

  test('the author and time of an annotation are reported', async () => {
    const { host, owner } = await setting();
    await cached(host, owner);
    const before = Date.now();
    const annotate = ['-n', owner.namespace, 'annotate', 'cvp', owner.name, '--overwrite'];
    await kubectl([...annotate, 'logfleet.dev/approve=1-19.500-1/canary', 'example.com/note=none']);
    const reader = await openCluster({ kubeconfig: controlPlane().adminKubeconfig }, recordingContext());
    await reader.annotate(kind, owner, { name: 'logfleet.dev/abort', value: '1-19.500-1' });
    await reader.close();
    await until(() => host.resources(kind).get(owner)?.metadata.annotations['logfleet.dev/abort'] !== undefined);
    const writers = host.resources(kind).get(owner)?.metadata.annotationWriters;
    expect(writers).toEqual({
      'logfleet.dev/approve': { by: 'kubectl-annotate', atMs: expect.any(Number) },
      'logfleet.dev/abort': { by: 'logfleet-cli', atMs: expect.any(Number) },
    });
    // The API server rounds the annotation's time down to a whole second, so this time may be earlier than `before`.
    expect(writers?.['logfleet.dev/approve']?.atMs).toBeGreaterThan(before - 2_000);
  });

  test('only the settings in its own namespace pause the operator', async () => {
    const { host, installation, metrics } = await setting();
    await until(() => hasAnswered(metrics, 'WATCH configmaps 200'));
    expect(host.settings()).toEqual({});
    const elsewhere = await createNamespace('elsewhere');
    const settings = { metadata: { name: 'logfleet-settings' }, data: { paused: 'true' } };
    const configMaps = `/api/v1/namespaces/${installation.namespace}/configmaps`;
    await callApi('POST', `/api/v1/namespaces/${elsewhere}/configmaps`, settings);
    await callApi('POST', configMaps, { ...settings, metadata: { name: 'other' } });
    const heard: (string | undefined)[] = [];
    host.subscribeSettings(() => heard.push(host.settings().pausedBy));
    await callApi('POST', configMaps, settings);
    await until(() => host.settings().pausedBy !== undefined);
    const patch = { contentType: 'application/merge-patch+json' };
    await callApi('PATCH', `${configMaps}/logfleet-settings`, { data: { paused: 'false' } }, patch);
    await until(() => host.settings().pausedBy === undefined);
    await callApi('PATCH', `${configMaps}/logfleet-settings`, { data: { paused: 'stop' } }, patch);
    await until(() => host.settings().pausedBy !== undefined);
    await callApi('DELETE', `${configMaps}/logfleet-settings`);
    await until(() => host.settings().pausedBy === undefined);
    const place = `the ConfigMap logfleet-settings in namespace ${installation.namespace}`;
    expect(heard).toEqual([place, undefined, `${place}, whose paused is "stop"`, undefined]);
    expect(refusals(metrics)).toEqual([]);
  });

  test('a status is written under optimistic lock, and the spec does not change', async () => {
    const { host, owner } = await setting();
    const policy = await cached(host, owner);
    const written = await host.writeStatus(kind, withTarget(policy, '19.500-1'));
    expect(written.status?.targetVersion).toBe('19.500-1');
    expect(written.metadata.generation).toBe(1);
    expect(host.resources(kind).get(owner)).toEqual(written);
    await expect(host.writeStatus(kind, withTarget(policy, '19.501-1'))).rejects.toMatchObject({
      code: 'host.conflict',
    });
    const { body } = await callApi('GET', resourcePath(kind, owner.namespace, owner.name));
    expect(body).toMatchObject({
      spec: policy.spec,
      status: { targetVersion: '19.500-1' },
      metadata: { generation: 1 },
    });
    const manager = body.metadata.managedFields.find(
      (entry: { subresource?: string }) => entry.subresource === 'status',
    );
    expect(manager.manager).toBe('logfleet');
    await callApi('DELETE', resourcePath(kind, owner.namespace, owner.name));
    await expect(host.writeStatus(kind, withTarget(written, '19.501-1'))).rejects.toMatchObject({ code: 'host.gone' });
  });

  test('ledgers are stored in shards of 512 KiB, and conflicts are reported', async () => {
    const { host, owner } = await setting();
    expect(await host.ledgers.read(owner, 'head')).toBeUndefined();
    const large = 'ü'.repeat(256 * 1024);
    const version = await host.ledgers.write(owner, 'head', large, undefined);
    const next = await host.ledgers.write(owner, 'head', 'small', version);
    await host.ledgers.write(owner, 'log-0', large, undefined);
    expect(await host.ledgers.read(owner, 'head')).toMatchObject({ content: 'small', version: next });
    expect((await host.ledgers.read(owner, 'log-0'))?.content).toBe(large);
    await expect(host.ledgers.write(owner, 'head', 'late', version)).rejects.toMatchObject({ code: 'host.conflict' });
    await expect(host.ledgers.write(owner, 'head', 'late', undefined)).rejects.toMatchObject({ code: 'host.conflict' });
  });

  test('kubectl describe shows events, with their count', async () => {
    const { host, owner, metrics } = await setting();
    for (let time = 0; time < 2; time++) {
      host.events.publish(owner, { type: 'Warning', reason: 'TargetMissing', message: 'the service offers 19.501-1' });
      await until(() => hasAnswered(metrics, time === 0 ? 'POST events 201' : 'PATCH events 200'));
    }
    const { stdout } = await kubectl(['-n', owner.namespace, 'describe', 'cvp', owner.name]);
    expect(stdout).toMatch(/Warning\s+TargetMissing\s+.*\(x2 over .*the service offers 19\.501-1/);
  });

  test('Secrets are read by name, and a missing Secret is reported as missing', async () => {
    const { host, owner } = await setting();
    const key = { namespace: owner.namespace, name: 'log-service' };
    expect(await host.secrets.get(key)).toBeUndefined();
    await callApi('POST', `/api/v1/namespaces/${key.namespace}/secrets`, {
      metadata: { name: key.name },
      stringData: { accessId: 'id', accessKey: 'key' },
    });
    expect((await host.secrets.get(key))?.get('accessKey')?.reveal()).toBe('key');
  });

  test('one of two replicas leads, and releases the lease when it stops', async () => {
    const { host, installation } = await setting();
    await until(() => host.leadership.isLeader());
    const { host: second } = await operate(installation, 'operator-1');
    await until(() => second.unready().length === 0);
    expect(second.leadership.isLeader()).toBe(false);
    await host.stop();
    expect(host.leadership.isLeader()).toBe(false);
    await until(() => second.leadership.isLeader());
    expect(second.leadership.tookOverByForce()).toBe(false);
  });
});

/** Sends every API request that an export in a Kubernetes Job needs. If a permission is missing, a request fails. */
async function runJob({ host, metrics }: RunningHost, namespace: string): Promise<void> {
  const { workerJobs } = host;
  if (!workerJobs) throw new Error('the operator cannot create Jobs');
  const followed = ['jobs', 'pods'].map((resource) => `WATCH ${resource} 200`);
  await untilAllowed(metrics, () => workerJobs.synced() && followed.every((line) => hasAnswered(metrics, line)));
  const sample = exportOf({ execution: { mode: 'Job' } });
  const share = { user: 'u', workers: 1, share: { requestsPerSecond: 1, maxConcurrentRequests: 2 } };
  const resource = { ...sample, metadata: { ...sample.metadata, namespace } };
  const input = { resource, image: workerJobs.image, share, credentials: 'c' };
  const name = jobName(input);
  const key = { namespace, name };
  await workerJobs.exists(key);
  await workerJobs.create(key, buildJob(input));
  const found = () => [...workerJobs.jobs()].find(({ metadata }) => metadata.name === name);
  await workerJobs.remove(await vi.waitUntil(found, { timeout: 300_000, interval: 5 }));
  await workerJobs.serviceAccountLabels(key);
  await workerJobs.claimAccessModes(key);
}

interface RbacRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Role {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly RbacRule[];
}

/** Removes a verb from an RBAC rule, and waits until the API server refuses the verb. */
async function withdraw({ namespace, account }: Installation, role: Role, rule: RbacRule, verb: string): Promise<void> {
  const rules = role.rules
    .map((other) => (other === rule ? { ...rule, verbs: rule.verbs.filter((kept) => kept !== verb) } : other))
    .filter(({ verbs }) => verbs.length > 0);
  await setRules(role, rules);
  const [resource = '', subresource] = rule.resources[0]?.split('/') ?? [];
  const attributes = {
    namespace,
    verb,
    group: rule.apiGroups[0],
    resource,
    subresource,
    name: rule.resourceNames?.[0],
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: `system:serviceaccount:${namespace}:${account}`, resourceAttributes: attributes },
  };
  await expect
    .poll(
      async () =>
        (await callApi('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)).body.status.allowed,
    )
    .toBe(false);
}

const rbac = '/apis/rbac.authorization.k8s.io/v1';

function pathOf({ metadata: { namespace, name } }: Role): string {
  return namespace === undefined ? `${rbac}/clusterroles/${name}` : `${rbac}/namespaces/${namespace}/roles/${name}`;
}

async function setRules(role: Role, rules: readonly RbacRule[]): Promise<void> {
  const path = pathOf(role);
  const response = await callApi('PATCH', path, { rules }, { contentType: 'application/merge-patch+json' });
  expect(response.status).toBe(200);
}

/**
 * Deletes the objects that a new operator would create. If `hasLease` is true, recreates the Lease without a holder.
 */
async function reset({ namespace }: Installation, hasLease: boolean): Promise<void> {
  await callApi('DELETE', objectPath('ledgers', namespace));
  await callApi('DELETE', objectPath('jobs', namespace));
  await callApi('DELETE', resourcePath('SearchExport', namespace));
  await callApi('DELETE', objectPath('leases', namespace));
  if (hasLease) await callApi('POST', objectPath('leases', namespace), releasedLease(namespace));
}

/**
 * Reports whether the API server refuses a request of a new operator. If `hasLease` is true, the operator finds a Lease
 * without a holder. Tries again if a request fails for another reason, such as a late response from a busy API server.
 */
async function isRefused(installation: Installation, owner: OwnerRef, hasLease = true): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    await reset(installation, hasLease);
    const operator = await operate(installation, 'operator-0', 'logfleet:test');
    const { host, metrics } = operator;
    const ends = await Promise.allSettled([doEverything(operator, owner), runJob(operator, owner.namespace)]);
    // While stopping, the operator sends one more request to release its lease.
    await host.stop();
    const failed = ends.find((end) => end.status === 'rejected');
    if (refusals(metrics).length > 0 || !failed) return refusals(metrics).length > 0;
    if (attempt === 3) throw failed.reason;
  }
}

async function allowJobs({ namespace, account }: Installation): Promise<void> {
  const file = join(import.meta.dirname, '../../manifests/export-jobs/role.yaml');
  const [role] = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS());
  const name = 'logfleet-export-jobs';
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace }];
  for (const [plural, object] of [
    ['roles', { metadata: { name }, rules: role.rules }],
    ['rolebindings', { metadata: { name }, roleRef, subjects }],
  ] as const) {
    expect((await callApi('POST', `${rbac}/namespaces/${namespace}/${plural}`, object)).status).toBe(201);
  }
}

/** Splits RBAC rules, so that each rule names only one resource. */
function ofOneResource(rules: readonly RbacRule[]): readonly RbacRule[] {
  return rules.flatMap((rule) => rule.resources.map((resource) => ({ ...rule, resources: [resource] })));
}

test('every verb for every resource of a Role is needed', async () => {
  const installation = await install('namespaced');
  const { namespace } = installation;
  await allowJobs(installation);
  const owner = await createPolicy(namespace);
  const { body } = await callApi('GET', `${rbac}/namespaces/${namespace}/roles`);
  const { body: clusterRole } = await callApi('GET', `${rbac}/clusterroles/logfleet-operator-${namespace}`);
  expect(await isRefused(installation, owner)).toBe(false);
  const unneeded: string[] = [];
  for (const { metadata, rules } of [clusterRole, ...body.items] as Role[]) {
    const role = { metadata, rules: ofOneResource(rules) };
    for (const rule of role.rules) {
      for (const verb of rule.verbs) {
        await withdraw(installation, role, rule, verb);
        const hasLease = !(verb === 'create' && rule.resources.includes('leases'));
        if (!(await isRefused(installation, owner, hasLease))) unneeded.push(`${verb} ${rule.resources.join()}`);
      }
    }
    await setRules(role, role.rules);
  }
  expect(unneeded).toEqual([]);
});

test('a resource version that is too old is reported as expired', async () => {
  const { api } = await connectToCluster({ kubeconfig: controlPlane().adminKubeconfig });
  const client = new ApiClient({ api, clock: systemClock, metrics: noMetrics });
  const query = { watch: 'true', resourceVersion: '1', timeoutSeconds: '300' };
  const watch = client.watch({
    path: resourcePath(kind, undefined),
    query,
    signal: new AbortController().signal,
    deadlineMs: 300_000,
  });
  let outcome: unknown;
  try {
    for await (const line of watch) {
      outcome = JSON.parse(line);
      break;
    }
  } catch (error) {
    outcome = error;
  }
  expect([
    expect.objectContaining({ code: 'host.expired' }),
    expect.objectContaining({ type: 'ERROR' }),
  ]).toContainEqual(outcome);
  await api.close();
});

test('requests to the API server do not use the proxy set in the environment', async () => {
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'ALL_PROXY']) vi.stubEnv(name, 'http://127.0.0.1:1');
  const { api } = await connectToCluster({ kubeconfig: controlPlane().adminKubeconfig });
  const response = await api.request({ method: 'GET', path: '/version', signal: new AbortController().signal });
  expect(response.status).toBe(200);
  await api.close();
});

test('a missing kubeconfig or context is reported', async () => {
  await expect(connectToCluster({ kubeconfig: '/nowhere' })).rejects.toMatchObject({ code: 'host.misconfigured' });
  const { adminKubeconfig } = controlPlane();
  await expect(connectToCluster({ kubeconfig: adminKubeconfig, context: 'nowhere' })).rejects.toMatchObject({
    code: 'host.misconfigured',
    message: expect.stringContaining('"nowhere"'),
  });
});
