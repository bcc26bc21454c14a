/** Small parts that several views of the page share. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { collectorStates } from '../../render/bars.ts';
import type { Tone } from '../../render/condition-lines.ts';
import { renderAgeSince, renderMinute } from '../../render/text.ts';
import type { Segment } from './charts.tsx';
import { useNow } from './clock.ts';

export function StateChip({ state, tone }: { state: string; tone: Tone }) {
  return (
    <span class="chip" data-tone={tone}>
      {state}
    </span>
  );
}

/** Returns the segments of a bar of collectors. `counts` are in the order of `collectorStates`. */
export function collectorSegments(counts: readonly number[]): readonly Segment[] {
  return collectorStates.map(({ member, label }, index) => ({ label, amount: counts[index] ?? 0, look: member }));
}

export function exportSegments([done = 0, rest = 0]: readonly number[]): readonly Segment[] {
  return [
    { label: '% exported', amount: done, look: 'updated' },
    { label: '% left', amount: rest, look: 'pending' },
  ];
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
  /** `figures` are large and at the top. `facts` take one line each. */
  readonly look: 'figures' | 'facts';
  readonly pairs: readonly (readonly [name: string, value: ComponentChildren])[];
}

/** Names and values. Pairs without a value are omitted. */
export function Pairs({ look, pairs }: PairsProps) {
  return (
    <dl class={look}>
      {pairs.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

interface TableProps {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}

/** Table that scrolls sideways in a narrow window. Not shown without rows. */
export function Table({ caption, headings, rows }: TableProps) {
  if (rows.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: an element that scrolls must be reachable with the keyboard.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div class="table" role="group" aria-label={caption} tabIndex={0}>
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
              {row.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function TableSection({ title, headings, rows }: Omit<TableProps, 'caption'> & { title: string }) {
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      <Table caption={title} headings={headings} rows={rows} />
    </Section>
  );
}

/** Age of a time, such as `5m ago`, with the exact time in the tooltip. */
export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {renderAgeSince(time, useNow())} ago
    </time>
  );
}

export function Minute({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {renderMinute(Date.parse(time))}
    </time>
  );
}

/** Command line with a button that copies it. */
export function Command({ purpose, command }: { purpose: string; command: string }) {
  const [outcome, setOutcome] = useState('');
  const copy = async () => {
    const isCopied = await navigator.clipboard.writeText(command).then(
      () => true,
      () => false,
    );
    setOutcome(isCopied ? 'Copied' : 'Not allowed');
    setTimeout(() => setOutcome(''), 2_000);
  };
  return (
    <div class="command">
      <span class="purpose">{purpose}</span>
      <code>{command}</code>
      <button class="copy" type="button" onClick={copy} aria-label={`Copy the command: ${purpose}`}>
        {outcome || 'Copy'}
      </button>
      <span class="unseen" role="status">
        {outcome}
      </span>
    </div>
  );
}
