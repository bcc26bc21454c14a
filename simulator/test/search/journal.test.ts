/** Tests the journal entries for search-job requests, and the error reasons in these entries. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../scenario/scenario.ts';
import type { SearchScenario } from '../../scenario/search-scenario.ts';
import { jobs, minute, RequestedJob, SearchingService } from '../searching-service.ts';

const page = '/messages?offset=0&limit=1';
const reasons = (service: SearchingService) => service.journal.map(({ status, why }) => [status, why]);

describe('jobId', () => {
  test('is the id of the created or requested job', () => {
    const service = new SearchingService();
    const job = service.job();
    for (const under of ['', page, '/records?offset=0&limit=1']) job.ask('GET', under);
    job.ask('DELETE');
    expect(service.journal.map(({ operation, jobId, why }) => [operation, jobId, why])).toEqual(
      ['createJob', 'getJob', 'listMessages', 'listRecords', 'deleteJob'].map((operation) => [operation, job.id, null]),
    );
  });

  test('is the id of a job even if the response to its creation was lost', () => {
    const service = new SearchingService({ faults: { lost: { kind: 'reset', effect: true } } });
    service.createJob();
    expect(service.journal[0]).toMatchObject({ fault: 'lost', jobId: service.state().jobs[0]?.id });
  });

  test('is null for other requests and without a job', () => {
    const service = new SearchingService();
    service.createJob({ query: '' });
    service.call('GET', 'targets');
    expect(service.journal.map(({ jobId, why }) => [jobId, why])).toEqual([
      [null, null],
      [null, null],
    ]);
  });
});

describe('the reason for a 429', () => {
  const limits = { requestsPerSecond: 4, concurrentRequests: 10, activeJobs: 1 };

  test('is activeJobs or rate', () => {
    const service = new SearchingService({ limits });
    const statuses = [1, 2, 3, 4, 5].map(() => service.createJob().status);
    expect(statuses).toEqual([202, 429, 429, 429, 429]);
    expect(service.journal.map(({ why }) => why)).toEqual([null, 'activeJobs', 'activeJobs', 'activeJobs', 'rate']);
  });

  test('is concurrency', () => {
    const service = new SearchingService({ limits: { ...limits, requestsPerSecond: 0, concurrentRequests: 1 } });
    const held = service.hold('GET', 'targets');
    service.call('GET', 'targets');
    service.release(held);
    expect(reasons(service)).toEqual([
      [429, 'concurrency'],
      [200, null],
    ]);
  });

  test('is null for a fault', () => {
    const service = new SearchingService({ faults: { storm: { kind: 'status', status: 429 } } });
    service.createJob();
    expect(service.journal[0]).toMatchObject({ status: 429, fault: 'storm', why: null });
  });
});

describe('the reason why a job is unavailable', () => {
  const asked = (
    search: SearchScenario,
    before: (service: SearchingService, job: RequestedJob) => void,
    scenario: Scenario = {},
  ) => {
    const service = new SearchingService({ ...scenario, search });
    const job = service.job();
    before(service, job);
    service.journal.splice(0);
    job.ask('GET');
    job.ask('GET', page);
    expect(service.journal.map(({ jobId }) => jobId)).toEqual([job.id, job.id]);
    return reasons(service);
  };
  const nothing = () => {};
  const both = (why: string) => [
    [404, why],
    [404, why],
  ];

  test('is lag, by the scenario or by a fault', () => {
    const faults: Scenario['faults'] = { stale: { kind: 'lag', lag: '1m' } };
    expect(asked({ lag: '1m' }, nothing)).toEqual(both('lag'));
    expect(asked({}, nothing, { faults })).toEqual(both('lag'));
  });

  test('is silence', () => {
    const late = (service: SearchingService) => service.after(2 * minute);
    expect(asked({ keepAlive: '1m' }, late)).toEqual(both('silence'));
  });

  test('is timeout', () => {
    const late = (service: SearchingService) => service.after(2 * minute);
    expect(asked({ timeout: '2m' }, late)).toEqual(both('timeout'));
  });

  test('is deleted', () => {
    expect(asked({}, (_, job) => job.ask('DELETE'))).toEqual(both('deleted'));
  });

  test('is fault', () => {
    const faults: Scenario['faults'] = { killed: { kind: 'cancelJob', times: 1 } };
    expect(asked({}, nothing, { faults })).toEqual(both('fault'));
  });

  test('is cookies, with each possible status', () => {
    for (const [missing, status] of [
      [404, 404],
      [500, 500],
    ] as const) {
      const service = new SearchingService({ search: { cookies: { missing } } });
      service.job().ask('GET', '', '');
      expect(service.journal[1]).toMatchObject({ status, why: 'cookies' });
    }
  });

  test('is neverWas or otherUser', () => {
    const users = { ann: { keys: { a: 'k' } }, bob: { keys: { b: 'k' } } };
    const service = new SearchingService({ users });
    const job = service.job({}, { credentials: 'a:k' });
    new RequestedJob(service, job.id, job.cookie, { credentials: 'b:k' }).ask('GET');
    service.call('DELETE', `${jobs}/0000000000000000`, { credentials: 'a:k' });
    expect(reasons(service).slice(1)).toEqual([
      [404, 'otherUser'],
      [404, 'neverWas'],
    ]);
  });
});
