/**
 * `npm run bench -- rollout`: measures the requests, duration, latency, memory and CPU time of a rollout, and the
 * requests sent by an idle operator.
 */
import { execFile } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type FigureSection, renderSections } from './figures.ts';
import { machineLine, thisMachine, wantedParts } from './parts.ts';
import { stayConverged } from './rollout/converged.ts';
import { measureLatency } from './rollout/latency.ts';
import { holdFleet, rollOutFast } from './rollout/load.ts';
import {
  convergedSection,
  latencySection,
  loadSection,
  type RolloutReport,
  requestsSection,
} from './rollout/sections.ts';
import type { RolloutCase, RolloutFigures } from './rollout/virtual-rollout.ts';

export interface RolloutBenchOptions {
  readonly quick: boolean;
  readonly full: boolean;
  readonly json: boolean;
  readonly only?: readonly string[];
}

const parts = ['requests', 'converged', 'load', 'latency'] as const;
type Part = (typeof parts)[number];

/** Size of the benchmark: numbers of collectors and policies, and duration. */
interface Extent {
  readonly collectors: number;
  /** Sizes of the fleets that are upgraded completely. */
  readonly whole: readonly number[];
  readonly heldCollectors: number;
  readonly rollingSeconds: number;
  readonly applies: number;
}

const usual: Extent = {
  collectors: 10_000,
  whole: [5_000, 10_000, 20_000],
  heldCollectors: 100_000,
  rollingSeconds: 30,
  applies: 100,
};
const quick: Extent = {
  collectors: 3_000,
  whole: [1_500, 3_000],
  heldCollectors: 20_000,
  rollingSeconds: 10,
  applies: 20,
};
const full: Extent = { ...usual, whole: [10_000, 100_000], rollingSeconds: 300 };
/**
 * Factor by which the operator's clock is faster than real time. With a much larger factor, the operator's timeouts
 * would expire before the service responds.
 */
const speed = 25;

const virtualRollout = fileURLToPath(new URL('rollout/virtual-rollout.ts', import.meta.url));

export async function benchRollout(options: RolloutBenchOptions): Promise<void> {
  const wants = wantedParts(parts, options.only);
  if (!wants) return;
  const extent = options.quick ? quick : options.full ? full : usual;
  const report = await measure(extent, wants);
  console.log(options.json ? JSON.stringify(report, undefined, 2) : render(report));
}

async function measure(extent: Extent, wants: (part: Part) => boolean): Promise<RolloutReport> {
  const machine = thisMachine();
  const cases = wants('requests') ? requestCases(extent.collectors) : [];
  // The measurements in real time use little CPU, so the rollouts in virtual time run at the same time.
  const [load, requests] = await Promise.all([wants('load') ? measureLoad(extent) : undefined, rollOutAll(cases)]);
  const converged = wants('converged') ? await withProgress(stayConverged(), 'converged') : undefined;
  const latency = wants('latency') ? await withProgress(measureLatency(extent.applies), 'latency') : undefined;
  return {
    ...machine,
    ...(cases.length > 0 ? { requests } : {}),
    ...(converged ? { converged } : {}),
    ...(load ? { load } : {}),
    ...(latency ? { latency } : {}),
  };
}

async function measureLoad({ heldCollectors, rollingSeconds, whole }: Extent) {
  const [held, ...rollouts] = await Promise.all([
    withProgress(holdFleet(heldCollectors, rollingSeconds), `${heldCollectors} collectors in real time`),
    ...whole.map((collectors) => withProgress(rollOutFast(collectors, speed), `whole rollout of ${collectors}`)),
  ]);
  return { held, rollouts };
}

const usualCase = { pageRows: 1_000, oldVersions: 5, spareBuild: true } as const;

function requestCases(collectors: number): RolloutCase[] {
  return [
    { ...usualCase, collectors },
    { ...usualCase, collectors, pageRows: 50, oldVersions: 1 },
    { ...usualCase, collectors, pageRows: 50 },
    { ...usualCase, collectors, spareBuild: false },
    { ...usualCase, collectors, pageRows: 50, oldVersions: 1, spareBuild: false },
  ];
}

const run = promisify(execFile);

/** Runs rollouts in virtual time, in as many concurrent processes as the machine has processors. */
async function rollOutAll(cases: readonly RolloutCase[]): Promise<RolloutFigures[]> {
  const figures: RolloutFigures[] = [];
  const queue = [...cases.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [place, one] = next;
      figures[place] = await withProgress(rollOutInProcess(one), describe(one));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return figures;
}

async function rollOutInProcess(one: RolloutCase): Promise<RolloutFigures> {
  const running = run(process.execPath, [virtualRollout, JSON.stringify(one)]);
  setPriority(running.child.pid ?? 0, constants.priority.PRIORITY_LOW);
  return JSON.parse((await running).stdout) as RolloutFigures;
}

function describe({ collectors, pageRows, oldVersions }: RolloutCase): string {
  return `${collectors} collectors, pages of ${pageRows}, ${oldVersions} old versions`;
}

/** Reports progress on stderr. */
async function withProgress<T>(work: Promise<T>, what: string): Promise<T> {
  const startMs = performance.now();
  const value = await work;
  console.error(`${what}: ${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  return value;
}

function render({ requests, converged, load, latency, ...machine }: RolloutReport): string {
  const sections: FigureSection[] = [];
  if (requests) sections.push(requestsSection(requests));
  if (converged) sections.push(convergedSection(converged));
  if (load) sections.push(loadSection(load));
  if (latency) sections.push(latencySection(latency));
  return `${renderSections(sections)}\n\n${machineLine(machine)}`;
}
