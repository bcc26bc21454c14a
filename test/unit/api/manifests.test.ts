/** What has to stay the same in several places of `manifests/`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '../../..');

// biome-ignore lint/suspicious/noExplicitAny: manifests of any kind.
function manifest(file: string): any {
  const documents = parseAllDocuments(readFileSync(join(root, 'manifests', file), 'utf8'));
  return documents[0]?.toJS();
}

test('the operator has the same rights in its namespace as in a whole cluster', () => {
  const clusterRole = manifest('cluster-wide/operator-role.yaml');
  const role = manifest('namespaced/operator-role.yaml');
  expect([clusterRole.kind, role.kind]).toEqual(['ClusterRole', 'Role']);
  expect(role.rules).toEqual(clusterRole.rules);
});

test('the image and the labels have the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [container] = manifest('base/deployment.yaml').spec.template.spec.containers;
  expect(container.image).toBe(`logfleet:${version}`);
  expect(manifest('base/kustomization.yaml').labels).toContainEqual(
    expect.objectContaining({ pairs: { 'app.kubernetes.io/version': version } }),
  );
});
