/** Tests the cookies of a search job (sections 5.1, 5.3 and 10.2 of docs/service.md). */
import { describe, expect, test } from 'vitest';
import { CookieStore } from '../../../../src/service/requests/job-session.ts';
import type { TransportStep } from '../../../support/scripted-transport.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';
import { calls, good, harness, home, settled } from '../requests/harness.ts';

const jobs = new URL(`${home}/v1/search/jobs`);
const job = new URL(`${home}/v1/search/jobs/A1/messages?offset=0&limit=1`);

function jar(...setCookies: string[]) {
  const clock = new VirtualClock();
  const cookies = new CookieStore(clock);
  cookies.store(jobs, setCookies);
  return { clock, cookies };
}

describe('cookies', () => {
  test.each([
    ['one', ['A=1; Path=/; Secure; HttpOnly'], 'A=1'],
    ['several cookies, the longest path first', ['A=1; Path=/', 'B=2; Path=/api', 'C=x y'], 'C=x y; B=2; A=1'],
    ['the newest of two with one name', ['A=1; Path=/', 'A=2; Path=/'], 'A=2'],
    ['a cookie without a path: sent below the folder of the jobs', ['A=1'], 'A=1'],
    ['a cookie of another path', ['A=1; Path=/other'], undefined],
    ['a cookie for the parent domain', ['A=1; Domain=service.test; Path=/'], 'A=1'],
    ['a cookie for another domain', ['A=1; Domain=evil.test; Path=/'], undefined],
    ['a cookie that expires immediately', ['A=1; Path=/', 'A=; Path=/; Max-Age=0'], undefined],
    ['a cookie that lasts longer than any date', ['A=1; Path=/; Max-Age=9223372036854775807'], 'A=1'],
    ['a cookie that has expired long ago', ['A=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], undefined],
    ['invalid cookies', ['', ';;;', '=', 'A=1; Path=/'], 'A=1'],
    [
      'cookies with characters that no header can contain',
      ['A=\u0007x; Path=/', 'B=\u20ac; Path=/', 'C=3; Path=/'],
      'C=3',
    ],
    ['a cookie that is too long', [`A=${'x'.repeat(5_000)}; Path=/`, 'B=2; Path=/'], 'B=2'],
    ['a valid __Host- cookie', ['__Host-A=1; Path=/; Secure'], '__Host-A=1'],
    ['a __Host- cookie without its attributes', ['__Host-A=1; Path=/api'], undefined],
  ])('%s', (_name, setCookies, header) => {
    expect(jar(...setCookies).cookies.header(job)).toBe(header);
  });

  test('expire by the local clock; Max-Age takes precedence, and use does not prolong it', async () => {
    const { clock, cookies } = jar(
      'A=1; Path=/; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      'B=2; Path=/; Expires=Sun, 01 Nov 2026 00:02:00 GMT',
      'C=3; Path=/',
    );
    expect(cookies.header(job)).toBe('A=1; B=2; C=3');
    await clock.advance(59_999);
    expect(cookies.header(job)).toBe('A=1; B=2; C=3');
    await clock.advance(1);
    expect(cookies.header(job)).toBe('B=2; C=3');
    await clock.advance(60_000);
    expect(cookies.header(job)).toBe('C=3');
  });

  test('have a maximum number', () => {
    const { cookies } = jar(...Array.from({ length: 500 }, (_, index) => `N${index}=1; Path=/`));
    expect(cookies.header(job)?.split('; ')).toHaveLength(50);
  });

  test('are sent only to the host that set them', () => {
    const { cookies } = jar('A=1; Path=/');
    expect(cookies.header(new URL('https://other.test/api/v1/search/jobs/A1'))).toBeUndefined();
    expect(cookies.header(new URL('https://service.test:8443/api/v1/search/jobs/A1'))).toBe('A=1');
  });
});

describe('requests with cookies', () => {
  const created: TransportStep = {
    kind: 'response',
    status: 202,
    body: '{"id":"A1"}',
    setCookies: ['S=1; Path=/; Secure', 'T=2; Path=/api/v1/search'],
  };

  test('every request of a job sends the cookies of its creation and the credentials', async () => {
    const world = harness([created, good('getJob'), good('listMessages'), good('listRecords'), good('deleteJob')]);
    const { clock, client, transport } = world;
    const { value } = await responseOf(clock, client.createJob({ query: 'x', fromMs: 0, toMs: 1 }));
    const own = { ...world, job: value };
    for (const operation of ['getJob', 'listMessages', 'listRecords', 'deleteJob'] as const) {
      await settled(clock, calls[operation](own));
    }
    const [creation, ...others] = transport.written;
    expect(creation?.headers.cookie).toBeUndefined();
    expect(others.map(({ headers }) => headers.cookie)).toEqual(Array(4).fill('T=2; S=1'));
    expect(new Set(transport.written.map(({ headers }) => headers.authorization)).size).toBe(1);
  });

  test.each([
    ['a response', { ...good('getJob'), setCookies: ['S=new; Path=/'] }],
    ['a refusal', { kind: 'response', status: 503, setCookies: ['S=new; Path=/'] }],
  ] as [string, TransportStep][])('%s stores cookies', async (_name, step) => {
    const world = harness([step, good('getJob')]);
    await settled(world.clock, world.job.getStatus());
    await settled(world.clock, world.job.getStatus());
    expect(world.transport.written.at(-1)?.headers.cookie).toContain('S=new');
  });

  test('the head of an incomplete page stores its cookies', async () => {
    const page = {
      ...good('listMessages'),
      setCookies: ['S=new; Path=/'],
      breaksAfter: { bytes: 10, failure: 'connectionLost' },
    };
    const world = harness([page as TransportStep, good('getJob')]);
    await settled(world.clock, calls.listMessages(world));
    await settled(world.clock, world.job.getStatus());
    expect(world.transport.written.at(-1)?.headers.cookie).toContain('S=new');
  });

  test('a redirect to an allowed host sends only cookies of that host, and stores new ones', async () => {
    const world = harness([
      {
        kind: 'response',
        status: 307,
        headers: { location: 'https://other.test/api/v1/search/jobs/A1%2FB2' },
        setCookies: ['R=1; Path=/'],
      },
      { ...good('getJob'), setCookies: ['O=1; Path=/'] } as TransportStep,
      { kind: 'response', status: 307, headers: { location: 'https://other.test/api/v1/search/jobs/A1%2FB2' } },
      good('getJob'),
    ]);
    await settled(world.clock, world.job.getStatus());
    await settled(world.clock, world.job.getStatus());
    expect(world.transport.written.map(({ origin, headers }) => [origin, headers.cookie])).toEqual([
      ['https://service.test', 'SESSION=canary-cookie'],
      ['https://other.test', undefined],
      ['https://service.test', 'SESSION=canary-cookie; R=1'],
      ['https://other.test', 'O=1'],
    ]);
    expect(world.transport.written.every(({ headers }) => headers.authorization !== undefined)).toBe(true);
  });

  test('two jobs have separate cookies', async () => {
    const world = harness([
      { ...good('createJob'), setCookies: ['S=one; Path=/'] } as TransportStep,
      { ...good('createJob'), setCookies: ['S=two; Path=/'] } as TransportStep,
      good('getJob'),
    ]);
    const order = { query: 'x', fromMs: 0, toMs: 1 };
    const first = await responseOf(world.clock, world.client.createJob(order));
    const second = await responseOf(world.clock, world.client.createJob(order));
    await settled(world.clock, first.value.getStatus());
    await settled(world.clock, second.value.getStatus());
    expect(world.transport.written.slice(2).map(({ headers }) => headers.cookie)).toEqual(['S=one', 'S=two']);
  });
});

async function responseOf<T>(clock: VirtualClock, call: Promise<T>): Promise<T> {
  await settled(clock, call);
  return call;
}
