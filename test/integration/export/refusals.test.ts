/**
 * Tests an export whose requests the service refuses with 401 or 403. The operator rarely repeats the requests, and
 * reports the refusal once (C1).
 */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import type { SearchExportStatus } from '../../../src/api/generated/search-export.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { recordReports } from '../../support/reports.ts';
import { secretsPath } from '../../support/world.ts';
import { ExportWorld, evenly, startMs } from './export-world.ts';

const reasons = { 401: 'Unauthorized', 403: 'Forbidden' } as const;
type ExportRefusalStatus = keyof typeof reasons;

/**
 * Starts an operator with one export. After 20 seconds, the service starts to refuse the given operation, or all
 * operations if `operation` is undefined.
 */
function refusing(status: ExportRefusalStatus, operation?: string, until?: string) {
  const operations = operation === undefined ? {} : { operations: [operation] };
  const end = until === undefined ? {} : { until };
  const fault = { kind: 'status', status, from: '20s', ...operations, ...end };
  const world = new ExportWorld({
    messages: evenly(3_000),
    scenario: { search: { messageLimit: 100, duration: '10s' }, faults: { refusal: fault as never } },
  });
  world.add();
  world.start();
  const reported = recordReports<SearchExportStatus>(world.world.api, 'audit');
  const refused = () => world.world.journal.filter((entry) => entry.status === status).length;
  const messages = () =>
    new Set(reported.statuses.map(({ conditions }) => findCondition(conditions, 'Stalled')?.message));
  return { world, reported, refused, messages };
}

const operations = [undefined, 'createJob', 'getJob', 'listMessages'];
const cases = ([401, 403] as const).flatMap((status) => operations.map((operation) => [status, operation] as const));

describe('C1: requests that the service refuses', () => {
  test.each(cases)('with %d for an hour: %s', async (status, operation) => {
    const { world, reported, refused, messages } = refusing(status, operation);
    expect(await world.untilReason(reasons[status])).toBe(true);
    await world.world.clock.advance(2 * minuteMs);
    const before = refused();
    reported.statuses.length = 0;
    await world.world.clock.advance(hourMs);
    // The operator checks six times per hour whether the service still refuses the requests. After a 401, the client
    // repeats each read request once. If a check creates a search job, the status changes twice: when the job starts,
    // and when it ends.
    expect(refused() - before).toBeLessThanOrEqual(status === 401 ? 12 : 6);
    const isCreated = operation === 'getJob' || operation === 'listMessages';
    expect(reported.statuses.length).toBeLessThanOrEqual(isCreated ? 14 : 0);
    expect(messages().size).toBeLessThanOrEqual(1);
    expect(reported.verdicts().length).toBeLessThanOrEqual(1);
    expect(world.reason).toBe(reasons[status]);
  });

  test.each(cases)('with %d for eleven minutes are repeated after ten more minutes: %s', async (status, operation) => {
    const { world } = refusing(status, operation, '12m');
    expect(await world.untilReason(reasons[status])).toBe(true);
    expect(await world.untilReason('Exported')).toBe(true);
  });

  test.each(cases)('with %d are repeated immediately after a change to the Secret: %s', async (status, operation) => {
    const { world, refused } = refusing(status, operation);
    expect(await world.untilReason(reasons[status])).toBe(true);
    await world.world.clock.advance(5 * minuteMs);
    const before = refused();
    const change = { data: { requestsPerSecond: Buffer.from('3').toString('base64') } };
    world.world.api.patch(`${secretsPath}/log-service`, change);
    await world.world.clock.advance(20_000);
    expect(refused()).toBeGreaterThan(before);
  });

  test.each(cases)('with %d are repeated immediately when a user asks: %s', async (status, operation) => {
    const { world, refused } = refusing(status, operation);
    expect(await world.untilReason(reasons[status])).toBe(true);
    await world.world.clock.advance(5 * minuteMs);
    const before = refused();
    world.annotate('logfleet.dev/requestedAt', 'now');
    await world.world.clock.advance(15_000);
    expect(refused()).toBeGreaterThan(before);
  });
});

test.each([300, 4_000])(
  'a new export is checked again if its first status is written until the delay has ended (%d ms)',
  async (delayMs) => {
    const refusal = { kind: 'status', status: 401, from: '0s', until: '20s' };
    const world = new ExportWorld({ messages: evenly(300), scenario: { faults: { refusal: refusal as never } } });
    world.add();
    world.start();
    expect(await world.untilReason('Unauthorized')).toBe(true);
    await world.world.clock.advance(30_000 - delayMs / 2 - 30);
    world.world.api.onRequest = ({ method, name }) =>
      method === 'PUT' && name === 'late' ? { kind: 'delay', delayMs } : undefined;
    const timeRange = { from: String(startMs - 2 * hourMs), to: String(startMs - hourMs) };
    world.world.addExport('late', { timeRange });
    await world.world.clock.advance(6_000);
    world.world.api.onRequest = () => undefined;
    await world.world.clock.advance(10 * minuteMs);
    expect(findCondition(world.world.export('late')?.status?.conditions, 'Ready')?.reason).toBe('Exported');
  },
);

describe('C1: thirty exports whose access key the service rejects', () => {
  test.each([
    ['created immediately', 0],
    ['created at intervals of a minute', minuteMs],
  ])('check the key together, and continue together: %s', async (_, apartMs) => {
    const rejected = { kind: 'status', status: 401, from: '0s', until: '105m' };
    const world = new ExportWorld({ scenario: { faults: { rejected: rejected as never } } });
    const { world: operator } = world;
    world.start();
    const names = Array.from({ length: 30 }, (_each, index) => `audit-${index}`);
    const timeRange = { from: String(startMs - 2 * hourMs), to: String(startMs - hourMs) };
    for (const name of names) {
      operator.addExport(name, { timeRange });
      await operator.clock.advance(apartMs);
    }
    const refused = () => operator.journal.filter(({ status }) => status === 401).length;
    await operator.clock.advance(minuteMs);
    // The service rejects the requests that are in flight at the first 401 response, and 30 s later a request that
    // checks the key. The client sends each of these requests twice. Further checks follow every ten minutes.
    expect(refused()).toBeLessThanOrEqual(apartMs === 0 ? 8 : 10);
    const before = refused();
    await operator.clock.advance(hourMs);
    expect(refused() - before).toBeLessThanOrEqual(12);
    await operator.clock.advance(hourMs);
    const ready = names.map((name) => findCondition(operator.export(name)?.status?.conditions, 'Ready')?.reason);
    expect(new Set(ready)).toEqual(new Set(['Exported']));
  });
});
