/** Bars, histograms and timelines, with text for screen readers. */
import type { TimeRange } from '../../../base/time-range.ts';
import { collectorStates } from '../../render/bars.ts';
import { renderMinute } from '../../render/text.ts';
import { Section, shown } from './parts.tsx';

/** Meaning of a colour in a chart. */
export interface Key {
  readonly label: string;
  /** CSS colour. `page.css` defines the variables. */
  readonly colour: string;
}

export interface BarSegment extends Key {
  readonly amount: number;
}

/** Returns the segments for a bar of collectors. `counts` are in the order of `collectorStates`. */
export function collectorSegments(counts: readonly number[]): readonly BarSegment[] {
  return collectorStates.map(({ member, label }, index) => ({
    label,
    amount: counts[index] ?? 0,
    colour: `var(--${member})`,
  }));
}

export function exportSegments([done = 0, rest = 0]: readonly number[]): readonly BarSegment[] {
  return [
    { label: '% exported', amount: done, colour: 'var(--updated)' },
    { label: '% left', amount: rest, colour: 'var(--pending)' },
  ];
}

/** Bar whose segments are proportional to their amounts. Each amount above 0 is visible. */
export function StackedBar({ segments, isThin = false }: { segments: readonly BarSegment[]; isThin?: boolean }) {
  const present = segments.filter(({ amount }) => amount > 0);
  const text = present.map(({ label, amount }) => `${amount}${label.startsWith('%') ? '' : ' '}${label}`).join(', ');
  return (
    <div class={isThin ? 'bar thin' : 'bar'} role="img" aria-label={text || 'none'}>
      {present.map(({ label, amount, colour }) => (
        <span key={label} style={{ flexGrow: amount, background: colour }} />
      ))}
    </div>
  );
}

/** Legend of a chart's colours. Shows the amounts of a bar's segments, and omits empty segments. */
export function Legend({ keys }: { keys: readonly (Key & Partial<BarSegment>)[] }) {
  return (
    <ul class="legend">
      {keys
        .filter(({ amount }) => amount !== 0)
        .map(({ label, colour, amount }) => (
          <li key={label}>
            <span class="swatch" style={{ background: colour }} aria-hidden="true" />
            {label} {amount !== undefined && <strong>{shown(amount)}</strong>}
          </li>
        ))}
    </ul>
  );
}

export function BarSection({ title, segments }: { title: string; segments: readonly BarSegment[] }) {
  return (
    <Section title={title}>
      <StackedBar segments={segments} />
      <Legend keys={segments} />
    </Section>
  );
}

export interface TimeSpan extends TimeRange {
  readonly colour: string;
  readonly title: string;
}

/** Returns the span between two RFC 3339 times, with `what` in the tooltip. */
export function spanOf(from: string, to: string, colour: string, what: string): TimeSpan {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return { fromMs, toMs, colour, title: `${renderMinute(fromMs)} to ${renderMinute(toMs)}: ${what}` };
}

interface TimelineChartProps {
  readonly range: TimeRange;
  readonly spans: readonly TimeSpan[];
  readonly nowMs?: number;
  readonly label: string;
}

export function TimelineChart({ range, spans, nowMs, label }: TimelineChartProps) {
  const percent = (durationMs: number) => `${(100 * durationMs) / Math.max(1, range.toMs - range.fromMs)}%`;
  const place = (fromMs: number, toMs: number) => ({
    left: percent(fromMs - range.fromMs),
    width: percent(toMs - fromMs),
  });
  return (
    <figure>
      <div class="timeline" role="img" aria-label={label}>
        {spans.map(({ fromMs, toMs, colour, title }) => (
          <span key={`${colour} ${fromMs}`} title={title} style={{ ...place(fromMs, toMs), background: colour }} />
        ))}
        {nowMs !== undefined && <span style={{ ...place(nowMs, nowMs), background: 'var(--text)' }} />}
      </div>
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

interface HistogramChartProps {
  /** Counts for time slices of equal length; undefined where a count is unknown. */
  readonly counts: readonly (number | undefined)[];
  readonly range: TimeRange;
  readonly label: string;
}

/** Histogram of rows over time. */
export function HistogramChart({ counts, range, label }: HistogramChartProps) {
  const highest = Math.max(1, ...counts.map((count = 0) => count));
  const sliceMs = (range.toMs - range.fromMs) / counts.length;
  return (
    <figure>
      <p class="axis" aria-hidden="true">
        {shown(highest)} rows
      </p>
      <div class="histogram" role="img" aria-label={label}>
        {counts.map((count, index) => {
          const height = count === undefined ? 100 : count && Math.max(2, (count / highest) * 100);
          const rows = count === undefined ? 'not exported yet' : `${shown(count)} rows`;
          const title = `${renderMinute(range.fromMs + index * sliceMs)}: ${rows}`;
          const background = `var(--${count === undefined ? 'missing' : 'inProgress'})`;
          return <span key={index} title={title} style={{ height: `${height}%`, background }} />;
        })}
      </div>
      <Axis range={range} />
    </figure>
  );
}
