/** `npm run demo:picture`: makes docs/demo.svg from a run of the demo. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Output } from '../src/cli/command/context.ts';
import { processContext } from '../src/cli/process-context.ts';
import { runDemo } from './demo.ts';
import { renderSvg } from './screen-svg.ts';
import { TerminalScreen, type TextRun, textOf } from './terminal-screen.ts';

const columns = 104;
const file = new URL('../docs/demo.svg', import.meta.url);
/** Fraction of collectors that have been upgraded when the picture of the rollout is taken. */
const shownShare = 0.35;
/** Finished fraction of the export when the picture of the export is taken. */
const shownCoverage = 0.6;

type ScreenRows = readonly (readonly TextRun[])[];

interface ScreenMoment {
  readonly rows: ScreenRows;
  /**
   * Difference between the progress that the screen shows and the progress that the picture should show, as a fraction.
   */
  readonly distance: number;
}

const screen = new TerminalScreen();
/**
 * Screens from which the pictures of the rollout (`moving`) and of the export (`exporting`) are made. Each is the
 * screen whose progress was closest to the wanted fraction (`shownShare` or `shownCoverage`).
 */
let moving: ScreenMoment | undefined;
let exporting: ScreenMoment | undefined;

const terminal: Output = {
  isTTY: true,
  colour: true,
  columns: () => columns,
  rows: () => 50,
  write: (text) => {
    screen.write(text.replaceAll(tmpdir(), '/tmp').replaceAll(/(logfleet-demo)-\w+/g, '$1'));
    const rows = screen.rows();
    // The screen has a row with `updated` for each of the demo's two rollouts. The picture shows the second rollout.
    const [, headline] = rows.map(textOf).filter((row) => row.includes(' updated   '));
    const [, updated, counted] = / (\d+)\/(\d+) updated/.exec(headline ?? '') ?? [];
    moving = closer(moving, { rows, distance: Math.abs(Number(updated) / Number(counted) - shownShare) });
    const [, percent] = rows.map((row) => /\] +(\d+)%, /.exec(textOf(row)) ?? []).find(([found]) => found) ?? [];
    exporting = closer(exporting, { rows, distance: Math.abs(Number(percent) / 100 - shownCoverage) });
  },
};

console.log('The demo is running. This takes about a minute.');
const status = await runDemo({ ...processContext(), stdout: terminal, stderr: terminal });
const end = screen.rows();
const report = end.slice(findRow('CHECK'), findRow('What to try next') - 1);
if (status === 0 && moving && exporting && report.length > 0) {
  const separator: ScreenRows = [[], [{ text: '─'.repeat(columns), style: '2', column: 0 }], []];
  const begun = exporting.rows.findIndex((row) => textOf(row).startsWith('Next: export'));
  const shown = [...shortened(moving.rows), ...separator, ...exporting.rows.slice(begun), ...separator, ...report];
  writeFileSync(file, renderSvg(shown, columns, 'make demo'));
  console.log('docs/demo.svg has been written.');
} else {
  console.error(`The demo ended with status ${status}; docs/demo.svg has not been changed.`);
}
process.exit(status);

function findRow(text: string): number {
  return end.findIndex((row) => textOf(row).startsWith(text));
}

function closer(known: ScreenMoment | undefined, found: ScreenMoment): ScreenMoment | undefined {
  return found.distance < (known?.distance ?? Number.POSITIVE_INFINITY) ? found : known;
}

/** Shortens the report by replacing the part from `Versions` up to `The canary stopped it` with `…`. */
function shortened(rows: ScreenRows): ScreenRows {
  const from = rows.findIndex((row) => textOf(row) === 'Versions');
  const to = rows.findIndex((row) => textOf(row).startsWith('The canary stopped it'));
  return [...rows.slice(0, from), [{ text: '…', style: '2', column: 0 }], [], ...rows.slice(to)];
}
