/** Requests data from the server of `logfleet ui`, and receives messages about changed resources. */
import type { ChangeMessage, ListPage, PlaceMessage, ResourceDetail } from '../page-data.ts';

export interface Filter {
  readonly kind: string;
  readonly tone: string;
  readonly text: string;
}

/** Maximum time in ms to wait for the server to accept a connection. */
const openingMs = 5_000;
/** Maximum time in ms without a message. The server sends a message at least every 15 s. */
const silenceMs = 40_000;

export const everything: Filter = { kind: '', tone: '', text: '' };

export async function readList(filter: Filter, offset: number, limit: number): Promise<ListPage> {
  const query = new URLSearchParams({ ...filter, offset: String(offset), limit: String(limit) });
  return (await fetchData(`/api/list?${query}`)).json();
}

/** Details of a resource. Undefined while they are being read, and null if the resource does not exist. */
export type ShownDetail = ResourceDetail | undefined | null;

/** Returns the details of a resource, or null if it does not exist. */
export async function readDetail(id: string): Promise<ResourceDetail | null> {
  const response = await fetchData(`/api/resource?${new URLSearchParams({ id })}`);
  return response.ok ? response.json() : null;
}

/**
 * Sends a request with the timeout `silenceMs`. If the server sends nothing for this time, the connection for messages
 * also counts as lost. The page reads its data again once it has a new connection.
 */
function fetchData(address: string): Promise<Response> {
  return fetch(address, { signal: AbortSignal.timeout(silenceMs) });
}

interface Listener {
  onChange(message: ChangeMessage): void;
  onPlace(message: PlaceMessage): void;
  /** Called with `false` when the connection is lost or silent, and with `true` when it works again. */
  onConnection(isConnected: boolean): void;
}

/**
 * Receives messages while the tab is visible. A hidden tab closes its connection, because a browser allows only a few
 * connections to the same server. A connection without messages, for example through a broken tunnel, is replaced by a
 * new one.
 */
export function followChanges(listener: Listener): void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expectMessage = (withinMs: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      listener.onConnection(false);
      update();
    }, withinMs);
  };
  const update = () => {
    clearTimeout(timer);
    source?.close();
    source = document.hidden ? undefined : open(listener, expectMessage);
  };
  document.addEventListener('visibilitychange', update);
  update();
}

function open({ onChange, onPlace, onConnection }: Listener, expectMessage: (withinMs: number) => void): EventSource {
  const source = new EventSource('/api/changes');
  expectMessage(openingMs);
  const listen = (type: string, onMessage: (event: MessageEvent) => void) =>
    source.addEventListener(type, (event) => {
      expectMessage(silenceMs);
      onMessage(event);
    });
  listen('change', (event) => onChange(JSON.parse(event.data)));
  listen('place', (event) => onPlace(JSON.parse(event.data)));
  listen('alive', () => {});
  listen('open', () => onConnection(true));
  // The browser reconnects automatically.
  source.addEventListener('error', () => onConnection(false));
  return source;
}
