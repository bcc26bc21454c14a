/**
 * Decodes API objects into the types in `kinds.ts`. Managed fields and labels are dropped to save memory, except the
 * names of the users who wrote logfleet's annotations. Specs are not validated, because the API server has already
 * validated them.
 */

import { readAnnotationWriters } from '../../api/annotation-writers.ts';
import { apiGroup, apiVersion, type KindName, kinds, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { isOlderThanResource } from '../../api/status-age.ts';
import { isRecord } from '../../base/record.ts';
import { isKubeObject, type KubeObject } from './api-client.ts';

/**
 * Decodes a resource. Returns undefined if `value` is not a valid resource. `value` may lack the field `kind`, because
 * the items of a list do not have this field.
 */
export function decodeResource<K extends KindName>(kind: K, value: unknown): ResourceOf<K> | undefined {
  if (!isKubeObject(value) || !isRecord(value.spec)) return undefined;
  const metadata = decodeMetadata(value);
  const { spec, status } = value;
  const isOwn = status && isOwnStatus(kind, status, metadata);
  return { apiVersion, kind, metadata, spec, ...(isOwn && { status }) } as unknown as ResourceOf<K>;
}

/**
 * Reports whether the status belongs to this resource. A status restored from a backup can belong to an earlier export
 * with the same name. Such a status is ignored, because the files of that export may no longer exist. A restored status
 * of a policy or schedule is used, because it shows stopped rollouts (U1) or exported time ranges (S1).
 */
function isOwnStatus(kind: KindName, status: object, metadata: ObjectMeta): boolean {
  return kind !== 'SearchExport' || !isOlderThanResource(status, metadata);
}

/** Decodes the metadata of a namespaced object. */
export function decodeMetadata({ metadata }: KubeObject): ObjectMeta {
  const { name, namespace = '', uid, resourceVersion, generation = 0, creationTimestamp = '' } = metadata;
  const { deletionTimestamp, managedFields, ownerReferences } = metadata;
  // Omits the annotation in which `kubectl apply` stores a copy of the whole manifest.
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...annotations } = metadata.annotations ?? {};
  const annotationWriters = readAnnotationWriters(managedFields);
  const owner = readOwner(ownerReferences);
  return {
    ...{ name, namespace, uid, resourceVersion, generation, creationTimestamp },
    ...(deletionTimestamp && { deletionTimestamp }),
    annotations,
    ...(annotationWriters && { annotationWriters }),
    ...(owner && { owner }),
  };
}

/**
 * Returns the owner of a resource. Returns undefined if the resource has no owner, or if the owner is not a logfleet
 * resource.
 */
function readOwner(references: KubeObject['metadata']['ownerReferences']): ObjectMeta['owner'] {
  const { apiVersion = '', kind = '', name = '', uid = '' } = references?.find(({ controller }) => controller) ?? {};
  const isOurs = apiVersion.startsWith(`${apiGroup}/`) && Object.hasOwn(kinds, kind);
  return isOurs ? { kind: kind as KindName, name, uid } : undefined;
}
