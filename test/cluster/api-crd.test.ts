/** Tests the CRDs: the columns of `kubectl get`, the status, and the rules for changing fields. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { SearchExportStatus } from '../../src/api/generated/search-export.ts';
import { kinds, ledgerPlural } from '../../src/api/kinds.ts';
import { maxShardBytes } from '../../src/host/host.ts';
import { objectPath } from '../../src/host/kubernetes/api-paths.ts';
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
  const response = await callApi('POST', policies, body);
  expect(response.status).toBe(201);
  return response.body;
}

async function writeStatus(name: string, policy: object, status: CollectorVersionPolicyStatus) {
  return callApi('PUT', `${policies}/${name}/status`, { ...policy, status });
}

test.each([...Object.values(kinds), { plural: ledgerPlural }])(
  'the CRD of $plural is established, and the API server does not object to its schema',
  async ({ plural }) => {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.logfleet.dev`;
    const { body } = await callApi('GET', path);
    const conditions: { readonly type: string; readonly status: string }[] = body.status.conditions;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
    expect(conditions.map(({ type }) => type)).not.toContain('NonStructuralSchema');
  },
);

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
  test('is stored completely at the maximum size allowed by its schema', async () => {
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
    const response = await writeStatus('largest', policy, status);
    expect(response.body.message).toBeUndefined();
    expect(response.body.status).toEqual(status);
  });

  test.each([
    ['more tasks than a sample has', { tasks: many(101, () => ({})) }],
    ['more versions than it shows', { versions: many(51, (index) => ({ version: `${index}`, count: 1 })) }],
    ['the same version twice', { versions: many(2, () => ({ version: '19.1-1', count: 1 })) }],
    ['an unknown outcome', { history: [{ outcome: 'Done' }] }],
    ['a condition without a reason', { conditions: [{ type: 'Ready', status: 'True', message: '' }] }],
  ])('is refused with %s', async (name, status) => {
    const policy = await createPolicy(name.replaceAll(' ', '-').toLowerCase());
    const response = await writeStatus(name.replaceAll(' ', '-').toLowerCase(), policy, status as never);
    expect(response.status).toBe(422);
  });
});

describe('a ledger', () => {
  const ledger = {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: 'Ledger',
    owner: { kind: 'CollectorVersionPolicy', name: 'production', uid: 'a' },
    shard: 'head',
    summary: 'rollout 1-19.500-1: 2 open, 3 ended',
    bytes: maxShardBytes,
    content: 'x'.repeat(maxShardBytes),
  };
  const create = (name: string, members: object = {}) =>
    callApi('POST', objectPath('ledgers', namespace), { ...ledger, ...members, metadata: { name } });

  test('is one short line in kubectl get', async () => {
    expect((await create('line')).status).toBe(201);
    const { stdout } = await kubectl(['get', 'ledgers', 'line', '-n', namespace]);
    const [header = '', row = ''] = stdout.trim().split('\n');
    expect(header.split(/\s{2,}/)).toEqual(['NAME', 'OWNER', 'SHARD', 'CONTENT', 'BYTES', 'AGE']);
    expect(row.split(/\s{2,}/).slice(0, 5)).toEqual(['line', 'production', 'head', ledger.summary, '524288']);
    expect(row.length).toBeLessThan(120);
  });

  test.each([
    ['without an owner', { owner: undefined }],
    ['without a content', { content: undefined }],
    ['beyond 512 KiB', { content: `${ledger.content}x` }],
  ])('%s is refused', async (_, members) => {
    expect((await create('refused', members)).status).toBe(422);
  });

  test.each([
    ['owner', { owner: { uid: 'b' } }],
    ['shard', { shard: 'log-0' }],
  ])('refuses a change to its %s', async (what, change) => {
    expect((await create(`keeps-${what}`)).status).toBe(201);
    const patch = { contentType: 'application/merge-patch+json' };
    const { status, body } = await callApi('PATCH', objectPath('ledgers', namespace, `keeps-${what}`), change, patch);
    expect(status).toBe(422);
    expect(body.message).toContain(`leave ${what} unchanged`);
  });
});

describe('an export', () => {
  const exportSpec = {
    credentialsSecretRef: { name: 'log-service' },
    query: 'error',
    timeRange: { from: '2026-10-01T00:00:00', to: '2026-10-02T00:00:00', timeZone: 'Europe/Berlin' },
    destination: { volume: { name: 'exports' } },
  };
  let exports: string;

  beforeAll(() => {
    exports = `/apis/logfleet.dev/v1alpha1/namespaces/${namespace}/searchexports`;
  });

  async function createExport(name: string, members: object = {}): Promise<object> {
    const body = {
      apiVersion: 'logfleet.dev/v1alpha1',
      kind: 'SearchExport',
      metadata: { name },
      spec: { ...exportSpec, ...members },
    };
    const response = await callApi('POST', exports, body);
    expect({ status: response.status, message: response.body.message }).toEqual({ status: 201, message: undefined });
    return response.body;
  }

  async function writeExportStatus(name: string, resource: object, status: SearchExportStatus) {
    return callApi('PUT', `${exports}/${name}/status`, { ...resource, status });
  }

  test('kubectl get sx shows the columns of a status', async () => {
    const resource = await createExport('columns');
    const summary = { state: 'Exporting', rows: '1.2M', progress: '42%' };
    expect((await writeExportStatus('columns', resource, { summary })).status).toBe(200);
    const { stdout } = await kubectl(['get', 'sx', 'columns', '-n', namespace]);
    const [header = '', row = ''] = stdout.trim().split('\n');
    expect(header.split(/\s{2,}/)).toEqual(['NAME', 'STATE', 'ROWS', 'PROGRESS', 'AGE']);
    expect(row.split(/\s+/).slice(0, 4)).toEqual(['columns', 'Exporting', '1.2M', '42%']);
  });

  test('is in the category of all logfleet kinds', async () => {
    await createExport('among-all');
    const { stdout } = await kubectl(['get', 'logfleet', '-n', namespace, '-o', 'name']);
    expect(stdout.split('\n')).toContain('searchexport.logfleet.dev/among-all');
  });

  describe('status', () => {
    test('is stored completely at the maximum size allowed by its schema, below 100 KB', async () => {
      const resource = await createExport('largest');
      const count = 1_000_000_000_000;
      const status: SearchExportStatus = {
        observedGeneration: 1,
        lastHandledReconcileAt: long(256),
        summary: { state: 'DestinationCredentialsInvalid', progress: '42%', rows: '1.2M' },
        startTime: now,
        completionTime: now,
        estimatedCompletionTime: now,
        timeRange: { startTime: '2026-09-30T22:00:00.001Z', endTime: '2026-10-01T22:00:00Z' },
        fingerprint: long(64),
        location: long(2048),
        progress: {
          ...{ coveredPercent: 100, intervalsPlanned: count, intervalsDone: count, intervalsIncomplete: count },
          ...{ rowsWritten: count, bytesWritten: count, bytesScanned: count, duplicatesDropped: count },
          ...{ rowsPerSecond: count, bytesPerSecond: count },
        },
        jobs: many(50, (index) => ({
          ...{ id: `${index}${long(120)}`, from: now, to: now, state: long(64) },
          ...{ messageCount: count, recordCount: count },
        })),
        rowHistogram: many(60, () => count),
        incomplete: many(20, () => ({ from: now, to: now, reason: long(512), received: count, expected: count })),
        pendingErrors: many(10, () => long(512)),
        pendingWarnings: many(10, () => long(512)),
        manifest: { url: long(2048), sha256: long(64), rows: count, files: count, bytes: count, complete: false },
        conditions: (['Ready', 'Stalled', 'Failed'] as const).map((type) => {
          return { type, status: 'True', reason: 'DeadlineExceeded', message: long(1024), lastTransitionTime: now };
        }),
      };
      const response = await writeExportStatus('largest', resource, status);
      expect(response.body.message).toBeUndefined();
      expect(response.body.status).toEqual(status);
      expect(JSON.stringify(status).length).toBeLessThan(100_000);
    });

    test.each([
      ['more jobs than it shows', { jobs: many(51, () => ({ id: '1', from: now, to: now, state: 'x' })) }],
      ['more slices than it shows', { rowHistogram: many(61, () => 1) }],
      ['a slice with a negative count', { rowHistogram: [-2] }],
      ['more errors than it shows', { pendingErrors: many(11, () => 'x') }],
      ['a percentage above one hundred', { progress: { coveredPercent: 101 } }],
      ['an invalid time', { startTime: 'yesterday' }],
    ])('is refused with %s', async (name, status) => {
      const resource = await createExport(name.replaceAll(' ', '-'));
      expect((await writeExportStatus(name.replaceAll(' ', '-'), resource, status as never)).status).toBe(422);
    });
  });

  describe('that is changed', () => {
    const patch = { contentType: 'application/merge-patch+json' };
    const change = (name: string, spec: object) => callApi('PATCH', `${exports}/${name}`, { spec }, patch);

    test.each<[string, string, object]>([
      ['query', 'query', { query: 'warning' }],
      ['end', 'timeRange', { timeRange: { to: '2026-10-03T00:00:00' } }],
      ['zone', 'timeRange', { timeRange: { timeZone: 'UTC' } }],
      ['zone, which is removed,', 'timeRange', { timeRange: { from: '0', to: '1', timeZone: null } }],
      ['time', 'byReceiptTime', { byReceiptTime: true }],
      ['parsing', 'autoParsingMode', { autoParsingMode: 'AutoParse' }],
      ['results', 'results', { results: 'Records' }],
      ['raw messages', 'requiresRawMessages', { requiresRawMessages: false }],
      ['format', 'output', { output: { format: 'CSV' } }],
      ['fields', 'output', { output: { fields: ['_raw'] } }],
      ['size of parts', 'output', { output: { maxPartSize: '1Gi' } }],
      ['path', 'destination', { destination: { volume: { path: 'audit' } } }],
      ['store', 'destination', { destination: { volume: null, s3: { bucket: 'log-exports' } } }],
    ])('in its %s is refused', async (what, field, spec) => {
      const name = what.replaceAll(/[^a-z]+/g, '-').replace(/-$/, '');
      await createExport(name);
      const { status, body } = await change(name, spec);
      expect(status).toBe(422);
      expect(body.message).toMatch(
        new RegExp(`spec.${field}: Invalid value: .*cannot be changed.*: create another SearchExport with a new name`),
      );
      expect(body.details.causes).toHaveLength(1);
    });

    test('removing requiresRawMessages: false is refused', async () => {
      await createExport('no-raw', { requiresRawMessages: false });
      expect((await change('no-raw', { requiresRawMessages: null })).status).toBe(422);
    });

    test.each<[string, object]>([
      ['speed', { parallelism: 8, settleDelay: '5m' }],
      ['limits', { limits: { maxMessages: 5, maxBytesScanned: '1Ti' }, activeDeadlineSeconds: 3_600 }],
      ['end-of-life', { ttlSecondsAfterFinished: 86_400, incompletePolicy: 'Keep', paused: true }],
      ['credentials', { credentialsSecretRef: { name: 'another' } }],
      ['defaults', { requiresRawMessages: true, results: 'Messages', output: { format: 'NDJSON', fields: [] } }],
    ])('in its %s is accepted, and can be undone', async (name, spec) => {
      const before = (await createExport(name)) as { readonly spec: object };
      expect((await change(name, spec)).status).toBe(200);
      const path = `${exports}/${name}`;
      const { metadata } = (await callApi('GET', path)).body;
      const { status, body } = await callApi('PUT', path, { ...before, metadata });
      expect({ status, spec: body.spec }).toEqual({ status: 200, spec: before.spec });
    });
  });
});
