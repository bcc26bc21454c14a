/** Tests upgrade requests: the checks before they are sent (U2), their outcomes (U3, U11), and batch sizes (U2). */
import { describe, expect, test } from 'vitest';
import type { LogfleetError } from '../../../src/base/errors.ts';
import { Posting } from '../../../src/policy/attempts/posting.ts';
import type { Entry } from '../../../src/policy/ledger/ledger.ts';
import { FakeUpgradeService } from '../../support/fake-upgrade-service.ts';
import { serviceError } from '../../support/service-error.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';
import { attempt, entry, settings, target } from './builders.ts';

const intended = (id: string) => entry({ collectorId: id, open: attempt({ state: 'intended' }) });
const several = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => intended(String(from + index)));

const batch = (entries: readonly Entry[], decidedAtMs = 0) => ({ entries, generation: 3, decidedAtMs, moreWait: true });

function world() {
  const clock = new VirtualClock();
  const service = new FakeUpgradeService(clock);
  const problems: LogfleetError[] = [];
  const state = { wanted: true, generation: 3, news: 0, enqueued: 0, accepted: 0, refused: 0, buildsRefused: 0 };
  const binding = {
    holdFor: (error: LogfleetError) => void problems.push(error),
    succeeded: () => void state.refused++,
    rereadBuilds: () => void state.buildsRefused++,
  };
  const posting = new Posting({ clock, settings }, binding, {
    stillWanted: (_, generation) => state.wanted && generation === state.generation,
    scheduleDecision: () => state.news++,
    enqueue: () => state.enqueued++,
    noteAccepted: () => state.accepted++,
  });
  return { clock, service, problems, posting, state };
}

describe('U3: the outcome of a POST', () => {
  test('202 is accepted, with the id of the task', async () => {
    const { service, posting, state } = world();
    posting.post(service, batch([intended('1')]));
    expect(service.posts[0]?.asked).toEqual({ collectorId: '1', toVersion: target });
    expect([...posting.inFlight]).toEqual(['1']);
    service.posts[0]?.send();
    service.posts[0]?.respond({ taskId: '9' });
    await settle();
    expect(posting.inFlight.size).toBe(0);
    expect(posting.received.get('1')?.outcome).toEqual({ kind: 'accepted', taskId: '9' });
    expect(state).toMatchObject({ news: 1, accepted: 1 });
  });

  test.each([
    ['5xx', serviceError({ status: 503, effect: 'unknown' }), 'unknown'],
    ['a time-out or a reset', serviceError({ effect: 'unknown' }), 'unknown'],
    ['400 with a code', serviceError({ status: 400, serviceCode: 'collector.not.alive' }), 'refused'],
    ['400 with an unknown code', serviceError({ status: 400, serviceCode: 'something.new' }), 'refused'],
    ['400 without a code, as from a proxy', serviceError({ status: 400 }), 'notSent'],
    ['another 4xx with a code of 7.5', serviceError({ status: 422, serviceCode: 'collector.type.invalid' }), 'refused'],
    ['another 4xx with any other code', serviceError({ status: 422, serviceCode: 'something.new' }), 'notSent'],
    ['400 with an unknown effect', serviceError({ status: 400, effect: 'unknown' }), 'unknown'],
    [
      '5xx with a code of 7.5',
      serviceError({ status: 500, effect: 'unknown', serviceCode: 'collector.type.invalid' }),
      'unknown',
    ],
    ['401', serviceError({ status: 401 }), 'notSent'],
    ['403', serviceError({ status: 403 }), 'notSent'],
    ['415', serviceError({ status: 415 }), 'notSent'],
    ['429', serviceError({ status: 429 }), 'notSent'],
    ['an unexpected error after the write', new Error('?'), 'unknown'],
  ])('U11: %s', async (_, error, kind) => {
    const { service, posting } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.send();
    service.posts[0]?.fail(error);
    await settle();
    expect(posting.received.get('1')?.outcome.kind).toBe(kind);
    expect(posting.inFlight.size).toBe(0);
  });

  test('U11: a refusal contains its code and message', async () => {
    const { service, posting } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.send();
    service.posts[0]?.fail(serviceError({ status: 400, serviceCode: 'collector.in.upgrading', message: 'busy' }));
    await settle();
    expect(posting.received.get('1')?.outcome).toEqual({
      kind: 'refused',
      serviceCode: 'collector.in.upgrading',
      message: 'busy',
    });
  });

  test.each([
    ['collector.version.invalid', 1],
    ['collector.not.alive', 0],
  ])('U11: after the refusal %s, the list of builds is read again %i times', async (serviceCode, times) => {
    const { service, posting, state } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.send();
    service.posts[0]?.fail(serviceError({ status: 400, serviceCode }));
    await settle();
    expect(state.buildsRefused).toBe(times);
  });

  test('U11: ten rejections without a code, except those of a proxy, count as a refusal', async () => {
    const { clock, service, posting, problems } = world();
    const outcomes: unknown[] = [];
    const post = async (error: LogfleetError) => {
      posting.post(service, batch([intended('1')], clock.monotonic()));
      service.posts.at(-1)?.send();
      service.posts.at(-1)?.fail(error);
      await settle();
      outcomes.push(posting.received.get('1')?.outcome.kind);
    };
    const rejection = { failure: 'badRequest', status: 400 } as const;
    for (let count = 0; count < 12; count++) await post(serviceError({ ...rejection, hasForeignBody: true }));
    expect([...posting.rejected]).toEqual(['1']);
    for (let count = 1; count < 10; count++) await post(serviceError(rejection));
    await post(serviceError({ failure: 'rateLimited', status: 429 }));
    await post(serviceError(rejection));
    expect([...posting.rejected]).toEqual([]);
    // After the refusal, the count starts again.
    await post(serviceError(rejection));
    expect(outcomes).toEqual([...Array.from({ length: 22 }, () => 'notSent'), 'refused', 'notSent']);
    expect(problems).toHaveLength(24);
  });

  test.each([
    ['401 is a problem of the policy', serviceError({ status: 401 }), 1],
    ['5xx as well', serviceError({ status: 503, effect: 'unknown' }), 1],
    ['a refusal is a problem of the collector', serviceError({ status: 400, serviceCode: 'collector.invalid' }), 0],
  ])('U11: %s', async (_, error, count) => {
    const { service, posting, problems, state } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.send();
    service.posts[0]?.fail(error);
    await settle();
    expect(problems).toHaveLength(count);
    // A refusal shows that the service works, so earlier failures no longer count.
    expect(state.refused).toBe(1 - count);
  });

  test('an error before the write means that nothing was sent', async () => {
    const { service, posting } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.fail(new Error('?'));
    await settle();
    expect(posting.received.get('1')?.outcome).toEqual({ kind: 'notSent' });
  });

  test('an outcome is kept until a written decision has used it', async () => {
    const { service, posting } = world();
    posting.post(service, batch(several(2)));
    service.posts[0]?.send();
    service.posts[0]?.respond({ taskId: '9' });
    await settle();
    const taken = new Map(posting.received);
    service.posts[1]?.send();
    service.posts[1]?.respond({ taskId: '10' });
    await settle();
    posting.acknowledge(taken);
    expect([...posting.received.keys()]).toEqual(['2']);
  });

  test('a newer outcome stays when the earlier outcome of its collector is acknowledged', () => {
    const { posting } = world();
    posting.withdraw([intended('1')]);
    const taken = new Map(posting.received);
    posting.withdraw([intended('1')]);
    posting.acknowledge(taken);
    expect(posting.received.has('1')).toBe(true);
    posting.acknowledge(posting.received);
    expect(posting.received.has('1')).toBe(false);
  });
});

describe('U2: the check right before the write', () => {
  test('withdraws an attempt that is no longer wanted, as never sent', async () => {
    const { service, posting, state, problems } = world();
    posting.post(service, batch([intended('1')]));
    state.wanted = false;
    service.posts[0]?.send();
    await settle();
    expect(posting.received.get('1')?.outcome).toEqual({ kind: 'notSent' });
    expect(problems).toEqual([]);
  });

  test('withdraws an attempt that was written ahead for an older spec, whatever was decided since', async () => {
    const { service, posting, state } = world();
    posting.post(service, batch([intended('1')]));
    state.generation = 4;
    posting.post(service, { ...batch([intended('2')]), generation: 4 });
    for (const call of service.posts) call.send();
    service.posts[1]?.respond({ taskId: '9' });
    await settle();
    expect([...posting.received.values()].map(({ outcome }) => outcome.kind)).toEqual(['notSent', 'accepted']);
  });

  test('free capacity is not reported if nothing waits for it', () => {
    const { service, posting, state } = world();
    posting.post(service, { ...batch(several(1)), moreWait: false });
    service.posts[0]?.send();
    expect(state.enqueued).toBe(0);
  });

  test('withdraws an attempt that has waited for 5 s', async () => {
    const { clock, service, posting } = world();
    posting.post(service, batch([intended('1')]));
    await clock.advance(settings.intentLifeMs - 1);
    expect(posting.inFlight.size).toBe(1);
    await clock.advance(1);
    expect(posting.received.get('1')?.outcome).toEqual({ kind: 'notSent' });
    expect(posting.inFlight.size).toBe(0);
  });

  test('keeps an attempt that was written within 5 s', async () => {
    const { clock, service, posting } = world();
    posting.post(service, batch([intended('1')]));
    await clock.advance(settings.intentLifeMs - 1);
    service.posts[0]?.send();
    await clock.advance(60_000);
    expect(posting.inFlight.size).toBe(1);
    service.posts[0]?.respond({ taskId: '9' });
    await settle();
    expect(posting.received.get('1')?.outcome.kind).toBe('accepted');
  });

  test('withdraws an attempt or probe whose ledger write took too long', async () => {
    const { clock, service, posting } = world();
    await clock.advance(settings.intentLifeMs + 4_000);
    posting.post(service, batch([intended('1')]));
    posting.post(service, batch([entry({ collectorId: '2', open: attempt({ state: 'intended', probe: true }) })]));
    await clock.advance(0);
    await settle();
    expect([...posting.received.values()].map(({ outcome }) => outcome.kind)).toEqual(['notSent', 'notSent']);
  });

  test('is repeated for a redirected POST', async () => {
    const { service, posting, state } = world();
    posting.post(service, batch([intended('1')]));
    service.posts[0]?.send();
    state.wanted = false;
    service.posts[0]?.send();
    await settle();
    expect(posting.received.get('1')?.outcome).toEqual({ kind: 'notSent' });
  });
});

describe('U2: batches', () => {
  test('have at most twenty attempts, and the next one starts when most of them were sent', () => {
    const { service, posting, state } = world();
    expect(posting.capacity()).toBe(20);
    posting.post(service, batch(several(20)));
    expect(posting.capacity()).toBe(0);
    for (const call of service.posts.slice(0, 15)) call.send();
    expect(posting.capacity()).toBe(0);
    expect(state.enqueued).toBe(0);
    service.posts[15]?.send();
    expect(posting.capacity()).toBe(16);
    expect(state.enqueued).toBe(1);
  });

  test('have capacity again after attempts were sent, even if they have no responses yet', () => {
    const { service, posting } = world();
    posting.post(service, batch(several(20)));
    for (const call of service.posts) call.send();
    expect(posting.capacity()).toBe(20);
    expect(posting.inFlight.size).toBe(20);
  });

  test('are halved by each attempt that waited too long, down to one', async () => {
    const { clock, service, posting } = world();
    posting.post(service, batch(several(2)));
    await clock.advance(settings.intentLifeMs);
    expect(posting.capacity()).toBe(5);
    posting.post(service, batch(several(5, 10), clock.monotonic()));
    await clock.advance(settings.intentLifeMs);
    expect(posting.capacity()).toBe(1);
  });

  test('grow by one with each attempt that was sent in time, up to twenty again', async () => {
    const { clock, service, posting } = world();
    posting.post(service, batch(several(1)));
    await clock.advance(settings.intentLifeMs);
    expect(posting.capacity()).toBe(10);
    posting.post(service, batch(several(4, 10), clock.monotonic()));
    for (const call of service.posts.slice(1)) call.send();
    expect(posting.capacity()).toBe(14);
    posting.post(service, batch(several(10, 20), clock.monotonic()));
    for (const call of service.posts.slice(5)) call.send();
    expect(posting.capacity()).toBe(20);
  });

  test('are not halved by attempts that are no longer wanted', async () => {
    const { service, posting, state } = world();
    posting.post(service, batch(several(20)));
    state.wanted = false;
    for (const post of service.posts) post.send();
    await settle();
    expect(posting.capacity()).toBe(20);
  });

  test('count a write that is repeated once', async () => {
    const { clock, service, posting } = world();
    posting.post(service, batch(several(1)));
    await clock.advance(settings.intentLifeMs);
    posting.post(service, batch(several(1), clock.monotonic()));
    service.posts[1]?.send();
    service.posts[1]?.send();
    expect(posting.capacity()).toBe(11);
  });
});

test('U13: attempts that wait or were withdrawn are known not to be in flight, except probes', async () => {
  const { service, posting, state } = world();
  const probe = (collectorId: string) => entry({ collectorId, open: attempt({ state: 'intended', probe: true }) });
  posting.post(service, batch([...several(3), probe('4'), probe('5')]));
  service.posts[0]?.send();
  state.wanted = false;
  service.posts[1]?.send();
  service.posts[3]?.send();
  await settle();
  expect([...posting.neverSent()]).toEqual(['3', '2']);
  expect(posting.unsent).toBe(1);
});

test('after the close, nothing is sent and no outcome is kept', async () => {
  const { service, posting, state, problems } = world();
  posting.post(service, batch(several(2)));
  service.posts[0]?.send();
  posting.close();
  await settle();
  expect([state.news, problems.length, posting.received.size]).toEqual([0, 0, 0]);
});
