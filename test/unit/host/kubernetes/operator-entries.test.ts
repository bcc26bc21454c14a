/** Tests that two operators of the same resources notice each other, and that only one of them acts (L2). */
import { expect, test } from 'vitest';
import { findCondition } from '../../../../src/api/conditions.ts';
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import { noMetrics } from '../../../../src/base/metrics.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import { resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { KubernetesHost } from '../../../../src/host/kubernetes/kubernetes-host.ts';
import { askAgainMs, responseMs } from '../../../../src/host/kubernetes/operator-entries.ts';
import { createPolicy, createWorld, type KubernetesWorld, policies, surroundings } from './world.ts';

class InstalledOperator {
  readonly host: KubernetesHost;
  /** Names of policies whose first status the operator has tried to write. */
  readonly acted: string[] = [];
  /** If true, the operator waits for half a second before each status write. */
  isSlow = false;
  readonly gauges = new Map<string, number>();
  readonly #source;

  constructor(world: KubernetesWorld, namespace: string, namespaces: 'all' | readonly string[] = 'all') {
    const gauge = (name: string) => ({
      set: (_labels: object, value: number) => void this.gauges.set(name, value),
      remove() {},
    });
    this.host = new KubernetesHost({
      ...surroundings(world),
      random: seededRandom(namespace.length),
      metrics: { ...noMetrics, gauge } as typeof noMetrics,
      api: world.server.client(namespace),
      namespaces,
      operatorNamespace: namespace,
      identity: `${namespace}-0`,
      leaderElection: false,
    });
    this.#source = this.host.resources(policies);
    this.#source.subscribe((key) => {
      const policy = this.#source.get(key);
      if (!policy || policy.status?.targetVersion) return;
      const act = () => {
        this.acted.push(policy.metadata.name);
        void this.write(policy, '1').catch(() => {});
      };
      world.clock.after(this.isSlow ? 500 : 0, act);
    });
    this.host.start();
  }

  /** Whether the operator acts on the policy. */
  sees(name = 'production', namespace = 'logging'): boolean {
    return this.#source.get({ namespace, name }) !== undefined;
  }

  write(policy: CollectorVersionPolicy, targetVersion: string): Promise<CollectorVersionPolicy> {
    return this.host.writeStatus(policies, { ...policy, status: { ...policy.status, targetVersion } });
  }
}

function stored(world: KubernetesWorld, name = 'production') {
  const policy = world.server.get(resourcePath(policies, 'logging', name));
  return (policy as unknown as CollectorVersionPolicy).status;
}

async function twoInstallations(): Promise<{
  world: KubernetesWorld;
  first: InstalledOperator;
  second: InstalledOperator;
}> {
  const world = createWorld();
  createPolicy(world, 'production');
  const first = new InstalledOperator(world, 'zz-first');
  await world.clock.advance(2_000);
  const second = new InstalledOperator(world, 'aa-second');
  await world.clock.advance(3_000);
  return { world, first, second };
}

test('the operator that came first acts, the other one waits, and both report the conflict', async () => {
  const { world, first, second } = await twoInstallations();
  expect([first.sees(), second.sees()]).toEqual([true, false]);
  expect(findCondition(stored(world)?.conditions, 'OtherOperator')).toMatchObject({
    status: 'True',
    reason: 'OtherOperator',
    message:
      'The operators in the namespaces zz-first and aa-second manage this resource. ' +
      'The operator in zz-first acts on this resource, because this operator has the earliest status.operators[].since; the operator in aa-second waits. ' +
      'Keep only one of the operators, or give them different --namespaces.',
  });
  expect(stored(world)?.operators?.map(({ name }) => name)).toEqual(['zz-first', 'aa-second']);
  for (const { gauges } of [first, second]) expect(gauges.get('logfleet_other_operators')).toBe(1);
});

test('the conflict of three operators names all of them', async () => {
  const { world } = await twoInstallations();
  new InstalledOperator(world, 'mm-third');
  await world.clock.advance(5_000);
  expect(findCondition(stored(world)?.conditions, 'OtherOperator')?.message).toBe(
    'The operators in the namespaces zz-first, aa-second and mm-third manage this resource. ' +
      'The operator in zz-first acts on this resource, because this operator has the earliest status.operators[].since; the operators in aa-second and mm-third wait. ' +
      'Keep only one of the operators, or give them different --namespaces.',
  );
});

test('the operator that came first also acts on new resources, even if it notices them later', async () => {
  const { world, first, second } = await twoInstallations();
  first.isSlow = true;
  for (const name of ['canary', 'staging']) {
    createPolicy(world, name);
    await world.clock.advance(5_000);
    expect(stored(world, name)?.operators?.map((entry) => entry.name)).toEqual(['zz-first', 'aa-second']);
  }
  expect(first.acted).toEqual(['production', 'canary', 'staging']);
  expect(second.acted).toEqual([]);
});

test('one of two operators acts on all resources, if each of them was the first to see some', async () => {
  const world = createWorld();
  const entry = (name: string, second: number) => {
    const time = `2026-01-01T00:00:0${second}.000Z`;
    return { name, since: time, seen: time };
  };
  const before = {
    production: [entry('zz', 1), entry('aa', 2)],
    staging: [entry('aa', 3), entry('zz', 4)],
    canary: [entry('aa', 5)],
  };
  for (const [name, operators] of Object.entries(before)) {
    createPolicy(world, name);
    world.server.patch(`${resourcePath(policies, 'logging', name)}/status`, { status: { operators } });
  }
  const [zz, aa] = [new InstalledOperator(world, 'zz'), new InstalledOperator(world, 'aa')];
  await world.clock.advance(10_000);
  for (const name of Object.keys(before)) {
    expect(stored(world, name)?.operators?.map((each) => each.name)).toEqual(['zz', 'aa']);
    expect([zz.sees(name), aa.sees(name)]).toEqual([true, false]);
  }
});

test('reconcilers get neither the entries nor the condition', async () => {
  const { first } = await twoInstallations();
  const [policy] = [...first.host.resources(policies).list()];
  expect(policy?.status).toEqual({ targetVersion: '1' });
});

test('a waiting operator acts if the other operator does not answer its question, even on a new resource', async () => {
  const { world, first, second } = await twoInstallations();
  await first.host.stop();
  createPolicy(world, 'canary');
  await world.clock.advance(askAgainMs + responseMs + 20_000);
  expect(second.sees()).toBe(true);
  expect(second.acted).toEqual(['canary']);
  expect(stored(world)?.operators?.map(({ name }) => name)).toEqual(['aa-second']);
  expect(findCondition(stored(world)?.conditions, 'OtherOperator')).toBeUndefined();
});

test('when another operator is gone from several namespaces, each resource is announced once', async () => {
  const world = createWorld();
  const namespaces = ['aa', 'bb', 'cc'];
  for (const namespace of namespaces) createPolicy(world, 'production', namespace);
  const first = new InstalledOperator(world, 'zz-first');
  await world.clock.advance(2_000);
  const second = new InstalledOperator(world, 'aa-second');
  await world.clock.advance(3_000);
  await first.host.stop();
  const announced: string[] = [];
  second.host.resources(policies).subscribe(({ namespace }) => announced.push(namespace));
  await world.clock.advance(askAgainMs + responseMs + 20_000);
  expect(namespaces.map((namespace) => second.sees('production', namespace))).toEqual([true, true, true]);
  expect(announced.sort()).toEqual(namespaces);
});

test('an operator that replaces another one waits for a minute, and then acts', async () => {
  const world = createWorld();
  createPolicy(world, 'production');
  const former = new InstalledOperator(world, 'former');
  await world.clock.advance(2_000);
  await former.host.stop();
  const next = new InstalledOperator(world, 'next');
  await world.clock.advance(responseMs - 5_000);
  expect(next.sees()).toBe(false);
  await world.clock.advance(20_000);
  expect(next.sees()).toBe(true);
});

test('an operator that restarts asks again whether the other operator still runs', async () => {
  const { world, first, second } = await twoInstallations();
  await first.host.stop();
  await second.host.stop();
  const restarted = new InstalledOperator(world, 'aa-second');
  await world.clock.advance(responseMs - 5_000);
  expect(restarted.sees()).toBe(false);
  await world.clock.advance(20_000);
  expect(restarted.sees()).toBe(true);
});

test('the condition is removed when the second operator has been uninstalled', async () => {
  const { world, first, second } = await twoInstallations();
  await second.host.stop();
  await world.clock.advance(askAgainMs + 2 * responseMs + 20_000);
  expect(first.sees()).toBe(true);
  expect(findCondition(stored(world)?.conditions, 'OtherOperator')).toBeUndefined();
});

test('two running operators write one question and one response in ten minutes', async () => {
  const { world, first, second } = await twoInstallations();
  await world.clock.advance(60_000);
  const writes = () =>
    world.server.requests.filter(({ method, path: at }) => method === 'PUT' && at.includes('/status')).length;
  const before = writes();
  await world.clock.advance(6 * askAgainMs);
  // In an hour, an operator asks at most seven times whether the other operator is running. Each question and each
  // response is a status write, so there are at most 14 writes.
  expect(writes() - before).toBeLessThanOrEqual(14);
  expect([first.sees(), second.sees()]).toEqual([true, false]);
});

test('a single operator writes no additional status', async () => {
  const world = createWorld();
  createPolicy(world, 'production');
  const only = new InstalledOperator(world, 'only');
  await world.clock.advance(3_600_000);
  const writes = world.server.requests.filter(({ method, path: at }) => method === 'PUT' && at.includes('/status'));
  expect(writes).toHaveLength(1);
  expect(only.sees()).toBe(true);
});

test.each([
  ['aa', 'bb'],
  ['bb', 'aa'],
])(
  'an operator that leaves the namespace %s but still shares %s gives its resources to the other one',
  async (left, kept) => {
    const world = createWorld();
    createPolicy(world, 'old', left);
    createPolicy(world, 'shared', kept);
    const first = new InstalledOperator(world, 'zz-first', ['aa', 'bb']);
    await world.clock.advance(2_000);
    const second = new InstalledOperator(world, 'aa-second');
    await world.clock.advance(3_000);
    await first.host.stop();
    const again = new InstalledOperator(world, 'zz-first', [kept]);
    await world.clock.advance(60_000);
    createPolicy(world, 'new', left);
    await world.clock.advance(askAgainMs + 2 * responseMs + 20_000);
    expect([second.sees('old', left), second.sees('new', left)]).toEqual([true, true]);
    expect([again.sees('shared', kept), second.sees('shared', kept)]).toEqual([true, false]);
  },
);

test('an operator that was cut off leaves the resources to the operator that replaced it', async () => {
  const { world, first, second } = await twoInstallations();
  const cutOff = { kind: 'status', status: 503, when: 'before' } as const;
  world.server.onRequest = ({ client }) => (client === 'zz-first' ? cutOff : undefined);
  await world.clock.advance(askAgainMs + 2 * responseMs + 60_000);
  expect(second.sees()).toBe(true);
  world.server.onRequest = () => undefined;
  await world.clock.advance(120_000);
  expect([first.sees(), second.sees()]).toEqual([false, true]);
});
