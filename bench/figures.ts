/** What the measurement found, as lines of a table: what, how much, and what was promised. */

export interface Line {
  readonly what: string;
  readonly measured: string;
  /** What was promised; absent where a figure is only stated. */
  readonly target?: string;
  readonly met?: boolean;
}

export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
  /** How it was measured, and what the figures do not say. */
  readonly notes: readonly string[];
}

/** The smallest sample that at least this share of them does not exceed. `sorted` is in order of size. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function renderSections(sections: readonly Section[]): string {
  return sections.map(renderSection).join('\n\n');
}

function renderSection({ title, lines, notes }: Section): string {
  const whatWidth = widest(lines.map(({ what }) => what));
  const measuredWidth = widest(lines.map(({ measured }) => measured));
  const rows = lines.map(({ what, measured, target, met }) => {
    const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
    return `  ${what.padEnd(whatWidth)}  ${measured.padEnd(measuredWidth)}  ${(target ?? '').padEnd(15)}  ${verdict}`.trimEnd();
  });
  return [title, ...rows, ...notes.map((note) => `    ${note}`)].join('\n');
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, text.length), 0);
}
