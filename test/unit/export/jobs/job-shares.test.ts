import { expect, test } from 'vitest';
import { WorkerShares } from '../../../../src/account/worker-shares.ts';
import { jobAnnotations } from '../../../../src/export/jobs/job-manifest.ts';
import { JobShares } from '../../../../src/export/jobs/job-shares.ts';
import { exportLabel, type WorkerJob, type WorkerJobs } from '../../../../src/host/worker-jobs.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

const limits = { requestsPerSecond: 4, maxConcurrentRequests: 10 };
const share = { requestsPerSecond: 1, maxConcurrentRequests: 2 };
const wanted = { user: 'u', workers: 3, share };

/**
 * Creates a store of Jobs. Returns the shares of its Jobs, a function that adds a Job, and a function that returns how
 * often all Jobs have been read.
 */
function sharesOfStore() {
  const jobs: WorkerJob[] = [];
  let reads = 0;
  let notify = (_: string): void => {};
  const store: Partial<WorkerJobs> = {
    jobs: () => {
      reads++;
      return jobs;
    },
    pods: () => [],
    subscribe: (listener) => {
      notify = listener;
      return () => {};
    },
  };
  const workerShares = new WorkerShares();
  const shares = new JobShares({
    ...{ store: store as WorkerJobs, shares: workerShares, clock: new VirtualClock() },
    ...{ accounts: { sharesChanged: () => {} }, onFree: () => {} },
  });
  const addJob = (name: string) => {
    const annotations = { [jobAnnotations.share]: JSON.stringify({ user: 'u', workers: 1, share }) };
    const metadata = { namespace: 'logging', name, uid: name, resourceVersion: '1' };
    const labels = { [exportLabel]: `uid-${name}` };
    jobs.push({ metadata: { ...metadata, labels, annotations }, spec: {}, status: {} } as WorkerJob);
    notify(`uid-${name}`);
  };
  return { shares, workerShares, addJob, reads: () => reads };
}

test('the first list of Jobs is compared with the reservations once, not once for each Job', async () => {
  const { shares, workerShares, addJob, reads } = sharesOfStore();
  const readsBefore = reads();
  for (let index = 0; index < 1_000; index++) addJob(`job-${index}`);
  await Promise.resolve();
  expect(workerShares.of('u')).toHaveLength(1_000);
  expect(reads() - readsBefore).toBe(1);
  shares.close();
});

test('a reservation counts the Jobs that appeared immediately before', () => {
  const { shares, addJob } = sharesOfStore();
  addJob('other-1');
  addJob('other-2');
  expect(shares.reserve({ namespace: 'logging', name: 'audit' }, 'uid', wanted, limits)).toMatchObject({ workers: 1 });
  shares.close();
});

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
  const reserve = () => shares.reserve(job, 'uid', { ...wanted, workers: 1 }, limits);
  reserve();
  await clock.advance(100_000);
  expect(reserve()).toMatchObject({ workers: 1 });
  await clock.advance(100_000);
  expect(shares.get(job)).toMatchObject({ workers: 1 });
  await clock.advance(20_000);
  expect(shares.get(job)).toBeUndefined();
  shares.close();
});
