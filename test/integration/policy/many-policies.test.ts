/** Tests that the cost of policies grows only linearly with their number (U9). */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { minuteMs } from '../../../src/base/time-units.ts';
import { MemberIndex } from '../../../src/fleet/member-index.ts';
import { PolicyMemberIndex } from '../../../src/policy/members/policy-member-index.ts';
import { PolicyReconciler } from '../../../src/policy/policy-reconciler.ts';
import { World } from '../../support/world.ts';

const version = '19.100-1';
const scenario = (count: number) => ({
  builds: [version, '19.150-1', '19.200-1'],
  groups: { web: { count, name: 'web-###', version } },
});

const { reconcile } = PolicyReconciler.prototype;
const { place } = PolicyMemberIndex.prototype;
const { enter } = MemberIndex.prototype;

function world(count: number) {
  const made = new World({ scenario: scenario(count) });
  made.addSecret();
  for (const name of names(made)) {
    made.addPolicy(name, { target: { version }, selector: { matchFields: { name } } });
  }
  const cost = { reconciles: 0, looks: 0, comparisons: 0 };
  vi.spyOn(PolicyReconciler.prototype, 'reconcile').mockImplementation(function (this: PolicyReconciler, key) {
    cost.reconciles++;
    return reconcile.call(this, key);
  });
  vi.spyOn(PolicyMemberIndex.prototype, 'place').mockImplementation(function (this: PolicyMemberIndex, id, membership) {
    cost.looks++;
    place.call(this, id, membership);
  });
  vi.spyOn(MemberIndex.prototype, 'enter').mockImplementation(function (this: MemberIndex, policy, selection) {
    const matches: typeof selection.matches = (one) => {
      cost.comparisons++;
      return selection.matches(one);
    };
    enter.call(this, policy, { ...selection, matches });
  });
  return { world: made, cost };
}

function names(world: World): readonly string[] {
  return world.snapshot().collectors.map(({ name }) => name);
}

function isReady(world: World): () => boolean {
  const awaited = [...names(world)];
  return () => {
    while (world.ready(awaited.at(-1) ?? '')?.status === 'True') awaited.pop();
    return awaited.length === 0;
  };
}

afterEach(() => vi.restoreAllMocks());

describe.each([50, 200])('%i policies of one collector each', (count) => {
  test('write their first status after a few reconciles and comparisons each, even after a restart', async () => {
    const { world: made, cost } = world(count);
    for (let start = 0; start < 2; start++) {
      const replica = made.start();
      expect(await made.until(isReady(made), 5 * minuteMs)).toBe(true);
      await made.clock.advance(2 * minuteMs);
      // Each policy is reconciled at most twice: once before and once after the operator has read the
      // collector list.
      expect(cost.reconciles).toBeLessThanOrEqual(2 * count);
      expect(cost.looks + cost.comparisons).toBeLessThanOrEqual(6 * count);
      replica.kill();
      Object.assign(cost, { reconciles: 0, looks: 0, comparisons: 0 });
    }
  });

  test('cost two status writes, one Event and no ledger each, and nothing after a restart', async () => {
    const { world: made } = world(count);
    const writes = () => {
      const requests = made.api.requests.filter(({ method }) => method === 'POST' || method === 'PUT');
      return Object.fromEntries(
        ['/ledgers', '/events', '/status'].map((end) => [
          end,
          requests.filter(({ path }) => path.endsWith(end)).length,
        ]),
      );
    };
    const replica = made.start();
    expect(await made.until(isReady(made), 5 * minuteMs)).toBe(true);
    await made.clock.advance(10 * minuteMs);
    expect(writes()).toEqual({ '/ledgers': 0, '/events': count, '/status': 2 * count });
    replica.kill();
    made.api.requests.length = 0;
    made.start();
    await made.clock.advance(10 * minuteMs);
    expect(writes()).toEqual({ '/ledgers': 0, '/events': 0, '/status': 0 });
  });

  test('cost no more than one policy does while they are idle', async () => {
    const { world: made, cost } = world(count);
    made.start();
    expect(await made.until(isReady(made), 5 * minuteMs)).toBe(true);
    await made.clock.advance(6 * minuteMs);
    Object.assign(cost, { reconciles: 0, looks: 0, comparisons: 0 });
    await made.clock.advance(60 * minuteMs);
    expect(cost).toEqual({ reconciles: 12, looks: 0, comparisons: 0 });
  });

  test('wake the policy whose collector changed, and no others', async () => {
    const { world: made, cost } = world(count);
    made.start();
    expect(await made.until(isReady(made), 5 * minuteMs)).toBe(true);
    await made.clock.advance(6 * minuteMs);
    Object.assign(cost, { reconciles: 0, looks: 0, comparisons: 0 });
    const [first = ''] = names(made);
    made.model.patch({ collectors: { [first]: { version: '19.200-1' } } }, made.service.nowMs());
    await made.clock.advance(10 * minuteMs);
    expect(made.policy(first)?.status?.collectors?.newer).toBe(1);
    expect(cost.looks).toBeLessThanOrEqual(10);
    expect(cost.reconciles).toBeLessThanOrEqual(10);
  });
});
