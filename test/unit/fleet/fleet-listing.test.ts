/**
 * Tests how the operator reads the collector list, retries failed requests, and notifies the policies that use the list
 * (U7, U9).
 */
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { dayMs, minuteMs } from '../../../src/base/time-units.ts';
import { FleetListing, type ListingUser } from '../../../src/fleet/fleet-listing.ts';
import { FakeUpgradeService } from '../../support/fake-upgrade-service.ts';
import { serviceError } from '../../support/service-error.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { collector } from '../policy/builders.ts';

const [first, middle, spare, last] = ['19.100-1', '19.150-1', '19.160-1', '19.200-1'] as const;

function world(count = 0, version: string = first) {
  const clock = new VirtualClock();
  const service = new FakeUpgradeService(clock);
  service.collectors = fleet(1, count, version);
  const state = { active: true, targeted: new Set<string>([last]), reported: 0 };
  const listing = new FleetListing({
    service,
    clock,
    log: silentLogger,
    targeted: () => state.targeted,
    active: () => state.active,
  });
  const addUser = (user: string, onChange: () => void, more: Partial<ListingUser> = {}) =>
    listing.addUser(user, { secret: 'logging/log-service', resyncMs: dayMs, onChange, ...more });
  addUser('first', () => state.reported++);
  const swept = async (afterMs = clock.monotonic()) => {
    listing.requestSweep(afterMs);
    await clock.advance(5_000);
    return listing;
  };
  return { clock, service, listing, state, swept, addUser };
}

const fleet = (from: number, count: number, collectorVersion: string = first) =>
  Array.from({ length: count }, (_, index) => collector(String(from + index), { collectorVersion }));
const known = (listing: FleetListing) =>
  [...listing.rows.entries()].map(([id]) => id).sort((a, b) => Number(a) - Number(b));

describe('a sweep', () => {
  test('reads the builds, then the pages, then checks that no collector is hidden', async () => {
    const { service, listing, swept } = world(3, middle);
    await swept(0);
    expect(service.lists).toEqual(['builds', `${first} 0+1000`, `${first} 3+1000`, `${spare} 3+1`]);
    expect(known(listing)).toEqual(['1', '2', '3']);
    expect(listing.builds()?.list.map(({ version }) => version)).toEqual([first, middle, spare, last]);
  });

  test.each([true, false])('ends if the service repeats the end of the list (hides collectors: %s)', async (hides) => {
    const { clock, service, listing, swept } = world(120, first);
    service.collectors = [...service.collectors, ...fleet(121, 80, middle), ...fleet(201, 60, spare)];
    Object.assign(service, { hides, repeatsEnd: true, maxPageRows: 50 });
    await swept(0);
    expect(known(listing)).toHaveLength(260);
    const { length } = service.lists;
    await clock.advance(minuteMs);
    expect([service.lists.length, listing.problem(), listing.pageRows()]).toEqual([length, undefined, 50]);
  });

  test('keeps the position of a collector that the service repeats at the end of the list', async () => {
    const { service, listing, swept } = world(3, middle);
    service.repeatsEnd = true;
    await swept(0);
    expect(listing.row('3')?.position).toBe(2);
  });

  test('continues after a page without new collectors, if new collectors have moved the others to later pages', async () => {
    const { service, listing, swept } = world(150, middle);
    service.maxPageRows = 50;
    const [old, added] = [service.collectors, fleet(151, 50, middle)];
    service.beforeResponse = (call) => {
      if (call === `${first} 50+1000`) service.collectors = [...added, ...old];
    };
    await swept(0);
    expect(service.lists.slice(1, 4)).toEqual([0, 50, 100].map((offset) => `${first} ${offset}+1000`));
    expect(old.every(({ id }) => listing.row(id))).toBe(true);
  });

  test('is complete since its first request, and shows its duration', async () => {
    const { clock, service, listing, swept } = world(3, middle);
    await clock.advance(700);
    await swept(0);
    expect(listing.completeSinceMs()).toBe(710);
    expect(listing.sweepMs()).toBe(10 * (service.lists.length - 1));
    service.lists.length = 0;
    await swept();
    expect(listing.sweepMs()).toBe(10 * service.lists.length);
  });

  test('shows the sending time and the place of each row', async () => {
    const { service, listing, swept } = world(1_500, middle);
    await swept(0);
    expect(service.lists.slice(1, 3)).toEqual([`${first} 0+1000`, `${first} 1000+10000`]);
    expect(listing.row('1')).toMatchObject({ position: 0, seenAtMs: 10 });
    expect(listing.row('1500')).toMatchObject({ position: 1_499, seenAtMs: 20 });
  });

  test('sends one request at a time', async () => {
    const { service, listing, clock } = world(50);
    listing.requestSweep(0);
    listing.requestBuilds(0);
    listing.requestPage(0, 0);
    await clock.advance(5_000);
    expect(service.maxInFlight).toBe(1);
  });

  test('is not repeated while it is new enough', async () => {
    const { service, listing, swept } = world(3);
    await swept(0);
    const calls = service.lists.length;
    await swept(listing.completeSinceMs() as number);
    expect(service.lists).toHaveLength(calls);
  });

  test('in progress serves later requests for a sweep', async () => {
    const { clock, service, listing } = world(3);
    listing.requestSweep(0);
    await clock.advance(15);
    listing.requestSweep(5);
    listing.requestSweep(10);
    await clock.advance(5_000);
    const calls = service.lists.length;
    expect(listing.completeSinceMs()).toBe(10);
    listing.requestSweep(11);
    await clock.advance(5_000);
    expect(service.lists.length).toBeGreaterThan(calls);
  });

  test('notifies its users until they leave', async () => {
    const { state, swept, listing, addUser } = world(3);
    let heard = 0;
    addUser('second', () => heard++);
    await swept(0);
    expect(heard).toBe(state.reported);
    expect(heard).toBeGreaterThan(0);
    listing.removeUser('second');
    const before = heard;
    await swept();
    expect(heard).toBe(before);
    expect(state.reported).toBeGreaterThan(before);
  });
});

describe('a service that silently returns at most ten collectors', () => {
  test.each([10, 15, 60])('lists all %d collectors, each on its page', async (count) => {
    const { service, listing, swept } = world(count, middle);
    service.maxPageRows = 10;
    await swept(0);
    expect(known(listing)).toEqual(fleet(1, count).map(({ id }) => id));
    await swept();
    expect(known(listing)).toHaveLength(count);
    if (count > 10) expect(listing.pageOf('11')).toBe(1);
  });

  test('lists all collectors if the others run the build of the check', async () => {
    const { service, listing, swept } = world();
    service.collectors = [...fleet(1, 10, middle), ...fleet(11, 50, spare)];
    service.maxPageRows = 10;
    await swept(0);
    expect(known(listing)).toHaveLength(60);
  });
});

describe('U7: no collector is hidden', () => {
  test('the listing for an unused build without a policy shows all versions', async () => {
    const { service, listing, swept } = world();
    service.collectors = [...fleet(1, 2, first), ...fleet(3, 2, middle), ...fleet(5, 2, last)];
    await swept(0);
    expect(known(listing)).toEqual(['1', '2', '3', '4', '5', '6']);
    for (const version of [first, middle, last]) expect(listing.observes(version)).toBe(true);
  });

  test('two listings show all collectors if every build is in use', async () => {
    const { service, listing, swept } = world();
    service.builds = [first, middle, last];
    service.collectors = [...fleet(1, 3, first), ...fleet(4, 2, middle), ...fleet(6, 1, last)];
    await swept(0);
    expect(known(listing)).toEqual(['1', '2', '3', '4', '5', '6']);
    await swept();
    expect(known(listing)).toEqual(['1', '2', '3', '4', '5', '6']);
    for (const version of [first, middle, last]) expect(listing.observes(version)).toBe(true);
  });

  test('the second listing is read completely, even if its first pages only show collectors of the first listing', async () => {
    const { service, listing, swept } = world(30, last);
    service.builds = [first, middle, last];
    service.maxPageRows = 10;
    service.collectors = [...service.collectors, ...fleet(31, 2, middle), ...fleet(33, 1, first)];
    for (let sweeps = 0; sweeps < 4; sweeps++) {
      await swept();
      expect(known(listing)).toHaveLength(33);
    }
  });

  test('the first sweep shows all collectors, even if policies target every other build', async () => {
    const { service, listing, state, swept } = world(2, first);
    service.builds = [first, middle, last];
    state.targeted = new Set([middle, last]);
    await swept(0);
    expect(known(listing)).toEqual(['1', '2']);
  });

  test.each([
    ['if another build is unused', [first, middle, spare, last]],
    ['where none is', [first, middle, last]],
  ])('the next sweep shows a new collector that runs the build of the view, %s', async (_, builds) => {
    const { service, listing, swept } = world(2, middle);
    service.builds = builds;
    await swept(0);
    await swept();
    service.collectors = [...service.collectors, ...fleet(3, 1, first)];
    await swept();
    expect(known(listing)).toEqual(['1', '2', '3']);
    await swept();
    expect(known(listing)).toEqual(['1', '2', '3']);
  });

  describe('if every build is in use or targeted, one request shows whether a second listing is needed', () => {
    /**
     * Before each response from the service, upgrades one collector on the first page. The listing cannot notice this
     * upgrade, because later pages do not contain the collector.
     */
    async function rolling() {
      const { service, listing, swept } = world(300, middle);
      service.builds = [first, middle, last];
      service.maxLimit = 100;
      await swept(0);
      service.lists.length = 0;
      let next = 1;
      service.beforeResponse = (call) => {
        if (!call.startsWith(first)) return;
        const upgraded = String(next++);
        service.collectors = service.collectors.map((one) =>
          one.id === upgraded ? collector(upgraded, { collectorVersion: last }) : one,
        );
      };
      return { service, listing, swept };
    }

    test('for a fleet that was never listed', async () => {
      const { service, swept } = world(3, middle);
      service.builds = [first, middle, last];
      await swept(0);
      expect(service.lists).toEqual(['builds', `${first} 0+1000`, `${first} 3+1000`, `${middle} 0+50`]);
    });

    test('for a fleet that was never listed, with hidden collectors', async () => {
      const { service, listing, swept } = world(3, middle);
      service.builds = [first, middle, last];
      service.collectors = [...service.collectors, ...fleet(4, 1, first)];
      await swept(0);
      expect(known(listing)).toEqual(['1', '2', '3', '4']);
    });

    test('upgrades that end during a sweep cause no second listing (U9)', async () => {
      const { service, swept } = await rolling();
      await swept();
      expect(service.lists.filter((call) => !call.startsWith(first))).toEqual([`${last} 299+50`]);
    });

    test('a service that hides no collectors needs no second listing: its listing shows the collectors of its build', async () => {
      const { service, swept } = world();
      service.builds = [first, middle, last];
      service.hides = false;
      service.collectors = [...fleet(1, 2, middle), ...fleet(3, 2, last)];
      await swept(0);
      service.lists.length = 0;
      await swept();
      expect(service.lists).toEqual([`${first} 0+1000`, `${first} 4+1000`, `${last} 2+50`]);
    });

    test('a collector that is installed while upgrades end is found by the next sweep', async () => {
      const { service, listing, swept } = await rolling();
      service.collectors = [...service.collectors, ...fleet(301, 1, first)];
      await swept();
      service.beforeResponse = () => {};
      await swept();
      expect(listing.row('301')).toBeDefined();
    });
  });

  test('with a single build, no collector at the target shows', async () => {
    const { service, listing, swept } = world();
    service.builds = [last];
    service.collectors = [...fleet(1, 2, first), ...fleet(3, 2, last)];
    await swept(0);
    expect(known(listing)).toEqual(['1', '2']);
    expect(listing.observes(last)).toBe(false);
  });

  test('a service that hides no collectors is listed completely, too', async () => {
    const { service, listing, swept } = world();
    service.hides = false;
    service.collectors = [...fleet(1, 2, first), ...fleet(3, 2, middle), ...fleet(5, 2, last)];
    await swept(0);
    expect(known(listing)).toHaveLength(6);
  });

  test('a row is removed after two complete sweeps without it', async () => {
    const { service, listing, swept } = world(3);
    await swept(0);
    service.collectors = fleet(1, 2);
    await swept();
    expect(known(listing)).toEqual(['1', '2', '3']);
    await swept();
    expect(known(listing)).toEqual(['1', '2']);
  });

  test('a row that moved to an earlier page is kept, and found by the next sweep', async () => {
    const { service, listing, swept } = world(1_200, middle);
    await swept(0);
    let calls = 0;
    service.beforeResponse = (call) => {
      // When a collector on the first page disappears, all later collectors move up by one position.
      if (call.startsWith(first) && ++calls === 1)
        service.collectors = service.collectors.filter(({ id }) => id !== '1');
    };
    await swept();
    service.beforeResponse = () => {};
    expect(listing.row('1200')).toBeDefined();
    await swept();
    expect(listing.row('1200')).toMatchObject({ position: 1_198 });
    expect(known(listing)).toHaveLength(1_199 + Number(listing.row('1') !== undefined));
  });
});

describe('U9: a page', () => {
  test('is known for each collector', async () => {
    const { service, listing, swept } = world(1_500, middle);
    service.maxLimit = 100;
    await swept(0);
    expect([listing.pageRows(), listing.pageOf('1'), listing.pageOf('150'), listing.pageOf('1500')]).toEqual([
      100, 0, 1, 14,
    ]);
    expect(listing.pageOf('9999')).toBeUndefined();
  });

  test('is read alone, and updates its collectors', async () => {
    const { clock, service, listing, swept } = world(300, middle);
    service.maxLimit = 100;
    await swept(0);
    service.collectors = fleet(1, 300, last);
    service.lists.length = 0;
    const askedMs = clock.monotonic();
    listing.requestPage(1, askedMs);
    await clock.advance(1_000);
    expect(service.lists).toEqual([`${first} 100+100`]);
    expect(listing.row('101')).toMatchObject({ seenAtMs: askedMs, formerVersion: middle });
    expect(listing.row('101')?.collector.collectorVersion).toBe(last);
    expect(listing.row('1')?.collector.collectorVersion).toBe(middle);
    expect([listing.pageReadMs(1), listing.pageReadMs(0)]).toEqual([askedMs, undefined]);
    await swept();
    expect(listing.pageReadMs(1)).toBeUndefined();
  });

  test('is read once for all requests of one turn', async () => {
    const { clock, service, listing, swept } = world(20, middle);
    await swept(0);
    service.lists.length = 0;
    for (let times = 0; times < 5; times++) listing.requestPage(0, clock.monotonic() - times);
    await clock.advance(1_000);
    expect(service.lists).toHaveLength(1);
  });

  test('is read again if it is requested while it is being read', async () => {
    const { clock, service, listing, swept } = world(20, middle);
    await swept(0);
    service.lists.length = 0;
    listing.requestPage(0, clock.monotonic());
    await clock.advance(5);
    listing.requestPage(0, clock.monotonic());
    await clock.advance(1_000);
    expect(service.lists).toHaveLength(2);
  });

  test('clears the place of collectors that have left it', async () => {
    const { clock, service, listing, swept } = world(3, middle);
    await swept(0);
    service.collectors = service.collectors.filter(({ id }) => id !== '2');
    listing.requestPage(0, clock.monotonic());
    await clock.advance(1_000);
    expect(listing.row('2')).toBeDefined();
    expect(listing.pageOf('2')).toBeUndefined();
    expect(listing.pageOf('3')).toBe(0);
  });

  test('precedes a sweep in progress', async () => {
    const { clock, service, listing, swept } = world(3_000, middle);
    service.maxLimit = 500;
    await swept(0);
    service.lists.length = 0;
    listing.requestSweep(clock.monotonic());
    await clock.advance(15);
    listing.requestPage(4, clock.monotonic());
    await clock.advance(20);
    expect(service.lists.indexOf(`${first} 2000+500`)).toBeLessThan(3);
    await clock.advance(5_000);
    expect(listing.completeSinceMs()).toBeGreaterThanOrEqual(5_000);
  });

  test('whose size is rejected is read in smaller pages', async () => {
    const { clock, service, listing, state, swept } = world(900, middle);
    await swept(0);
    listing.requestPage(0, clock.monotonic());
    await clock.advance(1_000);
    expect(listing.pageReadMs(0)).toBeDefined();
    service.maxLimit = 100;
    const reported = state.reported;
    listing.requestPage(0, clock.monotonic());
    await clock.advance(1_000);
    expect([listing.problem(), listing.pageRows(), listing.pageReadMs(0)]).toEqual([undefined, 500, undefined]);
    expect(state.reported).toBeGreaterThan(reported);
    await swept();
    expect(listing.pageRows()).toBe(100);
    expect(known(listing)).toHaveLength(900);
  });
});

describe('failures', () => {
  test('are reported, retried with growing delays, and end with the first response', async () => {
    const { clock, service, listing, state } = world(3);
    service.failures.push(serviceError(), serviceError(), serviceError());
    listing.requestSweep(0);
    await clock.advance(10);
    expect(listing.problem()).toMatchObject({ error: { code: 'service.internalError' }, untilMs: 1_010 });
    expect(state.reported).toBe(1);
    await clock.advance(1_010);
    expect(listing.problem()?.untilMs).toBe(1_020 + 2_000);
    await clock.advance(2_010);
    expect(listing.problem()?.untilMs).toBe(3_030 + 4_000);
    await clock.advance(5_000);
    expect(listing.problem()).toBeUndefined();
    expect(known(listing)).toHaveLength(3);
  });

  test.each([
    ['retryAfter' as const, { kind: 'retryAfter', delayMs: 7_000 } as const, 7_000],
    ['retryAfter 0' as const, { kind: 'retryAfter', delayMs: 0 } as const, 1_000],
    ['stall' as const, { kind: 'stall' } as const, 30_000],
    ['bug' as const, { kind: 'bug' } as const, 1_000],
  ])('with handling %s wait accordingly', async (_, handling, delayMs) => {
    const { clock, service, listing } = world(3);
    service.failures.push(serviceError({ handling }));
    listing.requestSweep(0);
    await clock.advance(10);
    expect(listing.problem()?.untilMs).toBe(10 + delayMs);
    const calls = service.lists.length;
    await clock.advance(delayMs - 1);
    expect(service.lists).toHaveLength(calls);
    await clock.advance(1);
    expect(service.lists).toHaveLength(calls + 1);
  });

  test('of a sweep continue while only the list of builds can be read', async () => {
    const { clock, service, listing } = world(3);
    service.beforeResponse = (call) => {
      if (call !== 'builds') throw serviceError();
    };
    listing.requestSweep(0);
    await clock.advance(10 * 60_000);
    listing.requestBuilds(clock.monotonic());
    await clock.advance(90_000);
    expect(listing.builds()?.sentAtMs).toBeGreaterThanOrEqual(10 * 60_000);
    expect(listing.problem()?.error?.code).toBe('service.internalError');
    service.beforeResponse = () => {};
    await clock.advance(60_000);
    expect(listing.problem()).toBeUndefined();
  });

  test('are retried immediately when a user asks', async () => {
    const { clock, service, listing } = world(3);
    service.failures.push(serviceError({ handling: { kind: 'stall' } }));
    listing.requestSweep(0);
    await clock.advance(1_000);
    expect(listing.problem()).toBeDefined();
    listing.tryAgain();
    await clock.advance(1_000);
    expect(listing.problem()).toBeUndefined();
  });

  test('are retried after at most a minute', async () => {
    const { clock, service, listing } = world(3);
    for (let times = 0; times < 20; times++) service.failures.push(serviceError());
    listing.requestSweep(0);
    await clock.advance(10 * 60_000);
    expect((listing.problem()?.untilMs as number) - clock.monotonic()).toBeLessThanOrEqual(60_000);
  });

  test('during a sweep do not restart it', async () => {
    const { clock, service, listing } = world(2_000, middle);
    service.failures.push(undefined, undefined, serviceError());
    listing.requestSweep(0);
    await clock.advance(5_000);
    expect(service.lists.filter((call) => call === `${first} 0+1000`)).toHaveLength(1);
    expect(service.lists.filter((call) => call === `${first} 1000+10000`)).toHaveLength(2);
    expect(listing.completeSinceMs()).toBe(10);
  });

  test('and the waits after them do not count as duration of a sweep (U9)', async () => {
    const { clock, service, listing } = world(3, middle);
    service.failures.push(undefined, serviceError(), serviceError());
    listing.requestSweep(0);
    await clock.advance(10_000);
    expect(listing.sweepMs()).toBe(30);
  });

  test('of the check of a sweep repeat only the check', async () => {
    const { clock, service, listing } = world(3, middle);
    service.failures.push(undefined, undefined, undefined, serviceError());
    listing.requestSweep(0);
    await clock.advance(5_000);
    expect(service.lists).toEqual(['builds', `${first} 0+1000`, `${first} 3+1000`, `${spare} 3+1`, `${spare} 3+1`]);
    expect(listing.completeSinceMs()).toBe(10);
  });

  test('block all requests until the retry', async () => {
    const { clock, service, listing } = world(3);
    service.failures.push(serviceError());
    listing.requestSweep(0);
    await clock.advance(10);
    listing.requestPage(0, 0);
    listing.requestBuilds(5);
    await clock.advance(900);
    expect(service.lists).toHaveLength(1);
  });
});

describe('builds', () => {
  test('are read only if they are older than requested', async () => {
    const { clock, service, listing } = world();
    listing.requestBuilds(0);
    await clock.advance(100);
    listing.requestBuilds(0);
    await clock.advance(100);
    expect(service.lists).toEqual(['builds']);
    service.builds = [first];
    listing.requestBuilds(150);
    await clock.advance(100);
    expect(listing.builds()).toMatchObject({ list: [{ version: first, latest: true }], sentAtMs: 200 });
  });

  test('that are new enough serve all requests made meanwhile', async () => {
    const { clock, service, listing } = world();
    await clock.advance(100);
    listing.requestBuilds(0);
    await clock.advance(5);
    listing.requestBuilds(100);
    await clock.advance(100);
    expect(service.lists).toEqual(['builds']);
  });

  test('are read again for a request that was made after the running read was sent', async () => {
    const { clock, service, listing } = world();
    listing.requestBuilds(0);
    await clock.advance(5);
    listing.requestBuilds(5);
    await clock.advance(100);
    expect(service.lists).toEqual(['builds', 'builds']);
  });
});

describe('a build that is withdrawn (U7)', () => {
  test('during its sweep: the builds are read again, and the sweep continues with another build', async () => {
    const { clock, service, listing } = world(1_500, middle);
    service.beforeResponse = (call) => {
      if (call === `${first} 0+1000`) service.builds = [middle, spare, last];
    };
    listing.requestSweep(0);
    await clock.advance(5_000);
    expect(service.lists.slice(1, 4)).toEqual([`${first} 0+1000`, 'builds', `${middle} 0+1000`]);
    expect(known(listing)).toHaveLength(1_500);
    expect(listing.problem()).toBeUndefined();
  });

  test('during its sweep: the check of the sweep does not use the build', async () => {
    const { clock, service, listing } = world(30, middle);
    service.beforeResponse = (call) => {
      if (call === `${first} 0+1000`) service.builds = [first, middle, last];
    };
    listing.requestSweep(0);
    await clock.advance(5_000);
    expect(listing.completeSinceMs()).toBeDefined();
    expect([listing.problem(), known(listing).length]).toEqual([undefined, 30]);
  });

  test('after its sweep: another sweep precedes all pages', async () => {
    const { clock, service, listing, swept } = world(30, middle);
    await swept(0);
    service.builds = [middle, spare, last];
    service.lists.length = 0;
    listing.requestBuilds(clock.monotonic());
    listing.requestPage(0, clock.monotonic());
    await clock.advance(5_000);
    listing.requestPage(0, clock.monotonic());
    await clock.advance(5_000);
    expect(service.lists.slice(0, 2)).toEqual(['builds', `${spare} 0+1000`]);
    expect(service.lists.at(-1)).toBe(`${spare} 0+1000`);
    expect(listing.problem()).toBeUndefined();
    expect(listing.pageRows()).toBe(1_000);
  });

  test('after its sweep: a page that is requested during the next sweep is read for another build', async () => {
    const { clock, service, listing, swept } = world(30, middle);
    await swept(0);
    service.builds = [middle, spare, last];
    service.lists.length = 0;
    listing.requestBuilds(clock.monotonic());
    await clock.advance(15);
    listing.requestPage(0, clock.monotonic());
    await clock.advance(5_000);
    expect(service.lists.filter((list) => list.startsWith(first))).toEqual([]);
    expect(listing.pageReadMs(0)).toBeDefined();
  });

  test('unexpectedly: a rejected page leads to a read of the builds', async () => {
    const { clock, service, listing, swept } = world(30, middle);
    await swept(0);
    service.builds = [middle, spare, last];
    listing.requestPage(0, clock.monotonic());
    await clock.advance(5_000);
    expect(listing.problem()).toBeUndefined();
    expect(listing.completeSinceMs()).toBeGreaterThan(5_000);
  });

  test('with an error that does not say why: the builds are read again, and the pages keep their size', async () => {
    const { service, listing, swept } = world(30, middle);
    await swept(0);
    service.builds = [middle, spare, last];
    service.lists.length = 0;
    service.beforeResponse = (call) => {
      if (call.startsWith(first)) throw serviceError({ status: 400 });
    };
    await swept();
    const refused = [1_000, 500, 100, 50].map((limit) => `${first} 0+${limit}`);
    expect(service.lists.slice(0, 6)).toEqual([...refused, 'builds', `${spare} 0+1000`]);
    expect([listing.problem(), listing.pageRows()]).toEqual([undefined, 1_000]);
  });

  test.each(['sweep', 'page'] as const)('but still offered: a %s is requested with growing delays', async (what) => {
    const { clock, service, listing, swept } = world(30, middle);
    await swept(0);
    service.beforeResponse = (call) => {
      if (call === 'builds') return;
      throw serviceError({ status: 400, serviceCode: 'collector.version.invalid', handling: { kind: 'wait' } });
    };
    const calls = service.lists.length;
    if (what === 'page') listing.requestPage(0, clock.monotonic());
    else listing.requestSweep(clock.monotonic());
    await clock.advance(10 * 60_000);
    expect(service.lists.length - calls).toBeLessThanOrEqual(35);
    expect(listing.problem()?.error).toMatchObject({ serviceCode: 'collector.version.invalid' });
    service.beforeResponse = () => {};
    await clock.advance(60_000);
    expect(listing.problem()).toBeUndefined();
    service.failures.push(serviceError());
    listing.requestSweep(clock.monotonic());
    await clock.advance(10);
    expect((listing.problem()?.untilMs as number) - clock.monotonic()).toBe(1_000);
  });
});

test('nothing is sent without leadership, but later requests are', async () => {
  const { clock, service, listing, state, swept } = world(3);
  state.active = false;
  await swept(0);
  expect(service.lists).toEqual([]);
  state.active = true;
  listing.requestSweep(1);
  await clock.advance(5_000);
  expect(known(listing)).toHaveLength(3);
});

test('a request at the end of the loop is not lost', async () => {
  const { clock, service, listing, swept, addUser } = world(3, middle);
  await swept(0);
  for (let steps = 0; steps < 12; steps++) {
    let asked = 0;
    addUser(`user-${steps}`, () => {
      if (asked++ > 0) return;
      let wait = Promise.resolve();
      for (let step = 0; step < steps; step++) wait = wait.then(() => {});
      void wait.then(() => listing.requestPage(0, clock.monotonic()));
    });
    service.lists.length = 0;
    listing.requestPage(0, clock.monotonic());
    await clock.advance(1_000);
    expect([steps, service.lists.length]).toEqual([steps, 2]);
    listing.removeUser(`user-${steps}`);
  }
});

test('a closed listing sends nothing and notifies no user', async () => {
  const { clock, service, listing, state } = world(3);
  listing.requestSweep(0);
  await clock.advance(5);
  listing.close();
  await clock.advance(5_000);
  listing.requestSweep(100);
  await clock.advance(5_000);
  expect([service.lists.length, state.reported, listing.problem()]).toEqual([1, 0, undefined]);
});

describe('U9: an idle user', () => {
  async function resting() {
    const parts = world(3, middle);
    const heard = { a: 0, b: 0 };
    const { listing, addUser, swept } = parts;
    listing.removeUser('first');
    const user = { secret: 'logging/shared', resyncMs: 5 * minuteMs };
    addUser('a', () => heard.a++, user);
    addUser('b', () => heard.b++, user);
    const matches = ({ id }: { readonly id: string }) => id === '1';
    listing.rows.members.enter('a', { anchor: undefined, matches, onChange: () => {} });
    await swept(0);
    for (const id of ['a', 'b']) listing.setNeeds(id, { share: 10, isIdle: true });
    return Object.assign(parts, { heard: Object.assign(heard, { a: 0, b: 0 }) });
  }

  test('is not notified of sweeps without changes; one user of each Secret checks the Secret', async () => {
    const { clock, service, heard } = await resting();
    service.lists.length = 0;
    await clock.advance(60 * minuteMs);
    const sweeps = service.lists.filter((call) => call.includes(' 0+')).length;
    expect([sweeps, service.lists.filter((call) => call === 'builds').length]).toEqual([12, 12]);
    expect(heard).toEqual({ a: 12, b: 0 });
  });

  test('is notified of a row that concerns it', async () => {
    const { service, heard, swept } = await resting();
    service.collectors = service.collectors.map((one) => ({ ...one, alive: false }));
    await swept();
    expect(heard).toEqual({ a: 1, b: 0 });
  });

  test('is notified of other builds', async () => {
    const { service, heard, listing, clock } = await resting();
    service.builds = [...service.builds, '19.300-1'];
    listing.requestBuilds(clock.monotonic());
    await clock.advance(1_000);
    expect(heard).toEqual({ a: 1, b: 1 });
  });

  test('is notified of the beginning and the end of a problem', async () => {
    const { service, heard, listing, clock, swept } = await resting();
    service.failures.push(serviceError());
    listing.requestSweep(clock.monotonic());
    await clock.advance(11);
    expect([heard, listing.problem() !== undefined]).toEqual([{ a: 1, b: 1 }, true]);
    await swept();
    expect([heard, listing.problem()]).toEqual([{ a: 2, b: 2 }, undefined]);
  });

  test('is notified of every sweep when it is no longer idle', async () => {
    const { heard, addUser, swept } = await resting();
    addUser('b', () => heard.b++);
    await swept();
    expect(heard).toEqual({ a: 0, b: 1 });
  });

  test('is notified once that its Secret may belong to another account, and again after the next scheduled sweep', async () => {
    const { clock, heard, listing } = await resting();
    for (let round = 0; round < 3; round++) listing.recheckSecret('logging/shared');
    listing.recheckSecret('logging/other');
    expect(heard).toEqual({ a: 1, b: 1 });
    await clock.advance(5 * minuteMs);
    expect(heard).toEqual({ a: 2, b: 1 });
    listing.recheckSecret('logging/shared');
    expect(heard).toEqual({ a: 3, b: 2 });
  });
});

describe('U9: the next sweep', () => {
  test('follows the shortest interval of all users', async () => {
    const { clock, listing, swept, addUser } = world(3, middle);
    await swept(0);
    addUser('often', () => {}, { resyncMs: 60_000 });
    await clock.advance(54_000);
    expect(listing.completeSinceMs()).toBe(10);
    await clock.advance(2_000);
    expect(listing.completeSinceMs()).toBeGreaterThanOrEqual(60_000);
    listing.removeUser('often');
    const sinceMs = listing.completeSinceMs();
    await clock.advance(60 * 60_000);
    expect(listing.completeSinceMs()).toBe(sinceMs);
  });

  test.each([
    [10, 30_000],
    [50, 150_000],
  ])('follows after at least %i times its duration', async (share, minMs) => {
    const { clock, service, listing, swept, addUser } = world(3, middle);
    service.latencyMs = 1_000;
    addUser('often', () => {}, { resyncMs: 10_000 });
    listing.setNeeds('often', { share, isIdle: true });
    await swept(0);
    const sinceMs = listing.completeSinceMs() as number;
    await clock.advance(minMs - 5_000);
    expect(listing.completeSinceMs()).toBe(sinceMs);
    await clock.advance(20_000);
    expect(listing.completeSinceMs()).toBeGreaterThanOrEqual(sinceMs + minMs);
  });

  test('does not delay the reads of the builds', async () => {
    const { clock, service, listing, swept, addUser } = world(3, middle);
    service.latencyMs = 1_000;
    addUser('often', () => {}, { resyncMs: 10_000 });
    listing.setNeeds('often', { share: 50, isIdle: true });
    await swept(0);
    service.lists.length = 0;
    await clock.advance(60_000);
    expect(service.lists).toEqual(['builds', 'builds', 'builds', 'builds', 'builds', 'builds']);
  });
});
