/** Renders terminal rows as an SVG. */
import type { Style, TextRun } from './terminal-screen.ts';

const columnWidth = 8.4;
const rowHeight = 18;
const margin = 16;
const fontSize = 14;

const background = '#11151c';
const foreground = '#d7dde5';
/** Colours by SGR parameter (terminal style code). */
const colours: Readonly<Partial<Record<Style, string>>> = {
  '2': '#7d8896',
  '31': '#ff7b72',
  '32': '#56d364',
  '33': '#e3b341',
  '34': '#79c0ff',
  '35': '#d2a8ff',
  '36': '#56d4dd',
};

/** @param columns width of the terminal; longer rows are cut off */
export function renderSvg(rows: readonly (readonly TextRun[])[], columns: number, title: string): string {
  const width = Math.ceil(columns * columnWidth + 2 * margin);
  const height = rows.length * rowHeight + 2 * margin;
  const texts = rows.flatMap((row, index) => row.map((run) => renderRun(run, index)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}" fill="${foreground}" xml:space="preserve">`,
    ...texts,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Renders text as an SVG element of fixed width, so that columns are aligned in every font. */
function renderRun({ text, style, column }: TextRun, row: number): string {
  const shown = text.trimEnd();
  const attributes = [
    `x="${round(margin + column * columnWidth)}"`,
    `y="${margin + row * rowHeight + fontSize}"`,
    `textLength="${round(Array.from(shown).length * columnWidth)}"`,
    'lengthAdjust="spacingAndGlyphs"',
    ...(style === '1' ? ['font-weight="bold"'] : []),
    ...(colours[style] === undefined ? [] : [`fill="${colours[style]}"`]),
  ];
  return `<text ${attributes.join(' ')}>${escapeText(shown)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
