/** Text formats used by the Kubernetes API: paths with percent-encoded names, and times. */
import { apiVersion, type KindName, kinds, ledgerPlural } from '../../api/kinds.ts';
import { isoText } from '../../base/time-text.ts';

const ownRoot = `/apis/${apiVersion}`;

/** API groups and versions of the Kubernetes objects that logfleet uses. */
const roots = {
  [ledgerPlural]: ownRoot,
  configmaps: '/api/v1',
  persistentvolumeclaims: '/api/v1',
  pods: '/api/v1',
  secrets: '/api/v1',
  serviceaccounts: '/api/v1',
  events: '/apis/events.k8s.io/v1',
  jobs: '/apis/batch/v1',
  leases: '/apis/coordination.k8s.io/v1',
} as const;

/**
 * Returns the path of an object. Without `name`, returns the path to all objects of a type in a namespace. If
 * `namespace` is undefined, the path covers all namespaces.
 */
export function objectPath(plural: keyof typeof roots, namespace: string | undefined, name?: string): string {
  return namespaced(roots[plural], plural, namespace, name);
}

/**
 * Returns the path of a resource. Without `name`, returns the path to all resources of a kind in a namespace. If
 * `namespace` is undefined, the path covers all namespaces.
 */
export function resourcePath(kind: KindName, namespace: string | undefined, name?: string): string {
  return namespaced(ownRoot, kinds[kind].plural, namespace, name);
}

function namespaced(root: string, plural: string, namespace: string | undefined, name?: string): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const leaf = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${plural}${leaf}`;
}

/** Name of the Lease that the replicas of an operator share. */
export const operatorLeaseName = 'logfleet-operator';

/** Lease annotation with the version of the operator that last wrote the Lease. */
export const operatorVersionAnnotation = 'logfleet.dev/operator-version';

/**
 * Returns the resource type in a request path, for use in metrics: for example `leases` or
 * `collectorversionpolicies/status`.
 */
export function resourceOfPath(path: string): string {
  const parts = path.split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const [plural = 'other', , subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

/** Renders a `MicroTime`: an RFC 3339 time with six decimal places, as Leases and Events require. */
export function microTime(epochMs: number): string {
  return isoText(epochMs).replace('Z', '000Z');
}
