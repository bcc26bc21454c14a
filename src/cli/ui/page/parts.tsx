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

/** Part of the details of a resource, with its title. Not shown without content. */
export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Large figures at the top of a view. Figures without a value are omitted. */
export function Figures({ figures }: { figures: readonly (readonly [label: string, value: string | undefined])[] }) {
  return (
    <dl class="figures">
      {figures.map(
        ([label, value]) =>
          value !== undefined && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Names and values, one pair a line. Pairs without a value are omitted. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(
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

/** Time with its age, such as `5m ago`. The exact time is in the tooltip. */
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
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <div class="command">
      <span class="purpose">{purpose}</span>
      <code>{command}</code>
      <button class="copy" type="button" onClick={copy} aria-label={`Copy the command: ${purpose}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
      <span class="unseen" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </div>
  );
}
