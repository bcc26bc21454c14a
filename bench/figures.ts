/** Renders the results of a benchmark as a table of measured values and their target values. */

export interface FigureLine {
  readonly what: string;
  readonly measured: string;
  readonly target?: string;
  readonly met?: boolean;
}

export interface FigureSection {
  readonly title: string;
  readonly lines: readonly FigureLine[];
  /** Notes printed below the results. */
  readonly notes: readonly string[];
}

/** Returns a percentile of sorted samples. `share` is the percentile as a fraction from 0 to 1. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function renderSections(sections: readonly FigureSection[]): string {
  return sections.map(renderSection).join('\n\n');
}

function renderSection({ title, lines, notes }: FigureSection): string {
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
