/** Text formats of the Kubernetes API: paths of resources, with percent-encoded names, and times. */
import { apiGroup, apiVersionName, type KindName, kinds, ledgerPlural } from '../../api/kinds.ts';

function namespaced(root: string, plural: string, namespace: string | undefined, name?: string): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const leaf = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${plural}${leaf}`;
}

/** Path of a resource, or of all resources of a kind in a namespace (undefined: in all namespaces). */
export function resourcePath(kind: KindName, namespace: string | undefined, name?: string): string {
  return namespaced(`/apis/${apiGroup}/${apiVersionName}`, kinds[kind].plural, namespace, name);
}

/** Path of a Ledger, or of all Ledgers in a namespace (undefined: in all namespaces). */
export function ledgerPath(namespace: string | undefined, name?: string): string {
  return namespaced(`/apis/${apiGroup}/${apiVersionName}`, ledgerPlural, namespace, name);
}

export function configMapPath(namespace: string, name?: string): string {
  return namespaced('/api/v1', 'configmaps', namespace, name);
}

export function secretPath(namespace: string, name: string): string {
  return namespaced('/api/v1', 'secrets', namespace, name);
}

/** Name of the Lease that the replicas of one operator share in its namespace. */
export const operatorLeaseName = 'logfleet-operator';

/** Annotation of the Lease with the version of the operator that wrote the Lease last. */
export const operatorVersionAnnotation = 'logfleet.dev/operator-version';

export function leasePath(namespace: string | undefined, name?: string): string {
  return namespaced('/apis/coordination.k8s.io/v1', 'leases', namespace, name);
}

export function eventPath(namespace: string, name?: string): string {
  return namespaced('/apis/events.k8s.io/v1', 'events', namespace, name);
}

export function jobPath(namespace: string | undefined, name?: string): string {
  return namespaced('/apis/batch/v1', 'jobs', namespace, name);
}

export function podPath(namespace: string | undefined, name?: string): string {
  return namespaced('/api/v1', 'pods', namespace, name);
}

export function serviceAccountPath(namespace: string, name: string): string {
  return namespaced('/api/v1', 'serviceaccounts', namespace, name);
}

export function claimPath(namespace: string, name: string): string {
  return namespaced('/api/v1', 'persistentvolumeclaims', namespace, name);
}

/**
 * Resource type of a request path, for metrics: `leases`, `collectorversionpolicies/status`. It never contains
 * the name of a resource.
 */
export function resourceOfPath(path: string): string {
  const parts = path.split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const [plural = 'other', , subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

/** Renders a `MicroTime`: RFC 3339 with six decimals, required in Leases and Events. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z');
}
