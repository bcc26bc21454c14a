/**
 * Tests failovers. Each test freezes the leader with SIGSTOP until its lease has expired, and resumes it after the next
 * leader has started. The resumed former leader must send nothing (L1). The service must receive at most four requests
 * in any second, even if the connection stalls (B1, B6).
 */
import { describe, expect } from 'vitest';
import { objectPath, operatorLeaseName } from '../../../src/host/kubernetes/api-paths.ts';
import { watchUntil } from '../../support/watch.ts';
import { type Namespace, test } from './cluster.ts';
import { expectWithinLimits } from './oracles.ts';
import type { Program } from './program.ts';
import { oldVersion, targetVersion } from './simulator.ts';
import { type Latency, SlowProxy } from './slow-proxy.ts';

interface ReplicaPod {
  readonly pod: string;
  readonly program: Program;
}

/**
 * Starts `worlds` tests at the same time. Each test has two operator replicas. In each of its `rounds`, one replica
 * takes over from the other.
 */
export function testFailovers({ worlds, rounds }: { readonly worlds: number; readonly rounds: number }): void {
  describe.concurrent.each(Array.from({ length: worlds }, (_, index) => index + 1))('world %d', (world) => {
    test(`${rounds} rounds of SIGSTOP and SIGCONT`, async ({ tenant, namespace, operator, onTestFinished }) => {
      const replicas: ReplicaPod[] = [];
      for (const pod of ['logfleet-0', 'logfleet-1']) replicas.push({ pod, program: await operator(pod) });
      const way = await SlowProxy.open(
        new URL(tenant.baseURL),
        replicas.map(({ program }) => program.pid),
      );
      onTestFinished(() => way.close());
      await tenant.equip({ groups: { web: { count: 2_000, version: oldVersion, upgrade: { duration: '2s' } } } });
      await namespace.apply(namespace.secretManifest(tenant, { baseURL: way.url }));
      let leader = await leaderAmong(namespace, replicas);
      for (let round = 1; round <= rounds; round++) {
        way.latency = latencyOf(world * 7 + round);
        const target = { version: round % 2 === 0 ? oldVersion : targetVersion };
        await namespace.apply(namespace.policyManifest('production', { target }));
        await way.more(leader.program.pid, 4 + (round % 5));
        const stopped = leader;
        // In every third round, no data crosses the network while the other replica takes over.
        if (round % 3 === 1) way.stall(22_000);
        stopped.program.signal('SIGSTOP');
        leader = await leaderAmong(
          namespace,
          replicas.filter((replica) => replica !== stopped),
        );
        // The frozen leader resumes after the new leader has sent 1, 4, 20 or 60 requests.
        await way.more(leader.program.pid, [1, 4, 20, 60][(world + round) % 4] as number);
        const wokenAtMs = performance.now();
        stopped.program.signal('SIGCONT');
        if (round % 3 === 2) way.stall(1_500 * ((world + round) % 5));
        await way.more(leader.program.pid, 16);
        const late = way.sent.filter(({ pid, atMs }) => pid === stopped.program.pid && atMs >= wokenAtMs);
        expect(late, `requests without the lease in round ${round}`).toEqual([]);
      }
      const journal = tenant.journal();
      expectWithinLimits(journal);
      const max = Math.max(...journal.map(({ perSecond }) => perSecond));
      process.stdout.write(
        `world ${world}: ${rounds} rounds, ${journal.length} requests, none without the lease, at most ${max} in a second\n`,
      );
    });
  });
}

/**
 * Returns the minimum and maximum random latency in each direction. In some rounds, the latency is constant. A round
 * trip takes between 5 and 400 ms.
 */
function latencyOf(number: number): Latency {
  const maxMs = [2.5, 25, 75, 200][number % 4] as number;
  return { minMs: number % 8 < 4 ? maxMs : 2.5, maxMs };
}

/** Waits until an operator replica holds the lease, and resolves to that replica. */
async function leaderAmong(namespace: Namespace, replicas: readonly ReplicaPod[]): Promise<ReplicaPod> {
  const holderOf = (lease: HeldLease) =>
    replicas.find(({ pod }) => lease.spec?.holderIdentity?.startsWith(`${pod}_`) ?? false);
  const leases = objectPath('leases', namespace.name, undefined);
  const lease = await watchUntil<HeldLease>(leases, operatorLeaseName, (one) => holderOf(one) !== undefined);
  return holderOf(lease) as ReplicaPod;
}

interface HeldLease {
  readonly spec?: { readonly holderIdentity?: string };
}
