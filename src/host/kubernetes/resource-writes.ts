/**
 * Creates and deletes resources, and writes the complete status of a resource. If another program has changed the
 * status in the meantime, the write fails with `host.conflict` and overwrites nothing. The next reconcile then starts
 * from the changed status.
 */
import { reasons } from '../../api/conditions.ts';
import { type AnyResource, apiVersion, type KindName } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import { failure, hasCode } from '../../base/errors.ts';
import type { Creation, NewResource } from '../host.ts';
import type { ApiClient } from './api-client.ts';
import { resourcePath } from './api-paths.ts';
import { decodeResource } from './resource-decoding.ts';

/** Field manager for all writes by logfleet. */
export const fieldManager = 'logfleet';

/** Media type that requests responses with only the object's metadata. */
export const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/**
 * Writes a resource's status and returns the resource with its new resource version. Throws the errors `host.conflict`
 * and `host.gone`, and other request errors.
 */
export async function writeStatus<R extends AnyResource>(client: ApiClient, resource: R): Promise<R> {
  const { apiVersion, kind, status } = resource;
  const { namespace, name, uid, resourceVersion } = resource.metadata;
  const path = `${resourcePath(kind, namespace, name)}/status`;
  const body = { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion }, status };
  const response = await crossing('status.write', () =>
    client.callForObject({ method: 'PUT', path, query: { fieldManager }, body, accept: metadataOnly }),
  );
  return { ...resource, metadata: { ...resource.metadata, resourceVersion: response.metadata.resourceVersion } };
}

/**
 * Creates a resource with an owner reference, so that Kubernetes deletes the resource together with its owner.
 * @param deadlineMs maximum duration of the request
 */
export async function createResource<K extends KindName>(
  client: ApiClient,
  resource: NewResource<K>,
  deadlineMs: number,
): Promise<Creation> {
  const { kind, metadata, spec, owner } = resource;
  const ownerReference = { apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid, controller: true };
  const body = { apiVersion, kind, metadata: { ...metadata, ownerReferences: [ownerReference] }, spec };
  const path = resourcePath(kind, metadata.namespace);
  const request = { method: 'POST', path, query: { fieldManager }, body, deadlineMs } as const;
  try {
    await crossing('resource.create', () => client.call(request));
    return 'created';
  } catch (error) {
    if (hasCode(error, 'host.invalid'))
      throw failure('stall', 'host.refused', error.message, { cause: error, reason: reasons.invalidSpec });
    const isOwned = hasCode(error, 'host.conflict') ? await isOwnedBy(client, resource) : undefined;
    if (isOwned === undefined) throw error;
    return isOwned ? 'exists' : 'taken';
  }
}

/**
 * Reports whether the existing resource with this name belongs to the owner. Returns undefined if there is no resource
 * with this name.
 */
async function isOwnedBy<K extends KindName>(
  client: ApiClient,
  { kind, metadata, owner }: NewResource<K>,
): Promise<boolean | undefined> {
  const existing = await client.find(resourcePath(kind, metadata.namespace, metadata.name));
  return existing === undefined ? undefined : decodeResource(kind, existing)?.metadata.owner?.uid === owner.uid;
}

/**
 * Deletes a resource if it still has the version that was read. Succeeds if the resource no longer exists. Throws the
 * error `host.conflict` if the resource has been changed or recreated, and other request errors.
 */
export async function removeResource(client: ApiClient, { kind, metadata }: AnyResource): Promise<void> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const path = resourcePath(kind, namespace, name);
  await crossing('resource.remove', () => client.remove(path, { uid, resourceVersion }));
}
