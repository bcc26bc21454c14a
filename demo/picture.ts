/**
 * `npm run demo:picture` makes docs/demo.svg from a real run of the demo: the screen with the rollout that the canary has stopped and
 * the next one while the fleet moves, and what happened in the end.
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

type Rows = readonly (readonly Run[])[];

const screen = new TerminalScreen();
let moving: { readonly rows: Rows; readonly distance: number } | undefined;

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
    const distance = Math.abs(Number(updated) / Number(counted) - shownShare);
    if (!(distance >= (moving?.distance ?? Number.POSITIVE_INFINITY)) && !Number.isNaN(distance))
      moving = { rows, distance };
  },
};

console.log('The demo runs; this takes about a minute.');
const status = await runDemo({ ...processContext(), stdout: terminal, stderr: terminal });
const end = screen.rows();
const report = end.slice(findRow('What happened'), findRow('What to try next') - 1);
if (status === 0 && moving && report.length > 0) {
  const separator: Rows = [[], [{ text: '─'.repeat(columns), style: '2', column: 0 }], []];
  const shown = [...shortened(moving.rows), ...separator, ...report];
  writeFileSync(file, renderSvg(shown, columns, 'make demo'));
  console.log('docs/demo.svg is made.');
} else {
  console.error(`The demo ended with status ${status}; docs/demo.svg stays as it was.`);
}
process.exit(status);

function findRow(text: string): number {
  return end.findIndex((row) => textOf(row) === text);
}

/** Of the rollout that was stopped no more than its stages: the picture is about the next one. */
function shortened(rows: Rows): Rows {
  const from = rows.findIndex((row) => textOf(row) === 'Versions');
  const to = rows.findIndex((row) => textOf(row).startsWith('The canary stopped it'));
  return [...rows.slice(0, from), [{ text: '…', style: '2', column: 0 }], [], ...rows.slice(to)];
}
