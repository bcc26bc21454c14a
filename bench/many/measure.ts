/**
 * Measures the operator with one set of resources, from its start until it is idle. The control plane, the service and
 * the operator run in separate processes.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '../../test/support/control-plane-process.ts';
import { simulatorState } from '../control-address.ts';
import { percentile } from '../figures.ts';
import { type SimulatorProcess, startSimulator } from '../simulator-process.ts';
import { ClusterObjects } from './cluster-objects.ts';
import { MeasuredOperator, type MeasuredOperatorOptions, type Reached, type Rest } from './operator-process.ts';
import { makeSecret, nameOf, type Population, type PopulationName, populations, scenarioFor } from './populations.ts';

export interface ManyOptions {
  readonly resources: number;
  readonly idleSeconds: number;
  /** Folder to which the operator's CPU profiles are written. Absent if none are recorded. */
  readonly profiles?: string;
}

export interface ManyFigures {
  readonly population: PopulationName;
  readonly resources: number;
  /**
   * Results of the operator's first start, when the resources have no status. Absent if the benchmark creates the
   * resources with a status.
   */
  readonly first?: Reached & {
    readonly writeP50Ms: number;
    readonly writeP99Ms: number;
    readonly requests: Readonly<Record<string, number>>;
  };
  readonly restart: Rest;
  /**
   * Numbers of requests that the operator sends to the API server after a restart until it is idle, by method and
   * resource.
   */
  readonly restartRequests: Readonly<Record<string, number>>;
  readonly residentMiB: number;
  readonly metricsBytes: number;
  /** CPU time used by the operator in one minute without changes, in seconds. */
  readonly idleCpuSeconds: number;
  readonly idleRequests: Readonly<Record<string, number>>;
  /** Time in seconds from the creation of the Secret until the operator sends its first request to the service. */
  readonly noticedSeconds?: number;
  /** Number of resources at the end of the measurement, by the reason of their `Ready` condition. */
  readonly reasons: Readonly<Record<string, number>>;
}

interface MeasuredSetup {
  readonly objects: ClusterObjects;
  readonly simulator: SimulatorProcess;
  readonly operator: MeasuredOperatorOptions;
}

export async function measureMany(population: PopulationName, options: ManyOptions): Promise<ManyFigures> {
  const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
  const volume = path.join(directory, 'volume');
  mkdirSync(volume);
  const simulator = await startSimulator(directory, scenarioFor(options.resources));
  try {
    const controlPlane = await startControlPlane();
    const objects = new ClusterObjects(controlPlane.access);
    try {
      const operator = { access: controlPlane.access, volume, profiles: options.profiles };
      return await measureIn({ objects, simulator, operator }, population, options);
    } finally {
      await objects.close();
      await controlPlane.stop();
    }
  } finally {
    await simulator.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureIn(place: MeasuredSetup, name: PopulationName, options: ManyOptions): Promise<ManyFigures> {
  const { objects, simulator } = place;
  const population = populations[name];
  const { resources } = options;
  if (population.hasSecret) await makeSecret(objects, simulator);
  const names = Array.from({ length: resources }, (_, index) => nameOf(index));
  if (population.finish) await population.finish(names, place);
  else
    await objects.makeAll(
      population.plural,
      names.map((_, index) => population.make(index)),
    );
  const first = population.finish ? undefined : await firstStatuses(place, name, resources);
  const rest = await restart(place, name, population, options);
  const reasons = await objects.countReasons(population.plural);
  return { population: name, resources, ...(first && { first }), ...rest, reasons };
}

async function firstStatuses({ operator }: MeasuredSetup, name: PopulationName, count: number) {
  const process = await MeasuredOperator.start(operator);
  try {
    const reached = await process.untilWritten(count);
    await process.profiled(`${name}-first`);
    const { statusWritesMs, requests } = await process.figures();
    const sorted = statusWritesMs.toSorted((left, right) => left - right);
    // Waits for the operator's last status writes. Otherwise, the operator would make these writes after its next
    // start, and the next measurement would include them.
    await process.untilQuiet();
    return { ...reached, requests, writeP50Ms: percentile(sorted, 0.5), writeP99Ms: percentile(sorted, 0.99) };
  } finally {
    await process.stop();
  }
}

async function restart(
  place: MeasuredSetup,
  name: PopulationName,
  population: Population,
  { idleSeconds }: ManyOptions,
) {
  const process = await MeasuredOperator.start(place.operator);
  try {
    const reached = await process.untilQuiet();
    const residentMiB = process.residentMiB();
    await process.profiled(`${name}-restart`);
    const { requests: restartRequests } = await process.figures();
    const metricsBytes = await process.metricsBytes();
    await process.forget();
    await process.profile();
    const before = process.reached();
    await delay(idleSeconds * 1_000);
    const after = process.reached();
    const { requests } = await process.figures();
    await process.profiled(`${name}-idle`);
    const perMinute = 60 / (after.seconds - before.seconds);
    return {
      ...{ restart: reached, restartRequests, residentMiB, metricsBytes },
      idleCpuSeconds: (after.cpuSeconds - before.cpuSeconds) * perMinute,
      idleRequests: Object.fromEntries(Object.entries(requests).map(([what, count]) => [what, count * perMinute])),
      ...(population.hasSecret ? {} : { noticedSeconds: await secretNoticed(place) }),
    };
  } finally {
    await process.stop();
  }
}

async function secretNoticed({ objects, simulator }: MeasuredSetup): Promise<number> {
  const before = (await simulatorState(simulator)).counters.requests;
  await makeSecret(objects, simulator);
  const startMs = performance.now();
  while ((await simulatorState(simulator)).counters.requests === before) await delay(100);
  return (performance.now() - startMs) / 1_000;
}
