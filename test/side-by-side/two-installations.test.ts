/**
 * Runs a cluster-wide and a namespaced installation in the same namespace, each with the permissions from its own
 * manifests (L2). The test has its own control plane, because a cluster-wide operator would also act on other tests'
 * resources.
 */
import { expect } from 'vitest';
import { conditionOf, Namespace } from '../e2e/support/cluster.ts';
import { test } from '../e2e/support/end-to-end.ts';
import { expectPromiseKept, expectWithinLimits } from '../e2e/support/oracles.ts';
import { oldVersion } from '../e2e/support/simulator.ts';
import { SlowProxy } from '../e2e/support/slow-proxy.ts';
import { type Installation, install } from '../support/installation.ts';

const names = ['canary', 'staging', 'production', 'archive', 'edge'];

test('two installations report each other on every resource, and only the first one sends requests', async ({
  tenant,
  start,
  onTestFinished,
}) => {
  const everywhere = await install('cluster-wide');
  const namespaced = await install('namespaced');
  const namespace = new Namespace(namespaced.namespace);
  const pids: number[] = [];
  const way = await SlowProxy.open(new URL(tenant.baseURL), pids);
  onTestFinished(() => way.close());
  const operate = async ({ kubeconfig, namespace, serves }: Installation): Promise<number> => {
    const only = serves === 'all' ? [] : ['--namespaces', serves.join()];
    const flags = ['--kubeconfig', kubeconfig, '--operator-namespace', namespace, ...only, '--grace', '1s'];
    const { pid } = await start(['run', ...flags], { env: { POD_NAME: 'logfleet-0' } });
    pids.push(pid);
    return pid;
  };
  const group = { count: 3, version: oldVersion, upgrade: { duration: '2s' } };
  await tenant.equip({ groups: Object.fromEntries(names.map((name) => [name, group])) });
  const policyOf = (name: string) =>
    namespace.policyManifest(name, { selector: { matchNames: [`${tenant.user}-${name}-*`] } });

  const first = await operate(everywhere);
  await namespace.apply(namespace.secretManifest(tenant, { baseURL: way.url }), policyOf(names[0] as string));
  await way.more(first, 1);
  await operate(namespaced);
  // Both operators start before the policies are created, so each operator sees new policies immediately.
  for (const name of names) {
    await namespace.apply(policyOf(name));
    const { status } = await namespace.reason(name, 'OtherOperator', 'OtherOperator');
    expect(status?.operators?.map((each) => each.name)).toEqual([everywhere.namespace, namespace.name]);
  }

  for (const name of names) {
    const policy = await namespace.reason(name, 'AllUpdated');
    expect(conditionOf(policy, 'OtherOperator')?.status).toBe('True');
  }
  expect(new Set(way.sent.map(({ pid }) => pid))).toEqual(new Set([first]));
  expectWithinLimits(tenant.journal());
  await expectPromiseKept(tenant, { retryLimit: 2 });
});
