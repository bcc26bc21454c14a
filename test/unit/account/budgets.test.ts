/**
 * Tests request budgets, which limit requests per second for each user, and concurrent requests for each API key (B6,
 * B7).
 */
import { expect, test } from 'vitest';
import { Budgets, type Spender, userIdOf } from '../../../src/account/budgets.ts';
import { WorkerShares } from '../../../src/account/worker-shares.ts';
import type { KeyBudget } from '../../../src/service/budget/request-slot.ts';
import type { SendRight } from '../../../src/service/budget/send-right.ts';
import { CountingMetrics } from '../../support/counting-metrics.ts';
import { everlastingRight, SwitchedRight } from '../../support/send-rights.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const spender = ({
  serviceId = 'https://a.test/api',
  user = 'id',
  ...more
}: Partial<Spender> & { readonly serviceId?: string } = {}): Spender => ({
  accessId: 'id',
  user: userIdOf({ serviceId, user }),
  namespace: 'logging',
  requestsPerSecond: undefined,
  maxConcurrentRequests: undefined,
  ...more,
});

function world(right: SendRight = everlastingRight) {
  const clock = new VirtualClock();
  const metrics = new CountingMetrics();
  return { clock, metrics, budgets: new Budgets({ clock, metrics, right }) };
}

async function startsWithin(clock: VirtualClock, keys: readonly KeyBudget[], durationMs: number): Promise<number> {
  let starts = 0;
  for (const key of keys) {
    for (let index = 0; index < 50; index++) {
      void key.acquire({ class: 'listing' }).then((slot) => {
        starts += 1;
        slot.started();
        slot.finished({ kind: 'answered', status: 200 });
      });
    }
  }
  await clock.advance(durationMs);
  return starts;
}

test("a user's keys share its rate", async () => {
  const { clock, budgets } = world();
  const spenders = [spender({ accessId: 'a', user: 'u' }), spender({ accessId: 'b', user: 'u' })];
  const keys = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  expect(await startsWithin(clock, keys, 900)).toBe(4);
});

test('other users and other services have separate budgets', async () => {
  const { clock, budgets } = world();
  const spenders = [
    spender({ user: 'u' }),
    spender({ user: 'v' }),
    spender({ user: 'u', serviceId: 'https://b.test/api' }),
  ];
  const keys = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  expect(await startsWithin(clock, keys, 900)).toBe(12);
});

test('two paths of a host share a budget, for example after a corrected path', async () => {
  const { clock, budgets } = world();
  const spenders = [spender({ serviceId: 'https://a.test/apo' }), spender({ serviceId: 'https://a.test/api' })];
  const keys = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  expect(await startsWithin(clock, keys, 900)).toBe(4);
});

test('the smaller of two shares applies until its Secret is deleted', async () => {
  const { clock, budgets } = world();
  const greedy = spender({ accessId: 'a', user: 'u' });
  const modest = spender({ accessId: 'b', user: 'u', requestsPerSecond: 1 });
  const key = budgets.of(greedy);
  budgets.of(modest);
  budgets.share([greedy, modest]);
  expect(await startsWithin(clock, [key], 900)).toBe(1);
  const later = world();
  const keyLater = later.budgets.of(greedy);
  later.budgets.of(modest);
  later.budgets.share([greedy, modest]);
  later.budgets.share([greedy]);
  expect(await startsWithin(later.clock, [keyLater], 900)).toBe(4);
});

test("a Secret in another namespace does not lower the limits of a user's other Secrets", async () => {
  const { clock, budgets } = world();
  const own = [
    spender({ accessId: 'a', user: 'u', requestsPerSecond: 3, maxConcurrentRequests: 4 }),
    spender({ accessId: 'a', user: 'u', requestsPerSecond: 2, maxConcurrentRequests: 5 }),
  ];
  const foreign = { namespace: 'other', user: 'u', requestsPerSecond: 0.001, maxConcurrentRequests: 2 };
  const spenders = [...own, spender({ ...foreign, accessId: 'a' }), spender({ ...foreign, accessId: 'b' })];
  const [key] = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  expect(budgets.limitsOf(own[0]?.user ?? '')).toEqual({ requestsPerSecond: 2, maxConcurrentRequests: 4 });
  expect(await startsWithin(clock, key ? [key] : [], 900)).toBe(2);
});

test('requests before the deletion of a Secret count when another Secret of the user is read right after it', async () => {
  const { clock, metrics, budgets } = world();
  const [first, second] = [spender(), spender({ requestsPerSecond: 4 })];
  const formerKey = budgets.of(first);
  budgets.share([first]);
  const former = await startsWithin(clock, [formerKey], 100);
  budgets.share([]);
  expect(Object.fromEntries(metrics.observed())).toMatchObject({ 'logfleet_service_budget_requests_per_second{}': 0 });
  const key = budgets.of(second);
  budgets.share([second]);
  expect([former, await startsWithin(clock, [key], 800)]).toEqual([4, 0]);
});

test('B8: a reserved share lowers the concurrency of the operator, and lowers its rate once the Job may exist', async () => {
  const { clock, metrics } = world();
  const shares = new WorkerShares();
  const budgets = new Budgets({ clock, metrics, right: everlastingRight, shares });
  const own = spender();
  const key = budgets.of(own);
  const rate = () => {
    budgets.share([own]);
    return new Map(metrics.observed()).get('logfleet_service_budget_requests_per_second{}');
  };
  const held = { user: own.user, workers: 1, share: { requestsPerSecond: 1, maxConcurrentRequests: 8 } };
  shares.reserve('job', 'export', held, budgets.limitsOf(own.user));
  expect(rate()).toBe(4);
  let inFlight = 0;
  for (let index = 0; index < 10; index++) {
    void key.acquire({ class: 'listing' }).then((slot) => {
      inFlight++;
      slot.started();
    });
  }
  await clock.advance(20_000);
  expect(inFlight).toBe(2);
  shares.start('job');
  expect(rate()).toBe(3);
});

test('every user gets its own limits, and each Secret and each Job is read once for all users', () => {
  const { clock, metrics } = world();
  const names = ['u', 'v', 'w'];
  let reads = 0;
  const spenders = names.map((user, index) => ({
    ...spender({ requestsPerSecond: index + 2 }),
    get user() {
      reads++;
      return user;
    },
  }));
  const share = { requestsPerSecond: 1, maxConcurrentRequests: 2 };
  const jobs = names.map((user) => ({
    ...{ job: user, exportUid: user, hasEnded: false },
    held: {
      ...{ workers: 1, share },
      get user() {
        reads++;
        return user;
      },
    },
  }));
  const shares = new WorkerShares();
  shares.observe(jobs, 0);
  const budgets = new Budgets({ clock, metrics, right: everlastingRight, shares });
  for (const user of names) budgets.of({ user, accessId: 'id' });
  budgets.share(spenders);
  expect(reads).toBe(spenders.length + jobs.length);
  expect(names.map((user) => budgets.limitsOf(user).requestsPerSecond)).toEqual([2, 3, 4]);
  // Each user's Job uses one of the user's 2, 3 or 4 requests per second, which leaves 1 + 2 + 3 = 6 for the operator.
  expect(Object.fromEntries(metrics.observed())).toMatchObject({ 'logfleet_service_budget_requests_per_second{}': 6 });
});

test('the smaller of two shares of a key applies', async () => {
  const { clock, budgets } = world();
  const spenders = [spender({ maxConcurrentRequests: 2 }), spender()];
  const [key] = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  let open = 0;
  for (let index = 0; index < 8; index++) {
    void key?.acquire({ class: 'listing' }).then((slot) => {
      open += 1;
      slot.started();
    });
  }
  await clock.advance(900);
  expect(open).toBe(2);
});

test('a key that is first used right after a takeover waits like the others, but not a later key (B6)', async () => {
  const right = new SwitchedRight();
  right.begin(0);
  const early = world(right);
  expect(await startsWithin(early.clock, [early.budgets.of(spender())], 900)).toBe(0);
  const late = world(right);
  await late.clock.advance(62_000);
  expect(await startsWithin(late.clock, [late.budgets.of(spender())], 900)).toBe(4);
});

test('metrics show the sums of all users: permitted rate, waiting requests and requests in flight', async () => {
  const { clock, metrics, budgets } = world();
  const spenders = [spender({ user: 'u' }), spender({ user: 'v', requestsPerSecond: 2 })];
  const [key] = spenders.map((one) => budgets.of(one));
  budgets.share(spenders);
  for (let index = 0; index < 6; index++) void key?.acquire({ class: 'listing' }).then((slot) => slot.started());
  await clock.advance(100);
  expect(Object.fromEntries(metrics.observed())).toMatchObject({
    'logfleet_service_budget_requests_per_second{}': 6,
    'logfleet_service_budget_waiting_requests{}': 2,
    'logfleet_service_budget_requests_in_flight{}': 4,
    'logfleet_service_budget_search_jobs{}': 0,
  });
});
