/** Tests when search jobs end, which requests can access them, and how many can be active. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../../scenario/scenario.ts';
import type { SearchScenario } from '../../scenario/search-scenario.ts';
import { cookieOf, minute, RequestedJob, SearchingService, startJob } from '../searching-service.ts';

const second = 1_000;
const gone = { status: 404, code: 'searchjob.jobid.invalid' };
const page = '/messages?offset=0&limit=1';

describe('a time without requests', () => {
  test('cancels a job, and all its paths return 404 from then on', () => {
    const { service, job } = startJob({ keepAlive: '25s' });
    service.after(24_999);
    expect(job.ask('GET').status).toBe(200);
    service.after(49_999);
    for (const [method, under] of [
      ['GET', ''],
      ['GET', page],
      ['GET', '/records?offset=0&limit=1'],
      ['DELETE', ''],
    ] as const)
      expect(job.ask(method, under)).toMatchObject(gone);
    expect(service.state()).toMatchObject({
      jobs: [{ id: job.id, state: 'CANCELLED', ended: 'silence' }],
      counters: { jobsCreated: 1, jobsActive: 0, jobsLostToSilence: 1 },
    });
    expect(service.state().jobs[0]?.endTime).toBe((service.state().jobs[0]?.createTime ?? 0) + 49_999);
  });

  const keepsAlive: readonly [string, string, boolean][] = [
    ['a request for the status', '', true],
    ['a page of messages', page, true],
    ['a page of records', '/records?offset=0&limit=1', true],
    ['a page that is refused for its parameters', '/messages?limit=1', true],
  ];
  test.each(keepsAlive)('%s keeps a job alive', (_, under) => {
    const { service, job } = startJob({ keepAlive: '25s' });
    for (let turn = 1; turn <= 10; turn++) {
      service.after(turn * 20 * second);
      job.ask('GET', under);
    }
    expect(service.state().counters).toMatchObject({ jobsActive: 1, jobsLostToSilence: 0 });
  });

  const unheard: readonly [string, Scenario['faults'], string | undefined][] = [
    ['a request without the cookies', {}, ''],
    ['one that a fault swallows', { swallow: { kind: 'reset', operations: ['getJob'] } }, undefined],
  ];
  test.each(unheard)('is not interrupted by %s', (_, faults, cookie) => {
    const { service, job } = startJob({ keepAlive: '25s' }, {}, { faults: faults ?? {} });
    service.after(20 * second);
    job.ask('GET', '', cookie);
    expect(service.after(25 * second).state().jobs[0]?.ended).toBe('silence');
  });

  test('is chosen between 20 and 30 seconds for each job, and is the same in each run', () => {
    const ends = () => {
      const service = new SearchingService({ search: { keepAlive: ['20s', '30s'] } });
      for (let count = 0; count < 50; count++) service.job();
      service.after(minute);
      return service.state().jobs.map(({ createTime, endTime }) => (endTime ?? 0) - createTime);
    };
    const drawn = ends();
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(20 * second);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(30 * second);
    expect(new Set(drawn).size).toBeGreaterThan(40);
    expect(ends()).toEqual(drawn);
  });

  test('does not depend on the time scale', () => {
    const { service } = startJob({ keepAlive: '25s' }, {}, { timeScale: 100 });
    expect(service.after(24_999).state().jobs[0]?.ended).toBeNull();
    expect(service.after(25_000).state().jobs[0]?.ended).toBe('silence');
  });
});

test('a job is cancelled after eight hours, however often it is requested', () => {
  const { service, job } = startJob({ keepAlive: ['20s', '30s'] });
  for (let elapsedMs = 0; elapsedMs < 8 * 60 * minute; elapsedMs += 15 * second) {
    service.after(elapsedMs);
    expect(job.ask('GET').status).toBe(200);
  }
  service.after(8 * 60 * minute);
  expect(job.ask('GET')).toMatchObject(gone);
  expect(service.state()).toMatchObject({ jobs: [{ ended: 'timeout' }], counters: { jobsLostToSilence: 0 } });
});

describe('the deletion of a job (4.5)', () => {
  test('returns 200 with the id once (10.2)', () => {
    const { service, job } = startJob();
    expect(job.ask('DELETE')).toMatchObject({ status: 200, json: { id: job.id } });
    expect(job.ask('DELETE')).toMatchObject(gone);
    expect(job.ask('GET')).toMatchObject(gone);
    expect(service.state()).toMatchObject({ jobs: [{ ended: 'deleted' }], counters: { jobsActive: 0 } });
  });

  test('returns 404 for a job that never existed', () => {
    const service = new SearchingService();
    expect(new RequestedJob(service, '0000000000000000', '').ask('DELETE')).toMatchObject(gone);
  });

  test('keeps the last counts', () => {
    const { service, job } = startJob();
    service.after(10 * second);
    job.ask('GET');
    service.after(20 * second);
    job.ask('DELETE');
    expect(service.state().jobs[0]).toMatchObject({ state: 'CANCELLED', messageCount: 10 });
  });
});

test('the status of a cancelled job is CANCELLED for a while if the scenario says so', () => {
  const { service, job } = startJob({ cancelledFor: '5s' });
  job.ask('DELETE');
  expect(job.status()).toMatchObject({ state: 'CANCELLED', messageCount: 0 });
  expect(job.ask('GET', page)).toMatchObject(gone);
  service.after(5 * second);
  expect(job.ask('GET')).toMatchObject(gone);
});

test('a fault cancels a job', () => {
  const faults: Scenario['faults'] = { killed: { kind: 'cancelJob', operations: ['listMessages'] } };
  const { service, job } = startJob({}, {}, { faults });
  expect(job.ask('GET').status).toBe(200);
  expect(job.ask('GET', page)).toMatchObject(gone);
  expect(job.ask('GET')).toMatchObject(gone);
  expect(service.state().jobs[0]?.ended).toBe('fault');
});

test('a job that a fault cancels twice lowers the number of active jobs by one', () => {
  const faults: Scenario['faults'] = { killed: { kind: 'cancelJob', operations: ['listMessages'] } };
  const service = new SearchingService({ faults, limits: { requestsPerSecond: 0, activeJobs: 2 } });
  const [job] = [service.job(), service.job()];
  job.ask('GET', page);
  job.ask('GET', page);
  expect([service.createJob().status, service.createJob().status]).toEqual([202, 429]);
});

describe('a replica that does not know a new job (10.2)', () => {
  test('returns 404 for a while if the scenario says so', () => {
    const { service, job } = startJob({ lag: '3s' });
    expect(service.after(2_999) && job.ask('GET')).toMatchObject(gone);
    expect(job.ask('GET', page)).toMatchObject(gone);
    expect(service.after(3_000) && job.ask('GET').status).toBe(200);
  });

  test('returns 404 at random with a fault', () => {
    const faults: Scenario['faults'] = { stale: { kind: 'lag', lag: '3s', nth: [1, 3] } };
    const { service, job } = startJob({}, {}, { faults });
    expect([job.ask('GET').status, job.ask('GET').status, job.ask('GET').status]).toEqual([404, 200, 404]);
    service.after(minute);
    expect(job.ask('GET').status).toBe(200);
  });
});

describe('the cookies of a job (5.3)', () => {
  const names = ['node', 'balancer'];

  test('are set by the creation and required from then on', () => {
    const { job } = startJob();
    expect(job.cookie).toMatch(/^search-session=/);
    for (const method of ['GET', 'DELETE']) expect(job.ask(method, '', '')).toMatchObject(gone);
    expect(job.ask('GET', page, '')).toMatchObject(gone);
    expect(job.ask('GET', page, `other=1; ${job.cookie}`).status).toBe(200);
  });

  test('have attributes that limit them to HTTPS', () => {
    const { response } = new SearchingService().createJob();
    expect(response.cookies).toEqual([expect.stringMatching(/^search-session=[^;]+; Path=\/; Secure; HttpOnly$/)]);
  });

  test('can be several, all of which are required', () => {
    const { job } = startJob({ cookies: { names } });
    const [node = '', balancer = ''] = job.cookie.split('; ');
    expect(job.ask('GET').status).toBe(200);
    expect(job.ask('GET', '', `${balancer}; ${node}`).status).toBe(200);
    for (const cookie of [node, balancer, `${node}; balancer=1.x`]) {
      expect(job.ask('GET', '', cookie)).toMatchObject(gone);
    }
  });

  test('are refused together with a cookie of another job', () => {
    const service = new SearchingService({ search: { cookies: { names } } });
    const [one, two] = [service.job(), service.job()];
    const mixed = `${one.cookie.split('; ')[0]}; ${two.cookie.split('; ')[1]}`;
    expect([one.ask('GET', '', mixed), two.ask('GET', '', mixed)]).toMatchObject([gone, gone]);
  });

  test('cause status 500 if they are missing and the scenario says so (10.2)', () => {
    const { job } = startJob({ cookies: { missing: 500 } });
    expect(job.ask('GET', '', '')).toMatchObject({ status: 500, code: 'internal.error' });
    expect(job.ask('GET', page, '')).toMatchObject({ status: 500, code: 'internal.error' });
  });

  test('can be turned off by the scenario', () => {
    const { job } = startJob({ cookies: { names: [] } });
    expect(job.cookie).toBe('');
    expect(job.ask('GET').status).toBe(200);
  });

  test('of another job are refused', () => {
    const service = new SearchingService();
    const [one, two] = [service.job(), service.job()];
    expect(one.ask('GET', '', two.cookie)).toMatchObject(gone);
  });

  test('that a creation request already sends become the cookies of its job', () => {
    const service = new SearchingService();
    const one = service.job();
    const reply = service.createJob({}, { headers: { cookie: one.cookie } });
    expect(cookieOf(reply)).toBe(one.cookie);
    expect(new RequestedJob(service, reply.json.id, one.cookie).ask('GET').status).toBe(200);
    expect(one.ask('GET').status).toBe(200);
  });

  test('with unknown values start a new session', () => {
    const service = new SearchingService();
    const reply = service.createJob({}, { headers: { cookie: 'search-session=0.deadbeef' } });
    expect(cookieOf(reply)).not.toBe('search-session=0.deadbeef');
  });

  test('from an earlier run start a new session', () => {
    const earlier = new SearchingService();
    const { cookie } = [earlier.job(), earlier.job()][1] as RequestedJob;
    const reply = new SearchingService().createJob({}, { headers: { cookie } });
    expect(cookieOf(reply)).not.toBe(cookie);
  });

  test('do not replace the credentials (5.1)', () => {
    const { service, job } = startJob();
    const options = { headers: { cookie: job.cookie }, credentials: 'simulator:wrong' };
    expect(service.call('GET', `/api/v1/search/jobs/${job.id}`, options).status).toBe(401);
  });
});

describe('an unavailable job (7.3, 7.4)', () => {
  const never = '0123456789ABCDEF';
  const statuses = (id: string, search: SearchScenario = {}) => {
    const { service } = startJob(search);
    const job = new RequestedJob(service, id, '');
    return [job.ask('GET').status, job.ask('GET', page).status, job.ask('GET', '/records?offset=0&limit=1').status];
  };

  test.each([never, 'x', '0123456789abcdef', '%20'])('with the unknown id %s gets 404, and its pages get 400', (id) => {
    expect(statuses(id)).toEqual([404, 400, 400]);
    expect(statuses(id, { pages: { unknownJob: 404 } })).toEqual([404, 404, 404]);
  });

  test('that has ended returns 404, and its pages return 404, or 400 if the scenario says so', () => {
    const lost = (search: SearchScenario = {}) => {
      const { job } = startJob(search);
      job.ask('DELETE');
      return [job.ask('GET').status, job.ask('GET', page).status];
    };
    expect(lost()).toEqual([404, 404]);
    expect(lost({ pages: { lostJob: 400 } })).toEqual([404, 400]);
  });

  test('of another user is treated like one that never existed', () => {
    const users = { ann: { keys: { a: 'k' } }, bob: { keys: { b: 'k' } } };
    const service = new SearchingService({ users });
    const job = service.job({}, { credentials: 'a:k' });
    const headers = { cookie: job.cookie };
    const asBob = (under: string) =>
      service.call('GET', `/api/v1/search/jobs/${job.id}${under}`, { credentials: 'b:k', headers }).status;
    expect([asBob(''), asBob(page)]).toEqual([404, 400]);
    expect(job.ask('GET').status).toBe(200);
  });

  test('that is no longer stored is recognized by its id', () => {
    const service = new SearchingService({}, []);
    const first = service.job();
    first.ask('DELETE');
    for (let count = 0; count < 5_001; count++) service.job().ask('DELETE');
    expect(service.state().jobs).toHaveLength(5_000);
    expect([first.ask('GET').status, first.ask('GET', page).status]).toEqual([404, 404]);
  });
});

describe('the active jobs of an organisation (section 8)', () => {
  const limits = (activeJobs?: number) => ({
    requestsPerSecond: 0,
    ...(activeJobs === undefined ? {} : { activeJobs }),
  });
  const users: Scenario['users'] = {
    ann: { keys: { a: 'k' } },
    bob: { keys: { b: 'k' } },
    cid: { keys: { c: 'k' }, organisation: 'frequent' },
  };
  const created = (service: SearchingService, times: number, credentials = 'a:k') =>
    Array.from({ length: times }, () => service.createJob({}, { credentials }).status).filter(
      (status) => status === 202,
    ).length;

  test('are at most 200 for all users together, done or not, and one more gets 429', () => {
    const service = new SearchingService({ limits: limits(), search: { duration: '0s' } });
    const jobs = Array.from({ length: 200 }, () => service.job());
    expect(service.createJob()).toMatchObject({ status: 429, code: 'rate.limit.exceeded' });
    expect(service.state().counters).toMatchObject({ jobsCreated: 200, jobsActive: 200, rejected429: 1 });
    jobs[7]?.ask('DELETE');
    expect([service.createJob().status, service.createJob().status]).toEqual([202, 429]);
  });

  test('do not count jobs cancelled for silence', () => {
    const service = new SearchingService({ limits: limits(1), search: { keepAlive: '25s' } });
    service.job();
    expect(service.createJob().status).toBe(429);
    service.after(25 * second);
    expect(service.createJob().status).toBe(202);
  });

  test('are counted for all users of an organisation together', () => {
    const service = new SearchingService({ limits: limits(3), users });
    expect([created(service, 2, 'a:k'), created(service, 5, 'b:k'), created(service, 5, 'c:k')]).toEqual([2, 1, 3]);
  });

  test('are at most 20 on the frequent tier if the scenario says so', () => {
    const organisations = { frequent: { activeJobs: 20 } };
    const service = new SearchingService({ limits: limits(), users, organisations });
    expect([created(service, 30, 'c:k'), created(service, 30, 'a:k')]).toEqual([20, 30]);
  });

  test('can be unlimited', () => {
    expect(created(new SearchingService({ limits: limits(0), users }), 300)).toBe(300);
  });

  test('get the same 429 as the request rate, which both APIs share (10.5)', () => {
    const service = new SearchingService({ limits: { requestsPerSecond: 3, activeJobs: 1, retryAfter: 9 } });
    service.job();
    const forJobs = service.createJob();
    service.call('GET', 'targets');
    const forRate = service.call('GET', 'targets');
    const { id: _one, ...jobsBody } = forJobs.json;
    const { id: _two, ...rateBody } = forRate.json;
    expect(jobsBody).toEqual(rateBody);
    expect(forJobs.headers).toEqual(forRate.headers);
  });
});

test('forbidden operations return 403 (5.4)', () => {
  const users: Scenario['users'] = { ann: { keys: { a: 'k' }, forbidden: ['deleteJob', 'listRecords'] } };
  const service = new SearchingService({ users });
  const job = service.job({}, { credentials: 'a:k' });
  expect([job.ask('GET').status, job.ask('GET', page).status]).toEqual([200, 200]);
  expect([job.ask('DELETE').status, job.ask('GET', '/records?offset=0&limit=1').status]).toEqual([403, 403]);
});

test('unknown methods and paths return 405 and 404 (7.1)', () => {
  const { service, job } = startJob();
  const cases: readonly [string, string, number, string | undefined][] = [
    ['GET', '', 405, 'POST'],
    ['PUT', `/${job.id}`, 405, 'GET, DELETE'],
    ['POST', `/${job.id}/messages`, 405, 'GET'],
    ['DELETE', `/${job.id}/records`, 405, 'GET'],
    ['GET', `/${job.id}/histogram`, 404, undefined],
    ['GET', `/${job.id}/messages/1`, 404, undefined],
    ['GET', '/', 404, undefined],
  ];
  for (const [method, under, status, allow] of cases) {
    const reply = service.call(method, `/api/v1/search/jobs${under}`);
    expect([reply.status, reply.headers['allow']]).toEqual([status, allow]);
  }
});

test('faults can select jobs by query', () => {
  const faults: Scenario['faults'] = { slow: { kind: 'status', status: 503, queries: ['*needle*'] } };
  const service = new SearchingService({ faults });
  expect(service.createJob({ query: 'a needle here' }).status).toBe(503);
  const job = service.job({ query: 'hay' });
  expect(job.ask('GET').status).toBe(200);
  service.patch({ faults: { slow: { queries: ['h?y'] } } });
  expect([job.ask('GET').status, job.ask('GET', page).status]).toEqual([503, 503]);
  expect(service.call('GET', 'targets').status).toBe(200);
});

test('the journal names the operations', () => {
  const { service, job } = startJob();
  job.status();
  job.page();
  job.records();
  job.ask('DELETE');
  expect(service.journal.map(({ operation }) => operation)).toEqual([
    'createJob',
    'getJob',
    'listMessages',
    'listRecords',
    'deleteJob',
  ]);
});

test('a patch changes existing and new jobs', () => {
  const { service, job } = startJob({ messageLimit: 5 });
  service.patch({
    search: { messageLimit: 50, duration: '0s', status: { extraMembers: true }, atMessageLimit: 'done' },
  });
  service.after(minute);
  expect(job.status()).toMatchObject({ state: 'DONE GATHERING RESULTS', messageCount: 5, timeElapsed: minute });
  expect(service.job().status().messageCount).toBe(50);
});
