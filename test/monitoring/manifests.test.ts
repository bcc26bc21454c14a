/** Tests the kustomize component `manifests/monitoring` in a user's kustomization. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { controlPlaneTools } from '../../scripts/tools.ts';
import { readText } from '../unit/house/source-file.ts';

interface MonitoringManifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: never;
}

let directory: string;
let manifests: readonly MonitoringManifest[];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'logfleet-monitoring-'));
  symlinkSync(fileURLToPath(new URL('../..', import.meta.url)), join(directory, 'logfleet'));
  const [, kustomization = ''] = /```yaml\n([\s\S]*?)```/.exec(readText('docs/alerts.md')) ?? [];
  writeFileSync(join(directory, 'kustomization.yaml'), kustomization);
  const { kubectl } = await controlPlaneTools();
  const text = execFileSync(kubectl, ['kustomize', '--load-restrictor=LoadRestrictionsNone', directory]);
  manifests = parseAllDocuments(text.toString()).map((document) => document.toJS());
});
afterAll(() => rmSync(directory, { recursive: true }));

const only = (kind: string) => manifests.filter((each) => each.kind === kind);

test('the kustomization of docs/alerts.md installs the objects into the namespace of the operator', () => {
  const added = ['PodMonitor', 'PrometheusRule'].flatMap(only);
  const dashboard = only('ConfigMap').find(({ metadata }) => metadata.name === 'logfleet-dashboard');
  expect(dashboard?.metadata).toMatchObject({ namespace: 'logfleet', labels: { grafana_dashboard: '1' } });
  expect(added.map(({ kind, metadata: { name, namespace } }) => [kind, name, namespace])).toEqual([
    ['PodMonitor', 'logfleet', 'logfleet'],
    ['PrometheusRule', 'logfleet', 'logfleet'],
  ]);
});

test('the PodMonitor selects the pods of the operator, and a port that they have', () => {
  const [monitor] = only('PodMonitor') as {
    spec: { selector: { matchLabels: object }; podMetricsEndpoints: object[] };
  }[];
  const [deployment] = only('Deployment') as {
    spec: { template: { metadata: { labels: object }; spec: { containers: { ports: { name: string }[] }[] } } };
  }[];
  const template = deployment?.spec.template;
  expect(template?.metadata.labels).toMatchObject(monitor?.spec.selector.matchLabels ?? { missing: '' });
  const ports = template?.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
  expect(monitor?.spec.podMetricsEndpoints).toEqual([
    { port: ports?.[0], path: '/metrics', interval: '30s', honorLabels: true },
  ]);
});
