/** Tests that promtool can parse the Grafana dashboard's queries, and that their metrics exist. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { metricDefinitions } from '../support/metric-catalogue.ts';
import { readText } from '../unit/house/source-file.ts';
import { metricsIn } from './alert-rules.ts';
import { promtool } from './promtool.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const { panels } = JSON.parse(readText('manifests/monitoring/dashboard.json')) as { readonly panels: readonly Panel[] };
const targets = panels.flatMap((panel) => panel.targets ?? []);
const queries = targets.map(({ expr }) => expr);

test('every panel in the dashboard has its own id and title, and queries', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(queries.length).toBeGreaterThan(20);
});

// Grafana shows the results of only one query of a table at a time.
test('every table in the dashboard has a single query', () => {
  const tables = panels.filter(({ type }) => type === 'table');
  expect(tables.length).toBeGreaterThan(1);
  expect(tables.filter(({ targets = [] }) => targets.length !== 1)).toEqual([]);
});

test('the queries and legends keep resources with the same name in different namespaces apart', () => {
  const groups = queries.flatMap((expr) => [...expr.matchAll(/\bby \((.*?)\)/g)].map(([, labels = '']) => labels));
  const names = [...groups, ...targets.map(({ legendFormat }) => legendFormat)];
  const ofResources = names.filter((text) => /\b(?:policy|export|schedule)\b/.test(text));
  expect(ofResources.length).toBeGreaterThan(15);
  expect(ofResources.filter((text) => !/\bnamespace\b/.test(text))).toEqual([]);
});

test('promtool parses each query of the dashboard', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'logfleet-dashboard-'));
  const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr }));
  writeFileSync(join(directory, 'queries.yaml'), stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { status, output } = await promtool(['check', 'rules', join(directory, 'queries.yaml')]);
  rmSync(directory, { recursive: true });
  expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining(`${queries.length} rules found`) });
});

test('the dashboard uses only existing metrics, and every metric of a resource', async () => {
  const known = [...(await metricDefinitions()).keys()];
  const used = queries.flatMap(metricsIn).map((name) => name.replace(/_bucket$/, ''));
  expect(used.filter((name) => !known.includes(name))).toEqual([]);
  const ofRollouts = known.filter(
    (name) => name.startsWith('logfleet_policy_') || name.startsWith('logfleet_schedule_'),
  );
  const left = ofRollouts.filter((name) => !used.includes(name));
  // The dashboard does not show this metric, because only the alert for schedules without progress needs it.
  expect(left).toEqual(['logfleet_schedule_covered_seconds']);
});
