/** Bars, histograms and timelines as SVG, with texts for screen readers. */
import type { TimeRange } from '../../../api/time-range.ts';
import { apportion } from '../../render/bars.ts';
import { renderMinute } from '../../render/text.ts';

export interface Segment {
  readonly label: string;
  readonly amount: number;
  /** Name of the segment's colour in `page.css`. */
  readonly look: string;
}

/** Number of cells in a bar. Each amount above 0 gets a cell. */
const cells = 200;

export function StackedBar({ segments, isThin = false }: { segments: readonly Segment[]; isThin?: boolean }) {
  const widths = apportion(
    segments.map(({ amount }) => amount),
    cells,
  );
  const present = segments.filter(({ amount }) => amount > 0);
  const text = present.map(({ label, amount }) => `${amount}${label.startsWith('%') ? '' : ' '}${label}`).join(', ');
  let from = 0;
  return (
    <svg
      class={isThin ? 'bar thin' : 'bar'}
      viewBox={`0 0 ${cells} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text || 'none'}
    >
      {segments.map(({ label, look }, index) => {
        const width = widths[index] ?? 0;
        const x = from;
        from += width;
        return width > 0 && <rect key={label} data-look={look} x={x} y={0} width={width} height={1} />;
      })}
    </svg>
  );
}

/** Legend of a stacked bar without empty segments. */
export function Legend({ segments }: { segments: readonly Segment[] }) {
  return (
    <ul class="legend">
      {segments
        .filter(({ amount }) => amount > 0)
        .map(({ label, amount, look }) => (
          <li key={label}>
            <span class="swatch" data-look={look} aria-hidden="true" />
            {label} <strong>{amount.toLocaleString('en-US')}</strong>
          </li>
        ))}
    </ul>
  );
}

/** Meanings of the colours of a timeline. */
export function Keys({ keys }: { keys: readonly (readonly [look: string, meaning: string])[] }) {
  return (
    <ul class="legend">
      {keys.map(([look, meaning]) => (
        <li key={look}>
          <span class="swatch" data-look={look} aria-hidden="true" />
          {meaning}
        </li>
      ))}
    </ul>
  );
}

export interface TimeSpan extends TimeRange {
  readonly look: string;
  readonly title: string;
}

/** Returns the span between two RFC 3339 times, with `what` in the tooltip. */
export function spanOf(from: string, to: string, look: string, what: string): TimeSpan {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return { fromMs, toMs, look, title: `${renderMinute(fromMs)} to ${renderMinute(toMs)}: ${what}` };
}

const timelineWidth = 1_000;

export function Timeline({
  range,
  spans,
  nowMs,
  label,
}: {
  range: TimeRange;
  spans: readonly TimeSpan[];
  nowMs?: number;
  label: string;
}) {
  const x = (timeMs: number) =>
    ((Math.min(range.toMs, Math.max(range.fromMs, timeMs)) - range.fromMs) / Math.max(1, range.toMs - range.fromMs)) *
    timelineWidth;
  return (
    <figure class="timeline">
      <svg viewBox={`0 0 ${timelineWidth} 28`} preserveAspectRatio="none" role="img" aria-label={label}>
        <rect data-look="missing" x={0} y={4} width={timelineWidth} height={20} />
        {spans.map(({ fromMs, toMs, look, title }) => (
          <rect
            key={`${look} ${fromMs}`}
            data-look={look}
            x={x(fromMs)}
            y={4}
            width={Math.max(2, x(toMs) - x(fromMs))}
            height={20}
          >
            <title>{title}</title>
          </rect>
        ))}
        {nowMs !== undefined && <rect data-look="now" x={x(nowMs) - 1} y={0} width={2} height={28} />}
      </svg>
      <Axis range={range} />
    </figure>
  );
}

function Axis({ range }: { range: TimeRange }) {
  return (
    <p class="axis" aria-hidden="true">
      <span>{renderMinute(range.fromMs)}</span>
      <span>{renderMinute(range.toMs)}</span>
    </p>
  );
}

/** Histogram of counts over time. `undefined` is an unknown count. */
export function Histogram({
  counts,
  range,
  label,
}: {
  counts: readonly (number | undefined)[];
  range: TimeRange;
  label: string;
}) {
  const highest = Math.max(1, ...counts.map((count) => count ?? 0));
  const sliceMs = (range.toMs - range.fromMs) / counts.length;
  return (
    <figure class="histogram">
      <p class="axis" aria-hidden="true">
        <span>{highest.toLocaleString('en-US')} rows</span>
      </p>
      <svg viewBox={`0 0 ${counts.length * 10} 100`} preserveAspectRatio="none" role="img" aria-label={label}>
        {counts.map((count, index) => {
          const height = count === undefined ? 100 : count === 0 ? 0 : Math.max(2, (count / highest) * 100);
          const start = renderMinute(range.fromMs + index * sliceMs);
          return (
            <rect
              key={index}
              data-look={count === undefined ? 'unknown' : 'rows'}
              x={index * 10 + 1}
              y={100 - height}
              width={8}
              height={height}
            >
              <title>{`${start}: ${count === undefined ? 'not exported yet' : `${count.toLocaleString('en-US')} rows`}`}</title>
            </rect>
          );
        })}
      </svg>
      <Axis range={range} />
    </figure>
  );
}
