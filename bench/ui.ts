/** `npm run bench -- ui`: measures `logfleet ui` with thousands of resources, in Chromium with a real API server. */
import { type FigureLine, percentile, renderSections } from './figures.ts';
import { type Machine, machineLine, thisMachine } from './parts.ts';
import { measureUi, type UiFigures } from './ui/measure.ts';

export interface UiBenchOptions {
  readonly resources: number;
  readonly json: boolean;
}

const count = new Intl.NumberFormat('en-US');

/** Target values of the benchmark. They apply to a page with ten thousand resources. */
const goals = { resources: 10_000, firstRowsMs: 300, changeMs: 1_000 } as const;

export async function benchUi({ resources, json }: UiBenchOptions): Promise<void> {
  const machine = thisMachine();
  console.error(`creating ${count.format(resources)} exports on an API server ...`);
  const figures = await measureUi(resources);
  console.log(json ? JSON.stringify({ ...machine, ...figures }, undefined, 2) : render(machine, figures));
}

function render(machine: Machine, figures: UiFigures): string {
  const { resources, firstPaintMs, firstRowsMs, changeMs, startCpuSeconds, residentMiB } = figures;
  const isGoal = resources === goals.resources;
  const timed = (what: string, sorted: readonly number[], share: number, goalMs?: number): FigureLine => {
    const value = percentile(sorted, share);
    const measured = `${value.toFixed(0)} ms`;
    if (!isGoal || goalMs === undefined) return { what, measured };
    return { what, measured, target: `<= ${count.format(goalMs)} ms`, met: value <= goalMs };
  };
  const lines: readonly FigureLine[] = [
    timed('first contentful paint, p50', firstPaintMs, 0.5, goals.firstRowsMs),
    timed('first rows of the list painted, p50', firstRowsMs, 0.5, goals.firstRowsMs),
    timed('status change visible, p50', changeMs, 0.5, goals.changeMs),
    timed('status change visible, slowest', changeMs, 1, goals.changeMs),
    { what: 'CPU time from start until the page is served', measured: `${startCpuSeconds.toFixed(2)} CPU s` },
    { what: 'memory of the command', measured: `${residentMiB.toFixed(0)} MiB` },
  ];
  const title = `logfleet ui with ${count.format(resources)} resources`;
  const notes = [`${firstRowsMs.length} page loads in new tabs, ${changeMs.length} status changes.`];
  return `${machineLine(machine)}\n\n${renderSections([{ title, lines, notes }])}`;
}
