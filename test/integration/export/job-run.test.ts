import { describe, expect, test } from 'vitest';
import { PrometheusMetrics } from '../../../src/base/prometheus-metrics.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { objectPath, operatorLeaseName } from '../../../src/host/kubernetes/api-paths.ts';
import { jobsPath, podsPath } from '../../support/job-controller.ts';
import type { ApiObject } from '../../support/memory-api-store.ts';
import { busiest, exportsPath } from '../../support/world.ts';
import { ExportWorld, evenly } from './export-world.ts';
import { failedWorld, inJob, jobWorld, stalledPod, stalledWorld } from './job-world.ts';

async function reconciles(metrics: PrometheusMetrics): Promise<number> {
  const lines = (await metrics.render()).matchAll(/^logfleet_reconciles_total\{.*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

const isComplete = (job: ApiObject | undefined) => JSON.stringify(job?.status ?? {}).includes('"Complete"');

describe('an export in a Kubernetes Job', () => {
  test("completes, with every row once and the worker's figures in the status", async () => {
    const { world, jobs } = jobWorld();
    world.add(inJob);
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toEqual(
      evenly(600)
        .map(({ raw }) => raw)
        .sort(),
    );
    const { status } = world;
    expect(status?.manifest).toMatchObject({ rows: 600, complete: true, proof: 'Digest' });
    expect(status?.progress).toMatchObject({ rowsWritten: 600, coveredPercent: 100 });
    expect(status?.kubernetesJob?.name).toBe(jobs()[0]?.metadata.name);
    expect(world.condition('Complete')).toMatchObject({ status: 'True' });
  });

  test("uses the operator's proxy", async () => {
    const { world, jobs } = jobWorld({ environment: { HTTPS_PROXY: 'http://proxy.example.com:3128' } });
    world.add(inJob);
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(jobs()[0]?.spec).toMatchObject({
      template: {
        spec: {
          containers: [
            { env: expect.arrayContaining([{ name: 'HTTPS_PROXY', value: 'http://proxy.example.com:3128' }]) },
          ],
        },
      },
    });
  });

  test('continues in another pod after its pod was killed', async () => {
    const { world, controller, pods } = jobWorld();
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1 && world.store.objects.size > 0, 30 * minuteMs);
    controller.kill(controller.running[0] as string);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(pods()).toHaveLength(2);
    expect(world.rows()).toHaveLength(600);
    expect(world.status?.kubernetesJob?.failedPods ?? 0).toBeGreaterThanOrEqual(0);
  });

  test.each(['list', 'create', 'open', 'write', 'finish', 'read'] as const)(
    'continues in another pod after its pod was killed at each of its first three calls of %s',
    async (call) => {
      const { world, controller, pods, jobs } = jobWorld();
      let kills = 0;
      world.onOpen = (destination) => {
        destination.strike = (made) => {
          const [pod] = controller.running;
          if (made !== call || kills >= 3 || pod === undefined || destination.isDead) return undefined;
          kills++;
          destination.die();
          controller.kill(pod);
          return undefined;
        };
      };
      world.add({ ...inJob, execution: { mode: 'Job', job: { backoffLimitPerIndex: 10 } } });
      world.start();
      expect(await world.untilReason('Exported')).toBe(true);
      expect(kills).toBeGreaterThan(0);
      expect({ rows: world.rows().length, pods: pods().length, jobs: jobs().length }).toEqual({
        ...{ rows: 600, pods: kills + 1, jobs: 1 },
      });
    },
  );

  test('continues in another pod after its node has failed', async () => {
    const { world, controller, pods } = jobWorld();
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1 && world.store.objects.size > 0, 30 * minuteMs);
    controller.loseNode(controller.running[0] as string);
    expect(pods()).toHaveLength(0);
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toHaveLength(600);
    expect(world.condition('Complete')).toMatchObject({ status: 'True' });
  });

  test('continues after more evictions than its Job may have failed pods', async () => {
    const { world, controller, pods } = jobWorld({ scenario: { search: { duration: '1m' } } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { backoffLimitPerIndex: 1 } } });
    world.start();
    for (let eviction = 1; eviction <= 4; eviction++) {
      await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
      controller.evict(controller.running[0] as string);
    }
    expect(await world.untilReason('Exported')).toBe(true);
    expect(pods()).toHaveLength(5);
    expect(world.rows()).toHaveLength(600);
  });

  test('waits while its claim is full, and completes in the same pod when there is space again', async () => {
    const { world, controller, pods } = jobWorld();
    let isFull = true;
    let refused = 0;
    world.onOpen = (destination) => {
      destination.strike = (call) => {
        if (!isFull || call !== 'write') return undefined;
        refused++;
        return { failure: 'full' };
      };
    };
    world.add(inJob);
    world.start();
    expect(await world.world.until(() => refused > 0, 30 * minuteMs)).toBe(true);
    await world.world.until(() => false, 10 * minuteMs);
    expect(controller.running).toHaveLength(1);
    expect(world.reason).not.toBe('Exported');
    isFull = false;
    expect(await world.untilReason('Exported')).toBe(true);
    expect(pods()).toHaveLength(1);
    expect(world.rows()).toHaveLength(600);
  });

  test('has two workers, which export every row once and together stay within two shares', async () => {
    const { world, controller, pods } = jobWorld();
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2 } } });
    world.start();
    await world.world.until(() => controller.running.length === 2, 30 * minuteMs);
    expect([...controller.limits.values()]).toEqual(
      [1, 2].map(() => ({ requestsPerSecond: 1, maxConcurrentRequests: 2 })),
    );
    expect(await world.untilReason('Exported')).toBe(true);
    expect(pods()).toHaveLength(2);
    expect(world.rows()).toEqual(
      evenly(600)
        .map(({ raw }) => raw)
        .sort(),
    );
  });

  test('B8, E16: three workers that are killed again and again export every row once, within the limits of the user', async () => {
    const search = { messageLimit: 200, duration: '3s' } as const;
    const { world, controller } = jobWorld({ messages: evenly(6_000), scenario: { search } });
    const job = { workers: 3, backoffLimitPerIndex: 100 };
    world.add({ ...inJob, parallelism: 8, execution: { mode: 'Job', job } });
    world.start();
    for (let kill = 0; kill < 12; kill++) {
      await world.world.until(() => controller.running.length === 3 || world.reason === 'Exported', 30 * minuteMs);
      await world.world.until(() => false, 5_000 + 1_700 * kill);
      const pod = controller.running[kill % 3];
      if (pod !== undefined) controller.kill(pod);
    }
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    expect(world.rows()).toEqual(
      evenly(6_000)
        .map(({ raw }) => raw)
        .sort(),
    );
    const { perSecond, atOnce } = busiest(world.world.journal);
    expect(perSecond).toBeLessThanOrEqual(4);
    expect(atOnce).toBeLessThanOrEqual(10);
    const names = world.manifest().intervals.flatMap(({ files }) => files.map(({ name }) => name));
    // File names contain the process id of the writer.
    const writers = new Set(names.map((name) => /w[0-9a-f]{8}-(\d+)-/.exec(name)?.[1]));
    expect(writers.size).toBeGreaterThanOrEqual(4);
  });

  test('E16: only one more worker plans the export when the planning takes longer than five minutes', async () => {
    const { world, controller } = jobWorld({ scenario: { search: { duration: '7m' } } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 3 } } });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    const isPlanned = () => [...world.store.objects.keys()].some((name) => name.endsWith('/plan.json'));
    expect(await world.world.until(isPlanned, 30 * minuteMs)).toBe(true);
    expect(world.jobsCreated).toBe(2);
  });

  test('shows the progress of its workers, but not the progress of an earlier Job', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '5m' } } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2 } } });
    world.start();
    await world.world.until(() => world.reason === 'Exporting' && controller.running.length === 2, 30 * minuteMs);
    const job = jobs()[0]?.metadata.name;
    const none = { intervalsPlanned: 9, intervalsDone: 1, bytesWritten: 1, duplicatesDropped: 0 };
    const item = (index: number, of: string | undefined, coveredPercent: number, rowsWritten: number) => ({
      ...{ index, job: of, progress: { ...none, coveredPercent, rowsWritten } },
    });
    const workers = [item(0, job, 20, 1_200), item(1, job, 30, 1_500), item(2, 'former', 90, 9_000)];
    world.world.api.patch(`${exportsPath}/audit/status`, { status: { workers } });
    const hasSummary = () => world.status?.summary?.progress === '30%';
    expect(await world.world.until(hasSummary, minuteMs)).toBe(true);
    expect(world.status).toMatchObject({ summary: { rows: '1.5k' }, progress: { coveredPercent: 30 } });
    expect(world.status?.workers?.map(({ index }) => index)).toEqual([0, 1]);
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    expect(world.status?.workers).toBeUndefined();
    expect(world.status?.progress).toMatchObject({ coveredPercent: 100, rowsWritten: 600 });
  });

  test('H2: shows an outage while no worker can continue, until one of them can', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '30m' } } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2 } } });
    world.start();
    await world.world.until(() => world.reason === 'Exporting' && controller.running.length === 2, 30 * minuteMs);
    const job = jobs()[0]?.metadata.name;
    // The pods' clock is an hour fast.
    const startTime = new Date(world.world.clock.now() + 60 * minuteMs).toISOString();
    const obstacle = { reason: 'DestinationFull', message: `The claim is full since ${startTime}.`, startTime };
    const show = (...indices: readonly number[]) =>
      world.world.api.patch(`${exportsPath}/audit/status`, {
        status: { workers: [0, 1].map((index) => ({ index, job, ...(indices.includes(index) ? { obstacle } : {}) })) },
      });
    show(0, 1);
    expect(await world.untilReason('DestinationFull', minuteMs)).toBe(true);
    expect(world.condition('Ready')?.message.split(startTime)).toHaveLength(2);
    expect(await world.world.until(() => world.condition('Outage') !== undefined, 11 * minuteMs)).toBe(true);
    expect(world.condition('Outage')).toMatchObject({ status: 'True', reason: 'DestinationFull' });
    show(1);
    expect(await world.untilReason('Exporting', minuteMs)).toBe(true);
    expect(world.condition('Outage')).toBeUndefined();
    expect(world.status?.workers?.map((worker) => worker.obstacle?.reason)).toEqual([undefined, 'DestinationFull']);
  });

  test.each([true, false])(
    'gets an API server token only if its ServiceAccount shows progress: %s',
    async (hasLabel) => {
      const { world, jobs } = jobWorld();
      const account = '/api/v1/namespaces/logging/serviceaccounts';
      const labels = {
        'logfleet.dev/export-worker': 'true',
        ...(hasLabel && { 'logfleet.dev/export-progress': 'true' }),
      };
      world.world.api.create(account, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'exporter', labels },
      });
      world.add({ ...inJob, execution: { mode: 'Job', job: { serviceAccountName: 'exporter' } } });
      world.start();
      expect(await world.untilReason('Exported')).toBe(true);
      expect(jobs()[0]).toMatchObject({ spec: { template: { spec: { automountServiceAccountToken: hasLabel } } } });
    },
  );

  test('completes when one of two workers crashes again and again', async () => {
    const { world, controller } = jobWorld();
    controller.onPod = (name) => (/-0-\d+$/.test(name) ? { exitCode: 137 } : undefined);
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2, backoffLimitPerIndex: 100 } } });
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toHaveLength(600);
  });

  test.each([
    ['10', 3],
    ['6', 2],
  ])(
    "has as many workers as the user's limits allow (%s concurrent requests)",
    async (maxConcurrentRequests, count) => {
      const { world, pods } = jobWorld();
      world.changeSecret({ maxConcurrentRequests });
      world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 4 } } });
      world.start();
      await world.world.until(() => pods().length > 0, 30 * minuteMs);
      expect(pods()).toHaveLength(count);
      expect(await world.untilReason('Exported')).toBe(true);
    },
  );

  test("stalls if the user's limits leave no share", async () => {
    const { world, jobs } = jobWorld();
    world.changeSecret({ maxConcurrentRequests: '3' });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 3 } } });
    world.start();
    expect(await world.untilReason('ShareTooSmall')).toBe(true);
    expect(jobs()).toEqual([]);
  });

  test('has one worker if its query cannot be split', async () => {
    const { world, pods } = jobWorld();
    world.add({
      ...inJob,
      query: '_sourceCategory=prod/app | sort by _raw',
      execution: { mode: 'Job', job: { workers: 2 } },
    });
    world.start();
    await world.world.until(() => pods().length > 0, 30 * minuteMs);
    await world.world.until(() => false, minuteMs);
    expect(pods()).toHaveLength(1);
  });

  test('stalls with the reason of the worker, and runs again in another Job on request', async () => {
    const { world, jobs, correct } = await stalledWorld('QueryRefused');
    expect(world.condition('Stalled')).toMatchObject({ status: 'True' });
    const before = jobs().map(({ metadata }) => metadata.name);
    correct();
    world.annotate('logfleet.dev/requestedAt', 'now');
    expect(await world.untilReason('Exported')).toBe(true);
    expect(jobs().map(({ metadata }) => metadata.name)).not.toEqual(before);
    expect(jobs()).toHaveLength(1);
  });

  test('runs again as soon as a Secret is corrected after the service rejected the key', async () => {
    const { world, correct } = await stalledWorld('Unauthorized');
    correct();
    world.changeSecret({ allowedHosts: 'other.example.com' });
    expect(await world.untilReason('Exported', 2 * minuteMs)).toBe(true);
  });

  test('runs in another Job when it has been stalled for a while, first after a minute and later after up to an hour', async () => {
    const { world, controller, jobs } = jobWorld();
    let isWrong = true;
    const startsMs: number[] = [];
    controller.onPod = () => {
      startsMs.push(world.world.clock.now());
      return isWrong ? stalledPod('Unauthorized') : undefined;
    };
    world.add(inJob);
    // The operator starts two hours after the export's creation, to test that the retry delays do not depend on the
    // export's age.
    await world.world.until(() => false, 2 * hourMs);
    const operator = world.start();
    expect(await world.untilReason('Unauthorized')).toBe(true);
    const stall = world.condition('Stalled');
    const shown = new Set<string>();
    const isTenth = () => {
      const { status, lastTransitionTime } = world.condition('Stalled') ?? {};
      shown.add([world.reason, status, lastTransitionTime].join());
      return startsMs.length === 10;
    };
    await world.world.until(() => isTenth() || startsMs.length === 6, 10 * hourMs);
    await world.world.until(() => isTenth() || world.status?.kubernetesJob?.endTime !== undefined, minuteMs);
    operator.kill();
    world.start();
    // Deletes the Job, as Kubernetes does after the Job's time to live. The deletion must not change the retry delays.
    world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
    await world.world.until(isTenth, 10 * hourMs);
    const minutes = startsMs.slice(1).map((ms, index) => Math.round((ms - (startsMs[index] ?? 0)) / minuteMs));
    expect(minutes).toEqual([1, 1, 2, 4, 9, 17, 34, 60, 60]);
    expect([...shown]).toEqual([`Unauthorized,True,${stall?.lastTransitionTime}`]);
    isWrong = false;
    expect(await world.untilReason('Exported', 2 * hourMs)).toBe(true);
    expect(world.condition('Stalled')).toBeUndefined();
  });

  test('is no longer stalled when a pod of its next Job has run for five minutes', async () => {
    const { world, controller, correct } = await stalledWorld('Unauthorized', {
      scenario: { search: { duration: '30m' } },
    });
    correct();
    await world.world.until(() => controller.running.length === 1, 5 * minuteMs);
    await world.world.until(() => false, 4 * minuteMs);
    expect(world.condition('Stalled')).toMatchObject({ reason: 'Unauthorized' });
    await world.world.until(() => false, 2 * minuteMs);
    expect([world.reason, world.condition('Stalled')]).toEqual(['Exporting', undefined]);
  });

  test('stays stalled while the API server does not delete its ended Job', async () => {
    const { world, correct } = await stalledWorld('Unauthorized');
    const stall = world.condition('Stalled');
    correct();
    let refused = 0;
    world.world.api.onRequest = ({ method, collection }) => {
      if (method !== 'DELETE' || collection !== 'batch/v1/jobs' || refused === 5) return undefined;
      refused++;
      return { kind: 'status', status: 500, when: 'before' };
    };
    await world.world.until(() => refused === 5, 5 * minuteMs);
    expect([refused, world.condition('Stalled')]).toEqual([5, stall]);
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test('gets no other Job by itself if only another query can succeed', async () => {
    const { world, controller, jobs } = jobWorld();
    controller.onPod = () => stalledPod('QueryRefused');
    world.add(inJob);
    world.start();
    expect(await world.untilReason('QueryRefused')).toBe(true);
    expect(world.condition('Ready')?.message).toBe('A person must correct something.');
    const [job] = jobs();
    await world.world.until(() => false, 5 * hourMs);
    expect(jobs()).toEqual([job]);
    expect(world.reason).toBe('QueryRefused');
  });

  test.each(['kept', 'deleted'])('gets no other Job by itself after it failed, if its Job is %s', async (state) => {
    const { world, jobs, podsStarted } = await failedWorld();
    const { completionTime, kubernetesJob } = world.status ?? {};
    if (state === 'deleted') world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
    await world.world.until(() => false, 2 * hourMs);
    world.patch({ spec: { ttlSecondsAfterFinished: 1_000_000 } });
    await world.world.until(() => false, 2 * hourMs);
    expect(world.condition('Failed')).toMatchObject({ reason: 'MaxMessagesReached', observedGeneration: 2 });
    expect(podsStarted()).toBe(1);
    expect(world.status).toMatchObject({ completionTime, kubernetesJob });
    world.annotate('logfleet.dev/requestedAt', 'now');
    await world.world.until(() => podsStarted() === 2, 5 * minuteMs);
    expect(podsStarted()).toBe(2);
    expect(Date.parse(world.status?.startTime ?? '')).toBeGreaterThan(Date.parse(completionTime ?? ''));
  });

  test.each(['MaxMessagesReached', 'Unauthorized'])(
    'shows the result %s of its Job although its Secret is missing',
    async (reason) => {
      const { world, controller, jobs } = jobWorld();
      controller.onPod = () => stalledPod(reason, reason === 'Unauthorized' ? 'stalled' : 'failed');
      world.add(inJob);
      const operator = world.start();
      await world.world.until(() => jobs().length === 1, minuteMs);
      operator.kill();
      world.removeSecret();
      await world.world.until(() => jobs()[0]?.status !== undefined, minuteMs);
      world.start();
      expect(await world.untilReason(reason)).toBe(true);
      expect(world.status?.kubernetesJob).toMatchObject({
        name: jobs()[0]?.metadata.name,
        endTime: expect.any(String),
      });
    },
  );

  test('does not wait again after its Secret was missing for a while', async () => {
    const { world, jobs, correct } = await stalledWorld('Unauthorized');
    const { kubernetesJob } = world.status ?? {};
    world.removeSecret();
    await world.world.until(() => false, minuteMs / 2);
    expect(world.status).toMatchObject({ kubernetesJob });
    expect(await world.untilReason('SecretNotFound')).toBe(true);
    expect(await world.untilReason('Unauthorized', 10 * minuteMs)).toBe(false);
    correct();
    world.world.addSecret();
    expect(await world.untilReason('Exported', 3 * minuteMs)).toBe(true);
    expect(jobs()).toHaveLength(1);
  });

  test('remains failed after an edit, although its Job is gone and its Secret has changed', async () => {
    const { world, jobs, podsStarted } = await failedWorld();
    world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
    world.changeSecret({ allowedHosts: 'other.example.com' });
    await world.world.until(() => false, 10 * minuteMs);
    world.patch({ spec: { ttlSecondsAfterFinished: 1_000_000 } });
    await world.world.until(() => false, 2 * hourMs);
    expect(world.condition('Failed')).toMatchObject({ reason: 'MaxMessagesReached', observedGeneration: 2 });
    expect(podsStarted()).toBe(1);
  });

  test('waits without repeated reconciles for a hanging pod of its Job before it gets another Job', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '10h' } } });
    controller.onPod = (name) => (/-0-\d+$/.test(name) ? stalledPod('Unauthorized') : undefined);
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2 } } });
    const metrics = new PrometheusMetrics();
    world.start({ metrics });
    expect(await world.untilReason('Unauthorized')).toBe(true);
    const [job] = jobs();
    expect(controller.running).toHaveLength(1);
    const before = await reconciles(metrics);
    await world.world.until(() => false, 10 * minuteMs);
    expect((await reconciles(metrics)) - before).toBeLessThan(30);
    expect(jobs().map(({ metadata }) => metadata.uid)).toEqual([job?.metadata.uid]);
    controller.onPod = () => undefined;
    controller.kill(controller.running[0] as string);
    await world.world.until(() => jobs()[0]?.metadata.uid !== job?.metadata.uid && jobs().length === 1, 5 * minuteMs);
    expect(jobs()[0]?.metadata.uid).not.toBe(job?.metadata.uid);
  });

  test('gets another Job if the pods of its complete Job were removed before they were read', async () => {
    const { world, jobs, pods } = jobWorld();
    world.add(inJob);
    const first = world.start();
    await world.world.until(() => jobs().length === 1, 5 * minuteMs);
    first.kill();
    expect(await world.world.until(() => isComplete(jobs()[0]), 30 * minuteMs)).toBe(true);
    for (const { metadata } of pods()) world.world.api.remove(`${podsPath}/${metadata.name}`);
    const searches = world.jobsCreated;
    world.start();
    expect(await world.untilReason('JobFailed')).toBe(true);
    expect(await world.untilReason('Exported', 2 * hourMs)).toBe(true);
    expect(world.jobsCreated).toBe(searches);
  });

  test('shows the result of a complete Job that is being deleted, but not if the user then requests another Job', async () => {
    const { world, jobs } = jobWorld();
    world.add(inJob);
    const first = world.start();
    await world.world.until(() => world.status?.kubernetesJob !== undefined, 5 * minuteMs);
    first.kill();
    const job = `${jobsPath}/${jobs()[0]?.metadata.name}`;
    world.world.api.patch(job, { metadata: { finalizers: ['foregroundDeletion'] } });
    expect(await world.world.until(() => isComplete(jobs()[0]), 30 * minuteMs)).toBe(true);
    world.world.api.remove(job);
    world.start();
    expect(await world.untilReason('Exported', minuteMs)).toBe(true);
    world.annotate('logfleet.dev/requestedAt', 'now');
    await world.world.until(() => false, minuteMs);
    expect(world.reason).toBe('JobPending');
    world.world.api.patch(job, { metadata: { finalizers: null } });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(`${jobsPath}/${jobs()[0]?.metadata.name}`).not.toBe(job);
  });

  test('stays stalled when its Job is deleted after its time to live, until a Secret changes', async () => {
    const { world, jobs, correct } = await stalledWorld('Unauthorized');
    world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
    await world.world.until(() => jobs().length > 0, minuteMs / 2);
    expect([jobs().length, world.reason]).toEqual([0, 'Unauthorized']);
    correct();
    world.changeSecret({ allowedHosts: 'other.example.com' });
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test('gets another Job when its spec changes, after the pod of the previous Job has ended', async () => {
    const { world, controller, jobs } = jobWorld();
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
    const before = jobs().map(({ metadata }) => metadata.name);
    let max = 0;
    const isOver = () => {
      max = Math.max(max, controller.running.length);
      return world.reason === 'Exported';
    };
    world.patch({ spec: { parallelism: 2 } });
    expect(await world.world.until(isOver, 30 * minuteMs)).toBe(true);
    expect(jobs().map(({ metadata }) => metadata.name)).not.toEqual(before);
    expect(max).toBe(1);
    expect(world.rows()).toHaveLength(600);
  });

  test('gets as many workers as before when its spec changes', async () => {
    const { world, controller, jobs } = jobWorld();
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 3 } } });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    const before = jobs().map(({ metadata }) => metadata.name);
    world.patch({ spec: { parallelism: 2 } });
    await world.world.until(() => jobs().some(({ metadata }) => !before.includes(metadata.name)), 30 * minuteMs);
    expect(jobs().map(({ spec }) => (spec as { completions: number }).completions)).toEqual([3]);
  });

  test('is followed to its end when the limits of its user are lowered', async () => {
    const { world, controller } = jobWorld({ scenario: { search: { duration: '5m' } } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 3 } } });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    world.changeSecret({ maxConcurrentRequests: '6' });
    const reasons = new Set<string | undefined>();
    const isOver = () => reasons.add(world.reason).has('Exported');
    expect(await world.world.until(isOver, 30 * minuteMs)).toBe(true);
    expect([...reasons]).toEqual(['JobPending', 'Exporting', 'Exported']);
  });

  test.each([
    ['has just started', 0],
    ['has searched for a minute', minuteMs],
  ])('B8: a worker that %s sends no request with the credentials of another user', async (_, afterMs) => {
    const users = { other: { keys: { other: 'other-key' } } };
    const search = { messageLimit: 100, duration: '2m' } as const;
    const { world, controller, jobs } = jobWorld({ scenario: { users, search } });
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
    await world.world.clock.advance(afterMs);
    const [former] = jobs();
    world.changeSecret({ accessId: 'other', accessKey: 'other-key' });
    const isUsed = () => world.world.journal.some(({ user }) => user === 'other');
    expect(await world.world.until(isUsed, 30 * minuteMs)).toBe(true);
    expect(jobs()).toHaveLength(1);
    expect(jobs()[0]?.metadata.name).not.toBe(former?.metadata.name);
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    expect(world.rows()).toHaveLength(600);
  });

  test('does not start again when the annotation of a handled request is removed', async () => {
    const { world, jobs } = jobWorld();
    world.add(inJob);
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    world.annotate('logfleet.dev/requestedAt', 'now');
    await world.world.until(() => world.status?.lastHandledReconcileAt === 'now', 5 * minuteMs);
    expect(await world.untilReason('Exported')).toBe(true);
    const { status } = world;
    const before = jobs().map(({ metadata }) => metadata.uid);
    world.annotate('logfleet.dev/requestedAt', null);
    await world.world.until(() => false, 10 * minuteMs);
    expect([world.status, jobs().map(({ metadata }) => metadata.uid)]).toEqual([status, before]);
  });

  test('is shown at work while the service rejects the key in a request of a policy', async () => {
    const denied = { kind: 'status', status: 401, until: '3m', operations: ['listBuilds'] } as const;
    const { world } = jobWorld({ scenario: { search: { duration: '15m' }, faults: { denied } } });
    world.add(inJob);
    world.start();
    expect(await world.untilReason('Exporting')).toBe(true);
    world.world.addPolicy('web', { target: { version: '19.200-1' } });
    expect(await world.world.until(() => world.world.ready('web')?.reason === 'Unauthorized', 5 * minuteMs)).toBe(true);
    const reasons = new Set<string | undefined>();
    expect(await world.world.until(() => reasons.add(world.reason).has('Exported'), hourMs)).toBe(true);
    expect([...reasons]).toEqual(['Exporting', 'Exported']);
  });

  test('remains failed when it is paused and resumed after its Job is gone', async () => {
    const { world, jobs, podsStarted } = await failedWorld();
    for (const { metadata } of jobs()) world.world.api.remove(`${jobsPath}/${metadata.name}`);
    for (const paused of [true, false]) {
      world.patch({ spec: { paused } });
      await world.world.until(() => false, 10 * minuteMs);
      expect(world.condition('Failed')).toMatchObject({ status: 'True' });
    }
    expect(podsStarted()).toBe(1);
  });

  test('B8: returns its share if the API server rejects its Job', async () => {
    const { world, jobs } = jobWorld();
    const { api } = world.world;
    const three = { ...inJob, execution: { mode: 'Job', job: { workers: 3 } } };
    api.onRequest = ({ method, collection }) =>
      method === 'POST' && collection === 'batch/v1/jobs' ? { kind: 'status', status: 403, when: 'before' } : undefined;
    world.add(three);
    world.start();
    expect(await world.untilReason('JobsNotAvailable')).toBe(true);
    api.onRequest = () => undefined;
    world.world.addExport('other', { ...inHour, ...three });
    await world.world.until(() => jobs().length > 0, minuteMs);
    const uid = world.world.export('other')?.metadata.uid;
    const labels = { 'logfleet.dev/export-uid': uid };
    expect(jobs()).toMatchObject([{ metadata: { labels }, spec: { completions: 3 } }]);
  });

  test('gets no Job from a process that loses the leadership while it prepares the Job', async () => {
    const { world, jobs } = jobWorld();
    const { api } = world.world;
    let isAsked = false;
    api.onRequest = ({ method, collection }) => {
      if (method !== 'GET' || collection !== 'v1/serviceaccounts') return undefined;
      isAsked = true;
      return { kind: 'delay', delayMs: 8_000 };
    };
    const metadata = { name: 'exporter', labels: { 'logfleet.dev/export-worker': 'true' } };
    api.create('/api/v1/namespaces/logging/serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    world.add({ ...inJob, execution: { mode: 'Job', job: { serviceAccountName: 'exporter' } } });
    const { host } = world.start({ leaderElection: true });
    await world.world.until(() => isAsked, minuteMs);
    api.patch(objectPath('leases', 'logfleet-system', operatorLeaseName), { spec: { holderIdentity: 'another' } });
    await world.world.until(() => false, 12_000);
    expect([host.leadership.isLeader(), jobs()]).toEqual([false, []]);
  });

  test('keeps its start time when its next Job starts', async () => {
    const { world, correct } = await stalledWorld('Unauthorized');
    const { startTime } = world.status ?? {};
    correct();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.status?.startTime).toBe(startTime);
  });

  test('returns its share when it is deleted', async () => {
    const { world, controller, jobs } = jobWorld();
    const names = ['a', 'b', 'c'];
    for (const name of names) world.world.addExport(name, { ...inHour, ...inJob, parallelism: 1 });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    for (const name of names) world.world.api.remove(`${exportsPath}/${name}`);
    for (const { metadata } of jobs()) world.world.api.remove(`${jobsPath}/${metadata.name}`);
    world.add(inJob);
    expect(await world.untilReason('WaitingForShare')).toBe(true);
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test('has no Job while it is paused, and completes afterwards', async () => {
    const { world, controller, jobs, pods } = jobWorld();
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
    world.patch({ spec: { paused: true } });
    expect(await world.untilReason('Paused')).toBe(true);
    await world.world.until(() => pods().length === 0, minuteMs);
    expect(jobs()).toEqual([]);
    world.patch({ spec: { paused: false } });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(world.rows()).toHaveLength(600);
  });

  test('B8: starts no pod for a manually deleted Job while one of its pods is still running', async () => {
    const { world, controller, jobs } = jobWorld();
    controller.graceMs = 30_000;
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
    world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
    let max = 0;
    const isOver = () => {
      max = Math.max(max, controller.running.length);
      return world.reason === 'Exported';
    };
    expect(await world.world.until(isOver, 30 * minuteMs)).toBe(true);
    expect(max).toBe(1);
  });

  test('B8: keeps the share of a Job whose annotation a user has removed', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '5m' } } });
    const names = ['a', 'b', 'c'];
    for (const name of names) world.world.addExport(name, { ...inHour, ...inJob });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    const annotations = { 'logfleet.dev/share': null };
    world.world.api.patch(`${jobsPath}/${jobs()[0]?.metadata.name}`, { metadata: { annotations } });
    world.add(inJob);
    await world.world.until(() => world.reason !== undefined, minuteMs);
    await world.world.until(() => false, 2 * minuteMs);
    expect([world.reason, controller.running.length]).toEqual(['WaitingForShare', 3]);
  });

  test('keeps its status unchanged if it still waits for a share after another Job has ended', async () => {
    const { world, jobs } = jobWorld({ scenario: { search: { duration: '1m' } } });
    const { api } = world.world;
    const names = Array.from({ length: 8 }, (_, index) => `export-${index}`);
    for (const name of names) world.world.addExport(name, { ...inHour, ...inJob });
    world.start();
    await world.world.until(() => jobs().length === 3, 30 * minuteMs);
    await world.world.until(() => false, minuteMs / 2);
    const before = api.requests.length;
    await world.world.until(() => jobs().length === 6, 300 * minuteMs);
    const waiting = names.filter((name) => !world.world.export(name)?.status?.kubernetesJob);
    const written = api.requests.slice(before).flatMap(({ method, path }) => (method === 'PUT' ? path : []));
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.filter((name) => written.includes(`${exportsPath}/${name}/status`))).toEqual([]);
  });

  test("B8: keeps its Job and its share when the user's limits change", async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '5m' } } });
    world.add(inJob);
    world.start();
    await world.world.until(() => controller.running.length === 1, 30 * minuteMs);
    const before = jobs().map(({ metadata }) => metadata.uid);
    world.changeSecret({ requestsPerSecond: '3' });
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    expect(jobs().map(({ metadata }) => metadata.uid)).toEqual(before);
  });

  test('has one worker if the number of its rows is limited', async () => {
    const { world, jobs } = jobWorld();
    world.add({ ...inJob, limits: { maxMessages: 1_000 }, execution: { mode: 'Job', job: { workers: 3 } } });
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(jobs()).toMatchObject([{ spec: { completions: 1 } }]);
  });

  test('B8: starts with as many workers as there are free shares', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '5m' } } });
    for (const name of ['a', 'b']) world.world.addExport(name, { ...inHour, ...inJob });
    world.start();
    await world.world.until(() => controller.running.length === 2, 30 * minuteMs);
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 4 } } });
    const message = () => world.condition('Ready')?.message ?? '';
    await world.world.until(() => message().includes('has been created'), 30 * minuteMs);
    expect(message()).toContain('has been created. It has 1 instead of 3 workers, because other Jobs are using');
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    const uid = world.world.export('audit')?.metadata.uid;
    const own = jobs().filter(({ metadata }) => metadata.labels?.['logfleet.dev/export-uid'] === uid);
    expect(own).toMatchObject([{ spec: { completions: 1 } }]);
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    const names = own.map(({ metadata }) => metadata.name);
    expect(world.status?.kubernetesJob?.name).toBe(names[0]);
  });

  test('B8: waits while other Jobs use all shares, and starts when one of them ends', async () => {
    const { world, controller, jobs } = jobWorld();
    const names = ['a', 'b', 'c', 'd', 'e'];
    const { timeRange } = inHour;
    for (const name of names) world.world.addExport(name, { timeRange, ...inJob });
    world.start();
    const reasonOf = (name: string) =>
      world.world.export(name)?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    expect(names.filter((name) => reasonOf(name) === 'WaitingForShare')).toHaveLength(2);
    const used = [...controller.limits.values()];
    expect(used.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0)).toBe(3);
    expect(used.reduce((sum, { maxConcurrentRequests }) => sum + maxConcurrentRequests, 0)).toBe(6);
    await world.world.until(() => names.every((name) => reasonOf(name) === 'Exported'), 300 * minuteMs);
    expect(names.map(reasonOf)).toEqual(names.map(() => 'Exported'));
    expect(jobs()).toHaveLength(5);
  });

  test("B8: waits until the operator's lower request rate can poll the operator's search jobs", async () => {
    const { world, controller } = jobWorld({ scenario: { search: { duration: '4m' } } });
    for (let index = 0; index < 40; index++) world.world.addExport(`operator-${index}`, inHour);
    world.start();
    await world.world.until(() => world.jobsActive() === 30, 30 * minuteMs);
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 3 } } });
    expect(await world.untilReason('WaitingForShare')).toBe(true);
    let active = world.jobsActive();
    await world.world.until(() => {
      expect(world.jobsActive()).toBeLessThanOrEqual(Math.max(7, active));
      active = world.jobsActive();
      return controller.running.length > 0;
    }, 30 * minuteMs);
    expect(active).toBeLessThanOrEqual(7);
    expect(await world.untilReason('Exported', 300 * minuteMs)).toBe(true);
    expect(world.world.counters().jobsLostToSilence).toBe(0);
  });

  test('sends no request when the pod of another export changes while it waits for a share', async () => {
    const { world, controller, pods } = jobWorld({ scenario: { search: { duration: '30m' } } });
    const { api } = world.world;
    const metadata = { name: 'exporter', labels: { 'logfleet.dev/export-worker': 'true' } };
    api.create('/api/v1/namespaces/logging/serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    const execution = { mode: 'Job', job: { serviceAccountName: 'exporter' } };
    const names = Array.from({ length: 24 }, (_, index) => `export-${index}`);
    for (const name of names) world.world.addExport(name, { ...inHour, ...inJob, execution });
    world.start();
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    await world.world.until(() => false, 10_000);
    const before = api.requests.length;
    api.patch(`${podsPath}/${pods()[0]?.metadata.name}/status`, { status: { message: 'changed' } });
    await world.world.until(() => false, 1_000);
    expect(api.requests.slice(before).filter(({ path }) => path.includes('serviceaccounts'))).toEqual([]);
  });

  test('B8: a new leader with a late watch reads all Jobs before its first request', async () => {
    const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '5m' } } });
    const { api } = world.world;
    api.onWatchEvent = ({ client, event: { collection } }) =>
      client === 'replica-2' && ['batch/v1/jobs', 'v1/pods'].includes(collection) ? { kind: 'drop' } : undefined;
    const names = ['a', 'b', 'c'];
    for (const name of names) world.world.addExport(name, { ...inHour, ...inJob });
    const first = world.start({ leaderElection: true });
    await world.world.until(() => first.host.leadership.isLeader(), minuteMs);
    world.start({ leaderElection: true });
    await world.world.until(() => controller.running.length === 3, 30 * minuteMs);
    first.kill();
    // The exports no longer exist, so only their Jobs tell the operator that the pods are still running.
    for (const name of names) api.remove(`${exportsPath}/${name}`);
    world.add(inJob);
    expect(await world.untilReason('WaitingForShare', minuteMs)).toBe(true);
    // The three pods use all shares of the request limits. The new Job must not start before one of these pods has
    // ended.
    const isOverspent = () => jobs().length === 4 && controller.running.length === 3;
    expect(await world.world.until(isOverspent, 10_000)).toBe(false);
  });

  test('B8: a leader that cannot list the Jobs is not ready, and starts when the list succeeds', async () => {
    const { world } = jobWorld();
    let isBroken = true;
    world.world.api.onRequest = ({ collection }) =>
      isBroken && collection === 'batch/v1/jobs' ? { kind: 'status', status: 500, when: 'before' } : undefined;
    world.add(inJob);
    const { host } = world.start();
    await world.world.until(() => false, minuteMs);
    expect([host.leadership.isLeader(), host.unready().length]).toEqual([false, 1]);
    expect(host.unready()).toEqual([expect.stringContaining('/apis/batch/v1/jobs')]);
    isBroken = false;
    expect(await world.untilReason('Exported')).toBe(true);
    expect(host.unready()).toEqual([]);
  });

  test('another leader shows the end of a Job that ended while no operator was running', async () => {
    const { world, jobs, pods } = jobWorld();
    world.add(inJob);
    const first = world.start();
    await world.world.until(() => jobs().length === 1, 5 * minuteMs);
    first.kill();
    const isOver = () => pods().some((pod) => (pod.status as { phase?: string }).phase === 'Succeeded');
    await world.world.until(isOver, 30 * minuteMs);
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    expect(jobs()).toHaveLength(1);
  });

  test('keeps a Job that completed while no operator was running, even if the image or a Secret has changed since', async () => {
    const { world, jobs } = jobWorld();
    world.add(inJob);
    const first = world.start();
    await world.world.until(() => jobs().length === 1, 5 * minuteMs);
    const job = jobs()[0]?.metadata.name;
    first.kill();
    expect(await world.world.until(() => isComplete(jobs()[0]), 30 * minuteMs)).toBe(true);
    world.changeSecret({ allowedHosts: 'other.example.com' });
    world.start({ workerImage: 'logfleet:next' });
    expect(await world.untilReason('Exported')).toBe(true);
    expect(jobs().map(({ metadata }) => metadata.name)).toEqual([job]);
    expect(world.status?.kubernetesJob?.name).toBe(job);
  });
});

const inHour = { timeRange: { from: String(Date.UTC(2026, 9, 31, 22)), to: String(Date.UTC(2026, 9, 31, 23)) } };

describe('an export that cannot run in a Kubernetes Job', () => {
  test('stalls if the operator has no image for pods', async () => {
    const world = new ExportWorld();
    world.add(inJob);
    world.start();
    expect(await world.untilReason('JobsNotAvailable')).toBe(true);
    expect(world.condition('Stalled')).toMatchObject({ status: 'True' });
  });

  test('stalls without the rights, while other exports run', async () => {
    const { world } = jobWorld();
    world.world.api.onRequest = ({ collection }) =>
      collection.startsWith('batch/') ? { kind: 'status', status: 403, when: 'before' } : undefined;
    world.add(inJob);
    world.world.addExport('other', inHour);
    world.start();
    expect(await world.untilReason('JobsNotAvailable')).toBe(true);
    const ofOther = () => world.world.export('other')?.status?.conditions?.find(({ type }) => type === 'Complete');
    expect(await world.world.until(() => ofOther() !== undefined, 30 * minuteMs)).toBe(true);
  });

  test('stalls if its ServiceAccount lacks the label', async () => {
    const { world, jobs } = jobWorld();
    const account = '/api/v1/namespaces/logging/serviceaccounts';
    world.world.api.create(account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'exporter' } });
    world.add({ ...inJob, execution: { mode: 'Job', job: { serviceAccountName: 'exporter' } } });
    world.start();
    expect(await world.untilReason('ServiceAccountNotAllowed')).toBe(true);
    expect(jobs()).toEqual([]);
    world.world.api.patch(`${account}/exporter`, { metadata: { labels: { 'logfleet.dev/export-worker': 'true' } } });
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test.each([
    [['ReadWriteOnce'], 'ClaimNotShared'],
    [['ReadWriteOnce', 'ReadWriteMany'], 'Exported'],
  ])('with two workers and a claim of access modes %j ends with %s', async (accessModes, reason) => {
    const { world, jobs } = jobWorld();
    const claims = '/api/v1/namespaces/logging/persistentvolumeclaims';
    const metadata = { name: 'audit', namespace: 'logging' };
    world.world.api.create(claims, {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: { accessModes } },
    });
    world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2 } } });
    world.start();
    expect(await world.untilReason(reason)).toBe(true);
    expect(jobs()).toHaveLength(reason === 'Exported' ? 1 : 0);
    world.patch({ spec: { execution: { job: { workers: 1 } } } });
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test('stalls without the right to create Jobs, and runs when it is granted', async () => {
    const { world } = jobWorld();
    let isForbidden = true;
    let refused = 0;
    world.world.api.onRequest = ({ method, collection }) => {
      if (!isForbidden || method !== 'POST' || collection !== 'batch/v1/jobs') return undefined;
      refused++;
      return { kind: 'status', status: 403, when: 'before' };
    };
    world.add(inJob);
    world.start();
    expect(await world.untilReason('JobsNotAvailable')).toBe(true);
    await world.world.until(() => refused > 9, minuteMs);
    expect(refused).toBeLessThan(4);
    isForbidden = false;
    expect(await world.untilReason('Exported')).toBe(true);
  });
});
