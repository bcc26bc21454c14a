/**
 * `npm run demo:picture` makes docs/demo.svg from a real run of the demo: the screen with the rollout that the canary has stopped and
 * the next one while the fleet moves, the export half-way, and what is proven and what happened in the end.
 * Times differ a little from run to run.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Output } from '../src/cli/context.ts';
import { processContext } from '../src/cli/process-context.ts';
import { runDemo } from './demo.ts';
import { renderSvg } from './screen-svg.ts';
import { type Run, TerminalScreen, textOf } from './terminal-screen.ts';

const columns = 104;
const file = new URL('../docs/demo.svg', import.meta.url);
/** The updated share of the fleet at the moment that is shown: some are done, some under way, and some still wait. */
const shownShare = 0.35;
/** The covered share of the export's range. */
const shownCoverage = 0.6;

type Rows = readonly (readonly Run[])[];

interface Moment {
  readonly rows: Rows;
  /** From what is wanted. */
  readonly distance: number;
}

const screen = new TerminalScreen();
/** The moments that come closest to what is wanted of them. */
let moving: Moment | undefined;
let exporting: Moment | undefined;

const terminal: Output = {
  isTTY: true,
  colour: true,
  columns: () => columns,
  rows: () => 50,
  write: (text) => {
    // The name of the temporary folder is another one each time, and long on some systems.
    screen.write(text.replaceAll(tmpdir(), '/tmp').replaceAll(/(logfleet-demo)-\w+/g, '$1'));
    const rows = screen.rows();
    // The first is of the rollout that was stopped.
    const [, headline] = rows.map(textOf).filter((row) => row.includes(' updated   '));
    const [, updated, counted] = / (\d+)\/(\d+) updated/.exec(headline ?? '') ?? [];
    moving = closer(moving, { rows, distance: Math.abs(Number(updated) / Number(counted) - shownShare) });
    const [, percent] = rows.map((row) => /\] +(\d+)% of /.exec(textOf(row)) ?? []).find(([found]) => found) ?? [];
    exporting = closer(exporting, { rows, distance: Math.abs(Number(percent) / 100 - shownCoverage) });
  },
};

console.log('The demo runs; this takes about a minute.');
const status = await runDemo({ ...processContext(), stdout: terminal, stderr: terminal });
const end = screen.rows();
const report = end.slice(findRow('CHECK'), findRow('What to try next') - 1);
if (status === 0 && moving && exporting && report.length > 0) {
  const separator: Rows = [[], [{ text: '─'.repeat(columns), style: '2', column: 0 }], []];
  const begun = exporting.rows.findIndex((row) => textOf(row).startsWith('And its logs'));
  const shown = [...shortened(moving.rows), ...separator, ...exporting.rows.slice(begun), ...separator, ...report];
  writeFileSync(file, renderSvg(shown, columns, 'make demo'));
  console.log('docs/demo.svg is made.');
} else {
  console.error(`The demo ended with status ${status}; docs/demo.svg stays as it was.`);
}
process.exit(status);

function findRow(text: string): number {
  return end.findIndex((row) => textOf(row).startsWith(text));
}

/** Whichever of the two is closer; what is not a number is at no distance. */
function closer(known: Moment | undefined, found: Moment): Moment | undefined {
  return found.distance < (known?.distance ?? Number.POSITIVE_INFINITY) ? found : known;
}

/** Of the rollout that was stopped no more than its stages: the picture is about the next one. */
function shortened(rows: Rows): Rows {
  const from = rows.findIndex((row) => textOf(row) === 'Versions');
  const to = rows.findIndex((row) => textOf(row).startsWith('The canary stopped it'));
  return [...rows.slice(0, from), [{ text: '…', style: '2', column: 0 }], [], ...rows.slice(to)];
}
