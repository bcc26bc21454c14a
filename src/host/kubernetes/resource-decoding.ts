/**
 * What an API server says of our kinds, as the types of `kinds.ts`. Only what is needed is kept: managed fields, labels and
 * the copy that `kubectl apply` leaves in an annotation would make up most of the cache. Of managed fields it is who wrote
 * logfleet's own annotations. The spec is taken as it is: the server
 * has held it against the CRD's schema.
 */
import { readAnnotationWriters } from '../../api/annotation-writers.ts';
import { apiGroup, apiVersionName, type KindName, type ObjectMeta, type ResourceOf } from '../../api/kinds.ts';

const droppedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The resource, or undefined where `value` is none. Members of lists have neither `kind` nor `apiVersion`, hence `kind`. */
export function decodeResource<K extends KindName>(kind: K, value: unknown): ResourceOf<K> | undefined {
  if (!isRecord(value) || !isRecord(value.spec)) return undefined;
  const metadata = decodeMetadata(value.metadata);
  if (!metadata) return undefined;
  return {
    apiVersion: `${apiGroup}/${apiVersionName}`,
    kind,
    metadata,
    spec: value.spec,
    ...(isRecord(value.status) ? { status: value.status } : {}),
  } as unknown as ResourceOf<K>;
}

function decodeMetadata(value: unknown): ObjectMeta | undefined {
  if (!isRecord(value)) return undefined;
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = value;
  if (typeof name !== 'string' || typeof namespace !== 'string') return undefined;
  if (typeof uid !== 'string' || typeof resourceVersion !== 'string') return undefined;
  const annotationWriters = readAnnotationWriters(value.managedFields);
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation: typeof generation === 'number' ? generation : 0,
    creationTimestamp: typeof creationTimestamp === 'string' ? creationTimestamp : '',
    ...(typeof deletionTimestamp === 'string' ? { deletionTimestamp } : {}),
    annotations: decodeAnnotations(value.annotations),
    ...(annotationWriters && { annotationWriters }),
  };
}

function decodeAnnotations(value: unknown): Record<string, string> {
  const annotations: Record<string, string> = {};
  if (!isRecord(value)) return annotations;
  for (const [name, text] of Object.entries(value)) {
    if (typeof text === 'string' && name !== droppedAnnotation) annotations[name] = text;
  }
  return annotations;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
