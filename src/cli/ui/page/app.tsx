/**
 * Entry point of the page of `logfleet ui`, with the frame of the page: header, list of resources, and details of the
 * selected resource.
 */
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PlaceMessage, StartData } from '../page-data.ts';
import { DetailPane } from './detail-pane.tsx';
import { ResourceList } from './resource-list.tsx';
import { everything, followChanges, readDetail, readList, type ShownDetail } from './server-data.ts';
import { VisibleRows } from './visible-rows.ts';

function App({ start }: { start: StartData }) {
  const [filter, setFilter] = useState(everything);
  const [, setReads] = useState(0);
  const [place, setPlace] = useState(start.place);
  const [isConnected, setConnected] = useState(true);
  const visibleRows = useMemo(
    () => new VisibleRows(start.list, readList, () => setReads((reads) => reads + 1)),
    [start],
  );
  const selected = useSelected();
  const { detail, readAgain } = useDetail(selected);

  useEffect(() => visibleRows.select(filter), [visibleRows, filter]);
  const live = useRef({ selected, readAgain });
  live.current = { selected, readAgain };
  useEffect(() => {
    followChanges({
      onChange: ({ changed }) => {
        visibleRows.refresh();
        const { selected: id, readAgain: read } = live.current;
        if (changed === undefined || changed.includes(id)) read();
      },
      onPlace: setPlace,
      onConnection: setConnected,
    });
  }, [visibleRows]);

  return (
    <div class="frame">
      <Header place={place} isConnected={isConnected} />
      <Warnings warnings={place.warnings} isConnected={isConnected} />
      <main class="panes" data-screen={selected === '' ? 'list' : 'detail'}>
        <nav class="list-pane" aria-label="Resources">
          <ResourceList visibleRows={visibleRows} filter={filter} onFilter={setFilter} selected={selected} />
        </nav>
        <div class="detail-pane">
          <DetailPane id={selected} detail={detail} total={visibleRows.page.total} />
        </div>
      </main>
      <Announcement detail={detail} />
    </div>
  );
}

/** Returns the selected resource from the address of the page, or an empty string if no resource is selected. */
function useSelected(): string {
  const read = () => decoded(location.hash.slice(1));
  const [selected, setSelected] = useState(read);
  useEffect(() => {
    const update = () => setSelected(read());
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return selected;
}

/** Decodes part of an address. Leaves invalid escape sequences unchanged. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function useDetail(id: string): { readonly detail: ShownDetail; readonly readAgain: () => void } {
  const [shown, setShown] = useState<{ readonly id: string; readonly detail: ShownDetail }>();
  const current = useRef(id);
  current.current = id;
  const readAgain = () => {
    if (id === '') return;
    readDetail(id)
      .then((detail) => {
        if (current.current === id) setShown({ id, detail });
      })
      // The error needs no message, because the page already shows that the server cannot be reached.
      .catch(() => {});
  };
  useEffect(readAgain, [id]);
  const detail = shown?.id === id ? shown.detail : undefined;
  useEffect(() => {
    document.title = detail ? `${detail.name}: ${detail.state} – logfleet` : 'logfleet';
  }, [detail]);
  return { detail, readAgain };
}

function Header({ place, isConnected }: { place: PlaceMessage; isConnected: boolean }) {
  const scope = place.namespace === undefined ? 'all namespaces' : `namespace ${place.namespace}`;
  return (
    <header class="top">
      <h1>logfleet</h1>
      <p class="place">
        {place.place} <span class="muted">· {scope}</span>
      </p>
      <p class="connection" data-connected={isConnected}>
        {isConnected ? 'Live' : 'Not connected'}
      </p>
    </header>
  );
}

function Warnings({ warnings, isConnected }: { warnings: readonly string[]; isConnected: boolean }) {
  const lost =
    'The connection to logfleet ui is lost, so the page is out of date. If the command has ended, start it again.';
  const all = isConnected ? warnings : [lost, ...warnings];
  return (
    <div class="warnings" role="status" data-tone="waiting">
      {all.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
    </div>
  );
}

/** Tells screen readers when the state of the selected resource changes. */
function Announcement({ detail }: { detail: ShownDetail }) {
  return (
    <p class="unseen" role="status">
      {detail ? `${detail.name}: ${detail.state}` : ''}
    </p>
  );
}

const root = document.getElementById('app');
if (root) render(<App start={JSON.parse(document.getElementById('start')?.textContent ?? '')} />, root);
