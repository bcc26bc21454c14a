/** Requests data from the server of `logfleet ui`, and receives messages about changed resources. */
import type { ChangeMessage, ListPage, PlaceMessage, ResourceDetail } from '../page-data.ts';

export interface Filter {
  readonly kind: string;
  readonly tone: string;
  readonly text: string;
}

export const everything: Filter = { kind: '', tone: '', text: '' };

export async function readList(filter: Filter, offset: number, limit: number): Promise<ListPage> {
  const query = new URLSearchParams({ ...filter, offset: String(offset), limit: String(limit) });
  return (await fetch(`/api/list?${query}`)).json();
}

/** Details of a resource. Undefined while they are being read, and null if the resource does not exist. */
export type ShownDetail = ResourceDetail | undefined | null;

/** Returns the details of a resource, or null if it does not exist. */
export async function readDetail(id: string): Promise<ResourceDetail | null> {
  const response = await fetch(`/api/resource?${new URLSearchParams({ id })}`);
  return response.ok ? response.json() : null;
}

interface Listener {
  onChange(message: ChangeMessage): void;
  onPlace(message: PlaceMessage): void;
  /** Called with `false` when the connection is lost, and with `true` when it works again. */
  onConnection(isConnected: boolean): void;
}

/**
 * Receives messages while the tab is visible. A hidden tab closes its connection, because a browser allows only a few
 * connections to the same server.
 */
export function followChanges(listener: Listener): void {
  let source: EventSource | undefined;
  const update = () => {
    source?.close();
    source = document.hidden ? undefined : open(listener);
  };
  document.addEventListener('visibilitychange', update);
  update();
}

function open({ onChange, onPlace, onConnection }: Listener): EventSource {
  const source = new EventSource('/api/changes');
  source.addEventListener('change', (event) => onChange(JSON.parse(event.data)));
  source.addEventListener('place', (event) => onPlace(JSON.parse(event.data)));
  source.addEventListener('open', () => onConnection(true));
  // The browser reconnects automatically.
  source.addEventListener('error', () => onConnection(false));
  return source;
}
