/**
 * Deletes a resource whose spec requests its removal.
 *
 * Invariant: only the version that was read is deleted. A resource that was changed or created again stays.
 */
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { resourcePath } from './api-paths.ts';

/** Deletes the resource. Succeeds if it is gone or has changed. Throws on other failures. */
export async function removeResource<K extends KindName>(
  client: ApiClient,
  kind: K,
  resource: ResourceOf<K>,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = resource.metadata;
  const preconditions = { uid, resourceVersion };
  const path = resourcePath(kind, namespace, name);
  try {
    await crossing('resource.remove', () =>
      client.call({ method: 'DELETE', path, body: { preconditions, propagationPolicy: 'Background' } }),
    );
  } catch (error) {
    if (!hasCode(error, 'host.gone') && !hasCode(error, 'host.conflict')) throw error;
  }
}
