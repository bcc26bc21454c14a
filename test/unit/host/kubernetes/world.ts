/** Helpers for testing the Kubernetes host with an in-memory API server. */
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import type { Clock } from '../../../../src/base/clock.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { type Metrics, noMetrics } from '../../../../src/base/metrics.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import type { OwnerRef } from '../../../../src/host/host.ts';
import { ApiClient } from '../../../../src/host/kubernetes/api-client.ts';
import { objectPath, operatorLeaseName, resourcePath } from '../../../../src/host/kubernetes/api-paths.ts';
import { KubernetesHost } from '../../../../src/host/kubernetes/kubernetes-host.ts';
import { MemoryApiServer, type MemoryApiServerOptions } from '../../../support/memory-api-server.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

export interface KubernetesWorld {
  readonly clock: VirtualClock;
  readonly server: MemoryApiServer;
}

export function createWorld(options: Partial<MemoryApiServerOptions> = {}): KubernetesWorld {
  const clock = new VirtualClock();
  const server = new MemoryApiServer({ clock, random: seededRandom(7), ...options });
  // No operator holds these leases at the start, so the first leader need not wait until they expire.
  for (const name of ['operator', operatorLeaseName])
    server.create(objectPath('leases', 'logfleet-system'), { metadata: { name } });
  return { clock, server };
}

export function surroundings(world: KubernetesWorld, clock: Clock = world.clock) {
  return { clock, random: seededRandom(11), log: silentLogger, metrics: noMetrics };
}

export function clientOf(world: KubernetesWorld, name = 'operator'): ApiClient {
  return new ApiClient({ api: world.server.client(name), ...surroundings(world) });
}

/** Starts a host that is already watching policies. */
export function hostOf(
  world: KubernetesWorld,
  namespaces: 'all' | readonly string[] = 'all',
  also: { readonly metrics?: Metrics; readonly workerImage?: string } = {},
): KubernetesHost {
  const host = new KubernetesHost({
    ...surroundings(world),
    ...also,
    api: world.server.client('operator'),
    namespaces,
    operatorNamespace: 'logfleet-system',
    identity: 'operator-0',
    leaderElection: true,
  });
  host.resources(policies);
  return host;
}

export const policies = 'CollectorVersionPolicy';

export function createPolicy(world: KubernetesWorld, name: string, namespace = 'logging'): CollectorVersionPolicy {
  const object = {
    apiVersion: 'logfleet.dev/v1alpha1',
    kind: policies,
    metadata: { name, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', note: 'kept' } },
    spec: { credentialsSecretRef: { name: 'log-service' }, target: { version: '19.500-1' }, selector: {} },
  };
  return world.server.create(resourcePath(policies, namespace), object) as unknown as CollectorVersionPolicy;
}

export function retarget(world: KubernetesWorld, name: string, version: string, namespace = 'logging'): void {
  world.server.patch(resourcePath(policies, namespace, name), { spec: { target: { version } } });
}

export function ownerOf(policy: CollectorVersionPolicy): OwnerRef {
  const { namespace, name, uid } = policy.metadata;
  return { kind: policies, namespace, name, uid };
}

/** Returns the code of the error with which a promise rejects, or `no error`. */
export function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: { code?: string }) => error.code ?? String(error),
  );
}
