import { expect, test } from 'vitest';
import type { SearchExportStatus } from '../../../src/api/generated/search-export.ts';
import type { SearchExport } from '../../../src/api/kinds.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { WorkerProgress } from '../../../src/cli/export/worker-progress.ts';
import { MemoryHost } from '../../../src/cli/resources/memory-host.ts';
import { ScriptedKubeApi } from '../../support/scripted-kube-api.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { exportOf } from '../export/sample-view.ts';

function worldOf(status = 200) {
  const clock = new VirtualClock();
  const api = new ScriptedKubeApi({ status, body: { kind: 'Status', message: 'refused' } });
  const resource: SearchExport = exportOf({});
  const host = new MemoryHost({ resources: [resource], secrets: { get: async () => undefined } });
  const worker = { index: 1, job: 'audit-1', exportUid: 'u1' };
  const progress = new WorkerProgress({ host, resource, worker, api, clock, log: silentLogger });
  const none = { intervalsPlanned: 1, intervalsDone: 0, bytesWritten: 0, duplicatesDropped: 0 };
  const write = (status: SearchExportStatus) => host.writeStatus('SearchExport', { ...resource, status });
  const show = (rowsWritten: number) => write({ progress: { ...none, coveredPercent: 0, rowsWritten } });
  return { clock, api, requests: api.requests, progress, write, show };
}

function itemsOf(requests: ScriptedKubeApi['requests']): readonly object[] {
  return requests.flatMap(
    ({ body }) => (body as { readonly status: { readonly workers: readonly object[] } }).status.workers,
  );
}

test('applies its item of the list of workers, at most every ten seconds', async () => {
  const { clock, requests, show } = worldOf();
  await show(1);
  await show(2);
  await clock.advance(9_000);
  expect(requests).toEqual([]);
  await clock.advance(11_000);
  await show(3);
  await clock.advance(20_000);
  expect(requests).toMatchObject(
    [2, 3].map((rowsWritten) => ({
      method: 'PATCH',
      path: '/apis/logfleet.dev/v1alpha1/namespaces/logging/searchexports/audit/status',
      query: { fieldManager: 'logfleet-worker-1', force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: {
        metadata: { name: 'audit', namespace: 'logging', uid: 'u1' },
        status: { workers: [{ index: 1, job: 'audit-1', progress: { rowsWritten } }] },
      },
    })),
  );
});

test('shows an obstacle until it ends, and repeats it every minute', async () => {
  const { clock, requests, write, show } = worldOf();
  const startTime = '2026-11-01T00:00:00.000Z';
  const ready = { type: 'Ready', status: 'False', reason: 'DestinationFull', message: 'full'.repeat(1_000) } as const;
  const conditions = [{ ...ready, lastTransitionTime: startTime }];
  await write({ conditions, outageStartTime: startTime });
  await clock.advance(75_000);
  const obstacle = { reason: 'DestinationFull', message: ready.message.slice(0, 1_024), startTime };
  const item = { index: 1, job: 'audit-1' };
  expect(itemsOf(requests)).toEqual([
    { ...item, obstacle },
    { ...item, obstacle },
  ]);
  await show(1);
  await clock.advance(10_000);
  expect(itemsOf(requests).at(-1)).toEqual({ ...item, progress: expect.objectContaining({ rowsWritten: 1 }) });
});

test('removes the obstacle that an earlier pod with the same index left in the status', async () => {
  const { clock, requests } = worldOf();
  await clock.advance(75_000);
  expect(itemsOf(requests)).toEqual([{ index: 1, job: 'audit-1' }]);
});

test.each([
  [403, 1],
  [404, 1],
  [409, 1],
  [500, 4],
])('after status %i, two changes within 40 s cause %i requests', async (status, count) => {
  const { clock, requests, show } = worldOf(status);
  await show(1);
  await clock.advance(20_000);
  await show(2);
  await clock.advance(20_000);
  expect(requests).toHaveLength(count);
});

test('applies nothing after its end, and closes its connection', async () => {
  const { clock, requests, show, progress, api } = worldOf();
  await show(1);
  await progress.close();
  await clock.advance(20_000);
  expect([requests.length, api.isClosed]).toEqual([0, true]);
});
