/**
 * Tests each operation of the service with each fault of the service or of a proxy (sections 7.1 and 10.1 of
 * docs/service.md).
 */
import { describe, expect, test } from 'vitest';
import type { FaultScenario } from '../../../../simulator/scenario/scenario.ts';
import type { OpenJob } from '../../../../src/service/jobs/search-service.ts';
import { jobOperations, type Operation, operations } from '../../../../src/service/requests/operation.ts';
import { ServiceError } from '../../../../src/service/requests/service-error.ts';
import { ClientWorld, firstCollector } from '../../../support/client-world.ts';
import { RecordingReceiver } from '../../../support/recording-receiver.ts';
import { secondOrigin } from '../../../support/service-world.ts';

async function prepared() {
  const world = new ClientWorld({ search: { duration: '1s', keepAlive: '10m' } });
  const { client, clock } = world;
  const { value: job } = await world.run(
    client.createJob({ ...world.order, query: '* | count', requiresRawMessages: true }),
  );
  const { value: task } = await world.run(client.createTask({ collectorId: firstCollector, toVersion: '19.500-1' }));
  await clock.advance(11_000);
  return { world, job, taskId: task.taskId };
}

type Prepared = Awaited<ReturnType<typeof prepared>>;

const calls: { readonly [O in Operation]: (prepared: Prepared) => Promise<unknown> } = {
  createJob: ({ world }) => world.client.createJob(world.order),
  getJob: ({ job }) => job.getStatus(),
  listMessages: ({ job }) => job.listMessages({ offset: 0, limit: 100 }, new RecordingReceiver()),
  listRecords: ({ job }) => job.listRecords({ offset: 0, limit: 100 }),
  deleteJob: ({ job }) => job.delete(),
  listCollectors: ({ world }) => world.client.listCollectors({ toVersion: '19.500-1', offset: 0, limit: 50 }),
  listBuilds: ({ world }) => world.client.listBuilds(),
  getTask: ({ world, taskId }) => world.client.getTask(taskId),
  createTask: ({ world }) =>
    world.client.createTask({ collectorId: String(BigInt(firstCollector) + 1n), toVersion: '19.500-1' }),
};

const faults: readonly [string, FaultScenario, string][] = [
  ['a reset before the effect', { kind: 'reset', effect: false }, 'connectionLost'],
  ['a reset after the effect', { kind: 'reset', effect: true }, 'connectionLost'],
  ['a stall before the effect', { kind: 'stall', effect: false }, 'timeout'],
  ['a stall after the effect', { kind: 'stall', effect: true }, 'timeout'],
  ['one byte per second', { kind: 'drip', bytesPerSecond: 1 }, 'timeout'],
  ['HTML', { kind: 'html' }, 'responseInvalid'],
  ['nothing', { kind: 'empty' }, 'responseInvalid'],
  ['half a document', { kind: 'truncate' }, 'connectionLost'],
  ['wrong types', { kind: 'wrongTypes' }, 'responseInvalid'],
  ['301 to another host', { kind: 'redirect', to: 'https://evil.test/api' }, 'redirectNotAllowed'],
  ['repeated 301 to the same address', { kind: 'redirect', to: '/api/' }, 'redirectInCircles'],
  ['400 without a known code', { kind: 'status', status: 400, code: 'strange' }, 'badRequest'],
  ['400 in HTML', { kind: 'status', status: 400, body: 'html' }, 'badRequest'],
  ['401', { kind: 'status', status: 401 }, 'unauthorized'],
  ['403', { kind: 'status', status: 403 }, 'forbidden'],
  ['404', { kind: 'status', status: 404 }, 'notFound'],
  ['404 without a body', { kind: 'status', status: 404, body: 'empty' }, 'notFound'],
  ['405', { kind: 'status', status: 405 }, 'methodUnsupported'],
  ['408', { kind: 'status', status: 408 }, 'requestTimeout'],
  ['415', { kind: 'status', status: 415 }, 'contentTypeInvalid'],
  ['429', { kind: 'status', status: 429 }, 'rateLimited'],
  ['429 in HTML, with Retry-After', { kind: 'status', status: 429, body: 'html', retryAfter: 3 }, 'rateLimited'],
  ['500', { kind: 'status', status: 500 }, 'internalError'],
  ['500 without a body', { kind: 'status', status: 500, body: 'empty' }, 'internalError'],
  ['502 in HTML', { kind: 'status', status: 502, body: 'html' }, 'serverError'],
  ['503', { kind: 'status', status: 503 }, 'unavailable'],
  ['504', { kind: 'status', status: 504, body: 'html' }, 'serverError'],
];

/** Operations on a search job, for which the status 404 means that the search job does not exist. */
const onJob: ReadonlySet<Operation> = new Set(['getJob', 'listMessages', 'listRecords', 'deleteJob']);

/**
 * Returns the name of the expected error, or undefined if the operation succeeds. Deleting an unknown search job
 * succeeds (section 4.5 of docs/service.md).
 */
function expectedOf(operation: Operation, failure: string): string | undefined {
  if (operation === 'deleteJob' && (failure === 'responseInvalid' || failure === 'notFound')) return undefined;
  return onJob.has(operation) && failure === 'notFound' ? 'jobGone' : failure;
}

/** Faults that prevent a request from taking effect. Other faults only damage the response. */
const ineffective: ReadonlySet<FaultScenario['kind']> = new Set(['redirect', 'status']);

function deletionsOf(operation: Operation, { kind, effect }: FaultScenario & { readonly effect?: boolean }): number {
  return operation === 'deleteJob' && (effect ?? !ineffective.has(kind)) ? 1 : 0;
}

/** Operations that change something in the service. */
const acts: ReadonlySet<Operation> = new Set(['createJob', 'getJob', 'deleteJob', 'createTask']);
const lost: ReadonlySet<string> = new Set([
  ...['connectionLost', 'timeout', 'responseInvalid', 'requestTimeout'],
  ...['internalError', 'unavailable', 'serverError'],
]);
const creations: readonly Operation[] = ['createJob', 'createTask'];

describe.each(Object.keys(operations) as Operation[])('%s', (operation) => {
  test.each(faults)('%s', async (_name, fault, failure) => {
    const own = await prepared();
    const { world } = own;
    const before = { ...world.counters(), writes: world.journal.length };
    world.model.patch({ faults: { all: { ...fault, operations: [operation] } } }, world.service.nowMs());
    const error = await world.failure(calls[operation](own));
    const { jobsCreated, tasksAccepted, jobsActive } = world.counters();
    expect(jobsActive).toBe(before.jobsActive + jobsCreated - before.jobsCreated - deletionsOf(operation, fault));
    const expected = expectedOf(operation, failure);
    if (expected === undefined) {
      expect(error).toBeUndefined();
      return;
    }
    expect(error).toBeInstanceOf(ServiceError);
    const unknown = acts.has(operation) && lost.has(expected);
    expect(error).toMatchObject({ code: `service.${expected}`, effect: unknown ? 'unknown' : 'none' });
    // The client never creates two search jobs or tasks for one call.
    const created = jobsCreated - before.jobsCreated + tasksAccepted - before.tasksAccepted;
    expect(created).toBeLessThanOrEqual(unknown && creations.includes(operation) ? 1 : 0);
  });

  test.each([
    ['the same host', '/eu/api'],
    ['a host of the Secret', `${secondOrigin}/api`],
  ])('a redirect to %s is followed', async (_name, to) => {
    const own = await prepared();
    const { world } = own;
    const moved: FaultScenario = { kind: 'redirect', to, operations: [operation], times: 1 };
    world.model.patch({ basePaths: ['/api', '/eu/api'], faults: { moved } }, world.service.nowMs());
    const error = await world.failure(calls[operation](own));
    // After a redirect to another host, the search job is lost, because the new host gets no cookie and does not know
    // the job (section 5.3 of docs/service.md).
    const loses = to.startsWith('https://') && onJob.has(operation);
    if (loses) expect(error).toMatchObject({ code: 'service.jobCookieMissing' });
    else expect(error).toBeUndefined();
  });

  test('a valid response', async () => {
    const own = await prepared();
    await expect(own.world.run(calls[operation](own))).resolves.toMatchObject({ sentAtMs: expect.any(Number) });
  });
});

describe('a job that does not exist', () => {
  const asks = jobOperations.filter((operation) => operation !== 'deleteJob');
  const missing = async (job: OpenJob, operation: Operation, world: ClientWorld) =>
    world.failure(calls[operation]({ world, job, taskId: '' }));

  test.each(asks)('%s: the replica does not know it yet (10.2)', async (operation) => {
    const world = new ClientWorld({ search: { lag: '5s' } });
    const { value: job } = await world.run(world.client.createJob(world.order));
    expect(await missing(job, operation, world)).toMatchObject({ reason: 'JobNotKnownYet' });
  });

  test.each(asks)('%s: no request arrived for too long (3.1)', async (operation) => {
    const world = new ClientWorld();
    const { value: job } = await world.run(world.client.createJob(world.order));
    await world.clock.advance(31_000);
    const error = await missing(job, operation, world);
    expect(error).toMatchObject({ reason: 'JobSilenced', message: expect.stringContaining('31.0 s') });
  });

  test.each(asks)('%s: logfleet has deleted it (4.5)', async (operation) => {
    const world = new ClientWorld();
    const { value: job } = await world.run(world.client.createJob(world.order));
    await world.run(job.delete());
    expect(await missing(job, operation, world)).toMatchObject({ reason: 'JobDeleted' });
    await expect(world.run(job.delete())).resolves.toMatchObject({ value: undefined });
  });

  test.each(asks)('%s: another client cancelled it', async (operation) => {
    const { world, job } = await prepared();
    await world.run(job.getStatus());
    world.model.patch({ faults: { other: { kind: 'cancelJob', times: 1 } } }, world.service.nowMs());
    expect(await missing(job, operation, world)).toMatchObject({ reason: 'JobLost' });
  });

  test.each(asks)('%s: its eight hours have passed (3.1)', async (operation) => {
    const world = new ClientWorld({ search: { keepAlive: '24h' } });
    const { value: job } = await world.run(world.client.createJob(world.order));
    await world.clock.advance(8 * 3_600_000 - 1_000);
    await world.run(job.getStatus());
    await world.clock.advance(2_000);
    expect(await missing(job, operation, world)).toMatchObject({ reason: 'JobTimedOut' });
  });
});
