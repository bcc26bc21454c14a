/**
 * Decodes API objects into the types of `kinds.ts`. Drops managed fields and labels to save memory, but keeps the names
 * of the users who wrote logfleet's annotations. Specs are not validated again, because the API server has validated
 * them.
 */

import { readAnnotationWriters } from '../../api/annotation-writers.ts';
import { apiGroup, apiVersion, type KindName, kinds, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';
import { isOlderThanResource } from '../../api/status-age.ts';
import { isRecord } from '../../base/record.ts';

const droppedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Decodes a resource; undefined if `value` is invalid. The items of a list contain no `kind`. */
export function decodeResource<K extends KindName>(kind: K, value: unknown): ResourceOf<K> | undefined {
  if (!isRecord(value) || !isRecord(value.spec)) return undefined;
  const metadata = decodeMetadata(value.metadata);
  if (!metadata) return undefined;
  return {
    apiVersion,
    kind,
    metadata,
    spec: value.spec,
    ...(isRecord(value.status) && isOwnStatus(kind, value.status, metadata) ? { status: value.status } : {}),
  } as unknown as ResourceOf<K>;
}

/**
 * Returns whether the status belongs to this resource. A restored status can belong to an earlier export with the same
 * name. It is ignored, because the files that it names may be gone. A restored status of a policy or schedule is used,
 * because it shows stopped rollouts (U1) and exported time ranges (S1).
 */
function isOwnStatus(kind: KindName, status: object, metadata: ObjectMeta): boolean {
  return kind !== 'SearchExport' || !isOlderThanResource(status, metadata);
}

/** Decodes the metadata of any namespaced object; undefined if `value` is invalid. */
export function decodeMetadata(value: unknown): ObjectMeta | undefined {
  if (!isRecord(value)) return undefined;
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = value;
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return undefined;
  const annotationWriters = readAnnotationWriters(value.managedFields);
  const owner = readOwner(value.ownerReferences);
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation: typeof generation === 'number' ? generation : 0,
    creationTimestamp: typeof creationTimestamp === 'string' ? creationTimestamp : '',
    ...(typeof deletionTimestamp === 'string' ? { deletionTimestamp } : {}),
    annotations: decodeTexts(value.annotations),
    ...(annotationWriters && { annotationWriters }),
    ...(owner && { owner }),
  };
}

/**
 * Decodes the owner of a resource. Undefined if the resource has no owner, or if its owner is not a resource of
 * logfleet.
 */
function readOwner(references: unknown): ObjectMeta['owner'] {
  if (!Array.isArray(references)) return undefined;
  const { apiVersion, kind, name, uid } = references.find((each) => isRecord(each) && each.controller === true) ?? {};
  if (typeof apiVersion !== 'string' || !apiVersion.startsWith(`${apiGroup}/`) || !Object.hasOwn(kinds, kind))
    return undefined;
  return { kind, name: String(name), uid: String(uid) };
}

/** Decodes labels or annotations. */
export function decodeTexts(value: unknown): Record<string, string> {
  const texts: Record<string, string> = {};
  if (!isRecord(value)) return texts;
  for (const [name, text] of Object.entries(value)) {
    if (typeof text === 'string' && name !== droppedAnnotation) texts[name] = text;
  }
  return texts;
}
