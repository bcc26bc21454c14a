/** Finds the operation for a request's method and path. */
import type { Api, PreparedCall, ServiceRequest } from './requests/call.ts';

/**
 * Result of looking up the operation for a request:
 * - `found`: the service has an operation for the request
 * - `unknown`: the service does not have the path (404)
 * - `method`: the path does not support the method (405)
 */
export type Routing =
  | {
      readonly kind: 'found';
      readonly read: (request: ServiceRequest) => PreparedCall;
      readonly query: URLSearchParams;
      readonly basePath: string;
    }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'method'; readonly allow: string };

export function routeOf(
  method: string,
  pathWithQuery: string,
  basePaths: readonly string[],
  apis: readonly Api[],
): Routing {
  const mark = pathWithQuery.indexOf('?');
  const path = mark < 0 ? pathWithQuery : pathWithQuery.slice(0, mark);
  const basePath = basePaths.find((base) => path.startsWith(`${base}/`));
  if (basePath === undefined) return { kind: 'unknown' };
  for (const api of apis) {
    const methods = api.methodsAt(path.slice(basePath.length));
    if (!methods) continue;
    const read = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!read) return { kind: 'method', allow: Object.keys(methods).join(', ') };
    const query = new URLSearchParams(mark < 0 ? '' : pathWithQuery.slice(mark + 1));
    return { kind: 'found', read, query, basePath };
  }
  return { kind: 'unknown' };
}
