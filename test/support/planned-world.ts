/** Computes the rollout plan that `logfleet plan` would show in a simulated world. */
import { Accounts } from '../../src/account/accounts.ts';
import { silentLogger } from '../../src/base/log.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { type Planned, planPolicies } from '../../src/cli/plan/planner.ts';
import { alwaysLeading, MemoryHost } from '../../src/cli/resources/memory-host.ts';
import { ApiClient } from '../../src/host/kubernetes/api-client.ts';
import { KubernetesLedgerStore } from '../../src/host/kubernetes/ledger-store.ts';
import { KubernetesSecretReader } from '../../src/host/kubernetes/secret-reader.ts';
import type { World } from './world.ts';

export interface PlanInWorld {
  readonly wanted: readonly string[];
  readonly beside?: readonly string[];
  readonly upgradeMs?: number;
  readonly timeoutMs?: number;
  readonly onTrouble?: () => void;
  readonly settings?: { readonly pausedBy: string | undefined };
}

export async function planInWorld(world: World, options: PlanInWorld): Promise<Planned> {
  const { wanted, beside = [], upgradeMs, timeoutMs = 600_000, onTrouble = () => {} } = options;
  const { clock, random } = world;
  const client = new ApiClient({ api: world.api.client('plan'), clock, metrics: noMetrics });
  const policies = [...wanted, ...beside].flatMap((name) => {
    const policy = world.policy(name);
    return policy
      ? [{ ...policy, metadata: { ...policy.metadata, annotations: policy.metadata.annotations ?? {} } }]
      : [];
  });
  const host = new MemoryHost({
    resources: policies,
    ledgers: new KubernetesLedgerStore({ client }),
    secrets: new KubernetesSecretReader(client),
    settings: options.settings ?? {},
  });
  const accounts = new Accounts({
    leadership: alwaysLeading,
    secrets: host.secrets,
    connect: world.connect(),
    clock,
    log: silentLogger,
    metrics: noMetrics,
  });
  const planning = planPolicies({
    host,
    accounts,
    clock,
    random,
    wanted: wanted.map((name) => ({ namespace: 'logging', name })),
    upgradeMs,
    timeoutMs,
    onTrouble,
    signal: new AbortController().signal,
  });
  const planned = await clock.during(planning);
  await accounts.close();
  return planned;
}
