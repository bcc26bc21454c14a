/** Where resources live on an API server: paths with every name percent-encoded. */
import { apiGroup, apiVersionName, type KindName, kinds, ledgerPlural } from '../../api/kinds.ts';

function namespaced(root: string, plural: string, namespace: string | undefined, name?: string): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const leaf = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${plural}${leaf}`;
}

/** All resources of a kind in a namespace, in all of them where it is undefined, or the one of that name. */
export function resourcePath(kind: KindName, namespace: string | undefined, name?: string): string {
  return namespaced(`/apis/${apiGroup}/${apiVersionName}`, kinds[kind].plural, namespace, name);
}

/** All Ledgers of a namespace, of all namespaces where it is undefined, or the one of that name. */
export function ledgerPath(namespace: string | undefined, name?: string): string {
  return namespaced(`/apis/${apiGroup}/${apiVersionName}`, ledgerPlural, namespace, name);
}

export function configMapPath(namespace: string, name?: string): string {
  return namespaced('/api/v1', 'configmaps', namespace, name);
}

export function secretPath(namespace: string, name: string): string {
  return namespaced('/api/v1', 'secrets', namespace, name);
}

/** The lease that the replicas of one operator share, in its own namespace. */
export const operatorLeaseName = 'logfleet-operator';

export function leasePath(namespace: string | undefined, name?: string): string {
  return namespaced('/apis/coordination.k8s.io/v1', 'leases', namespace, name);
}

export function eventPath(namespace: string, name?: string): string {
  return namespaced('/apis/events.k8s.io/v1', 'events', namespace, name);
}

/** The resource that a path is about, for metrics: `leases`, `collectorversionpolicies/status`. Never a name. */
export function resourceOfPath(path: string): string {
  const parts = path.split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const [plural = 'other', , subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}
