/** List of resources, with filters. Only the visible rows exist as HTML elements. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type KindName, kinds } from '../../../api/kinds.ts';
import type { Tone } from '../../render/condition-lines.ts';
import { renderAgeSince, renderCount } from '../../render/text.ts';
import type { ListRow } from '../page-data.ts';
import { collectorSegments, exportSegments, StackedBar } from './charts.tsx';
import { StateChip, shown, useNow } from './parts.tsx';
import type { Filter } from './server-data.ts';
import { type RowRange, rangeInView, type VisibleRows } from './visible-rows.ts';

/** Height of a row in pixels, as in `page.css`. */
const rowHeight = 68;

const kindLabels: Readonly<Record<KindName, string>> = {
  CollectorVersionPolicy: 'Policies',
  SearchExport: 'Exports',
  SearchExportSchedule: 'Schedules',
};

const toneLabels: Readonly<Record<Tone, string>> = {
  stalled: 'Stalled',
  waiting: 'Waiting',
  working: 'Working',
  ready: 'Ready',
};

interface ListProps {
  readonly visibleRows: VisibleRows;
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly selected: string;
}

export function ResourceList({ visibleRows, filter, onFilter, selected }: ListProps) {
  const { total } = visibleRows.page;
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return (
    <>
      <h2 class="unseen">Resources</h2>
      <Filters visibleRows={visibleRows} filter={filter} onFilter={onFilter} />
      <p class="unseen" role="status">
        {renderCount(total, 'resource')}
      </p>
      {total === 0 ? (
        <p class="nothing">
          {isFiltered ? 'No resource matches the filter.' : 'There are no policies, exports or schedules here.'}
        </p>
      ) : (
        <Rows visibleRows={visibleRows} total={total} filter={filter} selected={selected} />
      )}
    </>
  );
}

function Filters({ visibleRows: { page }, filter, onFilter }: Omit<ListProps, 'selected'>) {
  const all = Object.values(page.kinds).reduce((sum, count) => sum + count, 0);
  return (
    <div class="filters">
      <Choice
        title="Kind"
        variant="kinds"
        labels={{ '': 'All', ...kindLabels }}
        counts={{ '': all, ...page.kinds }}
        chosen={filter.kind}
        onChoose={(kind) => onFilter({ ...filter, kind })}
      />
      <label class="search">
        <span class="unseen">Search by name, namespace, state or message</span>
        <input
          type="search"
          placeholder="Search name, namespace, state …"
          value={filter.text}
          onInput={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      <Choice
        title="State"
        variant="tones"
        labels={toneLabels}
        counts={page.tones}
        chosen={filter.tone}
        onChoose={(tone) => onFilter({ ...filter, tone: tone === filter.tone ? '' : tone })}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly variant: 'kinds' | 'tones';
  /** Button labels, by value. */
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
}

function Choice({ title, variant, labels, counts, chosen, onChoose }: ChoiceProps) {
  return (
    <fieldset class={`choice ${variant}`}>
      <legend class="unseen">{title}</legend>
      {Object.entries(labels).map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          data-tone={value}
          onClick={() => onChoose(value)}
        >
          {label} <span class="count">{shown(counts[value])}</span>
        </button>
      ))}
    </fieldset>
  );
}

function Rows({ visibleRows, total, filter, selected }: Omit<ListProps, 'onFilter'> & { total: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { range, measure } = useVisibleRange(scroller, visibleRows, total);
  const inView = Array.from({ length: range.count }, (_, place) => range.first + place);
  const { focused, moveFocus, noteFocus } = useFocusedRow({ scroller, visibleRows, total, filter, selected, inView });
  const move = (event: KeyboardEvent) => {
    const perPage = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1);
    const target = moved(event.key, focused, perPage, total);
    if (target === undefined) return;
    event.preventDefault();
    reveal(scroller.current, target);
    measure();
    moveFocus(target);
  };
  // Also keeps the element of the focused row while it is not visible, so that the focus is not lost.
  const shown = inView.includes(focused) ? inView : [...inView, focused];
  return (
    <div class="scroller" ref={scroller} onScroll={measure}>
      <ul class="rows" style={{ height: `${total * rowHeight}px` }} onKeyDown={move} onFocusCapture={noteFocus}>
        {shown.map((index) => (
          <Row
            key={index}
            row={visibleRows.row(index)}
            index={index}
            total={total}
            isSelected={visibleRows.row(index)?.id === selected}
            isFocusable={index === focused}
          />
        ))}
      </ul>
    </div>
  );
}

type Scroller = RefObject<HTMLDivElement | null>;

/** Returns the visible rows, and a function that measures them again after a scroll. */
function useVisibleRange(scroller: Scroller, visibleRows: VisibleRows, total: number) {
  // First estimate of the visible rows, which the observer below corrects.
  const [range, setRange] = useState<RowRange>(() => rangeInView(0, innerHeight, rowHeight, total));
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const seen = rangeInView(scrollTop, clientHeight, rowHeight, total);
    setRange((known) => (known.first === seen.first && known.count === seen.count ? known : seen));
    visibleRows.show(seen);
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [total]);
  return { range, measure };
}

interface FocusProps extends Omit<ListProps, 'onFilter'> {
  readonly scroller: Scroller;
  readonly total: number;
  /** Indices of the visible rows. */
  readonly inView: readonly number[];
}

/** Returns the index of the focused row, and functions that change it. The Tab key reaches only this row. */
function useFocusedRow({ scroller, visibleRows, total, filter, selected, inView }: FocusProps) {
  const [lastFocused, setFocused] = useState(0);
  const focused = Math.min(lastFocused, total - 1);
  /** Resource that has the focus. Undefined between a move of the focus and the next rendering. */
  const focusedId = useRef<string | undefined>(undefined);
  // When the filter changes, the list returns to its first row.
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
    setFocused(0);
    focusedId.current = undefined;
  }, [filter]);
  const wantsFocus = useWantedFocus(scroller, focused, selected);
  // If the focused resource has moved to another visible row, the focus follows it.
  useLayoutEffect(() => {
    const id = visibleRows.row(focused)?.id;
    const wanted = focusedId.current;
    const place =
      wanted === undefined || wanted === id ? undefined : inView.find((index) => visibleRows.row(index)?.id === wanted);
    if (place === undefined) {
      focusedId.current = id;
      return;
    }
    wantsFocus.current ||= (document.activeElement as HTMLElement | null)?.dataset['index'] === String(focused);
    setFocused(place);
  });
  const moveFocus = (target: number) => {
    wantsFocus.current = true;
    focusedId.current = undefined;
    setFocused(target);
  };
  const noteFocus = (event: FocusEvent) => {
    focusedId.current = undefined;
    setFocused(Number((event.target as HTMLElement).dataset['index']));
  };
  return { focused, moveFocus, noteFocus };
}

/** Returns a flag. If the flag is set, the next rendering moves the browser's focus to the focused row. */
function useWantedFocus(scroller: Scroller, focused: number, selected: string): RefObject<boolean> {
  const wantsFocus = useRef(false);
  const hadSelection = useRef(false);
  // Returns the focus to the list when no resource is selected, because the details are then hidden.
  useLayoutEffect(() => {
    if (hadSelection.current && selected === '' && document.activeElement === document.body) wantsFocus.current = true;
    hadSelection.current = selected !== '';
  }, [selected]);
  useLayoutEffect(() => {
    const link = scroller.current?.querySelector<HTMLElement>(`[data-index="${focused}"]`);
    if (!wantsFocus.current || !link) return;
    wantsFocus.current = false;
    link.focus();
  });
  return wantsFocus;
}

/** Returns the row to which a key moves the focus, or undefined if the key does not move it. */
function moved(key: string, from: number, perPage: number, total: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowDown: 1, ArrowUp: -1, PageDown: perPage, PageUp: -perPage, Home: -total, End: total },
  };
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(total - 1, from + step));
}

/** Scrolls as little as needed to show a row. */
function reveal(scroller: HTMLElement | null, index: number): void {
  if (!scroller) return;
  const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
}

interface RowProps {
  readonly row: ListRow | undefined;
  readonly index: number;
  readonly total: number;
  readonly isSelected: boolean;
  readonly isFocusable: boolean;
}

function Row({ row, index, total, isSelected, isFocusable }: RowProps) {
  return (
    <li
      class="row"
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      aria-setsize={total}
      aria-posinset={index + 1}
    >
      {/* A row that is still being read can have the focus, so that no key is lost. */}
      <a
        {...(row && { href: `#${encodeURI(row.id)}` })}
        data-index={index}
        tabIndex={isFocusable ? 0 : -1}
        aria-current={isSelected ? 'page' : undefined}
      >
        {row && <RowContent row={row} />}
      </a>
    </li>
  );
}

function RowContent({ row }: { row: ListRow }) {
  const { kind, namespace, name, figure, lagSince, bar } = row;
  const segments = bar && (kind === 'SearchExport' ? exportSegments(bar) : collectorSegments(bar));
  return (
    <>
      <span class="line">
        <span class="kind">{kinds[kind].shortName}</span>
        <span class="name">
          <span class="namespace muted">{namespace}/</span>
          {name}
        </span>
        {figure !== undefined && <span class="figure">{figure}</span>}
        {lagSince !== undefined && <Lag since={lagSince} />}
      </span>
      <span class="line second">
        <StateChip state={row.state} tone={row.tone} />
        <span class="note">{row.note}</span>
      </span>
      {segments && <StackedBar segments={segments} isThin />}
    </>
  );
}

function Lag({ since }: { since: string }) {
  return <span class="figure">lag {renderAgeSince(since, useNow())}</span>;
}
