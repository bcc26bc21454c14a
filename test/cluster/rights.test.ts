import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kindNames, kinds } from '../../src/api/kinds.ts';
import { canonicalText } from '../../src/base/canonical-text.ts';
import { runProgram } from '../../src/cli/program.ts';
import { objectPath } from '../../src/host/kubernetes/api-paths.ts';
import { callApi, createNamespace, kubectl, type ServiceAccountUser, userFor } from '../support/control-plane.ts';
import { chart, helm } from '../support/helm.ts';
import { install, kustomization } from '../support/installation.ts';
import { recordingContext } from '../support/recording-context.ts';

const root = join(import.meta.dirname, '../..');
const rbac = '/apis/rbac.authorization.k8s.io/v1';

interface ClusterRole {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly rules?: readonly object[];
}

/**
 * Computes the rules that Kubernetes would aggregate into the ClusterRole `to`. The controller that aggregates
 * ClusterRoles does not run in the test cluster.
 */
async function aggregated(to: 'view' | 'edit' | 'admin', ours: readonly string[]): Promise<readonly object[]> {
  const { body } = await callApi('GET', `${rbac}/clusterroles`);
  const all = body.items as readonly ClusterRole[];
  const wider = { view: ['view'], edit: ['view', 'edit'], admin: ['view', 'edit', 'admin'] }[to];
  const counts = ({ metadata: { name } }: ClusterRole) => name.startsWith('system:') || ours.includes(name);
  const isAggregated = ({ metadata: { labels = {} } }: ClusterRole) =>
    wider.some((role) => labels[`rbac.authorization.k8s.io/aggregate-to-${role}`] === 'true');
  return all.filter((role) => counts(role) && isAggregated(role)).flatMap(({ rules }) => rules ?? []);
}

const userRoles = ['logfleet-view', 'logfleet-edit', 'logfleet-install'];

async function user(
  namespace: string,
  role: string,
  rules?: readonly object[],
  otherNamespaces: readonly string[] = [],
): Promise<ServiceAccountUser> {
  const name = rules ? `${role}-${namespace}` : role;
  if (rules) {
    const made = await callApi('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
    expect(made.status).toBe(201);
  }
  for (const each of [namespace, ...otherNamespaces]) {
    const bound = await callApi('POST', `${rbac}/namespaces/${each}/rolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: role, namespace }],
    });
    expect(bound.status).toBe(201);
  }
  return userFor(namespace, role);
}

async function untilAllowed({ kubeconfig }: ServiceAccountUser, ...question: readonly string[]): Promise<void> {
  const ask = async () => (await kubectl(['auth', 'can-i', ...question], { kubeconfig })).stdout.trim();
  await expect.poll(ask).toBe('yes');
}

const policyManifest = `apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: production}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: 19.500-1}
  selector: {}
`;

const ledger = {
  apiVersion: 'logfleet.dev/v1alpha1',
  kind: 'Ledger',
  metadata: { name: 'production-head' },
  owner: { kind: 'CollectorVersionPolicy', name: 'production', uid: 'a' },
  shard: 'head',
  summary: 'rollout 1-19.500-1: 2 open, 3 ended',
  bytes: 7,
  content: 'content',
};

const readVerbs = ['get', 'list', 'watch'];
const allVerbs = [...readVerbs, 'create', 'update', 'patch', 'delete', 'deletecollection'];

describe('the roles of users', () => {
  test('logfleet-edit suffices for kubectl apply, and allows only reads of ledgers', async () => {
    const namespace = await createNamespace('rights');
    const editor = await user(namespace, 'logfleet-edit');
    await untilAllowed(editor, 'patch', 'cvp');
    for (const text of [policyManifest, `${policyManifest}  paused: true\n`]) {
      const applied = await kubectl(['apply', '-f', '-'], { ...editor, input: text });
      expect(applied).toMatchObject({ status: 0, stderr: '' });
    }
    expect((await callApi('POST', objectPath('ledgers', namespace), ledger, editor)).status).toBe(403);
    expect((await callApi('POST', objectPath('ledgers', namespace), ledger)).status).toBe(201);
    expect((await kubectl(['get', 'ledgers'], editor)).stdout).toContain('production-head');
    expect(
      (await callApi('DELETE', objectPath('ledgers', namespace, 'production-head'), undefined, editor)).status,
    ).toBe(403);
    expect((await kubectl(['delete', 'cvp', 'production'], editor)).status).toBe(0);
  });

  test('logfleet-view allows reads of all three kinds, and no writes', async () => {
    const namespace = await createNamespace('rights');
    const viewer = await user(namespace, 'logfleet-view');
    await untilAllowed(viewer, 'list', 'ledgers.logfleet.dev');
    expect((await kubectl(['get', 'cvp,sx,ledgers'], viewer)).status).toBe(0);
    expect((await kubectl(['apply', '-f', '-'], { ...viewer, input: policyManifest })).status).toBe(1);
  });

  test("logfleet-view lets logfleet version read the operator's version from its lease", async () => {
    const namespace = await createNamespace('rights');
    const viewer = await user(namespace, 'logfleet-view');
    await untilAllowed(viewer, 'list', 'ledgers.logfleet.dev');
    const annotations = { 'logfleet.dev/operator-version': '9.8.7' };
    const lease = { metadata: { name: 'logfleet-operator', annotations }, spec: {} };
    expect((await callApi('POST', objectPath('leases', namespace), lease)).status).toBe(201);
    const context = recordingContext();
    const flags = ['--kubeconfig', viewer.kubeconfig, '--operator-namespace', namespace];
    expect(await runProgram(['version', ...flags], context)).toBe(0);
    expect(context.stdout.text).toContain(`operator 9.8.7 in namespace ${namespace}`);
    expect(context.stderr.text).toContain('warning: ');
  });

  test.each([
    ['logfleet-view', readVerbs, ['leases.coordination.k8s.io  []  [logfleet-operator]  [get list]']],
    ['logfleet-edit', allVerbs, []],
  ])('%s allows exactly the verbs %j for each kind, and reads of ledgers', async (role, verbs, others) => {
    const namespace = await createNamespace('rights');
    await untilAllowed(await user(namespace, role), 'list', 'ledgers.logfleet.dev');
    const right = (plural: string, allowed: readonly string[]) =>
      `${plural}.logfleet.dev  []  []  [${allowed.join(' ')}]`;
    const ofKinds = kindNames.map((kind) => right(kinds[kind].plural, verbs));
    expect(await rightsOf(role, namespace, namespace)).toEqual(
      [...ofKinds, right('ledgers', readVerbs), ...others].sort(),
    );
  });

  test('a namespace admin cannot write ledgers or statuses', async () => {
    const namespace = await createNamespace('rights');
    const admin = await user(namespace, 'admin', await aggregated('admin', userRoles));
    await untilAllowed(admin, 'list', 'ledgers.logfleet.dev');
    expect((await callApi('POST', objectPath('ledgers', namespace), ledger, admin)).status).toBe(403);
    const { stdout } = await kubectl(['auth', 'can-i', 'update', 'cvp', '--subresource=status'], admin);
    expect(stdout.trim()).toBe('no');
  });
});

interface UiRight {
  readonly resource: string;
  readonly verb: string;
}

function uiRights(): readonly UiRight[] {
  const lines = documentedRights().get('Rights for logfleet ui') ?? [];
  return lines.flatMap((line) => {
    const [, resource = '', verbs = ''] = /^([a-z]+)\.logfleet\.dev .*\[([a-z ]+)\]$/.exec(line) ?? [];
    return verbs.split(' ').map((verb) => ({ resource, verb }));
  });
}

const rulesOf = (rights: readonly UiRight[]) =>
  rights.map(({ resource, verb }) => ({ apiGroups: ['logfleet.dev'], resources: [resource], verbs: [verb] }));

test('logfleet ui shows all resources, and changes to them, with the rights listed in docs/rights.md', async () => {
  const namespace = await createNamespace('ui');
  const rules = rulesOf(uiRights());
  expect(rules.length).toBe(6);
  const viewer = await user(namespace, 'ui-viewer', rules);
  for (const { resources } of rules) await untilAllowed(viewer, 'watch', `${resources[0]}.logfleet.dev`);
  const policies = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/collectorversionpolicies`;
  const [policy] = [...parseAllDocuments(policyManifest)].map((document) => document.toJS());
  expect((await callApi('POST', policies, policy)).status).toBe(201);

  const context = recordingContext();
  const ended = runProgram(['ui', '--kubeconfig', viewer.kubeconfig], context);
  await expect.poll(() => context.stdout.text).toMatch(/^http:/);
  const rows = async () =>
    JSON.parse(await fetch(`${context.stdout.text.trim()}api/list?limit=10`).then((response) => response.text())).rows;
  expect(await rows()).toMatchObject([{ id: `cvp/${namespace}/production`, state: 'Unknown' }]);
  const patch = { status: { summary: { state: 'RollingOut' } } };
  const contentType = 'application/merge-patch+json';
  expect((await callApi('PATCH', `${policies}/production/status`, patch, { contentType })).status).toBe(200);
  await expect.poll(rows).toMatchObject([{ state: 'RollingOut' }]);
  context.stop('SIGTERM');
  expect(await ended).toBe(0);
});

test.each(uiRights())('logfleet ui needs the right to $verb $resource', async ({ resource, verb }) => {
  const namespace = await createNamespace('ui');
  const others = uiRights().filter((right) => right.resource !== resource || right.verb !== verb);
  const viewer = await user(namespace, 'ui-viewer', rulesOf(others));
  for (const right of others) await untilAllowed(viewer, right.verb, `${right.resource}.logfleet.dev`);
  const context = recordingContext();
  const ended = runProgram(['ui', '--kubeconfig', viewer.kubeconfig], context);
  if (verb === 'list') {
    expect(await ended).toBe(1);
    expect(context.stderr.text).toContain(resource);
    return;
  }
  await expect.poll(() => context.stdout.text).toMatch(/^http:/);
  const { body } = await fetch(`${context.stdout.text.trim()}api/changes`);
  let shown = '';
  for await (const part of body ?? []) {
    shown += Buffer.from(part).toString();
    if (shown.includes('out of date')) break;
  }
  expect(shown).toMatch(new RegExp(`The page may be out of date.*${resource}`));
  context.stop('SIGTERM');
  expect(await ended).toBe(0);
});

/** Returns the directory of a kustomization that installs `manifests/namespaced` with the given components. */
const namespaced = (namespace: string, components: readonly string[] = []) =>
  kustomization({ namespace, resources: ['namespaced'], components });

describe('a namespace admin', () => {
  /**
   * Creates a namespace and a user. The user has the ClusterRole `admin` in the new namespace and in the namespaces
   * `others`.
   */
  async function adminOfNew(others: readonly string[] = [], ours: readonly string[] = userRoles) {
    const namespace = await createNamespace('rights');
    const admin = await user(namespace, 'admin', await aggregated('admin', ours), others);
    for (const each of [namespace, ...others]) await untilAllowed(admin, 'create', 'deployments.apps', '-n', each);
    return { namespace, admin };
  }

  test.each([[[]], [['notifications']], [['export-volume']], [['export-jobs-namespaced']]])(
    'installs manifests/namespaced with the components %j by kubectl apply -k, and installs it again',
    async (components) => {
      const { namespace, admin } = await adminOfNew();
      for (let time = 0; time < 2; time++) {
        const { status, stdout, stderr } = await kubectl(['apply', '-k', namespaced(namespace, components)], admin);
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        expect(stdout).toContain('rolebinding.rbac.authorization.k8s.io/logfleet-operator');
      }
    },
  );

  test.each([[[]], [['--secrets', 'log-service']], [['--notification-secret', 'webhook']], [['--export-jobs']]])(
    'installs the output of logfleet manifests --namespaces with the flags %j, and deletes it but not the namespaces',
    async (flags) => {
      const team = await createNamespace('team');
      const { namespace, admin } = await adminOfNew([team]);
      const context = recordingContext();
      const where = ['--namespace', namespace, '--namespaces', `${namespace},${team}`];
      expect(await runProgram(['manifests', ...where, ...flags], context)).toBe(0);
      for (const verb of ['apply', 'delete']) {
        const { status, stderr } = await kubectl([verb, '-f', '-'], { ...admin, input: context.stdout.text });
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      }
      for (const each of [namespace, team]) {
        const { body } = await callApi('GET', `/api/v1/namespaces/${each}`);
        expect(body.status.phase).toBe('Active');
      }
      expect((await callApi('GET', objectPath('serviceaccounts', namespace, 'logfleet'))).status).toBe(404);
    },
  );

  test('lets the operator run exports in Kubernetes Jobs with the component export-jobs-namespaced', async () => {
    const { namespace, admin } = await adminOfNew();
    const { status } = await kubectl(['apply', '-k', namespaced(namespace, ['export-jobs-namespaced'])], admin);
    expect(status).toBe(0);
    const operator = await userFor(namespace, 'logfleet');
    await untilAllowed(operator, 'create', 'jobs.batch');
  });

  test('installs the chart with all values that add rights', async () => {
    const team = await createNamespace('team');
    const { namespace, admin } = await adminOfNew([team]);
    const values = {
      crds: { install: false },
      namespaces: [namespace, team],
      notifications: { secretName: 'webhook' },
      exportJobs: { enabled: true },
      exportVolume: { enabled: true },
    };
    const to = ['--namespace', namespace, '--kubeconfig', admin.kubeconfig];
    const { status, stderr } = await helm(['install', 'logfleet', chart, ...to], values);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test('lets export pods write their progress, as described in docs/jobs.md', async () => {
    const { namespace, admin } = await adminOfNew();
    const role = ['--clusterrole=logfleet-export-progress', `--serviceaccount=${namespace}:exporter`];
    const { status, stderr } = await kubectl(['create', 'rolebinding', 'export-progress', ...role], admin);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const exporter = await userFor(namespace, 'exporter');
    await untilAllowed(exporter, 'patch', 'sx', '--subresource=status');
  });

  test('cannot install without logfleet-install', async () => {
    const { namespace, admin } = await adminOfNew([], ['logfleet-view', 'logfleet-edit']);
    const { status, stderr } = await kubectl(['apply', '-k', namespaced(namespace)], admin);
    expect(status).toBe(1);
    expect(stderr).toContain('"logfleet-operator" is forbidden');
  });
});

/** Objects in a rendered manifest, by kind and name. */
function byName(text: string): Record<string, unknown> {
  const objects = [...parseAllDocuments(text)].map((document) => document.toJS({ maxAliasCount: -1 }));
  return Object.fromEntries(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
}

async function printed(...flags: readonly string[]): Promise<Record<string, unknown>> {
  const context = recordingContext();
  expect(await runProgram(['manifests', ...flags], context)).toBe(0);
  return byName(context.stdout.text);
}

describe('logfleet manifests prints the output of kustomize for', () => {
  test('manifests/cluster-wide', async () => {
    const { stdout } = await kubectl(['kustomize', join(root, 'manifests/cluster-wide')]);
    expect(await printed()).toEqual(byName(stdout));
  });

  test('manifests/namespaced, if one namespace is given', async () => {
    const { stdout } = await kubectl(['kustomize', join(root, 'manifests/namespaced')]);
    const text = stdout.replace(
      /(- name: LOGFLEET_NAMESPACES\n)\s+valueFrom:\n\s+fieldRef:\n\s+fieldPath: metadata.namespace\n/,
      '$1          value: logging\n',
    );
    expect(text).not.toBe(stdout);
    const sorted = (objects: Record<string, unknown>) =>
      JSON.parse(
        JSON.stringify(objects, (_, value) =>
          Array.isArray(value) ? [...value].sort((a, b) => (canonicalText(a) < canonicalText(b) ? -1 : 1)) : value,
        ),
      );
    expect(sorted(await printed('-n', 'logging', '--namespaces', 'logging'))).toEqual(sorted(byName(text)));
  });
});

/** Returns this service account's permissions, except the permissions that every service account has. */
async function rightsOf(account: string, ofNamespace: string, namespace: string): Promise<readonly string[]> {
  const list = async (name: string) => {
    const as = `--as=system:serviceaccount:${ofNamespace}:${name}`;
    const { stdout } = await kubectl(['auth', 'can-i', '--list', '-n', namespace, as]);
    return stdout.split('\n').map((line) => line.trimEnd().replaceAll(/ {2,}/g, '  '));
  };
  const common = new Set(await list('nobody'));
  const suffix = `-${ofNamespace}`;
  const special = (await list(account)).filter((line) => !common.has(line));
  return special.map((line) => line.replaceAll(suffix, '')).sort();
}

/** Returns the permissions listed in docs/rights.md, by section heading. */
function documentedRights(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(join(root, 'docs/rights.md'), 'utf8');
  const blocks = text.matchAll(/^### (.+)\n\n```text\n((?:(?!```).*\n)*)```/gm);
  return new Map(
    [...blocks].map(([, heading = '', block = '']) => [
      heading,
      block
        .trimEnd()
        .split('\n')
        .map((line) => line.trimEnd().replaceAll(/ {2,}/g, '  '))
        .sort(),
    ]),
  );
}

describe('docs/rights.md lists the same operator rights as kubectl auth can-i --list', () => {
  test.each([
    ['cluster-wide', "Cluster-wide, the operator's namespace", 'own'],
    ['cluster-wide', 'Cluster-wide, every other namespace', 'other'],
    ['namespaced', 'Namespaced', 'own'],
    ['namespaces', "With --namespaces, the operator's namespace", 'own'],
    ['namespaces', 'With --namespaces, each of these namespaces', 'served'],
  ] as const)('%s: %s', async (way, heading, where) => {
    const { namespace, account, home } = await install(way);
    const place = where === 'own' ? namespace : where === 'served' ? home : await createNamespace('other');
    await expect.poll(() => rightsOf(account, namespace, place)).toEqual(documentedRights().get(heading));
  });

  test.each(['namespaced', 'namespaces'] as const)(
    '%s: the operator has no rights in other namespaces',
    async (way) => {
      const { namespace, account } = await install(way);
      expect(await rightsOf(account, namespace, await createNamespace('other'))).toEqual([]);
    },
  );
});
