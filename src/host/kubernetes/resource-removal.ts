/**
 * Deletes a resource that is to be there no longer, as its own spec says.
 *
 * Invariant: only the very resource that was looked at: one that somebody has changed since, or made again under its name, stays.
 */
import type { KindName, ResourceOf } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import type { ApiClient } from './api-client.ts';
import { hasCode } from './api-error.ts';
import { resourcePath } from './api-paths.ts';

/** Fine where it is gone already, or is another by now, of which the host tells. Throws whatever else a request may end in. */
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
