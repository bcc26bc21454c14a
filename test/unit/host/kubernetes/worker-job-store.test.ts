import { expect, test } from 'vitest';
import { objectPath } from '../../../../src/host/kubernetes/api-paths.ts';
import { createDeadlineMs } from '../../../../src/host/kubernetes/lease.ts';
import { KubernetesWorkerJobs } from '../../../../src/host/kubernetes/worker-job-store.ts';
import { exportLabel, type WorkerJob } from '../../../../src/host/worker-jobs.ts';
import { clientOf, codeOf, createWorld, surroundings } from './world.ts';

const namespaces = ['logging', 'other'] as const;

function followed(statusOf: (namespace: string | undefined) => number | undefined) {
  const world = createWorld();
  world.server.onRequest = ({ namespace }) => {
    const status = statusOf(namespace);
    return status === undefined ? undefined : { kind: 'status', status, when: 'before' };
  };
  const options = { ...surroundings(world), client: clientOf(world), image: 'logfleet', scopes: namespaces };
  const jobs = new KubernetesWorkerJobs(options);
  void jobs.run(new AbortController().signal);
  return { world, jobs };
}

test('a list of Jobs that fails is reported until it succeeds', async () => {
  let status: number | undefined = 500;
  const { world, jobs } = followed(() => status);
  let isListed = false;
  void jobs.relist().then(() => {
    isListed = true;
  });
  await world.clock.advance(60_000);
  expect(isListed).toBe(false);
  expect(jobs.unlisted()).toContain('/apis/batch/v1/namespaces/logging/jobs');
  status = undefined;
  await world.clock.advance(60_000);
  expect([isListed, jobs.unlisted(), jobs.problem()]).toEqual([true, undefined, undefined]);
});

test('the Jobs and pods of an export are found by its uid, even after labels have changed', async () => {
  const { world, jobs } = followed(() => undefined);
  const create = (plural: 'jobs' | 'pods', name: string, uid: string) =>
    world.server.create(objectPath(plural, 'logging'), { metadata: { name, labels: { [exportLabel]: uid } } });
  const found = (uid: string) =>
    [jobs.jobsOf(uid), jobs.podsOf(uid)].map((all) => all.map((each) => each.metadata.name));
  create('jobs', 'first', 'u1');
  create('jobs', 'second', 'u1');
  create('pods', 'pod', 'u1');
  create('jobs', 'other', 'u2');
  await world.clock.advance(1_000);
  expect([found('u1'), found('u2')]).toEqual([
    [['first', 'second'], ['pod']],
    [['other'], []],
  ]);
  world.server.patch(objectPath('jobs', 'logging', 'first'), { metadata: { labels: { [exportLabel]: 'u2' } } });
  world.server.patch(`${objectPath('pods', 'logging', 'pod')}/status`, { status: { phase: 'Running' } });
  world.server.remove(objectPath('jobs', 'logging', 'other'));
  await world.clock.advance(1_000);
  expect([found('u1'), found('u2')]).toEqual([
    [['second'], ['pod']],
    [['first'], []],
  ]);
  expect(jobs.podsOf('u1')[0]?.status.phase).toBe('Running');
});

test('a namespace without rights does not end the wait for the Jobs of another namespace', async () => {
  let status: number | undefined = 500;
  const { world, jobs } = followed((namespace) => (namespace === 'other' ? 403 : status));
  world.server.create(objectPath('jobs', 'logging'), { metadata: { name: 'job', labels: { [exportLabel]: 'u1' } } });
  let known: readonly string[] | undefined;
  void jobs.relist().then(() => {
    known = [...jobs.jobs()].map(({ metadata }) => metadata.name);
  });
  await world.clock.advance(60_000);
  expect(known).toBeUndefined();
  status = undefined;
  await world.clock.advance(60_000);
  expect(known).toEqual(['job']);
  expect(jobs.problem()).toMatchObject({ code: 'host.forbidden' });
});

test.each([403, 404])('the wait for the list of Jobs ends if the response is %i in all namespaces', async (status) => {
  const { world, jobs } = followed(() => status);
  await world.clock.during(jobs.relist());
  expect(jobs.problem()).toBeDefined();
});

test('the removal of a Job keeps a new Job with the same name', async () => {
  const { world, jobs } = followed(() => undefined);
  const create = () =>
    world.server.create(objectPath('jobs', 'logging'), { metadata: { name: 'job', labels: { [exportLabel]: 'u1' } } });
  create();
  await world.clock.advance(1_000);
  const [former] = jobs.jobsOf('u1') as [WorkerJob];
  world.server.remove(objectPath('jobs', 'logging', 'job'));
  const next = create();
  await world.clock.during(jobs.remove(former));
  expect(world.server.get(objectPath('jobs', 'logging', 'job'))?.metadata.uid).toBe(next.metadata.uid);
});

test('the creation of a Job fails before another process can become the leader', async () => {
  const { world, jobs } = followed(() => undefined);
  world.server.onRequest = ({ method }) => (method === 'POST' ? { kind: 'stall', when: 'before' } : undefined);
  const creation = codeOf(jobs.create({ namespace: 'logging', name: 'job' }, { metadata: { name: 'job' } }));
  await world.clock.advance(createDeadlineMs);
  expect(await Promise.race([creation, 'waits'])).toBe('host.unreachable');
});

test('a ServiceAccount without labels and a claim without access modes differ from absent ones', async () => {
  const { world, jobs } = followed(() => undefined);
  world.server.create(objectPath('serviceaccounts', 'logging'), { metadata: { name: 'bare' } });
  world.server.create(objectPath('persistentvolumeclaims', 'logging'), { metadata: { name: 'bare' } });
  const read = async (name: string) => {
    const key = { namespace: 'logging', name };
    return [await jobs.serviceAccountLabels(key), await jobs.claimAccessModes(key)];
  };
  expect(await world.clock.during(read('bare'))).toEqual([{}, []]);
  expect(await world.clock.during(read('absent'))).toEqual([undefined, undefined]);
});
