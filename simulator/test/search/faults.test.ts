/** Tests each kind of fault with each search-job operation. */
import { describe, expect, test } from 'vitest';
import { type FaultKind, type FaultScenario, faultKinds, operations } from '../../scenario/scenario.ts';
import { type RequestedJob, SearchingService } from '../searching-service.ts';
import type { RequestOptions } from '../simulated-service.ts';

type JobOperation = 'createJob' | 'getJob' | 'listMessages' | 'listRecords' | 'deleteJob';
const jobOperations = ['createJob', 'getJob', 'listMessages', 'listRecords', 'deleteJob'] as const;

const onlyFor: Readonly<Partial<Record<FaultKind, readonly JobOperation[]>>> = {
  lag: ['getJob', 'listMessages', 'listRecords', 'deleteJob'],
  pendingError: ['getJob'],
  pendingWarning: ['getJob'],
  unknownState: ['getJob'],
  shortPage: ['listMessages', 'listRecords'],
  cancelJob: ['getJob', 'listMessages', 'listRecords', 'deleteJob'],
};

const needs: Readonly<Partial<Record<FaultKind, Partial<FaultScenario>>>> = {
  status: { status: 503 },
  redirect: { to: 'https://elsewhere.example/api' },
  lag: { lag: '1h' },
  unknownState: { state: 'PONDERING' },
};

/** Returns a service with a search job. The fault begins after the job has been created. */
function struck(fault: FaultScenario): { service: SearchingService; job: RequestedJob } {
  const service = new SearchingService({ search: { duration: '0s' } });
  const job = service.job({ query: '* | count', requiresRawMessages: true });
  service.patch({ faults: { trouble: fault } });
  return { service, job };
}

function send(operation: JobOperation, service: SearchingService, job: RequestedJob, options: RequestOptions = {}) {
  switch (operation) {
    case 'createJob':
      return service.createJob({}, options);
    case 'getJob':
      return job.ask('GET');
    case 'listMessages':
      return job.page();
    case 'listRecords':
      return job.records();
    case 'deleteJob':
      return job.ask('DELETE');
  }
}

const pairs = faultKinds.flatMap((kind) => jobOperations.map((operation) => [kind, operation] as const));
const isAbout = ([kind, operation]: (typeof pairs)[number]) => onlyFor[kind]?.includes(operation) ?? true;

test.each(pairs.filter(isAbout))('%s applies to %s', (kind, operation) => {
  const { service, job } = struck({ kind, operations: [operation], ...needs[kind] });
  send(operation, service, job);
  expect(service.journal.at(-1)).toMatchObject({ operation, fault: 'trouble' });
});

test.each(pairs.filter((pair) => !isAbout(pair)))('%s never applies to %s, and must not list it', (kind, operation) => {
  expect(() => struck({ kind, operations: [operation], ...needs[kind] })).toThrow(
    `${kind} never applies to ${operation}`,
  );
  const { service, job } = struck({ kind, ...needs[kind] });
  send(operation, service, job);
  expect(service.journal.at(-1)).toMatchObject({ operation, fault: null });
});

test('every operation can be named', () => {
  expect(operations).toEqual(['listCollectors', 'listBuilds', 'getTask', 'createTask', ...jobOperations]);
});

describe('a lost response', () => {
  const cases: readonly [FaultKind, boolean | undefined, boolean][] = [
    ['reset', undefined, false],
    ['reset', true, true],
    ['stall', undefined, false],
    ['stall', true, true],
    ['status', undefined, false],
    ['status', true, true],
    ['redirect', undefined, false],
    ['truncate', undefined, true],
    ['truncate', false, false],
    ['html', undefined, true],
    ['empty', undefined, true],
    ['drip', undefined, true],
    ['delay', undefined, true],
    ['wrongTypes', undefined, true],
  ];
  test.each(cases)('%s with effect %s has taken effect: %s', (kind, effect, takesEffect) => {
    const fault: FaultScenario = { kind, ...needs[kind], ...(effect === undefined ? {} : { effect }) };
    const created = struck(fault);
    send('createJob', created.service, created.job);
    expect(created.service.state().counters.jobsCreated).toBe(takesEffect ? 2 : 1);
    const deleted = struck(fault);
    send('deleteJob', deleted.service, deleted.job);
    expect(deleted.service.state().jobs[0]?.ended).toBe(takesEffect ? 'deleted' : null);
  });

  test('to a status request loses the errors and warnings that it contains', () => {
    const service = new SearchingService({
      search: { duration: '0s', brokenQuery: 'pendingError' },
      faults: { lost: { kind: 'truncate', operations: ['getJob'], nth: [1] } },
    });
    const job = service.job({ query: '* |' });
    job.status();
    expect(job.status().pendingErrors).toEqual([]);
    const whole = service.job();
    service.patch({ faults: { lost: { nth: [1], times: 1 } } });
    whole.status();
    expect(whole.status()).toMatchObject({ messageCount: 60, histogramBuckets: [] });
  });
});

test('a redirected job can be found at the other path with its cookies', () => {
  const service = new SearchingService({
    basePaths: ['/api', '/eu/api'],
    faults: { moved: { kind: 'redirect', to: '/eu/api' } },
  });
  const order = { query: '*', from: 0, to: 1, timeZone: 'UTC' };
  const headers = { host: 'logs.example' };
  const moved = service.call('POST', '/api/v1/search/jobs', { body: order, headers });
  expect(moved).toMatchObject({ status: 301, headers: { location: 'https://logs.example/eu/api/v1/search/jobs' } });
  const created = service.call('POST', '/eu/api/v1/search/jobs', { body: order, headers });
  expect(created.json.link.href).toBe(`https://logs.example/eu/api/v1/search/jobs/${created.json.id}`);
});
