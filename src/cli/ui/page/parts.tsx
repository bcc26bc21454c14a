/** Small components that several views of the page share. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { groupedText } from '../../../base/number-text.ts';
import type { Tone } from '../../render/condition-lines.ts';
import { renderAgeSince, renderMinute } from '../../render/text.ts';

const tickMs = 1_000;

/** Returns the wall-clock time in ms. Renders the calling component again every second. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}

/** Renders numbers with groups of digits, and other values unchanged. */
export function shown(value: ComponentChildren): ComponentChildren {
  return typeof value === 'number' ? groupedText(value) : value;
}

export function StateChip({ state, tone }: { state: string; tone: Tone }) {
  return (
    <span class="chip" data-tone={tone}>
      {state}
    </span>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

interface PairsProps {
  /** Style of the list. `figures`: large values, for the top of a view. `facts`: one line for each value. */
  readonly variant: 'figures' | 'facts';
  /** Values by name. Undefined values are omitted. */
  readonly pairs: Readonly<Record<string, ComponentChildren>>;
}

export function Pairs({ variant, pairs }: PairsProps) {
  return (
    <dl class={variant}>
      {Object.entries(pairs).map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{shown(value)}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

interface TableProps<R> {
  readonly title: string;
  readonly rows: readonly R[] | undefined;
  /** Columns by heading. A column is the name of a field, or a function that renders a cell. */
  readonly columns: Readonly<Record<string, keyof R | ((row: R) => ComponentChildren)>>;
}

/** Table that scrolls sideways in a narrow window. Not shown if it has no rows. */
export function Table<R>({ title, rows = [], columns }: TableProps<R>) {
  if (rows.length === 0) return null;
  const headings = Object.keys(columns);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div class="table" role="group" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {Object.values(columns).map((column, place) => (
                <td key={place}>
                  {shown(typeof column === 'function' ? column(row) : (row[column] as ComponentChildren))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function TableSection<R>(props: TableProps<R>) {
  if (!props.rows?.length) return null;
  return (
    <Section title={props.title}>
      <Table {...props} />
    </Section>
  );
}

interface TextRange {
  readonly from: string;
  readonly to: string;
}

/** Columns of a table whose rows have a time range. */
export const rangeColumns = {
  From: ({ from }: TextRange) => <Minute time={from} />,
  To: ({ to }: TextRange) => <Minute time={to} />,
} as const;

/** Time as an age, such as `5m ago`, with the exact time in the tooltip. */
export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {renderAgeSince(time, useNow())} ago
    </time>
  );
}

function Minute({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {renderMinute(Date.parse(time))}
    </time>
  );
}

/** Command line with a button that copies it. */
export function Command({ purpose, command }: { purpose: string; command: string }) {
  const [feedback, setFeedback] = useState('');
  const copy = async () => {
    const isCopied = await navigator.clipboard.writeText(command).then(
      () => true,
      () => false,
    );
    setFeedback(isCopied ? 'Copied' : 'Not allowed');
    setTimeout(() => setFeedback(''), 2_000);
  };
  return (
    <div class="command">
      <span class="purpose">{purpose}</span>
      <code>{command}</code>
      <button class="copy" type="button" onClick={copy} aria-label={`Copy the command: ${purpose}`}>
        {feedback || 'Copy'}
      </button>
      <span class="unseen" role="status">
        {feedback}
      </span>
    </div>
  );
}
