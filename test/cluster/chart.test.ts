/** Tests that the Helm chart renders the same objects as the kustomize bases and `logfleet manifests`. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { extract } from 'tar';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { filesBelow } from '../../scripts/release/archive.ts';
import { writeChart } from '../../scripts/release/artifacts.ts';
import { packageVersion } from '../../scripts/release/program-folder.ts';
import { runProgram } from '../../src/cli/program.ts';
import { callApi, controlPlane, createNamespace, kubectl } from '../support/control-plane.ts';
import { chart, helm, objectsOf, type RenderedObject, renderChart } from '../support/helm.ts';
import { recordingContext } from '../support/recording-context.ts';

const root = join(import.meta.dirname, '../..');

/** Labels and annotations added only by Helm. */
const onlyOfHelm = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
  'helm.sh/resource-policy',
];

/** Returns the objects by kind, namespace and name, without the labels and annotations added by Helm. */
function comparable(objects: readonly RenderedObject[]): Readonly<Record<string, unknown>> {
  const withoutHelm = (map: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.entries(map).filter(([name]) => !onlyOfHelm.includes(name)));
  const entries = objects
    .filter(({ kind }) => kind !== 'Namespace')
    .map(({ metadata: { labels, annotations, ...metadata }, ...object }) => {
      const kept = { ...metadata, labels: withoutHelm(labels), annotations: withoutHelm(annotations) };
      return [`${object.kind} ${metadata.namespace}/${metadata.name}`, { ...object, metadata: kept }] as const;
    });
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return JSON.parse(JSON.stringify(Object.fromEntries(entries)), (name, value) =>
    name === 'env' ? [...value].sort((a, b) => (a.name < b.name ? -1 : 1)) : value,
  );
}

async function kustomized(base: string, components: readonly string[] = []): Promise<readonly RenderedObject[]> {
  const directory = join(controlPlane().directory, ['chart', base, ...components].join('-').replaceAll('/', '-'));
  mkdirSync(directory, { recursive: true });
  const within = (folder: string) => relative(directory, join(root, 'manifests', folder));
  const kustomization = {
    ...(components.length > 0 && { namespace: base === 'namespaced' ? 'logging' : 'logfleet' }),
    resources: [within(base)],
    components: components.map(within),
  };
  writeFileSync(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
  const { status, stdout, stderr } = await kubectl(['kustomize', directory]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return objectsOf(stdout);
}

async function printed(...flags: readonly string[]): Promise<readonly RenderedObject[]> {
  const context = recordingContext();
  expect(await runProgram(['manifests', ...flags], context)).toBe(0);
  return objectsOf(context.stdout.text);
}

const on = { enabled: true };

describe('the chart renders the objects of', () => {
  test.each([
    ['cluster-wide', [], {}],
    ['cluster-wide/operator', [], { crds: { install: false } }],
    ['crds', [], { operator: { install: false } }],
    ['cluster-wide', ['export-jobs'], { exportJobs: { enabled: true } }],
    ['cluster-wide', ['export-volume'], { exportVolume: { enabled: true } }],
    ['cluster-wide', ['notifications'], { notifications: { secretName: 'logfleet-notifications' } }],
    ['cluster-wide', ['monitoring'], { monitoring: { podMonitor: on, alerts: on, dashboard: on } }],
  ])('manifests/%s with components %j', async (base, components, values) => {
    expect(comparable(await renderChart(values))).toEqual(comparable(await kustomized(base, components)));
  });

  test.each([
    [[], {}],
    [['export-jobs-namespaced'], { exportJobs: { enabled: true } }],
  ])('manifests/namespaced with components %j', async (components, values) => {
    const namespaced = { crds: { install: false }, namespaces: ['logging'] };
    const ours = comparable(await renderChart({ ...namespaced, ...values }, 'logging'));
    const text = JSON.stringify(comparable(await kustomized('namespaced', components)));
    // The kustomize base takes the namespace from the pod's `metadata.namespace`, because kustomize cannot insert the
    // namespace as a value. The chart inserts it as a value.
    const named = text.replace(
      '{"name":"LOGFLEET_NAMESPACES","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}}',
      '{"name":"LOGFLEET_NAMESPACES","value":"logging"}',
    );
    expect(named).not.toBe(text);
    expect(ours).toEqual(JSON.parse(named));
  });

  test('logfleet manifests with all its flags', async () => {
    const values = {
      crds: { install: false },
      image: { repository: 'registry.example.com/logfleet', tag: '0.1.0' },
      namespaces: ['team-a', 'team-b'],
      secretNames: ['log-service', 'export-store'],
      notifications: { secretName: 'webhook' },
      exportJobs: { enabled: true },
    };
    const flags = '--namespace logging --namespaces team-a,team-b --secrets log-service,export-store --export-jobs';
    const notifications = ['--notification-secret', 'webhook'];
    const image = ['--image', 'registry.example.com/logfleet:0.1.0'];
    const ours = comparable(await renderChart(values, 'logging'));
    expect(ours).toEqual(comparable(await printed(...flags.split(' '), ...image, ...notifications)));
  });
});

test('helm lint finds nothing, with default values and with the examples of all values', async () => {
  for (const values of [{}, exampleValues()]) {
    const { status, stdout } = await helm(['lint', chart, '--strict'], values);
    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('0 chart(s) failed') });
  }
});

test('helm uninstall keeps the CRDs with their ClusterRoles, the export claim and the lease, and nothing else', async () => {
  const objects = await renderChart({ exportVolume: { enabled: true }, exportJobs: { enabled: true } });
  const kept = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep');
  expect(kept.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()).toEqual([
    ...['edit', 'export-progress', 'install', 'operator', 'view'].map((name) => `ClusterRole logfleet-${name}`),
    ...['collectorversionpolicies', 'ledgers', 'searchexports', 'searchexportschedules'].map(
      (name) => `CustomResourceDefinition ${name}.logfleet.dev`,
    ),
    'Lease logfleet-operator',
    'PersistentVolumeClaim logfleet-exports',
  ]);
});

test('monitoring.alerts.runbookUrl links each alert to its section of the page', async () => {
  const page = 'https://docs.example.com/alerts';
  const objects = await renderChart({ monitoring: { alerts: { enabled: true, runbookUrl: page } } });
  const rules = objects.find(({ kind }) => kind === 'PrometheusRule') as unknown as PrometheusRule;
  const alerts = rules.spec.groups.flatMap((group) => group.rules);
  expect(alerts.length).toBeGreaterThan(10);
  for (const { alert, annotations } of alerts) {
    expect(annotations).toMatchObject({ runbook_url: `${page}#${alert.toLowerCase()}` });
    expect(annotations).not.toHaveProperty('runbook');
  }
});

interface PrometheusRule {
  readonly spec: { readonly groups: readonly { readonly rules: readonly ChartAlert[] }[] };
}

interface ChartAlert {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface ValuesSchema {
  readonly type: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
  readonly additionalProperties?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly string[];
  readonly items?: ValuesSchema;
}

const schema: ValuesSchema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));

/** A single chart setting (not a group of settings). `path` is its path in `values.yaml`. */
interface Leaf {
  readonly path: readonly string[];
  readonly schema: ValuesSchema;
}

/** All single chart settings, except settings that only Helm and parent charts use. */
const leaves = leavesOf(schema).filter(({ path: [first = ''] }) => !['enabled', 'global'].includes(first));

function leavesOf(schema: ValuesSchema, path: readonly string[] = []): readonly Leaf[] {
  // A group of settings with an example in the schema describes a Kubernetes object, so the test sets the whole group
  // as one value.
  if (!schema.properties || schema.examples) return [{ path, schema }];
  return Object.entries(schema.properties).flatMap(([name, each]) => leavesOf(each, [...path, name]));
}

function valueAt(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], values);
}

function withValue(values: object, [name = '', ...rest]: readonly string[], value: unknown): object {
  const before = (values as Record<string, object>)[name] ?? {};
  return { ...values, [name]: rest.length === 0 ? value : withValue(before, rest, value) };
}

/**
 * Returns chart values in which every setting has its example value. Examples that turn off a feature are omitted,
 * because they would remove objects that other examples configure.
 */
function exampleValues(): object {
  const isOff = ({ schema }: Leaf) => schema.examples?.[0] === false;
  return leaves
    .filter((leaf) => !isOff(leaf))
    .reduce<object>((values, { path, schema }) => withValue(values, path, schema.examples?.[0]), {});
}

function arrives(value: unknown, rendered: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => arrives(item, rendered));
  if (has(value, rendered)) return true;
  if (typeof rendered !== 'object' || rendered === null) return false;
  return Object.values(rendered).some((member) => arrives(value, member));
}

function has(value: unknown, rendered: unknown): boolean {
  if (typeof value === 'string' && typeof rendered === 'string') return rendered.includes(value);
  if (typeof value !== 'object' || value === null) return value === rendered;
  if (typeof rendered !== 'object' || rendered === null) return false;
  return Object.entries(value).every(([name, member]) => has(member, (rendered as Record<string, unknown>)[name]));
}

/** Strings that YAML reads as a number, a boolean or null unless they are quoted. */
const ambiguous = { number: '123', exponent: '1e3', yes: 'true' };

test('names that look like numbers or booleans remain strings', async () => {
  const { number, exponent, yes } = ambiguous;
  const values = {
    namespaces: [number, exponent],
    secretNames: [number],
    notifications: { secretName: number },
    exportJobs: { enabled: true },
    exportVolume: { enabled: true, size: number, storageClassName: yes },
    priorityClassName: exponent,
  };
  const existing = { exportVolume: { enabled: true, existingClaim: number } };
  const rendered = [...(await renderChart(values, number, number)), ...(await renderChart(existing, number, number))];
  /** Names of fields that are strings in the chart values, but numbers or booleans in the rendered objects. */
  const changed: string[] = [];
  JSON.stringify(rendered, (name, value) => {
    if (value === 123 || value === 1000 || (value === true && /class/i.test(name))) changed.push(name);
    return value;
  });
  expect(changed).toEqual([]);
  expect(JSON.stringify(rendered)).toContain(`"storageClassName":"${yes}"`);
});

test("the user's values replace those that the chart sets", async () => {
  const objects = await renderChart({
    exportVolume: { enabled: true },
    podSecurityContext: { fsGroup: 4711 },
    podAnnotations: { 'kubectl.kubernetes.io/default-container': 'sidecar' },
    monitoring: { dashboard: { enabled: true, labels: { grafana_dashboard: 'true' } } },
  });
  const dashboard = objects.find(({ metadata }) => metadata.name === 'logfleet-dashboard');
  expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: 'true' });
  const { metadata, spec } = objects.find(({ kind }) => kind === 'Deployment')?.['spec'].template ?? {};
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, fsGroup: 4711 });
  expect(metadata.annotations).toEqual({ 'kubectl.kubernetes.io/default-container': 'sidecar' });
  const { status, stdout } = await helm(['template', 'logfleet', chart], {
    exportVolume: { enabled: true },
    podSecurityContext: { fsGroup: 4711 },
  });
  expect({ status, groups: stdout.match(/fsGroup:/g) }).toEqual({ status: 0, groups: ['fsGroup:'] });
});

test('commonLabels adds labels to all objects and to the pods, and podLabels takes precedence', async () => {
  const objects = await renderChart({
    commonLabels: { team: 'logs', stage: 'production', cost: 'shared' },
    podLabels: { team: 'pods', cost: '' },
    exportJobs: on,
    exportVolume: on,
    monitoring: { podMonitor: on, alerts: on, dashboard: on },
    notifications: { secretName: 'webhook' },
  });
  const unlabelled = objects.filter(({ metadata }) => metadata.labels?.['team'] !== 'logs');
  expect(unlabelled.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  const { metadata } = objects.find(({ kind }) => kind === 'Deployment')?.['spec'].template ?? {};
  expect(metadata.labels).toMatchObject({ team: 'pods', stage: 'production', cost: '' });
});

test('podSecurityContext can set the group of the volume to 0', async () => {
  const objects = await renderChart({ exportVolume: { enabled: true }, podSecurityContext: { fsGroup: 0 } });
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  expect(deployment?.['spec'].template.spec.securityContext).toMatchObject({ fsGroup: 0, runAsUser: 65_532 });
});

test('with a claim that only one pod can use, an upgrade ends the old pod first, until the claim is changed back', async () => {
  const namespace = await createNamespace('chart');
  const strategy = async () =>
    (await callApi('GET', `/apis/apps/v1/namespaces/${namespace}/deployments/logfleet`)).body.spec.strategy;
  const rolling = { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } };
  const base = { crds: { install: false }, namespaces: [namespace], replicas: 1 };
  const to = ['logfleet', chart, '--namespace', namespace];
  const claim = { enabled: true, existingClaim: 'exports' };
  expect(await helm(['install', ...to], { ...base, exportVolume: claim })).toMatchObject({ status: 0 });
  expect(await strategy()).toMatchObject(rolling);
  const single = { ...base, exportVolume: { ...claim, accessModes: ['ReadWriteOncePod'] } };
  expect(await helm(['upgrade', ...to], single)).toMatchObject({ status: 0, stderr: '' });
  expect(await strategy()).toMatchObject({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
  expect(await helm(['upgrade', ...to], base)).toMatchObject({ status: 0, stderr: '' });
  expect(await strategy()).toMatchObject(rolling);
});

test('a parent chart can install the chart on a condition', async () => {
  const parent = mkdtempSync(join(controlPlane().directory, 'parent-'));
  const dependency = { name: 'logfleet', version: packageVersion(), condition: 'logfleet.enabled' };
  const metadata = { apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies: [dependency] };
  writeFileSync(join(parent, 'Chart.yaml'), JSON.stringify(metadata));
  cpSync(chart, join(parent, 'charts/logfleet'), { recursive: true });
  const rendered = async (enabled: boolean) => {
    const values = { logfleet: { enabled, image: { tag: '1.2.3' } } };
    const { status, stdout, stderr } = await helm(['template', 'logfleet', parent, '--namespace', 'logfleet'], values);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return comparable(objectsOf(stdout));
  };
  expect(await rendered(true)).toEqual(comparable(await renderChart({ image: { tag: '1.2.3' } })));
  expect(await rendered(false)).toEqual({});
});

test('on OpenShift, the operator can reach DNS pods, and podSecurityContext can omit the user and the group', async () => {
  const objects = await renderChart({ podSecurityContext: { runAsUser: null, runAsGroup: null } });
  const { spec } = objects.find(({ kind }) => kind === 'Deployment')?.['spec'].template ?? {};
  expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  const policy = objects.find(({ kind }) => kind === 'NetworkPolicy');
  const ports = ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 5353 }));
  expect(policy?.['spec'].egress[0].ports).toEqual(expect.arrayContaining(ports));
});

test("the command in the notes keeps the release's values, and uses the new defaults of a newer chart", async () => {
  const namespace = await createNamespace('chart');
  const { stdout } = await helm(['install', 'logfleet', chart, '--namespace', namespace, '--dry-run=client'], {});
  expect(stdout).toContain(`helm upgrade logfleet CHART --namespace ${namespace} --reset-then-reuse-values`);
});

describe('values.schema.json', () => {
  test('describes each value in values.yaml and no others, with an example and the default', () => {
    expect(leaves.map(({ path }) => path.join('.')).filter((path) => !isDefined(path.split('.')))).toEqual([]);
    expect(leaves.filter(({ schema }) => !schema.description || schema.examples?.length !== 1)).toEqual([]);
    const described = new Set(leaves.map(({ path }) => path.join('.')));
    const unknown = pathsOf(defaults).filter((path) => !described.has(path));
    expect(unknown).toEqual([]);
  });

  const isDefined = (path: readonly string[]) => valueAt(defaults, path) !== undefined;

  /** Returns the paths of all values in values.yaml. */
  function pathsOf(values: object, path: readonly string[] = []): readonly string[] {
    return Object.entries(values).flatMap(([name, value]) => {
      const here = [...path, name];
      const isLeaf = leaves.some((leaf) => leaf.path.join('.') === here.join('.'));
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isLeaf || !isObject ? [here.join('.')] : pathsOf(value, here);
    });
  }

  test('has only examples that appear in the rendered objects', async () => {
    // Renders the chart without the CRDs, because their descriptions also contain many of the example values.
    const examples = withValue(exampleValues(), ['crds', 'install'], false);
    const objects = await renderChart(examples);
    const before = await renderChart({ crds: { install: false }, exportVolume: { enabled: true } });
    const texts = leaves.filter(({ schema }) => schema.type !== 'boolean');
    // Renders the chart again without `existingClaim`, because the chart creates no PersistentVolumeClaim if it is set.
    const ofClaim = await renderChart(withValue(examples, ['exportVolume', 'existingClaim'], ''));
    const lost = texts.filter(({ schema }) => ![objects, ofClaim].some((all) => arrives(schema.examples?.[0], all)));
    expect(lost.map(({ path }) => path.join('.'))).toEqual([]);
    const inVain = texts.filter(({ schema }) => arrives(schema.examples?.[0], before));
    expect(inVain.map(({ path }) => path.join('.'))).toEqual([]);
  });

  const choices = leaves.flatMap(({ path, schema: { enum: words, items } }) => [
    ...(words ?? []).map((word) => [path.join('.'), path, word, word] as const),
    ...(items?.enum ?? []).map((word) => [path.join('.'), path, word, [word]] as const),
  ]);

  test.each(choices)('renders %s %j %s', async (_, path, word, value) => {
    // Sets one replica, because the access mode `ReadWriteOnce` allows only one. Enables the export volume, so that the
    // volume claim is rendered.
    const values = withValue({ replicas: 1, exportVolume: { enabled: true } }, path, value);
    expect(arrives(word, await renderChart(values))).toBe(true);
  });

  const switches = leaves.filter(({ schema }) => schema.type === 'boolean');

  test.each(switches.map(({ path, schema }) => [path.join('.'), path, schema] as const))(
    'changes the rendered objects if %s changes',
    async (_, path, { examples }) => {
      expect(valueAt(defaults, path)).toBe(!examples?.[0]);
      const text = async (values: object) => JSON.stringify(comparable(await renderChart(values)));
      expect(await text(withValue({}, path, examples?.[0]))).not.toBe(await text({}));
    },
  );

  test('refuses null for each value and for each group of values, and names it', async () => {
    const paths = new Map(
      leaves
        .flatMap(({ path }) => path.map((_, index) => path.slice(0, index + 1)))
        .map((path) => [path.join('/'), path]),
    );
    // Helm does not check the values in a group that is null, so each nesting level needs its own run of Helm.
    const depths = Map.groupBy(paths.values(), (path) => path.length);
    expect([...depths.keys()].sort()).toEqual([1, 2, 3]);
    for (const [, paths] of depths) {
      const values = paths.reduce<object>((former, path) => withValue(former, path, null), {});
      const { status, stderr } = await helm(['template', 'logfleet', chart], values);
      const missing = [...stderr.matchAll(/^- at '(.*)': missing propert(?:y|ies) (.*)$/gm)].flatMap(
        ([, group = '', names = '']) => names.split(', ').map((name) => `${group}/${name.replaceAll("'", '')}`),
      );
      expect({ status, missing: missing.sort() }).toEqual({
        status: 1,
        missing: paths.map((path) => `/${path.join('/')}`).sort(),
      });
    }
  });

  test.each([
    ['replica', { replica: 2 }],
    ['size', { exportVolume: { size: 'large' } }],
    ['egressPorts', { networkPolicy: { egressPorts: ['https'] } }],
    ['tag', { image: { tag: 1 } }],
    ['tag', { image: { tag: '1.0.0+build' } }],
    ['repository', { image: { repository: 'registry.example.com/logfleet:0.1.0' } }],
    ['repository', { image: { repository: 'registry.example.com/logfleet@sha256' } }],
    ['size', { exportVolume: { size: '10ki' } }],
    ['app.kubernetes.io/name', { podLabels: { 'app.kubernetes.io/name': 'other' } }],
    ['helm.sh/chart', { commonLabels: { 'helm.sh/chart': 'other' } }],
    ['env', { env: [{ name: 'LOGFLEET_NAMESPACES', value: 'team-a' }] }],
    ['replicas', { exportVolume: { enabled: true, accessModes: ['ReadWriteOnce'] } }],
    ['env', { env: [{ name: 'HTTPS_PROXY', value: 3128 }] }],
    ['env', { env: [{ name: 'HTTPS_PROXY', valeu: 'http://proxy.example.com' }] }],
    ['resources', { resources: { limit: { memory: '1Gi' } } }],
    ['affinity', { affinity: { nodeAfinity: {} } }],
    ['tolerations', { tolerations: [{ key: 'dedicated', operater: 'Exists' }] }],
    ['tolerations/0/key', { tolerations: [{ key: 5 }] }],
    ['tolerations/0/tolerationSeconds', { tolerations: [{ key: 'dedicated', tolerationSeconds: '5' }] }],
    ['priorityClassName', { priorityClassName: 'Bad Name' }],
    ['storageClassName', { exportVolume: { enabled: true, storageClassName: 'Bad Name' } }],
    ['extraVolumes', { exportVolume: { enabled: true }, extraVolumes: [{ name: 'exports', emptyDir: {} }] }],
    ['extraVolumes', { extraVolumes: ['twice', 'twice'].map((name) => ({ name, emptyDir: {} })) }],
    ['operator.install', { crds: { install: false }, operator: { install: false } }],
  ])('refuses a wrong %s, and names it', async (name, values) => {
    const { status, stderr } = await helm(['template', 'logfleet', chart], values);
    expect(status).toBe(1);
    expect(stderr).toContain(name);
  });
});

test('a released chart has the files of helm package, installs the same objects, and is identical in two builds', async () => {
  const out = mkdtempSync(join(controlPlane().directory, 'packed-'));
  const file = writeChart(new Date('2026-11-01T00:00:00Z'), out);
  const first = readFileSync(file);
  const before = process.umask(0o077);
  try {
    writeChart(new Date('2026-11-01T00:00:00Z'), out);
  } finally {
    process.umask(before);
  }
  expect(readFileSync(file).equals(first)).toBe(true);
  expect(await helm(['package', chart, '--destination', out])).toMatchObject({ status: 0 });
  const packed = contentOf(join(out, `logfleet-${packageVersion()}.tgz`));
  const ours = contentOf(file);
  // Chart.yaml is compared as data, because Helm sorts its fields.
  expect(parse(ours.get('logfleet/Chart.yaml') ?? '')).toEqual(parse(packed.get('logfleet/Chart.yaml') ?? ''));
  for (const each of [ours, packed]) each.delete('logfleet/Chart.yaml');
  expect(ours).toEqual(packed);
  const { stdout } = await helm(['template', 'logfleet', file, '--namespace', 'logfleet']);
  expect(objectsOf(stdout)).toEqual(await renderChart());
});

function contentOf(archive: string): Map<string, string> {
  const cwd = mkdtempSync(join(controlPlane().directory, 'extracted-'));
  extract({ file: archive, cwd, sync: true });
  return new Map(filesBelow(cwd).map((path) => [path, readFileSync(join(cwd, path), 'utf8')]));
}

test('the version of the chart and of its image is the version of logfleet', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { version: ofChart, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'));
  expect({ ofChart, appVersion }).toEqual({ ofChart: version, appVersion: version });
});
