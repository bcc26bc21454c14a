/**
 * Measures the operator's memory and CPU time during a rollout. The operator's clock runs faster than real time,
 * because a rollout of 100,000 collectors would take seven hours in real time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SimulatorAddress } from '../../simulator/simulate.ts';
import { noRequestLimits } from '../../simulator/test/simulated-service.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import { simulatorState } from '../control-address.ts';
import { peakResidentMiB, processorSeconds, residentMiB } from '../process-figures.ts';
import { ended, mainProgram, type SimulatorProcess, startSimulator } from '../simulator-process.ts';
import { fleetScenario } from './virtual-rollout.ts';

/** Results of a rollout, from its first upgrade to its last. The operator's clock runs faster than real time. */
export interface WholeRollout {
  readonly collectors: number;
  readonly speed: number;
  readonly complete: boolean;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly cpuMsPerCollector: number;
  readonly requests: number;
  readonly peakMiB: number;
}

/** Results of `logfleet run DIR --watch` in real time. */
export interface HeldFleet {
  readonly collectors: number;
  /** Time in seconds from the start of the process until the policy's status counts all collectors. */
  readonly readSeconds: number;
  readonly readCpuSeconds: number;
  readonly readMiB: number;
  /** CPU time in seconds of a second sweep, which reads the collector list again and finds no changes. */
  readonly sweepCpuSeconds: number;
  /** Time in seconds for which the rollout was measured. */
  readonly rollingSeconds: number;
  readonly rollingCpuShare: number;
  readonly accepted: number;
  readonly peakMiB: number;
}

const fastOperator = fileURLToPath(new URL('fast-operator.ts', import.meta.url));
const target = '19.500-1';
const pollMs = 250;
const longestSeconds = 1_800;
const namespace = 'logging';
const name = 'fleet';

interface Wish {
  readonly version: string;
  readonly mode?: 'Enforce' | 'Observe';
  readonly requestedAt?: string;
}

/** Files and processes of one measurement. At the end, all files are removed and all processes are ended. */
class Measurement {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  readonly manifests = path.join(this.directory, 'manifests');
  readonly #processes: ChildProcess[] = [];

  constructor() {
    mkdirSync(this.manifests);
  }

  async simulator(collectors: number, timeScale: number): Promise<SimulatorProcess> {
    const fleet = fleetScenario({ collectors, pageRows: 1_000, oldVersions: 5, spareBuild: true });
    const simulator = await startSimulator(this.directory, { ...fleet, timeScale, limits: noRequestLimits });
    this.#processes.push(simulator.child);
    return simulator;
  }

  /** Starts the operator and returns its process id. */
  operator(program: string, args: readonly string[]): number {
    const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore' });
    this.#processes.push(child);
    return child.pid as number;
  }

  writeManifests({ baseURL, accessId, accessKey, caFile }: SimulatorAddress, wish: Wish): void {
    const { version, mode = 'Enforce', requestedAt = 'never' } = wish;
    const metadata = { name, namespace, annotations: { 'logfleet.dev/requestedAt': requestedAt } };
    const documents = [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'log-service', namespace },
        stringData: { baseURL, accessId, accessKey, 'ca.crt': readFileSync(caFile, 'utf8') },
      },
      {
        apiVersion: 'logfleet.dev/v1alpha1',
        kind: 'CollectorVersionPolicy',
        metadata,
        spec: {
          credentialsSecretRef: { name: 'log-service' },
          target: { version },
          mode,
          selector: {},
          strategy: { maxInProgress: 1_000 },
        },
      },
    ];
    const text = documents.map((document) => JSON.stringify(document)).join('\n---\n');
    writeFileSync(path.join(this.manifests, 'fleet.yaml'), text);
  }

  status(): CollectorVersionPolicyStatus | undefined {
    const file = path.join(this.manifests, '.logfleet/status/CollectorVersionPolicy', namespace, `${name}.json`);
    if (!existsSync(file)) return undefined;
    const { resource } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly resource: { readonly status?: CollectorVersionPolicyStatus };
    };
    return resource.status;
  }

  async until(done: (status: CollectorVersionPolicyStatus) => boolean): Promise<boolean> {
    const endMs = performance.now() + longestSeconds * 1_000;
    while (performance.now() < endMs) {
      const status = this.status();
      if (status && done(status)) return true;
      const dead = this.#processes.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
      if (dead) throw new Error(`${dead.spawnargs.join(' ')} has ended`);
      await delay(pollMs);
    }
    return false;
  }

  async close(): Promise<void> {
    for (const child of this.#processes.reverse()) await ended(child);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function isReady({ conditions }: CollectorVersionPolicyStatus): boolean {
  return conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

export async function rollOutFast(collectors: number, speed: number): Promise<WholeRollout> {
  const measurement = new Measurement();
  try {
    const simulator = await measurement.simulator(collectors, speed);
    measurement.writeManifests(simulator, { version: target });
    const startMs = performance.now();
    const pid = measurement.operator(fastOperator, [measurement.manifests, String(speed)]);
    const complete = await measurement.until(isReady);
    const cpuSeconds = processorSeconds(pid);
    return {
      collectors,
      speed,
      complete,
      seconds: (performance.now() - startMs) / 1_000,
      cpuSeconds,
      cpuMsPerCollector: (cpuSeconds / collectors) * 1_000,
      requests: (await simulatorState(simulator)).counters.requests,
      peakMiB: peakResidentMiB(pid),
    };
  } finally {
    await measurement.close();
  }
}

/**
 * Measures the operator in three phases: it lists the whole fleet, lists it again, and then upgrades collectors for a
 * while.
 */
export async function holdFleet(collectors: number, rollingSeconds: number): Promise<HeldFleet> {
  const measurement = new Measurement();
  try {
    const simulator = await measurement.simulator(collectors, 1);
    // The policy is in mode Observe, so the operator lists collectors but upgrades none.
    measurement.writeManifests(simulator, { version: target, mode: 'Observe' });
    const startMs = performance.now();
    const pid = measurement.operator(mainProgram, ['run', measurement.manifests, '--watch', '--log-level', 'warn']);
    await measurement.until(({ collectors: counts }) => (counts?.matched ?? 0) >= collectors);
    const readSeconds = (performance.now() - startMs) / 1_000;
    const readCpuSeconds = processorSeconds(pid);
    const readMiB = residentMiB(pid);
    measurement.writeManifests(simulator, { version: target, mode: 'Observe', requestedAt: 'again' });
    await measurement.until(({ lastHandledReconcileAt }) => lastHandledReconcileAt === 'again');
    await delay(readSeconds * 1_000);
    const sweepCpuSeconds = processorSeconds(pid) - readCpuSeconds;
    measurement.writeManifests(simulator, { version: target, mode: 'Enforce' });
    const rollingFrom = processorSeconds(pid);
    await delay(rollingSeconds * 1_000);
    return {
      collectors,
      readSeconds,
      readCpuSeconds,
      readMiB,
      sweepCpuSeconds,
      rollingSeconds,
      rollingCpuShare: (processorSeconds(pid) - rollingFrom) / rollingSeconds,
      accepted: (await simulatorState(simulator)).counters.tasksAccepted,
      peakMiB: peakResidentMiB(pid),
    };
  } finally {
    await measurement.close();
  }
}
