/**
 * Measures an export by one and by two workers of a Kubernetes Job, without request limits. Each worker has one processor, as in a pod with
 * one CPU. The simulated service uses processor time, too, so it has the rest of both processors.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userIdOf } from '../../src/account/budgets.ts';
import { claimVolume, workerVariables } from '../../src/export/jobs/worker-environment.ts';
import type { Line, Section } from '../figures.ts';
import { compileCache } from '../process-figures.ts';
import { mainProgram, type Ready, startSimulator } from '../simulator-process.ts';
import { imageEnvironment } from './whole-process.ts';

export interface WorkersFigures {
  readonly workers: number;
  readonly messages: number;
  /** Time in seconds from the start of all workers until the first one has ended. */
  readonly seconds: number;
  /** CPU time of each worker in seconds. */
  readonly processorSeconds: readonly number[];
  /** CPU time of the simulated service in seconds. */
  readonly simulatorSeconds: number;
}

const range = { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' } as const;
/** Number of repetitions. The runs of one and of two workers alternate, so that a slower machine affects both. */
const repetitions = 3;

export async function measureWorkers(quick: boolean): Promise<readonly WorkersFigures[]> {
  const messages = quick ? 1_000_017 : 2_000_017;
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const simulator = await startSimulator(directory, {
    logs: { messages, from: Date.parse(range.from), to: Date.parse(range.to), size: { typicalBytes: 900 } },
    limits: { requestsPerSecond: 0, concurrentRequests: 0 },
    // Quick searches, so that the processors of the workers decide the time.
    search: { duration: '100ms' },
  });
  const figures: WorkersFigures[] = [];
  try {
    for (let run = 0; run < (quick ? 1 : repetitions); run++) {
      for (const workers of [1, 2]) {
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

async function runWorkers(folder: string, service: Ready, workers: number) {
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
  const ends = Array.from({ length: workers }, async (_, index) => {
    const args = [mainProgram, 'export', 'export.json', '--log-format=json', `--volume=${claimVolume}=claim`];
    const child = spawn('taskset', ['--cpu-list', String(index), process.execPath, ...args], {
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
    let processorSeconds = 0;
    const looking = setInterval(() => {
      processorSeconds = Math.max(processorSeconds, secondsOf(child.pid));
    }, 50);
    const [status] = await once(child, 'exit');
    clearInterval(looking);
    if (status !== 0) throw new Error(`worker ${index} ended with ${status}`);
    return { processorSeconds, seconds: (performance.now() - startMs) / 1_000 };
  });
  const ended = await Promise.all(ends);
  return {
    seconds: Math.min(...ended.map(({ seconds }) => seconds)),
    processorSeconds: ended.map(({ processorSeconds }) => processorSeconds),
  };
}

/** Processor time of a running process and its threads, in user and system mode; 0 after its end. */
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

export function workersSection(figures: readonly WorkersFigures[]): Section {
  const of = (workers: number) => figures.filter((run) => run.workers === workers);
  const pairs = of(1).map((one, index) => ratiosOf(one, of(2)[index] ?? one));
  const line = (what: string, ratios: readonly number[]): Line => {
    const median = ratios.toSorted((left, right) => left - right)[Math.floor(ratios.length / 2)] ?? Number.NaN;
    return { what, measured: `${median.toFixed(2)} ×`, target: 'at least 1.80 ×', met: median >= 1.8 };
  };
  return {
    title: `An export of ${figures[0]?.messages.toLocaleString('en')} messages by two workers, compared with one`,
    lines: [
      line(
        'Time until the manifest',
        pairs.map(({ time }) => time),
      ),
      line(
        'Processor time of the busier worker',
        pairs.map(({ processor }) => processor),
      ),
    ],
    notes: [
      'NDJSON with gzip 6, one processor for each worker, no request limits. The median of the pairs of runs. The time includes the',
      'processor time of the simulated service, which shares the processors. The processor time of the busier worker is the time that the',
      'export would take with a service and a network of unlimited speed.',
    ],
  };
}

function ratiosOf(one: WorkersFigures, two: WorkersFigures) {
  const busier = (run: WorkersFigures) => Math.max(...run.processorSeconds);
  return { time: one.seconds / two.seconds, processor: busier(one) / busier(two) };
}
