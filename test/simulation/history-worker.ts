/** Worker thread that simulates upgrades, one run per seed. */
import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { compileCache } from '../support/compile-cache.ts';
import { applyMutations, type Mutation } from './mutated-sources.ts';
import { brokeOff } from './replay.ts';

export interface WorkerData {
  readonly mutations: readonly Mutation[];
}

export interface HistoryOrder {
  readonly seed: number;
  readonly directions?: string | undefined;
}

export interface WorkerReply {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly digest: string;
}

const { mutations } = workerData as WorkerData;

enableCompileCache(compileCache);

applyMutations(mutations);

const { runHistory } = await import('./history.ts');
const { planHistory } = await import('./plan.ts');
const { directed } = await import('./directed-plans.ts');

parentPort?.on('message', ({ seed, directions }: HistoryOrder) => {
  const plan = directions === undefined ? planHistory(seed) : directed(directions, seed);
  runHistory(plan).then(
    ({ violations, digest }) => parentPort?.postMessage({ seed, violations, digest } satisfies WorkerReply),
    (error: unknown) => {
      parentPort?.postMessage({ seed, violations: [brokeOff(error)], digest: '' } satisfies WorkerReply);
    },
  );
});
