/** Tests each rule of the request budget (B1 to B7) on a virtual clock. */
import { beforeEach, describe, expect, it } from 'vitest';
import { noMetrics } from '../../../../src/base/metrics.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import { marginBounds } from '../../../../src/service/budget/path-margin.ts';
import {
  BudgetFullError,
  RequestBudget,
  type RequestBudgetOptions,
} from '../../../../src/service/budget/request-budget.ts';
import type { KeyBudget, RequestClass, Slot } from '../../../../src/service/budget/request-slot.ts';
import { NotLeadingError } from '../../../../src/service/budget/send-right.ts';
import { everlastingRight, SwitchedRight } from '../../../support/send-rights.ts';
import { settle, VirtualClock } from '../../../support/virtual-clock.ts';
import { type Fate, Wire } from './wire.ts';

let clock: VirtualClock;
let wire: Wire;
let budget: RequestBudget;
let key: KeyBudget;

function renew({ right = everlastingRight, ...options }: Partial<RequestBudgetOptions> = {}): void {
  clock = new VirtualClock();
  wire = new Wire(clock);
  budget = new RequestBudget({ right, clock, ...options });
  key = budget.key('a');
}

beforeEach(() => renew());

function call(count: number, requestClass: RequestClass = 'listing', fate: Fate = {}): void {
  for (let index = 0; index < count; index++) void wire.call('a', key, requestClass, fate);
}

async function granted(count: number, requestClass: RequestClass = 'listing'): Promise<Slot[]> {
  const slots: Slot[] = [];
  for (let index = 0; index < count; index++)
    void key.acquire({ class: requestClass }).then((slot) => slots.push(slot));
  await settle();
  return slots;
}

const rounded = (times: readonly number[]) => times.map((time) => Math.round(time));

describe('B1: the budget', () => {
  it('sends bursts of four, and the fifth request a second and a margin after the first', async () => {
    call(9);
    await clock.advance(5_000);
    // The budget allows at least 5 ms for the network.
    expect(rounded(wire.sentAt())).toEqual([0, 0, 0, 0, 1005, 1005, 1005, 1005, 2010]);
  });

  it('has at most four unanswered requests without evidence of arrival', async () => {
    wire.stall(0, 9_000);
    call(12);
    await clock.advance(8_999);
    expect(wire.seen).toHaveLength(4);
    await clock.advance(30_000);
    expect(wire.seen).toHaveLength(12);
    expect(wire.maxArrivals()).toBe(4);
  });

  it('accepts a handshake or the response to a later request as evidence of arrival', async () => {
    call(4, 'listing', { workMs: 30_000 });
    call(4, 'taskStatus');
    await clock.advance(60_000);
    // After 250 ms, a TLS handshake proves that the server has received the listings. One second later, the task status
    // requests are sent.
    expect(rounded(wire.sentAt('taskStatus'))).toEqual([1_250, 1_250, 1_250, 1_250]);
    expect(wire.handshakes).toBe(1);
    renew();
    call(3, 'listing', { workMs: 30_000 });
    await clock.advance(260);
    call(1, 'taskStatus');
    call(3, 'listing');
    await clock.advance(60_000);
    expect(rounded(wire.sentAt('listing')).slice(3)).toEqual([1_260, 1_260, 1_260]);
  });

  it('counts from the end of a handshake that a stall has delayed, however long handshakes usually take', async () => {
    wire.handshakeMs = 100;
    for (let count = 0; count < 10; count++) {
      call(5, 'listing', { workMs: 3_000 });
      await clock.advance(10_000);
    }
    expect(wire.handshakes).toBe(10);
    wire.stall(100_000, 105_000);
    call(8, 'listing', { workMs: 3_000 });
    await clock.advance(30_000);
    expect(wire.seen).toHaveLength(58);
    expect(wire.maxArrivals()).toBe(4);
  });

  it('begins a handshake after 250 ms if responses always take longer than a period', async () => {
    call(1, 'listing', { workMs: 3_000 });
    await clock.advance(10_000);
    call(5, 'listing', { workMs: 3_000 });
    await clock.advance(5_000);
    expect(rounded(wire.sentAt()).slice(1)).toEqual([10_000, 10_000, 10_000, 10_000, 11_000 + marginBounds.maxMs]);
    expect(wire.handshakes).toBe(1);
  });

  it('has at most four arrivals per second while the latency of a new path varies from 5 to 400 ms', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      renew();
      const random = seededRandom(seed);
      const wayMs = () => 2.5 + 197.5 * random.next();
      for (let count = 0; count < 40; count++) {
        call(1, count % 3 === 0 ? 'listing' : 'taskStatus', { outMs: wayMs(), workMs: 1, backMs: wayMs() });
      }
      await clock.advance(15_000);
      expect([wire.seen.length, wire.maxArrivals()], `seed ${seed}`).toEqual([40, 4]);
    }
  });

  it('does not accept a response of another server as evidence of arrival', async () => {
    wire.stall(0, 9_000);
    call(3);
    const elsewhere = new Wire(clock);
    const path = { ...elsewhere.path, origin: 'https://other.test' };
    for (let count = 0; count < 9; count++) {
      void key.acquire({ class: 'listing', path }).then((slot) => elsewhere.send('a', 'listing', slot));
    }
    await clock.advance(4_000);
    expect(rounded(elsewhere.sentAt())).toEqual([0, 1_005, 2_010, 3_015]);
  });

  it('probes a server that accepts no connections once a second, and sends nothing meanwhile', async () => {
    let probes = 0;
    const path = { origin: 'https://service.test', probe: () => Promise.reject(new Error(`refused ${++probes}`)) };
    const slots: Slot[] = [];
    for (let count = 0; count < 5; count++)
      void key.acquire({ class: 'listing', path }).then((slot) => slots.push(slot));
    await settle();
    for (const slot of slots) slot.started();
    await clock.advance(10_000);
    expect([slots.length, probes]).toEqual([4, 10]);
  });

  it('probes through all waiting requests in turn if the client of the earlier requests is closed', async () => {
    const { origin } = wire.path;
    const closed = { origin, probe: () => Promise.reject(new Error('the client has been closed')) };
    const slots: Slot[] = [];
    for (let count = 0; count < 4; count++) {
      void key.acquire({ class: 'listing', path: closed }).then((slot) => slots.push(slot));
    }
    await settle();
    for (const slot of slots) slot.started();
    await clock.advance(15_000);
    for (const slot of slots) slot.finished({ kind: 'abandoned' });
    void key.acquire({ class: 'taskCreation', path: closed });
    call(1);
    await clock.advance(4_000);
    expect(wire.seen).toHaveLength(1);
  });

  it('counts a request whose connection broke only until the break', async () => {
    const slots = await granted(4);
    for (const slot of slots) slot.started();
    await clock.advance(40);
    for (const slot of slots) slot.finished({ kind: 'broken' });
    call(1);
    await clock.advance(2_000);
    expect(rounded(wire.sentAt())).toEqual([1040]);
  });

  it('counts a request from its write, not from its grant', async () => {
    const slots = await granted(4);
    await clock.advance(700);
    for (const slot of slots) slot.started();
    for (const slot of slots) slot.finished({ kind: 'answered', status: 200 });
    call(1);
    await clock.advance(2_000);
    expect(rounded(wire.sentAt())).toEqual([1705]);
  });

  it('grants no further slot while four granted slots are unsent', async () => {
    const slots = await granted(5);
    await clock.advance(60_000);
    expect(slots).toHaveLength(4);
  });

  it('frees unused slots, but no others', async () => {
    const slots = await granted(4);
    slots[0]?.started();
    slots[1]?.release();
    slots[2]?.started();
    slots[3]?.release();
    call(4);
    await clock.advance(1_000);
    expect(rounded(wire.sentAt())).toEqual([0, 0]);
  });

  it.each([
    { lateMs: 100, nextMs: 1105 },
    { lateMs: 900, nextMs: 1920 },
  ])('waits $lateMs ms longer when responses are late by $lateMs ms', async ({ lateMs, nextMs }) => {
    call(marginBounds.youngResponses, 'taskStatus', { outMs: 10, backMs: 10 });
    await clock.advance(20_000);
    const slots = await granted(4, 'taskStatus');
    for (const slot of slots) slot.started();
    await clock.advance(20 + lateMs);
    for (const slot of slots) slot.finished({ kind: 'answered', status: 200 });
    call(1, 'taskStatus');
    await clock.advance(5_000);
    expect(rounded(wire.sentAt()).at(-1)).toBe(20_000 + nextMs);
  });

  it('learns the lateness of a request from the head of its response, for any length of the body', async () => {
    const slots = await granted(4, 'pageRead');
    for (const slot of slots) slot.started();
    await clock.advance(10);
    for (const slot of slots) slot.heard(clock.monotonic());
    call(1);
    await clock.advance(5_000);
    expect(rounded(wire.sentAt())).toEqual([1_010]);
  });

  it('learns from the head only once, for any end of the response', async () => {
    const [slot] = await granted(1, 'pageRead');
    slot?.started();
    slot?.heard(clock.monotonic() + 2);
    const before = budget.allowedDelayMs;
    await clock.advance(30_000);
    slot?.finished({ kind: 'answered', status: 200 });
    expect(budget.allowedDelayMs).toBe(before);
  });

  it('reaches 98 % of four requests per second on a quiet path', async () => {
    call(200, 'taskStatus', { outMs: 1, workMs: 2, backMs: 1 });
    await clock.advance(60_000);
    expect(wire.seen).toHaveLength(200);
    expect(200 / (((wire.sentAt().at(-1) ?? 0) + 1_000) / 1_000)).toBeGreaterThan(0.98 * 4);
  });

  it('runs at most ten requests per key concurrently', async () => {
    call(15, 'listing', { workMs: 60_000 });
    for (let index = 0; index < 15; index++) void wire.call('b', budget.key('b'), 'listing', { workMs: 60_000 });
    await clock.advance(30_000);
    expect([wire.maxAtOnce('a'), wire.maxAtOnce('b')]).toEqual([10, 10]);
    expect(wire.maxArrivals()).toBe(4);
  });

  it('immediately frees the slot of a request that has a response or is broken', async () => {
    for (const name of ['a', 'b']) budget.setMaxConcurrent(name, 2);
    const slots = await granted(2);
    for (const slot of slots) slot.started();
    call(2);
    slots[0]?.finished({ kind: 'broken' });
    slots[1]?.finished({ kind: 'answered', status: 500 });
    await clock.advance(1);
    expect(wire.seen).toHaveLength(2);
  });
});

describe('B2: a cancelled request', () => {
  beforeEach(() => budget.setMaxConcurrent('a', 1));

  it('keeps its slot for the configured time', async () => {
    const [slot] = await granted(1);
    slot?.started();
    await clock.advance(2_000);
    slot?.finished({ kind: 'abandoned' });
    call(1);
    await clock.advance(20_000);
    expect(rounded(wire.sentAt())).toEqual([12_000]);
  });

  it('frees its slot sooner if it is a keep-alive, so that a stall leaves slots for other jobs', async () => {
    const [slot] = await granted(1, 'keepAlive');
    slot?.started();
    slot?.finished({ kind: 'abandoned' });
    call(1, 'keepAlive');
    await clock.advance(20_000);
    expect(rounded(wire.sentAt())).toEqual([2_250]);
  });
});

describe('B3: the order of requests', () => {
  async function order(classes: readonly RequestClass[]): Promise<RequestClass[]> {
    call(4);
    await settle();
    for (const requestClass of classes) call(1, requestClass);
    await clock.advance(1_900);
    return wire.seen.slice(4).map((one) => one.class);
  }

  it.each<{ what: string; queued: RequestClass[]; sent: RequestClass[] }>([
    {
      what: 'a poll before everything',
      queued: ['listing', 'taskStatus', 'pageRead', 'keepAlive'],
      sent: ['keepAlive', 'pageRead', 'taskStatus', 'listing'],
    },
    {
      what: 'creation before status before listings',
      queued: ['listing', 'taskStatus', 'taskCreation'],
      sent: ['taskCreation', 'taskStatus', 'listing'],
    },
    {
      what: 'page reads and creations alternately',
      queued: ['taskCreation', 'taskCreation', 'pageRead', 'pageRead'],
      sent: ['pageRead', 'taskCreation', 'pageRead', 'taskCreation'],
    },
    {
      what: 'several polls before others',
      queued: ['pageRead', 'keepAlive', 'keepAlive', 'keepAlive'],
      sent: ['keepAlive', 'keepAlive', 'keepAlive', 'pageRead'],
    },
  ])('sends $what', async ({ queued, sent }) => {
    expect(await order(queued)).toEqual(sent);
  });

  it('sends the keep-alive that is due first, regardless of arrival and key', async () => {
    for (const slot of await granted(4)) {
      slot.started();
      slot.finished({ kind: 'answered', status: 200 });
    }
    const sent: string[] = [];
    const poll = (owner: string, dueMs: number) =>
      budget
        .key(owner)
        .acquire({ class: 'keepAlive', dueMs })
        .then((slot) => {
          slot.started();
          slot.finished({ kind: 'answered', status: 200 });
          sent.push(`${owner}${dueMs}`);
        });
    for (const dueMs of [40, 20, 50, 10]) void poll('a', dueMs);
    for (const dueMs of [60, 45]) void poll('b', dueMs);
    await clock.advance(3_000);
    expect(sent).toEqual(['a10', 'a20', 'a40', 'b45', 'a50', 'b60']);
  });

  it('alternates between keys, regardless of their queue lengths', async () => {
    call(16, 'taskStatus');
    await settle();
    for (let index = 0; index < 3; index++) void wire.call('b', budget.key('b'), 'taskStatus');
    await clock.advance(2_500);
    expect(wire.seen.map((one) => one.key).join('')).toBe('aaaabababaaa');
  });

  it('keeps the order within a class and key', async () => {
    const sent: number[] = [];
    for (let index = 0; index < 12; index++) {
      void key.acquire({ class: 'listing' }).then((slot) => {
        slot.started();
        slot.finished({ kind: 'answered', status: 200 });
        sent.push(index);
      });
    }
    await clock.advance(10_000);
    expect(sent).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('gives a late class every second start, and every fourth while keep-alives are in danger', async () => {
    call(30, 'listing');
    await settle();
    call(60, 'keepAlive');
    const listingsIn = (fromMs: number, toMs: number) =>
      wire.sentAt('listing').filter((time) => time > fromMs && time < toMs).length;
    await clock.advance(9_900);
    // Listings count as late after 2 s. After that, every second request is a listing. After 3.5 s, keep-alives are at
    // risk, and only every fourth request is a listing.
    expect([listingsIn(0.1, 1_900), listingsIn(1_900, 3_400), listingsIn(3_400, 9_900)]).toEqual([0, 4, 6]);
    expect(wire.sentAt('keepAlive')).toHaveLength(4 + 4 + 18);
  });

  it('uses at most 8 of 10 slots for page reads', async () => {
    call(12, 'pageRead', { workMs: 60_000 });
    await clock.advance(10_000);
    call(3, 'listing', { workMs: 60_000 });
    await clock.advance(10_000);
    expect(wire.sentAt('pageRead')).toHaveLength(8);
    expect(wire.sentAt('listing')).toHaveLength(2);
  });

  it.each<RequestClass>(['listing', 'taskCreation', 'taskStatus'])(
    'keeps two slots for keep-alives while %s requests hang and jobs exist',
    async (requestClass) => {
      call(1, 'keepAlive');
      await settle();
      call(12, requestClass, { workMs: 300_000 });
      await clock.advance(10_000);
      expect(wire.sentAt(requestClass)).toHaveLength(8);
      call(2, 'keepAlive', { workMs: 300_000 });
      await clock.advance(2_000);
      expect(wire.sentAt('keepAlive')).toHaveLength(3);
      await clock.advance(60_000);
      expect(wire.maxAtOnce()).toBe(10);
    },
  );

  it('uses all ten slots again after 30 s without a keep-alive', async () => {
    call(1, 'keepAlive');
    await settle();
    call(12, 'listing', { workMs: 300_000 });
    await clock.advance(60_000);
    expect(rounded(wire.sentAt('listing')).slice(8)).toEqual([30_000, 30_000]);
  });

  it('measures the wait of each class', async () => {
    const observed: [string | undefined, number][] = [];
    const histogram = () => ({
      observe: (labels: { class?: string }, value: number) => observed.push([labels.class, value]),
    });
    renew({ metrics: { ...noMetrics, histogram } });
    call(5, 'taskStatus');
    await clock.advance(2_000);
    expect(observed.slice(3)).toEqual([
      ['taskStatus', 0],
      ['taskStatus', 1.005],
    ]);
  });
});

describe('B4: polls', () => {
  const refuse = async (retryAfterMs: number) => {
    call(1, 'taskStatus', { status: 429, retryAfterMs });
    await clock.advance(1);
  };

  it.each([
    { what: 'already due at the time of the 429', dueMs: 0, sentMs: 6_000 },
    { what: 'due later', dueMs: 9_000, sentMs: 15_000 },
    { what: 'due when Retry-After has passed', dueMs: 29_000, sentMs: 30_000 },
  ])('are not held back beyond 18 s: $what', async ({ dueMs, sentMs }) => {
    await refuse(30_000);
    call(1, 'listing');
    void key.acquire({ class: 'keepAlive', dueMs }).then((slot) => wire.send('a', 'keepAlive', slot));
    await clock.advance(60_000);
    expect(rounded(wire.sentAt('keepAlive'))).toEqual([sentMs]);
    expect(rounded(wire.sentAt('listing'))).toEqual([30_000]);
  });

  it('sends again after five minutes, even with a longer Retry-After', async () => {
    await refuse(86_400_000);
    call(1, 'listing');
    await clock.advance(3_600_000);
    expect(rounded(wire.sentAt('listing'))).toEqual([300_000]);
  });
});

describe('B5: 429', () => {
  it('halves the pace, and restores a quarter of it every ten seconds', async () => {
    call(1, 'taskStatus', { status: 429 });
    await clock.advance(1);
    call(200, 'taskStatus');
    await clock.advance(34_000);
    const inSecond = (fromMs: number) => wire.sentAt().filter((time) => time >= fromMs && time < fromMs + 1_000).length;
    expect([5_000, 15_000, 25_000].map(inSecond)).toEqual([2, 3, 4]);
  });

  it('slows down work but no keep-alive', async () => {
    call(1, 'taskStatus', { status: 429 });
    await clock.advance(1);
    call(40, 'taskStatus');
    call(15, 'keepAlive');
    await clock.advance(4_500);
    const polls = wire.sentAt('keepAlive').length;
    const work = wire.sentAt('taskStatus').length - 1;
    expect(polls).toBeGreaterThanOrEqual(12);
    expect(work).toBeLessThanOrEqual(6);
    expect(wire.maxArrivals()).toBe(4);
  });

  it('slows down once for a burst of rejections', async () => {
    call(4, 'taskStatus', { status: 429 });
    await clock.advance(1);
    call(50, 'taskStatus');
    await clock.advance(5_000);
    expect(wire.sentAt()).toHaveLength(4 + 4 * 2);
  });

  it('wakes at each step of the restored pace', async () => {
    budget.setRequestsPerSecond(0.1);
    call(1, 'taskStatus', { status: 429 });
    await clock.advance(1);
    call(1, 'taskStatus');
    await clock.advance(60_000);
    // After the rejection, the request rate drops to one per 20 s. Ten seconds later, it rises to one per 13.3 s.
    expect(rounded(wire.sentAt())).toEqual([0, 13_363]);
  });

  it('never goes below a quarter of its share', async () => {
    call(60, 'taskStatus', { status: 429 });
    await clock.advance(20_000);
    const gaps = wire.sentAt().map((time, index, times) => time - (times[index - 1] ?? 0));
    expect(rounded(gaps).slice(-3)).toEqual([1255, 1255, 1255]);
  });

  it('increases the margin, which shrinks over many responses', async () => {
    const before = budget.allowedDelayMs;
    call(1, 'taskStatus', { status: 429 });
    await clock.advance(1);
    expect(budget.allowedDelayMs).toBeCloseTo(before + 25, 0);
    call(10, 'taskStatus');
    await clock.advance(60_000);
    expect(budget.allowedDelayMs).toBeGreaterThan(before);
    call(400, 'taskStatus');
    await clock.advance(600_000);
    expect(budget.allowedDelayMs).toBeLessThan(before);
  });

  it('applies a grown margin to requests already sent', async () => {
    // Listings usually take 5 s, so a listing is not late after one second without a response.
    call(1, 'listing', { workMs: 5_000 });
    await clock.advance(10_000);
    call(3, 'listing', { workMs: 5_000 });
    call(1, 'taskStatus', { status: 429 });
    await clock.advance(1);
    call(1, 'taskStatus');
    await clock.advance(3_000);
    expect(rounded(wire.sentAt()).at(-1)).toBe(11_275);
  });

  const ask = async (before: readonly Fate[], restMs = 1_000) => {
    for (const fate of before) {
      call(1, 'keepAlive', fate);
      await clock.advance(restMs);
    }
    await clock.advance(1);
    const permits = await Promise.all(Array.from({ length: 8 }, () => budget.jobs.admit()));
    call(1, 'jobCreation', { status: 429, retryAfterMs: 5_000 });
    await clock.advance(2_000);
    const startMs = clock.monotonic();
    call(12, 'taskStatus');
    call(1, 'jobCreation');
    await clock.advance(30_000);
    return {
      limit: budget.jobs.limit,
      active: permits.length,
      firstMs: Math.min(...wire.sentAt().filter((time) => time >= startMs)) - startMs,
      inFirstTwoSeconds: wire.sentAt('taskStatus').filter((time) => time < startMs + 1_900).length,
      creationMs: Math.round((wire.sentAt('jobCreation')[1] ?? 0) - startMs),
    };
  };

  it('reduces the number of jobs, not the rate, if a creation gets it while other calls pass', async () => {
    const seen = await ask([{ status: 200 }]);
    expect(seen).toMatchObject({ limit: 4, active: 8, firstMs: 0, inFirstTwoSeconds: 8, creationMs: 3_015 });
  });

  it.each<{ what: string; before: readonly Fate[]; restMs?: number }>([
    { what: 'no other call has been made', before: [] },
    { what: 'the last other call was refused, too', before: [{ status: 200 }, { status: 429 }] },
    { what: 'the last accepted call was long ago', before: [{ status: 200 }], restMs: 16_000 },
  ])('reduces the rate if $what', async ({ before, restMs }) => {
    const seen = await ask(before, restMs);
    expect(seen).toMatchObject({ limit: 30, firstMs: 3_000 });
  });
});

describe('B6: a new leader', () => {
  let right: SwitchedRight;
  beforeEach(() => {
    right = new SwitchedRight();
    right.begin(0);
    renew({ right });
  });

  it('waits a second and the maximum margin', async () => {
    call(1);
    void wire.call('b', budget.key('b'), 'listing');
    await clock.advance(5_000);
    expect(rounded(wire.sentAt())).toEqual([1_250, 1_250]);
  });

  it('waits after the first handshake, since a stalled server may hold requests of the former leader', async () => {
    wire.stall(0, 7_000);
    call(1);
    await clock.advance(20_000);
    expect(rounded(wire.sentAt())).toEqual([8_000]);
  });

  it('uses half the concurrency after a takeover without release, until the longest request has ended', async () => {
    right.begin(0, true);
    call(20, 'listing', { workMs: 300_000 });
    await clock.advance(59_999);
    expect(wire.seen).toHaveLength(5);
    await clock.advance(5_000);
    expect(wire.seen).toHaveLength(10);
    expect(rounded(wire.sentAt())[5]).toBe(60_000);
  });

  it('uses the whole concurrency after a release', async () => {
    call(20, 'listing', { workMs: 300_000 });
    await clock.advance(15_000);
    expect(wire.seen).toHaveLength(10);
  });

  it('does not wait when the term is older than any request', async () => {
    await clock.advance(62_000);
    call(4);
    await clock.advance(1);
    expect(wire.seen).toHaveLength(4);
  });
});

describe('L1: the right to send', () => {
  let right: SwitchedRight;
  beforeEach(() => {
    right = new SwitchedRight();
    right.begin(Number.NEGATIVE_INFINITY);
    renew({ right });
  });

  it('is checked at the write: a slot granted before the loss of the right stays unused', async () => {
    const [slot] = await granted(1);
    right.end();
    expect(() => slot?.started()).toThrow(NotLeadingError);
    slot?.release();
    expect(wire.seen).toEqual([]);
  });

  it('is checked before the last check of the caller, which would count the request as sent', async () => {
    const [slot] = await granted(1);
    right.end();
    let checks = 0;
    expect(() => slot?.started(() => checks++)).toThrow();
    expect(checks).toBe(0);
  });

  it('of a later term does not apply to slots of an earlier term, since a new term waits first (B6)', async () => {
    const [slot] = await granted(1);
    right.end();
    right.begin(clock.monotonic());
    expect(() => slot?.started()).toThrow(NotLeadingError);
  });

  it('rejects all waiting and later requests when it is lost', async () => {
    const waiting = Array.from({ length: 12 }, () => wire.call('a', key, 'listing').catch((error: unknown) => error));
    right.end();
    await clock.advance(2_000);
    const outcomes = await Promise.all(waiting);
    expect(outcomes).toEqual(Array.from({ length: 12 }, () => expect.any(NotLeadingError)));
    await expect(key.acquire({ class: 'keepAlive' })).rejects.toBeInstanceOf(NotLeadingError);
    expect(wire.seen).toEqual([]);
  });
});

describe('B7: the share of one process', () => {
  it.each([
    { requestsPerSecond: 1, starts: [0, 1005, 2010, 3015] },
    { requestsPerSecond: 2, starts: [0, 0, 1005, 1005] },
    { requestsPerSecond: 2.5, starts: [0, 0, 1005, 1005] },
    { requestsPerSecond: 0.5, starts: [0, 2005, 4010, 6015] },
    { requestsPerSecond: 0.1, starts: [0, 10_005, 20_010, 30_015] },
  ])('of $requestsPerSecond requests per second', async ({ requestsPerSecond, starts }) => {
    budget.setRequestsPerSecond(requestsPerSecond);
    call(4);
    await clock.advance(60_000);
    expect(rounded(wire.sentAt())).toEqual(starts);
  });

  it('of two concurrent requests', async () => {
    budget.setMaxConcurrent('a', 2);
    call(4, 'listing', { workMs: 5_000 });
    await clock.advance(20_000);
    expect(wire.maxAtOnce()).toBe(2);
  });

  it('of concurrent requests changes while requests wait', async () => {
    budget.setMaxConcurrent('a', 2);
    call(4, 'listing', { workMs: 5_000 });
    await clock.advance(1_000);
    expect(wire.seen).toHaveLength(2);
    budget.setMaxConcurrent('a', 3);
    await clock.advance(1_000);
    expect(wire.seen).toHaveLength(3);
  });

  it('changes while sent requests still count', async () => {
    call(4);
    await clock.advance(500);
    budget.setRequestsPerSecond(1);
    call(2);
    await clock.advance(10_000);
    expect(rounded(wire.sentAt().slice(4))).toEqual([1005, 2010]);
    budget.setRequestsPerSecond(4);
    call(4);
    await clock.advance(1);
    expect(wire.seen).toHaveLength(10);
  });

  it.each([1, 0.1])('allows one search job if it is only %d requests per second', async (requestsPerSecond) => {
    budget.setRequestsPerSecond(4, requestsPerSecond);
    const permit = await budget.jobs.admit();
    expect(budget.isWithinLimits()).toBe(true);
    permit.end();
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses a rate of %d', (requestsPerSecond) => {
    expect(() => budget.setRequestsPerSecond(requestsPerSecond)).toThrow('the request rate must be greater than 0');
  });

  it.each([0, 1.5])('refuses %d concurrent requests', (maxConcurrent) => {
    expect(() => budget.setMaxConcurrent('a', maxConcurrent)).toThrow('a whole number');
  });
});

describe('waiting requests', () => {
  it('are rejected with the reason of their signal, and take no slot', async () => {
    call(4);
    const controller = new AbortController();
    const waiting = key.acquire({ class: 'keepAlive', signal: controller.signal });
    call(1);
    await clock.advance(500);
    controller.abort(new Error('no longer wanted'));
    await expect(waiting).rejects.toThrow('no longer wanted');
    await clock.advance(5_000);
    expect(rounded(wire.sentAt())).toEqual([0, 0, 0, 0, 1005]);
    expect(clock.next()).toBeUndefined();
  });

  it('do not begin with an aborted signal', async () => {
    await expect(key.acquire({ class: 'listing', signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    );
  });

  it('are not affected by an abort after the grant', async () => {
    const controller = new AbortController();
    const slot = await key.acquire({ class: 'listing', signal: controller.signal });
    controller.abort();
    slot.started();
    slot.finished({ kind: 'answered', status: 200 });
    call(4);
    await clock.advance(100);
    expect(wire.seen).toHaveLength(3);
  });

  it('sets no timer while no request waits', async () => {
    call(20);
    await clock.advance(60_000);
    expect(wire.seen).toHaveLength(20);
    expect(clock.next()).toBeUndefined();
  });

  it('rejects a request when too many wait', async () => {
    call(20_004);
    await expect(key.acquire({ class: 'keepAlive' })).rejects.toBeInstanceOf(BudgetFullError);
    await clock.advance(1_005);
    const later = key.acquire({ class: 'keepAlive' });
    await clock.advance(1_005);
    await expect(later).resolves.toBeDefined();
  });
});
