/** Tests that failed requests for a ledger are repeated with increasing delays, and that the status reports them. */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import type { RequestInfo } from '../../support/memory-api-server.ts';
import { middle, staged, target } from './staged-world.ts';

test('failed writes to a ledger are repeated with increasing delays', async () => {
  const { world, tasks } = staged({ count: 40, stages: [] });
  let writes = 0;
  world.api.onRequest = ({ collection, method }) => {
    if (!collection.endsWith('/ledgers') || method === 'GET') return undefined;
    writes++;
    return { kind: 'status', status: 500, when: 'before' };
  };
  world.start();
  await world.clock.advance(minuteMs);
  expect(tasks()).toEqual([]);
  expect(writes).toBeLessThan(40);
});

describe.each([
  ['read', (method: string) => method === 'GET'],
  ['written', (method: string) => method !== 'GET'],
])('a ledger that cannot be %s', (_, fails) => {
  const fault = (status: number) => (request: RequestInfo) =>
    request.collection.endsWith('/ledgers') && fails(request.method)
      ? ({ kind: 'status', status, when: 'before' } as const)
      : undefined;

  test.each([
    [403, 'Stalled'],
    [500, 'Outage'],
  ] as const)('H2: after a response with status %d, the policy has the condition %s', async (code, type) => {
    const { world, status, tasks, untilReason } = staged({ count: 10, stages: [] });
    world.api.onRequest = fault(code);
    world.start();
    await world.clock.advance(20 * minuteMs);
    expect(findCondition(status()?.conditions, type)?.reason).toBe('LedgerInaccessible');
    expect(tasks()).toEqual([]);
    world.api.onRequest = () => undefined;
    expect(await untilReason('AllUpdated', hourMs)).toBe(true);
  });

  test('H2: a restart of the operator does not change the start time of the outage', async () => {
    const { world, status, tasks } = staged({ count: 10, stages: [] });
    const restart = async () => {
      world.replicas[0]?.kill();
      world.start();
      await world.clock.advance(20 * minuteMs);
    };
    world.start();
    expect(await world.until(() => tasks().length > 0, minuteMs)).toBe(true);
    world.api.onRequest = fault(500);
    await restart();
    const since = status()?.outageStartTime;
    expect(since).toBeDefined();
    await restart();
    expect(status()?.outageStartTime).toBe(since);
  });
});

test('U13: other policies do not wait for a policy whose ledger cannot be written', async () => {
  const { world, tasks } = staged({ count: 10, stages: [] });
  world.api.onRequest = ({ collection, method, body }) =>
    collection.endsWith('/ledgers') && method === 'POST' && JSON.stringify(body).includes('"second-')
      ? { kind: 'status', status: 500, when: 'before' }
      : undefined;
  // The operator stores the age of builds in the second policy's ledger before the policy claims collectors.
  world.addPolicy('second', { target: { channel: 'Latest', minAge: '2h' } });
  world.start();
  expect(await world.until(() => tasks().length > 0, 10 * minuteMs)).toBe(true);
  expect(world.ready('second')?.reason).toBe('LedgerInaccessible');
});

test('U13: when several ledgers can be read again, no policy upgrades before all have claimed their collectors', async () => {
  const { world, untilReason, snapshot } = staged({ count: 10, stages: [], spec: { target: { version: middle } } });
  world.start();
  expect(await untilReason('AllUpdated')).toBe(true);
  // The operator drops its list of all ledgers after ten minutes, and then reads each ledger by name.
  await world.clock.advance(15 * minuteMs);
  const endMs = world.clock.monotonic() + 5 * minuteMs;
  let isOver = false;
  world.api.onRequest = ({ collection, method, name = '' }) => {
    if (!collection.endsWith('/ledgers') || method !== 'GET') return undefined;
    // After `endMs`, reads succeed again as soon as the ledger of the policy `all` is read.
    isOver ||= world.clock.monotonic() > endMs && name.startsWith('all-');
    const fails = !isOver && /^(all|first)-/.test(name);
    return fails ? { kind: 'status', status: 500, when: 'before' } : undefined;
  };
  world.addPolicy('all', { target: { version: target }, selector: {}, priority: 1 });
  world.addPolicy('first', { target: { version: middle }, selector: { matchNames: ['web-*1'] }, priority: 2 });
  expect(await world.until(() => world.ready('first')?.reason === 'LedgerInaccessible', minuteMs)).toBe(true);
  expect(await world.until(() => world.ready('all')?.reason === 'AllUpdated', hourMs)).toBe(true);
  const versions = snapshot().collectors.map(({ name, version }) => `${name.endsWith('1')} ${version}`);
  expect(new Set(versions)).toEqual(new Set([`true ${middle}`, `false ${target}`]));
});

test('the status does not report a single failed write to a ledger', async () => {
  const { world, untilReason } = staged({ count: 10, stages: [] });
  let writes = 0;
  world.api.onRequest = ({ collection, method }) =>
    collection.endsWith('/ledgers') && method !== 'GET' && ++writes === 1
      ? { kind: 'status', status: 500, when: 'before' }
      : undefined;
  const events: string[] = [];
  world.start({ onEvent: (_, { reason }) => events.push(reason) });
  expect(await untilReason('AllUpdated', hourMs)).toBe(true);
  expect(events).not.toContain('LedgerInaccessible');
});

test.each(['before', 'after'] as const)(
  'a failed write while upgrade requests are unanswered (fault %s the write) does not change the conditions (H1)',
  async (when) => {
    const faults = { slow: { kind: 'delay', delay: '4s', operations: ['createTask'] } } as const;
    const { world, untilReason } = staged({ count: 60, stages: [], scenario: { faults } });
    let writes = 0;
    world.api.onRequest = ({ collection, method }) =>
      collection.endsWith('/ledgers') && method !== 'GET' && ++writes === 8
        ? { kind: 'status', status: 500, when }
        : undefined;
    const events: string[] = [];
    world.start({ onEvent: (_, { reason }) => events.push(reason) });
    expect(await untilReason('AllUpdated', hourMs)).toBe(true);
    await world.clock.advance(1_000);
    expect(events).toEqual(['RolloutStarted', 'RollingOut', 'AllUpdated']);
  },
);
