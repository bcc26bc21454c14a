/** Tests which result of a Kubernetes Job counts as the result of its export. */
import { describe, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { jobsPath, podsPath } from '../../support/job-controller.ts';
import { exportsCollection } from '../../support/world.ts';
import type { ExportWorld } from './export-world.ts';
import { failedWorld, failOnce, inJob, jobWorld, stalledPod, stalledWorld } from './job-world.ts';

describe('an export in a Kubernetes Job', () => {
  test.each([
    ['its previous Job cannot be deleted', 'DELETE', 'batch/v1/jobs'],
    ['its next Job cannot be created', 'POST', 'batch/v1/jobs'],
    ['its status cannot be written', 'PUT', exportsCollection],
  ])('continues a failed export after an edit although %s at first', async (_, method, collection) => {
    const { world, correct } = await failedWorld();
    correct();
    const hasFailed = failOnce(world, method, collection);
    world.patch({ spec: { parallelism: 2 } });
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
    expect(hasFailed()).toBe(true);
  });

  test('continues a failed export after an edit during a pause', async () => {
    const { world, correct } = await failedWorld();
    correct();
    world.annotate('logfleet.dev/paused', 'true');
    world.patch({ spec: { parallelism: 2 } });
    expect(await world.untilReason('Paused')).toBe(true);
    world.annotate('logfleet.dev/paused', null);
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
  });

  describe.each([
    ['complete', 'Exported'],
    ['failed', 'MaxMessagesReached'],
  ])('that is %s runs again on request', (_, reason) => {
    test.each([
      ['its Secret cannot be read at first', 'GET', 'v1/secrets'],
      ['its previous Job cannot be deleted at first', 'DELETE', 'batch/v1/jobs'],
      ['its status cannot be written at first', 'PUT', exportsCollection],
      ['it is paused', '', ''],
      ['its Secret is missing for a while', '', 'missing'],
    ])('although %s', async (__, method, collection) => {
      const { world, controller } = jobWorld();
      let pods = 0;
      controller.onPod = () => {
        pods++;
        return reason === 'Exported' ? undefined : stalledPod(reason, 'failed');
      };
      world.add(inJob);
      world.start();
      expect(await world.untilReason(reason)).toBe(true);
      // The operator reads a Secret again when its copy is a minute old.
      await world.world.until(() => false, 2 * minuteMs);
      const hasFailed = method === '' ? () => true : failOnce(world, method, collection);
      if (collection === 'missing') world.removeSecret();
      if (collection === '') world.annotate('logfleet.dev/paused', 'true');
      world.annotate('logfleet.dev/requestedAt', 'now');
      await world.world.until(() => false, 5 * minuteMs);
      world.annotate('logfleet.dev/paused', null);
      if (collection === 'missing') world.world.addSecret();
      await world.world.until(() => pods > 1 && world.reason === reason, hourMs);
      expect([pods > 1, world.reason, world.status?.lastHandledReconcileAt]).toEqual([true, reason, 'now']);
      expect(hasFailed()).toBe(true);
    });
  });

  test('that is complete confirms a request when its next Job has ended, although the operator ends before', async () => {
    const { world, controller } = jobWorld();
    let pods = 0;
    controller.onPod = () => {
      pods++;
      return undefined;
    };
    world.add(inJob);
    const operator = world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    const { startTime } = world.status ?? {};
    world.annotate('logfleet.dev/requestedAt', 'now');
    expect(await world.untilReason('JobPending', minuteMs)).toBe(true);
    const again = world.status;
    expect([pods, world.condition('Complete'), again?.completionTime]).toEqual([1, undefined, undefined]);
    expect(again?.startTime).not.toBe(startTime);
    operator.kill();
    world.start();
    const isAtWork = () => pods === 2 && world.reason === 'Exporting';
    expect(await world.world.until(isAtWork, 5 * minuteMs)).toBe(true);
    expect([world.status?.startTime, world.status?.lastHandledReconcileAt]).toEqual([again?.startTime, undefined]);
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
    expect([pods, world.status?.lastHandledReconcileAt]).toEqual([2, 'now']);
  });

  test.each([
    ['its Secret is missing', (world: ExportWorld) => world.removeSecret(), 'SecretNotFound', 'now'],
    ['it is paused', (world: ExportWorld) => world.annotate('logfleet.dev/paused', 'true'), 'Exported', undefined],
  ])(
    'that is complete confirms a request only if a person must correct something, while %s',
    async (_, hinder, reason, confirmed) => {
      const { world } = jobWorld();
      world.add(inJob);
      world.start();
      expect(await world.untilReason('Exported')).toBe(true);
      // The operator reads a Secret again when its copy is a minute old.
      await world.world.until(() => false, 2 * minuteMs);
      hinder(world);
      world.annotate('logfleet.dev/requestedAt', 'now');
      expect(await world.untilReason(reason, 5 * minuteMs)).toBe(true);
      await world.world.until(() => false, minuteMs);
      expect([world.reason, world.status?.lastHandledReconcileAt]).toEqual([reason, confirmed]);
    },
  );

  test.each([
    ['MaxMessagesReached', 'failed'],
    ['QueryRefused', 'stalled'],
  ])(
    'keeps %s when its Job is gone and its Secret is deleted, and starts no Job when the Secret returns',
    async (reason, end) => {
      const { world, jobs, podsStarted } = await stalledWorld(reason, {}, end);
      world.world.api.remove(`${jobsPath}/${jobs()[0]?.metadata.name}`);
      world.removeSecret();
      world.patch({ spec: { ttlSecondsAfterFinished: 1_000_000 } });
      await world.world.until(() => false, hourMs);
      expect(world.reason).toBe(reason);
      world.world.addSecret();
      await world.world.until(() => false, 2 * hourMs);
      expect([world.reason, podsStarted()]).toEqual([reason, 1]);
    },
  );

  test('is stalled while its pod cannot start because its Secret is missing', async () => {
    const { world, jobs } = jobWorld();
    world.add(inJob);
    world.start();
    await world.world.until(() => jobs().length === 1, minuteMs);
    const suspend = (isSuspended: boolean) =>
      world.world.api.patch(`${jobsPath}/${jobs()[0]?.metadata.name}`, { spec: { suspend: isSuspended } });
    suspend(true);
    world.removeSecret();
    expect(await world.untilReason('SecretNotFound', hourMs)).toBe(true);
    expect(world.status?.kubernetesJob).toBeDefined();
    world.world.addSecret();
    suspend(false);
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
  });

  test.each([
    ['Keep', 'ExportedIncomplete'],
    ['Fail', 'IntervalIncomplete'],
  ])('lists incomplete intervals with the policy %s', async (incompletePolicy, reason) => {
    const limited = { search: { duration: '3m', messageLimit: 200 } };
    const { world } = jobWorld({ scenario: limited });
    world.add({ ...inJob, query: '* | limit 500', incompletePolicy });
    world.start();
    expect(await world.untilReason(reason)).toBe(true);
    await world.world.until(() => false, 10 * minuteMs);
    expect(world.status?.incomplete).toMatchObject([{ reason: expect.stringMatching(/./), from: expect.any(String) }]);
  });

  test('is no longer complete when its policy changes to keep no incomplete intervals', async () => {
    const { world } = jobWorld({ scenario: { search: { duration: '3m', messageLimit: 200 } } });
    world.add({ ...inJob, query: '* | limit 500', incompletePolicy: 'Keep' });
    world.start();
    expect(await world.untilReason('ExportedIncomplete')).toBe(true);
    world.patch({ spec: { incompletePolicy: 'Fail' } });
    expect(await world.untilReason('IntervalIncomplete', hourMs)).toBe(true);
  });

  test.each([
    ['MaxMessagesReached', 'failed'],
    ['QueryRefused', 'stalled'],
  ])(
    'gets the Job that was requested while the previous one ran, after that one ended with %s before its last pod',
    async (reason, end) => {
      const { world, controller, jobs } = jobWorld({ scenario: { search: { duration: '10h' } } });
      let mayEnd = false;
      controller.onPod = (name) => {
        if (!/-0-\d+$/.test(name)) return undefined;
        return mayEnd ? stalledPod(reason, end) : { exitCode: 137 };
      };
      world.add({ ...inJob, execution: { mode: 'Job', job: { workers: 2, backoffLimitPerIndex: 50 } } });
      world.start();
      expect(await world.untilReason('Exporting')).toBe(true);
      world.annotate('logfleet.dev/requestedAt', 'now');
      await world.world.until(() => false, 5 * minuteMs);
      expect(world.status?.lastHandledReconcileAt).toBeUndefined();
      mayEnd = true;
      const [job] = jobs();
      const hasFailed = () => JSON.stringify(jobs()[0]?.status ?? {}).includes('"Failed"');
      expect(await world.world.until(hasFailed, 5 * minuteMs)).toBe(true);
      await world.world.until(() => false, minuteMs / 2);
      for (const pod of controller.running) controller.kill(pod, 143);
      const isAnother = () => jobs().length === 1 && jobs()[0]?.metadata.uid !== job?.metadata.uid;
      expect(await world.world.until(isAnother, hourMs)).toBe(true);
      expect(world.status?.lastHandledReconcileAt).toBeUndefined();
      expect(await world.untilReason(reason, hourMs)).toBe(true);
      expect(world.status?.lastHandledReconcileAt).toBe('now');
    },
  );

  test('remains failed after an edit if the pods of its Job are gone', async () => {
    const { world, pods, podsStarted } = await failedWorld();
    for (const { metadata } of pods()) world.world.api.remove(`${podsPath}/${metadata.name}`);
    await world.world.until(() => false, minuteMs);
    world.patch({ spec: { ttlSecondsAfterFinished: 1_000_000 } });
    expect(await world.world.until(() => world.condition('Failed')?.observedGeneration === 2, minuteMs)).toBe(true);
    await world.world.until(() => false, 10 * minuteMs);
    expect([world.reason, podsStarted()]).toEqual(['MaxMessagesReached', 1]);
  });

  test('remains failed after an edit while the operator may not use Jobs', async () => {
    const { world, jobs, operator, podsStarted } = await failedWorld();
    operator.kill();
    let isForbidden = true;
    world.world.api.onRequest = ({ collection }) =>
      isForbidden && collection.startsWith('batch/') ? { kind: 'status', status: 403, when: 'before' } : undefined;
    world.start();
    world.patch({ spec: { ttlSecondsAfterFinished: 1_000_000 } });
    expect(await world.world.until(() => world.condition('Failed')?.observedGeneration === 2, 5 * minuteMs)).toBe(true);
    isForbidden = false;
    for (const { metadata } of jobs()) world.world.api.remove(`${jobsPath}/${metadata.name}`);
    await world.world.until(() => false, hourMs);
    expect([world.reason, podsStarted()]).toEqual(['MaxMessagesReached', 1]);
  });

  test('stays stalled for the same reason if the pods of its Job are gone', async () => {
    const { world, pods, operator, podsStarted } = await stalledWorld('QueryRefused');
    const message = world.condition('Ready')?.message;
    for (const { metadata } of pods()) world.world.api.remove(`${podsPath}/${metadata.name}`);
    operator.kill();
    world.start();
    await world.world.until(() => false, hourMs);
    expect(world.condition('Ready')).toMatchObject({ reason: 'QueryRefused', message });
    expect(podsStarted()).toBe(1);
  });

  test('shows only figures of its last Job', async () => {
    const { world, controller } = jobWorld();
    const incomplete = [{ from: '2026-10-31T22:00:00Z', to: '2026-10-31T22:10:00Z', reason: 'CountDiffers' }];
    let report: object | undefined = {
      end: 'failed',
      reason: 'IntervalIncomplete',
      message: '',
      status: { incomplete },
    };
    controller.onPod = () => (report ? { exitCode: 3, message: JSON.stringify(report) } : undefined);
    world.add(inJob);
    world.start();
    expect(await world.untilReason('IntervalIncomplete')).toBe(true);
    expect(world.status?.incomplete).toHaveLength(1);
    report = undefined;
    world.annotate('logfleet.dev/requestedAt', 'now');
    expect(await world.untilReason('Exported', hourMs)).toBe(true);
    expect(world.status?.manifest?.rows).toBe(600);
    expect(world.status?.incomplete).toBeUndefined();
    report = { end: 'failed', reason: 'MaxMessagesReached', message: '', status: {} };
    world.annotate('logfleet.dev/requestedAt', 'later');
    expect(await world.untilReason('MaxMessagesReached', hourMs)).toBe(true);
    expect([world.status?.manifest, world.status?.progress]).toEqual([undefined, undefined]);
  });

  test('is pending, and not stalled, while the service rejects the key in a request of a policy', async () => {
    const denied = { kind: 'status', status: 401, until: '10m', operations: ['listBuilds'] } as const;
    const { world, jobs } = jobWorld({ scenario: { faults: { denied } } });
    world.add(inJob);
    world.start();
    await world.world.until(() => jobs().length === 1, minuteMs);
    world.world.api.patch(`${jobsPath}/${jobs()[0]?.metadata.name}`, { spec: { suspend: true } });
    expect(await world.untilReason('JobPending')).toBe(true);
    world.world.addPolicy('web', { target: { version: '19.200-1' } });
    expect(await world.world.until(() => world.world.ready('web')?.reason === 'Unauthorized', 5 * minuteMs)).toBe(true);
    expect(await world.untilReason('Unauthorized', hourMs)).toBe(false);
    expect(world.reason).toBe('JobPending');
  });

  test('does not run again if a request is withdrawn during a pause', async () => {
    const { world, controller } = jobWorld();
    let pods = 0;
    controller.onPod = () => {
      pods++;
      return undefined;
    };
    world.add(inJob, { annotations: { 'logfleet.dev/requestedAt': '1' } });
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    world.annotate('logfleet.dev/paused', 'true');
    world.annotate('logfleet.dev/requestedAt', '2');
    await world.world.until(() => false, minuteMs);
    world.annotate('logfleet.dev/requestedAt', '1');
    await world.world.until(() => false, minuteMs);
    world.annotate('logfleet.dev/paused', null);
    await world.world.until(() => false, hourMs);
    expect([world.reason, pods]).toEqual(['Exported', 1]);
  });

  test('has ended after its start even if its status could not be written while its next Job ran', async () => {
    const { world } = jobWorld();
    world.add(inJob);
    world.start();
    expect(await world.untilReason('Exported')).toBe(true);
    await world.world.until(() => false, hourMs / 2);
    let isFailing = true;
    world.world.api.onRequest = ({ method, collection }) =>
      isFailing && method === 'PUT' && collection === exportsCollection
        ? { kind: 'status', status: 500, when: 'before' }
        : undefined;
    world.annotate('logfleet.dev/requestedAt', 'now');
    await world.world.until(() => false, 2 * minuteMs);
    isFailing = false;
    expect(await world.world.until(() => world.status?.lastHandledReconcileAt === 'now', hourMs)).toBe(true);
    const { startTime = '', completionTime = '' } = world.status ?? {};
    expect(Date.parse(completionTime)).toBeGreaterThan(Date.parse(startTime));
  });
});
