/** Tests the Kubernetes Jobs that the operator creates for exports. The API server is real, but no pods run. */
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { SearchExport } from '../../src/api/kinds.ts';
import { buildJob } from '../../src/export/jobs/job-manifest.ts';
import { objectPath } from '../../src/host/kubernetes/api-paths.ts';
import { callApi, controlPlane, createNamespace, kubectl, userFor } from '../support/control-plane.ts';
import { objectsOf } from '../support/helm.ts';
import { kustomization } from '../support/installation.ts';
import { exportOf } from '../unit/export/sample-view.ts';

const manifests = join(import.meta.dirname, '../../manifests');
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const share = { user: 'u', workers: 1, share: { requestsPerSecond: 1, maxConcurrentRequests: 2 } };

interface CheckedJob {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } };
}

/** Job for an export that uses every Job setting. */
function jobIn(namespace: string): CheckedJob {
  const job = {
    backoffLimitPerIndex: 2,
    ttlSecondsAfterFinished: 60,
    template: {
      metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'exports' } },
      spec: {
        nodeSelector: { disk: 'fast' },
        tolerations: [{ key: 'batch', operator: 'Exists', effect: 'NoSchedule' }],
        resources: { requests: { cpu: 2 }, limits: { memory: '2Gi' } },
        imagePullSecrets: [{ name: 'registry' }],
      },
    },
  };
  const spec = {
    execution: { mode: 'Job', job },
    destination: { persistentVolumeClaim: { claimName: 'audit' } },
    activeDeadlineSeconds: 60,
  };
  const resource: SearchExport = exportOf(spec);
  const metadata = { ...resource.metadata, namespace };
  const input = { resource: { ...resource, metadata }, image: 'logfleet:0.1.0', share, credentials: 'c' };
  return buildJob(input) as CheckedJob;
}

test('the Job and its pod are accepted under the restricted pod security standard', async () => {
  const namespace = await createNamespace('jobs');
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const patch = { contentType: 'application/merge-patch+json' };
  await callApi('PATCH', `/api/v1/namespaces/${namespace}`, { metadata: { labels } }, patch);
  await callApi('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  const job = jobIn(namespace);
  const { template } = job.spec;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: 'pod' }, spec: template.spec };
  for (const manifest of [job, pod]) {
    const args = ['create', '--validate=strict', '-n', namespace, '-f', '-'];
    const { status, stderr } = await kubectl(args, { input: JSON.stringify(manifest) });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  }
  const { body } = await callApi('GET', objectPath('pods', namespace, 'pod'));
  expect(JSON.stringify(body)).not.toContain('serviceAccountToken');
});

test("the component's ClusterRole is sufficient, and allows nothing else on pods", async () => {
  const namespace = await createNamespace('jobs');
  const [role] = parseAllDocuments(readFileSync(join(manifests, 'export-jobs/role.yaml'), 'utf8'));
  const name = `export-jobs-${namespace}`;
  const { rules } = (role?.toJS() ?? {}) as { readonly rules?: readonly object[] };
  expect((await callApi('POST', `${rbac}/clusterroles`, { metadata: { name }, rules })).status).toBe(201);
  await callApi('POST', `${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: 'jobs' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace }],
  });
  const operator = await userFor(namespace, 'operator');
  const status = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
    (await callApi(method, path, body, operator)).status;
  await expect.poll(() => status('GET', objectPath('jobs', namespace))).toBe(200);
  const job = jobIn(namespace);
  expect(await status('POST', objectPath('jobs', namespace), job)).toBe(201);
  expect(await status('GET', objectPath('jobs', namespace, job.metadata.name))).toBe(200);
  expect(await status('GET', objectPath('pods', namespace))).toBe(200);
  expect(await status('GET', objectPath('serviceaccounts', namespace, 'operator'))).toBe(200);
  expect(
    await status('DELETE', objectPath('jobs', namespace, job.metadata.name), { propagationPolicy: 'Background' }),
  ).toBe(200);
  expect(await status('POST', objectPath('pods', namespace), { metadata: { name: 'pod' } })).toBe(403);
  expect(await status('DELETE', objectPath('pods', namespace, 'pod'))).toBe(403);
});

const components = ['export-jobs', 'export-jobs-namespaced'];

test.each(components)("the example for the component %s gives pods the operator's image", async (component) => {
  const text = readFileSync(join(manifests, component, 'kustomization.yaml'), 'utf8').replaceAll(/^# {3}/gm, '');
  const shown = /^apiVersion: kustomize\S+\nkind: Kustomization\n(?:(?!#|apiVersion).*\n)+/m.exec(text)?.[0] ?? '';
  const directory = mkdtempSync(join(controlPlane().directory, 'jobs-'));
  mkdirSync(directory, { recursive: true });
  symlinkSync(join(manifests, '..'), join(directory, 'logfleet'));
  writeFileSync(join(directory, 'kustomization.yaml'), shown);
  const { status, stdout, stderr } = await kubectl(['kustomize', directory]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const documents = parseAllDocuments(stdout).map((document) => document.toJS());
  const deployment = documents.find(({ kind }) => kind === 'Deployment');
  const image = 'registry.example.com/logfleet:0.1.0';
  expect(deployment.spec.template.spec.containers[0]).toMatchObject({
    image,
    env: expect.arrayContaining([{ name: 'LOGFLEET_WORKER_IMAGE', value: image }]),
  });
  expect(documents.filter(({ metadata }) => metadata.name === 'logfleet-export-jobs')).toHaveLength(2);
});

test.each([
  ['cluster-wide', 'export-jobs'],
  ['namespaced', 'export-jobs-namespaced'],
])(
  "%s with the component %s grants the rights to the operator in the kustomization's namespace",
  async (base, component) => {
    const directory = kustomization({ namespace: 'ops', resources: [base], components: [component] });
    const objects = objectsOf((await kubectl(['kustomize', directory])).stdout);
    const binding = objects.find(({ kind, metadata }) => kind.endsWith('Binding') && metadata.name.endsWith('-jobs'));
    expect(binding?.['subjects']).toEqual([{ kind: 'ServiceAccount', name: 'logfleet', namespace: 'ops' }]);
  },
);
