/** Tests the flags of `logfleet manifests`. */
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runProgram } from '../../../src/cli/program.ts';
import { recordingContext } from '../../support/recording-context.ts';

interface PrintedManifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly object[];
  readonly subjects?: readonly object[];
  // biome-ignore lint/suspicious/noExplicitAny: the tests read specs of any kind.
  readonly spec?: any;
}

async function manifests(...flags: readonly string[]): Promise<readonly PrintedManifest[]> {
  const context = recordingContext();
  expect(await runProgram(['manifests', ...flags], context)).toBe(0);
  return [...parseAllDocuments(context.stdout.text)].map((document) => document.toJS({ maxAliasCount: -1 }));
}

const names = (all: readonly PrintedManifest[], kind: string) =>
  all
    .filter((each) => each.kind === kind)
    .map(({ metadata: { name, namespace } }) => (namespace === undefined ? name : `${namespace}/${name}`))
    .sort();

test('with --namespaces, bindings are in these namespaces, and nothing is cluster-wide', async () => {
  const all = await manifests('--namespace', 'ops', '--namespaces', 'team-a,team-b,team-a');
  expect(all.filter(({ metadata }) => metadata.namespace === undefined)).toEqual([]);
  expect(names(all, 'RoleBinding')).toEqual([
    'ops/logfleet-leader-election',
    'ops/logfleet-settings',
    'team-a/logfleet-operator',
    'team-a/logfleet-secrets',
    'team-b/logfleet-operator',
    'team-b/logfleet-secrets',
  ]);
  for (const { subjects } of all.filter(({ kind }) => kind === 'RoleBinding')) {
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'logfleet', namespace: 'ops' }]);
  }
});

test.each([
  [['--namespaces', 'team-a,team-b'], 'team-a'],
  [['--namespace', 'ops', '--namespaces', 'team-a,team-b'], 'ops'],
  [[], 'logfleet'],
])('with the flags %j, the namespace of the operator is %s', async (flags, namespace) => {
  expect(names(await manifests(...flags), 'Deployment')).toEqual([`${namespace}/logfleet`]);
});

test('the Deployment has the given namespaces and image', async () => {
  const all = await manifests('--namespaces', 'team-a,team-b', '--image', 'registry.example.com/logfleet:1');
  const deployment = all.find(({ kind }) => kind === 'Deployment');
  const [container] = deployment?.spec?.template.spec.containers ?? [];
  expect(container.image).toBe('registry.example.com/logfleet:1');
  expect(container.env).toContainEqual({ name: 'LOGFLEET_NAMESPACES', value: 'team-a,team-b' });
});

test('with --export-jobs, the operator may create Jobs in all namespaces, with its own image', async () => {
  const all = await manifests('--namespace', 'ops', '--image', 'registry.example.com/logfleet:1', '--export-jobs');
  expect(names(all, 'ClusterRole')).toContain('logfleet-export-jobs');
  const binding = all.find(({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name.endsWith('-jobs'));
  expect(binding?.subjects).toEqual([{ kind: 'ServiceAccount', name: 'logfleet', namespace: 'ops' }]);
  const [container] = all.find(({ kind }) => kind === 'Deployment')?.spec?.template.spec.containers ?? [];
  expect(container.env).toContainEqual({ name: 'LOGFLEET_WORKER_IMAGE', value: 'registry.example.com/logfleet:1' });
});

test('with --namespaces, no Role grants rights to the kinds of logfleet, because an admin of the namespaces could not grant them', async () => {
  const flags = ['--secrets', 'log-service', '--notification-secret', 'webhook', '--export-jobs'];
  const roles = (await manifests('--namespaces', 'team-a', ...flags)).filter(({ kind }) => kind === 'Role');
  expect(roles.length).toBeGreaterThan(3);
  expect(roles.filter(({ rules }) => JSON.stringify(rules).includes('logfleet.dev'))).toEqual([]);
});

test('with --export-jobs and --namespaces, the operator may create Jobs in these namespaces only', async () => {
  const all = await manifests('--namespaces', 'team-a,team-b', '--export-jobs');
  expect(all.filter(({ metadata }) => metadata.namespace === undefined)).toEqual([]);
  for (const kind of ['Role', 'RoleBinding']) {
    expect(names(all, kind)).toEqual(
      expect.arrayContaining(['team-a/logfleet-export-jobs', 'team-b/logfleet-export-jobs']),
    );
  }
});

test('with --notification-secret, the operator may read this Secret in its own namespace only', async () => {
  const flags = ['--secrets', 'log-service', '--notification-secret', 'webhook'];
  const all = await manifests('--namespace', 'ops', '--namespaces', 'team-a', ...flags);
  expect(names(all, 'RoleBinding')).toContain('ops/logfleet-notifications');
  const role = all.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'logfleet-notifications');
  expect(role?.rules).toEqual([
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['webhook'], verbs: ['get'] },
  ]);
  const [container] = all.find(({ kind }) => kind === 'Deployment')?.spec?.template.spec.containers ?? [];
  expect(container.env).toContainEqual({ name: 'LOGFLEET_NOTIFICATION_SECRET', value: 'webhook' });
});

test.each([[['--namespaces', 'team-a']], [[]]])('with --secrets, %s, only these Secrets may be read', async (flags) => {
  const all = await manifests(...flags, '--secrets', 'log-service,store');
  const rules = all.flatMap(({ rules = [] }) => rules).filter((rule) => JSON.stringify(rule).includes('"secrets"'));
  expect(rules).toEqual([
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['log-service', 'store'] },
  ]);
});

test.each([
  ['--namespace', 'Team'],
  ['--namespaces', 'team-a,team/b'],
  ['--secrets', 'a b'],
])('%s %s is refused', async (flag, value) => {
  const context = recordingContext();
  expect(await runProgram(['manifests', flag, value], context)).toBe(2);
  expect(context.stdout.text).toBe('');
});
