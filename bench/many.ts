/**
 * `npm run bench -- many`: measures the startup, memory use and idle load of an operator with thousands of resources.
 */
import { mkdirSync } from 'node:fs';
import { type FigureLine, type FigureSection, renderSections } from './figures.ts';
import { type ManyFigures, measureMany } from './many/measure.ts';
import { populationNames, populations } from './many/populations.ts';
import { type Machine, machineLine, thisMachine, wantedParts } from './parts.ts';

export interface ManyBenchOptions {
  readonly resources: number;
  readonly json: boolean;
  readonly only?: readonly string[];
  /** Folder for the operator's CPU profiles. */
  readonly profiles?: string;
}

const idleSeconds = 60;
const count = new Intl.NumberFormat('en-US');

/** Target values of the benchmark. They apply to an operator with ten thousand resources. */
const goals = {
  resources: 10_000,
  restartCpuSeconds: 3,
  residentMiB: 180,
  firstCpuSeconds: 8,
  idleCpuSeconds: 0.2,
  writeP50Ms: 13,
  writeP99Ms: 35,
  metricsBytes: 500_000,
  /** Maximum number of Secret reads by the operator in one minute: one every 5 s. */
  secretReads: 12,
  noticedSeconds: 5,
} as const;

export async function benchMany({ only, json, ...options }: ManyBenchOptions): Promise<void> {
  const wants = wantedParts(populationNames, only);
  if (!wants) return;
  if (options.profiles !== undefined) mkdirSync(options.profiles, { recursive: true });
  const machine = thisMachine();
  const figures: ManyFigures[] = [];
  for (const name of populationNames.filter(wants)) {
    console.error(`measuring ${count.format(options.resources)} ${populations[name].title} ...`);
    figures.push(await measureMany(name, { ...options, idleSeconds }));
  }
  console.log(json ? JSON.stringify({ ...machine, figures }, undefined, 2) : render(machine, figures));
}

function render(machine: Machine, figures: readonly ManyFigures[]): string {
  return `${machineLine(machine)}\n\n${renderSections(figures.map(section))}`;
}

function section(figures: ManyFigures): FigureSection {
  const { population, resources, noticedSeconds, reasons } = figures;
  const states = Object.entries(reasons).map(([reason, times]) => `${count.format(times)} ${reason}`);
  return {
    title: `${count.format(resources)} ${populations[population].title}`,
    lines: [
      ...firstLines(figures),
      ...restartLines(figures),
      ...idleLines(figures),
      ...(noticedSeconds === undefined
        ? []
        : [line(figures, 'until the operator notices the new Secret', noticedSeconds, 's', goals.noticedSeconds + 1)]),
    ],
    notes: [`At the end: ${states.join(', ')}.`],
  };
}

function firstLines(figures: ManyFigures): FigureLine[] {
  const { first } = figures;
  if (!first) return [];
  return [
    line(figures, 'until all first statuses are written', first.cpuSeconds, 'CPU s', goals.firstCpuSeconds),
    { what: 'first statuses of all resources, time', measured: `${first.seconds.toFixed(1)} s` },
    { what: 'first statuses, requests', measured: renderRequests(first.requests) },
    line(figures, 'status write, p50', first.writeP50Ms, 'ms', goals.writeP50Ms),
    line(figures, 'status write, p99', first.writeP99Ms, 'ms', goals.writeP99Ms),
  ];
}

function restartLines(figures: ManyFigures): FigureLine[] {
  const { restart, residentMiB, metricsBytes, restartRequests } = figures;
  const rest = restart.isIdle ? '' : ', but not idle yet';
  return [
    line(figures, 'restart until idle', restart.cpuSeconds, `CPU s${rest}`, goals.restartCpuSeconds),
    { what: 'restart until idle, time', measured: `${restart.seconds.toFixed(1)} s` },
    { what: 'restart, requests', measured: renderRequests(restartRequests) },
    line(figures, 'memory', residentMiB, 'MiB', goals.residentMiB),
    line(figures, '/metrics', metricsBytes, 'bytes', goals.metricsBytes),
  ];
}

function idleLines(figures: ManyFigures): FigureLine[] {
  const { idleCpuSeconds, idleRequests } = figures;
  return [
    line(figures, 'an idle minute', idleCpuSeconds, 'CPU s', goals.idleCpuSeconds),
    { what: 'an idle minute, requests', measured: renderRequests(idleRequests) },
    line(figures, 'an idle minute, Secret reads', idleRequests['GET secrets'] ?? 0, '', goals.secretReads + 1),
  ];
}

function line({ resources }: ManyFigures, what: string, value: number, unit: string, goal: number): FigureLine {
  const measured =
    `${value >= 100 ? count.format(Math.round(value)) : value.toFixed(value < 10 ? 2 : 1)} ${unit}`.trim();
  if (resources !== goals.resources) return { what, measured };
  return { what, measured, target: `<= ${count.format(goal)}`, met: value <= goal };
}

function renderRequests(requests: Readonly<Record<string, number>>): string {
  const parts = Object.entries(requests).sort(([left], [right]) => left.localeCompare(right));
  return parts.map(([what, times]) => `${count.format(Math.round(times))} ${what}`).join(', ');
}
