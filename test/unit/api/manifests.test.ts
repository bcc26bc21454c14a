/**
 * Tests that `manifests/` agrees with other files: memory settings with docs/performance.md, and versions with
 * package.json. Also tests the annotations for Flux and Argo CD.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '../../..');

// biome-ignore lint/suspicious/noExplicitAny: the tests read manifests of any kind.
function manifest(file: string): any {
  const documents = parseAllDocuments(readFileSync(join(root, 'manifests', file), 'utf8'));
  return documents[0]?.toJS();
}

/** Returns all memory sizes in MiB in the tables in docs/performance.md, except the size for `logfleet ui`. */
function measuredMebibytes(): readonly number[] {
  const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
  // In each row of the table, the measured value comes before the goal.
  return [...page.matchAll(/^\|.*?(\d+) MiB.*\|$/gm)]
    .filter(([row]) => !row.includes('memory of the command'))
    .map(([, figure]) => Number(figure));
}

test('the memory request is higher than all memory used by the operator in docs/performance.md, and the limit is higher than the request', () => {
  const { requests, limits } = manifest('base/deployment.yaml').spec.template.spec.containers[0].resources;
  const mebibytes = (quantity: string) => Number(/^(\d+)Mi$/.exec(quantity)?.[1]);
  expect(measuredMebibytes().length).toBeGreaterThan(9);
  expect(mebibytes(requests.memory)).toBeGreaterThan(Math.max(...measuredMebibytes()));
  expect(mebibytes(limits.memory)).toBeGreaterThan(mebibytes(requests.memory));
});

test('the image and the labels have the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { metadata, spec } = manifest('base/deployment.yaml');
  expect(spec.template.spec.containers[0].image).toBe(`logfleet:${version}`);
  for (const { labels } of [metadata, spec.template.metadata]) {
    expect(labels['app.kubernetes.io/version']).toBe(version);
  }
});

test('Flux and Argo CD do not delete the CRDs, the Namespace or the claim with exported files', () => {
  const crds = readdirSync(join(root, 'manifests/crds')).filter((file) => file !== 'kustomization.yaml');
  expect(crds).toHaveLength(4);
  const kept = [...crds.map((file) => `crds/${file}`), 'cluster-wide/namespace.yaml', 'export-volume/claim.yaml'];
  for (const file of kept) {
    expect(manifest(file).metadata.annotations, file).toMatchObject({
      'kustomize.toolkit.fluxcd.io/prune': 'disabled',
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
    });
  }
});
