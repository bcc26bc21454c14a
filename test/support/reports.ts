/** Records what users see of a resource: each status written, and each Event. */
import type { Condition } from '../../src/api/conditions.ts';
import { findCondition } from '../../src/api/conditions.ts';
import type { MemoryApiServer } from './memory-api-server.ts';

export interface ReportedStatus {
  readonly conditions?: readonly Condition[];
  readonly summary?: { readonly state?: string; readonly updated?: string };
}

export interface ReportedEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
}

export interface ReportRecord<S extends ReportedStatus> {
  readonly statuses: S[];
  readonly events: ReportedEvent[];
  /**
   * Successive values of the `Ready` condition, as status and reason, such as `True/AllUpdated`. Equal consecutive
   * values are listed once.
   */
  readonly verdicts: () => readonly string[];
}

/** Starts recording the statuses and Events of a resource. */
export function recordReports<S extends ReportedStatus>(api: MemoryApiServer, name: string): ReportRecord<S> {
  const statuses: S[] = [];
  const events: ReportedEvent[] = [];
  const before = api.onRequest;
  api.onRequest = (info) => {
    const fault = before(info);
    if (fault) return fault;
    const { subresource, method, collection } = info;
    if (subresource === 'status' && info.name === name) statuses.push((info.body as { status: S }).status);
    if (method === 'POST' && collection.endsWith('/events')) {
      const event = info.body as ReportedEvent & { readonly regarding: { readonly name: string } };
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
