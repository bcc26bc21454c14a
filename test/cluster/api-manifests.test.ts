/** Tests the objects in `manifests/` on a real API server. */
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { packageVersion } from '../../src/cli/command/package-folder.ts';
import { callApi, controlPlane, createNamespace, kubectl } from '../support/control-plane.ts';
import { kustomization } from '../support/installation.ts';

interface DeploymentManifest {
  readonly spec: { readonly template: { readonly spec: object } };
}

const manifests = join(import.meta.dirname, '../../manifests');

test.each(['cluster-wide', 'namespaced'])(
  '%s is accepted unchanged under the restricted pod security standard',
  async (base) => {
    const namespace = await createNamespace('manifests');
    const labels = { 'pod-security.kubernetes.io/warn': 'restricted' };
    const patch = { contentType: 'application/merge-patch+json' };
    await callApi('PATCH', `/api/v1/namespaces/${namespace}`, { metadata: { labels } }, patch);
    const directory = kustomization({ namespace, resources: [base] });
    const args = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-k', directory];
    const { status, stdout, stderr } = await kubectl(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('deployment.apps/logfleet');
  },
);

test('the patch for exports adds a volume to the operator, and its flag', async () => {
  const namespace = await createNamespace('manifests');
  const folder = kustomization({ namespace, resources: ['namespaced'], components: ['export-volume'] });
  const args = ['apply', '--server-side', '--dry-run=server', '-k', folder, '-o', 'json'];
  const { status, stdout, stderr } = await kubectl(args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const { items } = JSON.parse(stdout) as {
    readonly items: readonly { readonly kind: string; readonly spec: DeploymentManifest['spec'] }[];
  };
  const { template } = items.find(({ kind }) => kind === 'Deployment')?.spec ?? {};
  expect(template?.spec).toMatchObject({
    securityContext: { fsGroup: 65_532 },
    volumes: [{ name: 'exports', persistentVolumeClaim: { claimName: 'logfleet-exports' } }],
    containers: [
      { args: ['run', '--volume=exports=/exports'], volumeMounts: [{ name: 'exports', mountPath: '/exports' }] },
    ],
  });
  expect(items.some(({ kind }) => kind === 'PersistentVolumeClaim')).toBe(true);
});

test('an operator pod that is not ready can be evicted, so that it does not block draining a node', async () => {
  const namespace = await createNamespace('manifests');
  const args = ['apply', '--namespace', namespace, '--filename', join(manifests, 'base/pod-disruption-budget.yaml')];
  expect(await kubectl(args)).toMatchObject({ status: 0 });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const metadata = { name: 'logfleet-0', labels: { 'app.kubernetes.io/name': 'logfleet' } };
  const spec = { containers: [{ name: 'logfleet', image: 'logfleet' }], automountServiceAccountToken: false };
  const account = { metadata: { name: 'default' } };
  expect((await callApi('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, account)).status).toBe(201);
  expect((await callApi('POST', pods, { metadata, spec })).status).toBe(201);
  const running = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } };
  const patch = { contentType: 'application/merge-patch+json' };
  expect((await callApi('PATCH', `${pods}/logfleet-0/status`, running, patch)).status).toBe(200);
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'logfleet-0', namespace } };
  expect((await callApi('POST', `${pods}/logfleet-0/eviction`, eviction)).status).toBe(201);
});

/** Returns the kustomization contained in a Markdown code block or in comments. */
function shownKustomization(file: string): string {
  const text = readFileSync(file, 'utf8').replaceAll(/^# {3}/gm, '');
  return /^apiVersion: kustomize\S+\nkind: Kustomization\n(?:(?!```|#|apiVersion).*\n)+/m.exec(text)?.[0] ?? '';
}

test.each([
  ['the installation page', '../docs/install.md'],
  ['the component', 'export-volume/kustomization.yaml'],
])("the kustomization in %s creates the claim in the operator's namespace, for both bases", async (_, file) => {
  const shown = shownKustomization(join(manifests, file));
  for (const [base, namespace] of [
    ['cluster-wide', 'logfleet'],
    ['namespaced', 'logging'],
  ] as const) {
    const directory = mkdtempSync(join(controlPlane().directory, 'shown-'));
    symlinkSync(join(manifests, '..'), join(directory, 'logfleet'));
    const text = shown.replace('cluster-wide', base).replace('namespace: logfleet', `namespace: ${namespace}`);
    writeFileSync(join(directory, 'kustomization.yaml'), text);
    const { status, stdout, stderr } = await kubectl(['kustomize', directory]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const documents = parseAllDocuments(stdout).map((document) => document.toJS());
    const placeOf = (kind: string) => documents.find((document) => document.kind === kind)?.metadata.namespace;
    expect([placeOf('Deployment'), placeOf('PersistentVolumeClaim')]).toEqual([namespace, namespace]);
    expect(stdout).toContain(`image: registry.example.com/logfleet:${packageVersion()}`);
  }
});

test('samples are accepted', async () => {
  const namespace = await createNamespace('samples');
  const { stdout } = await kubectl(['kustomize', kustomization({ namespace, resources: ['samples'] })]);
  const { status, stderr } = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], {
    input: stdout,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('samples that the sample kustomization omits are also accepted', async () => {
  const namespace = await createNamespace('samples');
  const folder = join(manifests, 'samples');
  const files = readdirSync(folder).filter((file) => file.startsWith('export-'));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').replace('namespace: logging', ''));
  const args = ['apply', '--dry-run=server', '--validate=strict', '-n', namespace, '-f', '-'];
  const { status, stdout, stderr } = await kubectl(args, { input: texts.join('---\n') });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout.trim().split('\n')).toHaveLength(4);
});
