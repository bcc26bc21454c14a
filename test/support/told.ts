/** Records what users see of a resource: each written status and each Event. */
import type { Condition } from '../../src/api/conditions.ts';
import { findCondition } from '../../src/api/conditions.ts';
import type { MemoryApiServer } from './memory-api-server.ts';

export interface ToldStatus {
  readonly conditions?: readonly Condition[];
  readonly summary?: { readonly state?: string; readonly updated?: string };
}

export interface ToldEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
}

export interface ToldRecord<S extends ToldStatus> {
  readonly statuses: S[];
  readonly events: ToldEvent[];
  /**
   * Successive values of the `Ready` condition, each as status and reason, such as `True/AllUpdated`. Equal consecutive
   * values are listed once.
   */
  readonly verdicts: () => readonly string[];
}

/** Starts to record the statuses and Events of a resource. */
export function recordTold<S extends ToldStatus>(api: MemoryApiServer, name: string): ToldRecord<S> {
  const statuses: S[] = [];
  const events: ToldEvent[] = [];
  const before = api.onRequest;
  api.onRequest = (info) => {
    const fault = before(info);
    if (fault) return fault;
    const { subresource, method, collection } = info;
    if (subresource === 'status' && info.name === name) statuses.push((info.body as { status: S }).status);
    if (method === 'POST' && collection.endsWith('/events')) {
      const event = info.body as ToldEvent & { readonly regarding: { readonly name: string } };
      if (event.regarding.name === name) events.push(event);
    }
    return undefined;
  };
  const verdicts = () => {
    const all = statuses.map(({ conditions }) => {
      const ready = findCondition(conditions, 'Ready');
      return `${ready?.status}/${ready?.reason}`;
    });
    return all.filter((verdict, index) => verdict !== all[index - 1]);
  };
  return { statuses, events, verdicts };
}
