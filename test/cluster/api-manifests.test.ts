/** What `manifests/` installs, as a real API server sees it. What the operator does with its rights is tested elsewhere. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { callApi, controlPlane, createNamespace, kubectl } from '../support/control-plane.ts';

const manifests = join(import.meta.dirname, '../../manifests');

/** A kustomization as a user writes it, to put a base into a namespace of the test. */
function overlay(base: string, namespace: string): string {
  const directory = join(controlPlane().directory, `${namespace}-${base}`);
  mkdirSync(directory, { recursive: true });
  const lines = [
    'kind: Kustomization',
    `namespace: ${namespace}`,
    `resources: ["${relative(directory, join(manifests, base))}"]`,
  ];
  writeFileSync(join(directory, 'kustomization.yaml'), lines.join('\n'));
  return directory;
}

test.each(['cluster-wide', 'namespaced'])(
  '%s is taken as it is, under the restricted pod security standard',
  async (base) => {
    const namespace = await createNamespace('manifests');
    const labels = { 'pod-security.kubernetes.io/warn': 'restricted' };
    const patch = { contentType: 'application/merge-patch+json' };
    await callApi('PATCH', `/api/v1/namespaces/${namespace}`, { metadata: { labels } }, patch);
    const args = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-k', overlay(base, namespace)];
    const { status, stdout, stderr } = await kubectl(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('deployment.apps/logfleet');
  },
);

test('samples are taken', async () => {
  const namespace = await createNamespace('samples');
  const { stdout } = await kubectl(['kustomize', overlay('samples', namespace)]);
  const { status, stderr } = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], {
    input: stdout,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
