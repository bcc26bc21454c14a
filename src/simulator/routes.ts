/**
 * Which operation a method and a path mean. A later half of the service enters here: its operations, and then the model no
 * longer compiles until it answers them.
 */
import type { Operation } from './scenario.ts';

export interface Route {
  readonly operation: Operation;
  /** What the path carries. */
  readonly taskId?: string;
}

/** - `unknown`: nothing is there (404). - `method`: something is, for other methods (405). */
export type Routing =
  | { readonly kind: 'found'; readonly route: Route; readonly query: URLSearchParams; readonly basePath: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'method'; readonly allow: string };

const upgrades = '/v1/collectors/upgrades';

export function routeOf(method: string, pathWithQuery: string, basePaths: readonly string[]): Routing {
  const mark = pathWithQuery.indexOf('?');
  const path = mark < 0 ? pathWithQuery : pathWithQuery.slice(0, mark);
  const basePath = basePaths.find((base) => path.startsWith(`${base}/`));
  if (basePath === undefined) return { kind: 'unknown' };
  const found = operationsAt(path.slice(basePath.length));
  if (!found) return { kind: 'unknown' };
  if (found.method !== method) return { kind: 'method', allow: found.method };
  const query = new URLSearchParams(mark < 0 ? '' : pathWithQuery.slice(mark + 1));
  return { kind: 'found', route: found.route, query, basePath };
}

function operationsAt(path: string): { readonly method: string; readonly route: Route } | undefined {
  if (path === upgrades) return { method: 'POST', route: { operation: 'createTask' } };
  if (path === `${upgrades}/collectors`) return { method: 'GET', route: { operation: 'listCollectors' } };
  if (path === `${upgrades}/targets`) return { method: 'GET', route: { operation: 'listBuilds' } };
  const taskId = path.startsWith(`${upgrades}/`) ? path.slice(upgrades.length + 1) : '';
  if (taskId === '' || taskId.includes('/')) return undefined;
  return { method: 'GET', route: { operation: 'getTask', taskId } };
}
