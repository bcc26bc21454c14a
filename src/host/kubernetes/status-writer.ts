/**
 * Writes status: the whole of it, through the subresource, under optimistic lock on the version that the resource was read at.
 *
 * Invariant: nothing of ours stands on a status that somebody else has replaced meanwhile; that ends in `host.conflict`, and
 * the next reconcile decides anew. The spec is never touched: the server takes nothing but the status here.
 */
import { apiGroup, apiVersionName, type KindName, type ResourceOf } from '../../api/kinds.ts';
import { crossing } from '../../base/boundary.ts';
import type { ApiClient } from './api-client.ts';
import { errorOfSilence } from './api-error.ts';
import { resourcePath } from './api-paths.ts';
import type { ResourceCache } from './resource-cache.ts';

/** Who owns what we write, in the managed fields of every object. */
export const fieldManager = 'logfleet';

/** Where the status of a kind is written, and what is made of the answer. */
export interface StatusPlace<K extends KindName> {
  readonly client: ApiClient;
  readonly cache: ResourceCache<ResourceOf<K>>;
  readonly decode: (value: unknown) => ResourceOf<K> | undefined;
}

/** The resource as written. `host.conflict`, `host.gone`, and whatever else a request may end in. */
export async function writeStatus<K extends KindName>(
  { client, cache, decode }: StatusPlace<K>,
  kind: K,
  resource: ResourceOf<K>,
): Promise<ResourceOf<K>> {
  const { namespace, name, uid, resourceVersion } = resource.metadata;
  const path = `${resourcePath(kind, namespace, name)}/status`;
  const answer = await crossing('status.write', () =>
    client.call({
      method: 'PUT',
      path,
      query: { fieldManager },
      body: {
        apiVersion: `${apiGroup}/${apiVersionName}`,
        kind,
        metadata: { namespace, name, uid, resourceVersion },
        spec: resource.spec,
        status: resource.status,
      },
    }),
  );
  const written = decode(answer);
  if (!written) throw errorOfSilence(`PUT ${path}`, new Error('the answer is no resource'));
  cache.adopt(written, resourceVersion);
  return written;
}
