import { expect, test } from 'vitest';
import { WorkerShares } from '../../../../src/account/worker-shares.ts';
import { JobShares } from '../../../../src/export/jobs/job-shares.ts';
import type { WorkerJobs } from '../../../../src/host/worker-jobs.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

test('a reservation lasts until two minutes after it was last requested', async () => {
  const clock = new VirtualClock();
  const store = { jobs: () => [], pods: () => [], subscribe: () => () => {}, exists: async () => false };
  const shares = new JobShares({
    store: store as Partial<WorkerJobs> as WorkerJobs,
    shares: new WorkerShares(),
    accounts: { sharesChanged: () => {} },
    clock,
    onFree: () => {},
  });
  const job = { namespace: 'logging', name: 'audit' };
  const share = { requestsPerSecond: 1, maxConcurrentRequests: 2 };
  const reserve = () =>
    shares.reserve(job, 'uid', { user: 'u', workers: 1, share }, { requestsPerSecond: 4, maxConcurrentRequests: 10 });
  reserve();
  await clock.advance(100_000);
  expect(reserve()).toMatchObject({ workers: 1 });
  await clock.advance(100_000);
  expect(shares.get(job)).toMatchObject({ workers: 1 });
  await clock.advance(20_000);
  expect(shares.get(job)).toBeUndefined();
  shares.close();
});
