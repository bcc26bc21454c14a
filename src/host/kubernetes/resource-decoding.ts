/**
 * Decodes API objects into the types of `kinds.ts`. Drops managed fields and labels to save memory, but keeps the names
 * of the users who wrote logfleet's annotations. Specs are not validated again, because the API server has validated
 * them.
 */

import { readAnnotationWriters } from '../../api/annotation-writers.ts';
import { apiGroup, apiVersion, type KindName, kinds, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { isOlderThanResource } from '../../api/status-age.ts';
import { isRecord } from '../../base/record.ts';
import { isKubeObject, type KubeObject } from './api-client.ts';

/** Decodes a resource. Returns undefined if `value` is invalid. The items of a list contain no `kind`. */
export function decodeResource<K extends KindName>(kind: K, value: unknown): ResourceOf<K> | undefined {
  if (!isKubeObject(value) || !isRecord(value.spec)) return undefined;
  const metadata = decodeMetadata(value);
  const { spec, status } = value;
  const isOwn = status && isOwnStatus(kind, status, metadata);
  return { apiVersion, kind, metadata, spec, ...(isOwn && { status }) } as unknown as ResourceOf<K>;
}

/**
 * Returns whether the status belongs to this resource. A status from a backup can belong to an earlier export with the
 * same name. It is ignored, because its files may no longer exist. The status of a policy or schedule from a backup is
 * used, because it shows stopped rollouts (U1) and exported time ranges (S1).
 */
function isOwnStatus(kind: KindName, status: object, metadata: ObjectMeta): boolean {
  return kind !== 'SearchExport' || !isOlderThanResource(status, metadata);
}

/** Decodes the metadata of a namespaced object. */
export function decodeMetadata({ metadata }: KubeObject): ObjectMeta {
  const { name, namespace = '', uid, resourceVersion, generation = 0, creationTimestamp = '' } = metadata;
  const { deletionTimestamp, annotations, managedFields, ownerReferences } = metadata;
  const annotationWriters = readAnnotationWriters(managedFields);
  const owner = readOwner(ownerReferences);
  return {
    ...{ name, namespace, uid, resourceVersion, generation, creationTimestamp },
    ...(deletionTimestamp && { deletionTimestamp }),
    annotations: withoutCopies(annotations),
    ...(annotationWriters && { annotationWriters }),
    ...(owner && { owner }),
  };
}

/**
 * Returns the owner of a resource. Returns undefined if it has no owner, or if the owner is not a resource of logfleet.
 */
function readOwner(references: KubeObject['metadata']['ownerReferences']): ObjectMeta['owner'] {
  const { apiVersion = '', kind = '', name = '', uid = '' } = references?.find(({ controller }) => controller) ?? {};
  const isOurs = apiVersion.startsWith(`${apiGroup}/`) && Object.hasOwn(kinds, kind);
  return isOurs ? { kind: kind as KindName, name, uid } : undefined;
}

/** Returns the annotations without the copy of the whole manifest that `kubectl apply` writes. */
function withoutCopies(annotations: ObjectMeta['annotations'] = {}): ObjectMeta['annotations'] {
  const { 'kubectl.kubernetes.io/last-applied-configuration': _, ...others } = annotations;
  return others;
}
