/** What the CRD promises beyond refusing manifests: the columns of `kubectl get`, the shape of status, the rules on change. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import { callApi, createNamespace, kubectl } from '../support/control-plane.ts';

const spec = {
  credentialsSecretRef: { name: 'log-service' },
  target: { version: '19.500-1' },
  selector: {},
};
const now = '2026-11-21T10:00:00Z';
const long = (length: number) => 'x'.repeat(length);
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

let namespace: string;
let policies: string;

beforeAll(async () => {
  namespace = await createNamespace('crd');
  policies = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/collectorversionpolicies`;
});

async function createPolicy(name: string): Promise<object> {
  const body = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'CollectorVersionPolicy', metadata: { name }, spec };
  const answer = await callApi('POST', policies, body);
  expect(answer.status).toBe(201);
  return answer.body;
}

async function writeStatus(name: string, policy: object, status: CollectorVersionPolicyStatus) {
  return callApi('PUT', `${policies}/${name}/status`, { ...policy, status });
}

test('the API server finds the CRD established, with nothing against its schema', async () => {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/collectorversionpolicies.logfleet.dev';
  const { body } = await callApi('GET', path);
  const conditions: { readonly type: string; readonly status: string }[] = body.status.conditions;
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
  expect(conditions.map(({ type }) => type)).not.toContain('NonStructuralSchema');
});

test('kubectl get cvp shows the columns of a status', async () => {
  const policy = await createPolicy('columns');
  const collectors = {
    ...{
      matched: 203,
      updated: 180,
      inProgress: 12,
      pending: 5,
      failed: 3,
      offline: 2,
      newer: 0,
      skipped: 1,
      foreign: 0,
    },
  };
  const summary = { updated: '180/200', state: 'RollingOut' };
  expect((await writeStatus('columns', policy, { targetVersion: '19.500-1', summary, collectors })).status).toBe(200);
  const { stdout } = await kubectl(['get', 'cvp', 'columns', '-n', namespace]);
  const [header = '', row = ''] = stdout.trim().split('\n');
  expect(header.split(/\s{2,}/)).toEqual(['NAME', 'TARGET', 'UPDATED', 'IN PROGRESS', 'FAILED', 'STATE', 'AGE']);
  expect(row.split(/\s+/).slice(0, 6)).toEqual(['columns', '19.500-1', '180/200', '12', '3', 'RollingOut']);
});

describe('status', () => {
  test('may be as large as its schema says, and loses nothing on the way', async () => {
    const policy = await createPolicy('largest');
    const reason = (index: number) => ({
      reason: `${index} ${long(200)}`,
      count: index,
      examples: many(5, () => long(256)),
    });
    const status: CollectorVersionPolicyStatus = {
      observedGeneration: 1,
      lastHandledReconcileAt: long(256),
      targetVersion: '19.500-1',
      summary: { updated: '100000/100000', state: 'DowngradeNotAllowed' },
      rollout: { id: long(64), startTime: now, estimatedCompletionTime: now, waitingFor: long(1024) },
      versions: many(50, (index) => ({ version: `19.${index}-1`, count: index })),
      tasks: many(100, (index) => ({
        id: `${index}`,
        collector: long(256),
        collectorId: '9223372036854775807',
        from: '19.400-1',
        to: '19.500-1',
        state: 'InProgress',
        startTime: now,
        endTime: now,
        message: long(256),
      })),
      failureReasons: many(20, reason),
      skippedReasons: many(20, reason),
      history: many(10, (index) => ({
        ...{ id: `${index}`, targetVersion: '19.500-1', startTime: now, completionTime: now },
        ...{ outcome: 'Completed' as const, updated: 100_000, failed: 0 },
      })),
      conditions: [
        { type: 'Ready', status: 'False', reason: 'RollingOut', message: long(1024), lastTransitionTime: now },
        { type: 'Reconciling', status: 'True', reason: 'RollingOut', message: '', lastTransitionTime: now },
      ],
    };
    const answer = await writeStatus('largest', policy, status);
    expect(answer.body.message).toBeUndefined();
    expect(answer.body.status).toEqual(status);
  });

  test.each([
    ['more tasks than a sample has', { tasks: many(101, () => ({})) }],
    ['more versions than it shows', { versions: many(51, (index) => ({ version: `${index}`, count: 1 })) }],
    ['the same version twice', { versions: many(2, () => ({ version: '19.1-1', count: 1 })) }],
    ['an outcome that is none', { history: [{ outcome: 'Done' }] }],
    ['a condition without a reason', { conditions: [{ type: 'Ready', status: 'True', message: '' }] }],
  ])('is refused with %s', async (name, status) => {
    const policy = await createPolicy(name.replaceAll(' ', '-').toLowerCase());
    const answer = await writeStatus(name.replaceAll(' ', '-').toLowerCase(), policy, status as never);
    expect(answer.status).toBe(422);
  });
});
