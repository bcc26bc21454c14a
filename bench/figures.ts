/** Renders the results of a benchmark as a table. Each line shows what was measured, the figure and its target. */

export interface Line {
  readonly what: string;
  readonly measured: string;
  readonly target?: string;
  readonly met?: boolean;
}

export interface Section {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Notes that are printed below the figures: how they were measured. */
  readonly notes: readonly string[];
}

/**
 * Returns a percentile of sorted samples: the smallest sample that is at least as large as the fraction `share` of all samples.
 */
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
