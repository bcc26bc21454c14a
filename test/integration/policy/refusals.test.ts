/**
 * Tests requests that the service refuses with 401 or 403, and upgrade requests that the service rejects without a
 * code (U11).
 */
import { describe, expect, test } from 'vitest';
import { findCondition } from '../../../src/api/conditions.ts';
import type { CollectorVersionPolicyStatus } from '../../../src/api/generated/collector-version-policy.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { recordReports } from '../../support/reports.ts';
import { secretsPath } from '../../support/world.ts';
import { canary, rest, staged, target } from './staged-world.ts';

const reasons = { 401: 'Unauthorized', 403: 'Forbidden' } as const;
type RefusalStatus = keyof typeof reasons;

/**
 * Starts an operator. One minute later, the service starts to refuse requests for `operation`, or all requests if
 * `operation` is undefined.
 */
function refusing(status: RefusalStatus, operation?: string, until?: string) {
  const operations = operation === undefined ? {} : { operations: [operation] };
  const end = until === undefined ? {} : { until };
  const fault = { kind: 'status', status, from: '1m', ...operations, ...end };
  const fleet = staged({
    stages: [],
    spec: { strategy: { maxInProgress: 5, order: 'Name' } },
    scenario: { upgrade: { duration: operation === 'getTask' ? '33m' : '3m' }, faults: { refusal: fault as never } },
  });
  fleet.world.start();
  const reported = recordReports<CollectorVersionPolicyStatus>(fleet.world.api, 'production');
  const refused = () => fleet.world.journal.filter((entry) => entry.status === status).length;
  const messages = () =>
    new Set(reported.statuses.map(({ conditions }) => findCondition(conditions, 'Stalled')?.message));
  return { ...fleet, reported, refused, messages };
}

const operations = [undefined, 'createTask', 'getTask', 'listCollectors', 'listBuilds'];
const cases = ([401, 403] as const).flatMap((status) => operations.map((operation) => [status, operation] as const));

describe('U11: requests that the service refuses', () => {
  test.each(cases)('with %d for an hour: %s', async (status, operation) => {
    const { world, reported, refused, messages, untilReason } = refusing(status, operation);
    expect(await untilReason(reasons[status])).toBe(true);
    const [before, verdicts] = [refused(), reported.verdicts().length];
    reported.statuses.length = 0;
    // For `getTask`, the test waits for only half an hour. After that, the operator knows the usual duration of an
    // upgrade, and reads no more task statuses.
    await world.clock.advance(operation === 'getTask' ? hourMs / 2 : hourMs);
    // For each kind of request, the operator checks whether the service still refuses it: after 30 s, and then every
    // ten minutes. If the response is 401, the client sends the request twice.
    const kinds = operation === undefined ? 3 : 1;
    expect(refused() - before).toBeLessThanOrEqual(kinds * (status === 401 ? 14 : 7));
    expect(messages().size).toBeLessThanOrEqual(1);
    // In the status, only the number of running upgrades may change. It changes when an upgrade ends, or when a retry
    // starts an upgrade.
    expect(reported.statuses.length).toBeLessThanOrEqual(
      operation === 'createTask' || operation === 'getTask' ? 20 : 1,
    );
    expect(reported.verdicts().length).toBeLessThanOrEqual(1);
    expect(verdicts).toBeLessThanOrEqual(3);
    expect(world.ready('production')?.reason).toBe(reasons[status]);
  });

  test.each(cases)('with %d for eleven minutes are repeated after ten more minutes: %s', async (status, operation) => {
    const { world, untilReason } = refusing(status, operation, '12m');
    expect(await untilReason(reasons[status])).toBe(true);
    expect(await world.until(() => world.ready('production')?.reason === 'RollingOut', 21 * minuteMs)).toBe(true);
  });

  test.each(cases)('with %d once are repeated after half a minute: %s', async (status, operation) => {
    const { world, untilReason } = refusing(status, operation, '65s');
    if (!(await untilReason(reasons[status], 5 * minuteMs))) return;
    expect(await world.until(() => world.ready('production')?.reason !== reasons[status], 32_000)).toBe(true);
  });

  test.each(cases)('with %d are repeated immediately after a change to the Secret: %s', async (status, operation) => {
    const { world, refused, untilReason } = refusing(status, operation);
    expect(await untilReason(reasons[status])).toBe(true);
    await world.clock.advance(5 * minuteMs);
    const before = refused();
    world.api.patch(`${secretsPath}/log-service`, { data: { requestsPerSecond: Buffer.from('3').toString('base64') } });
    await world.clock.advance(20_000);
    expect(refused()).toBeGreaterThan(before);
  });

  test.each(cases)('with %d are repeated immediately when a user asks: %s', async (status, operation) => {
    const { world, status: shown, refused, annotate, untilReason } = refusing(status, operation);
    expect(await untilReason(reasons[status])).toBe(true);
    await world.clock.advance(5 * minuteMs);
    const before = refused();
    annotate('logfleet.dev/requestedAt', 'now');
    await world.clock.advance(5_000);
    const asked = refused();
    expect(asked).toBeGreaterThan(before);
    annotate('logfleet.dev/retry', `${shown()?.rollout?.id}/now`);
    await world.clock.advance(5_000);
    expect(refused()).toBeGreaterThan(asked);
  });
});

test('U11: collectors that the service rejects without a code do not block the rollout', async () => {
  const collectors = ['web-0002', 'web-0030'];
  const fleet = staged({
    stages: [],
    spec: { strategy: { maxInProgress: 5, order: 'Name' } },
    scenario: {
      errors: { shape: 'empty' },
      faults: { rejection: { kind: 'status', status: 400, operations: ['createTask'], collectors } },
    },
  });
  fleet.world.start();
  expect(await fleet.untilReason('CollectorsRefused')).toBe(true);
  expect(fleet.at(target)).toBe(28);
  const reasons = fleet.status()?.skippedReasons;
  expect(reasons).toMatchObject([{ count: 2, examples: collectors }]);
});

test('U11: the status names a collector whose upgrade requests a proxy always rejects', async () => {
  const collectors = ['web-0002'];
  const fleet = staged({
    stages: [],
    spec: { strategy: { maxInProgress: 5, order: 'Name' } },
    scenario: {
      faults: { rejection: { kind: 'status', status: 400, body: 'html', operations: ['createTask'], collectors } },
    },
  });
  fleet.world.start();
  expect(await fleet.untilReason('RequestRefused')).toBe(true);
  expect(fleet.at(target)).toBe(29);
  expect(fleet.status()?.failureReasons).toMatchObject([{ count: 1, examples: collectors }]);
});

test.each([
  ['before the rollout', '0s', 0],
  ['during the rollout', '3m', 5],
])(
  'U11: an outage in which a proxy rejects all upgrade requests, %s, only delays the rollout',
  async (_, from, done) => {
    const outage = {
      kind: 'status',
      status: 400,
      body: 'html',
      operations: ['createTask'],
      from,
      until: '5h',
    } as const;
    const fleet = staged({
      spec: { strategy: { maxInProgress: 5, order: 'Name', stages: [canary, rest] } },
      scenario: { faults: { outage } },
    });
    fleet.world.start();
    await fleet.world.clock.advance(5 * hourMs - minuteMs);
    expect(fleet.at(target)).toBeGreaterThanOrEqual(done);
    expect(fleet.at(target)).toBeLessThan(30);
    expect(fleet.status()).toMatchObject({ skippedReasons: [] });
    expect(fleet.world.ready('production')?.reason).toBe('RequestRefused');
    expect(await fleet.untilReason('AllUpdated')).toBe(true);
    expect(fleet.at(target)).toBe(30);
  },
);
