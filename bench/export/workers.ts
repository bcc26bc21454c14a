/**
 * Measures the same export in a Kubernetes Job with one worker and with two. Each worker has one processor, which it
 * shares with the simulated service.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userIdOf } from '../../src/account/budgets.ts';
import { claimVolume, workerVariables } from '../../src/export/jobs/worker-environment.ts';
import type { FigureLine, FigureSection } from '../figures.ts';
import { compileCache } from '../process-figures.ts';
import { mainProgram, type SimulatorProcess, startSimulator } from '../simulator-process.ts';
import { imageEnvironment } from './whole-process.ts';

export interface WorkersFigures {
  readonly workers: number;
  readonly messages: number;
  /** Time in seconds from the start of the workers until the first of them finishes. */
  readonly seconds: number;
  readonly phases: Phases;
  /** CPU time of each worker in seconds. */
  readonly processorSeconds: readonly number[];
  /** Time in seconds during which all threads of the workers and the service were sleeping. */
  readonly idleSeconds: number;
  /** CPU time of the simulated service in seconds. */
  readonly simulatorSeconds: number;
}

/** Durations of the phases of an export in seconds. */
interface Phases {
  /** Time until the export's plan has been written. */
  readonly planning: number;
  /** Time from writing the plan to writing the last commit record. */
  readonly rows: number;
  /** Time from writing the last commit record to writing the export manifest. */
  readonly proof: number;
}

const range = { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' } as const;
/** Number of repetitions. Each repetition runs the export with one worker, and then with two workers. */
const repetitions = 3;
/** Interval in ms at which the benchmark checks whether all threads are sleeping. */
const sampleMs = 100;

export async function measureWorkers(quick: boolean): Promise<readonly WorkersFigures[]> {
  const messages = quick ? 1_000_017 : 6_000_017;
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const simulator = await startSimulator(directory, {
    logs: { messages, from: Date.parse(range.from), to: Date.parse(range.to), size: { typicalBytes: 900 } },
    limits: { requestsPerSecond: 0, concurrentRequests: 0 },
    // Searches take only 100 ms, so that the duration of the export depends on the speed of the workers.
    search: { duration: '100ms' },
  });
  const figures: WorkersFigures[] = [];
  try {
    for (let run = 0; run < (quick ? 1 : repetitions); run++) {
      for (const workers of [1, 2]) {
        placeOn(simulator.pid, workers);
        const before = secondsOf(simulator.pid);
        const measured = await runWorkers(path.join(directory, `${run}-${workers}`), simulator, workers);
        figures.push({ workers, messages, ...measured, simulatorSeconds: secondsOf(simulator.pid) - before });
      }
    }
  } finally {
    await simulator.stop();
    rmSync(directory, { recursive: true });
  }
  return figures;
}

async function runWorkers(folder: string, service: SimulatorProcess, workers: number) {
  const secret = path.join(folder, 'secrets', 'log-service');
  mkdirSync(secret, { recursive: true });
  mkdirSync(path.join(folder, 'claim'));
  const { baseURL, accessId, accessKey, caFile } = service;
  const members = { baseURL, accessId, accessKey, 'ca.crt': readFileSync(caFile, 'utf8') };
  for (const [key, value] of Object.entries(members)) writeFileSync(path.join(secret, key), value);
  const spec = {
    ...{ credentialsSecretRef: { name: 'log-service' }, query: '*', timeRange: range, parallelism: 8 },
    destination: { volume: { name: claimVolume } },
    output: { compression: 'Gzip', compressionLevel: 6 },
  };
  const metadata = { name: 'bench', namespace: 'bench' };
  const manifest = { apiVersion: 'logfleet.dev/v1alpha1', kind: 'SearchExport', metadata, spec };
  writeFileSync(path.join(folder, 'export.json'), JSON.stringify(manifest));
  const startMs = performance.now();
  const startWallMs = Date.now();
  const children = Array.from({ length: workers }, (_, index) => {
    const args = [mainProgram, 'export', 'export.json', '--log-format=json', `--volume=${claimVolume}=claim`];
    return spawn('taskset', ['--cpu-list', String(index), process.execPath, ...args], {
      cwd: folder,
      stdio: 'ignore',
      env: {
        ...{ ...process.env, ...imageEnvironment, NODE_COMPILE_CACHE: compileCache },
        [workerVariables.report]: path.join(folder, `report-${index}`),
        [workerVariables.secrets]: path.join(folder, 'secrets'),
        [workerVariables.user]: userIdOf({ serviceId: baseURL, user: accessId }),
        [workerVariables.workers]: String(workers),
        [workerVariables.index]: String(index),
        [workerVariables.requestsPerSecond]: '50',
        [workerVariables.maxConcurrentRequests]: '10',
      },
    });
  });
  const processorSeconds = children.map(() => 0);
  let [samples, idleSamples] = [0, 0];
  const looking = setInterval(() => {
    for (const [index, { pid }] of children.entries()) {
      processorSeconds[index] = Math.max(processorSeconds[index] ?? 0, secondsOf(pid));
    }
    samples++;
    if ([service, ...children].every(({ pid }) => isIdle(pid))) idleSamples++;
  }, sampleMs);
  const seconds = await Promise.all(
    children.map(async (child, index) => {
      const [status] = await once(child, 'exit');
      if (status !== 0) throw new Error(`worker ${index} ended with exit status ${status}`);
      return (performance.now() - startMs) / 1_000;
    }),
  );
  clearInterval(looking);
  return {
    seconds: Math.min(...seconds),
    phases: phasesOf(path.join(folder, 'claim'), startWallMs),
    processorSeconds,
    idleSeconds: (Math.max(...seconds) * idleSamples) / Math.max(1, samples),
  };
}

/** Restricts a process and its threads to the first `count` processors. */
function placeOn(pid: number, count: number): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', `0-${count - 1}`, String(pid)], { stdio: 'ignore' });
}

/**
 * Returns the duration of each phase of an export, computed from the times at which the export's files were written.
 */
function phasesOf(claim: string, startMs: number): Phases {
  const files = readdirSync(claim, { recursive: true }).map((name) => path.join(claim, String(name)));
  const writtenMs = (isWanted: (name: string) => boolean) =>
    Math.max(...files.filter(isWanted).map((name) => statSync(name).mtimeMs));
  const plannedMs = writtenMs((name) => name.endsWith('/plan.json'));
  const committedMs = writtenMs((name) => name.includes('/commits/'));
  const completeMs = writtenMs((name) => name.endsWith('/manifest.json'));
  const seconds = (fromMs: number, toMs: number) => (toMs - fromMs) / 1_000;
  return {
    planning: seconds(startMs, plannedMs),
    rows: seconds(plannedMs, committedMs),
    proof: seconds(committedMs, completeMs),
  };
}

/** Reports whether all threads of a process are sleeping: none is running, or waiting for a processor or the disk. */
function isIdle(pid: number | undefined): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const [state = ''] = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').replace(/^.*\) /s, '');
      return !'RD'.includes(state);
    });
  } catch {
    return true;
  }
}

/** Returns the CPU time of a process in seconds, or 0 if the process has ended. */
function secondsOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

export function workersSection(figures: readonly WorkersFigures[]): FigureSection {
  const of = (workers: number) => figures.filter((run) => run.workers === workers);
  const pairs = of(1).map((one, index) => ratiosOf(one, of(2)[index] ?? one));
  const line = (what: string, ratios: readonly number[]): FigureLine => {
    const ratio = median(ratios);
    return { what, measured: `${ratio.toFixed(2)} ×`, target: 'at least 1.80 ×', met: ratio >= 1.8 };
  };
  return {
    title: `An export of ${figures[0]?.messages.toLocaleString('en')} messages by two workers, compared with one`,
    lines: [
      line(
        'Time until the manifest',
        pairs.map(({ time }) => time),
      ),
      line(
        'Waits, and CPU time of the busier worker',
        pairs.map(({ ownTime }) => ownTime),
      ),
      line(
        'CPU time of the busier worker',
        pairs.map(({ processor }) => processor),
      ),
      ...[1, 2].flatMap((workers) => phaseLines(workers, of(workers))),
    ],
    notes: [
      'NDJSON with gzip 6, one processor per worker, no request limits. Medians over the pairs of runs. The simulated service',
      "shares the workers' processors. A wait is a time in which neither the workers nor the service do anything, such as",
      "the time until a search job is polled. Waits and CPU time exclude other programs and most of the service's time.",
    ],
  };
}

function phaseLines(workers: number, runs: readonly WorkersFigures[]): readonly FigureLine[] {
  const text = (seconds: (run: WorkersFigures) => number) => `${median(runs.map(seconds)).toFixed(1)} s`;
  const name = workers === 1 ? 'one worker' : `${workers} workers`;
  const phases = [({ phases }: WorkersFigures) => phases.planning, ({ phases }: WorkersFigures) => phases.rows];
  return [
    {
      what: `Phases with ${name}: planning, rows, proof`,
      measured: [...phases, ({ phases }: WorkersFigures) => phases.proof].map(text).join(', '),
    },
    {
      what: `Waits with ${name}; CPU time of the service`,
      measured: `${text(({ idleSeconds }) => idleSeconds)}; ${text(({ simulatorSeconds }) => simulatorSeconds)}`,
    },
  ];
}

function ratiosOf(one: WorkersFigures, two: WorkersFigures) {
  const busier = (run: WorkersFigures) => Math.max(...run.processorSeconds);
  const own = (run: WorkersFigures) => run.idleSeconds + busier(run);
  return { time: one.seconds / two.seconds, ownTime: own(one) / own(two), processor: busier(one) / busier(two) };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
